"""The manifest of a bundle: its members, and how the function is called. Plain JSON.

format      2; a file of a greater one is refused, and those of format 1 have all of a target in a folder of its name
id          the digest of all the rest, and so of all members
producer    what made the file: for people alone
function    its name, docstring and parameters
arguments   the containers of args and kwargs, with a description of each leaf
sizes       what holds of the named sizes in the shapes of arguments
results     the same of what it returns: which output of the graph a leaf is, and as what it is returned
mutated     pairs of input and output: after a call, the memory of the one holds the other
in_step     the mutated inputs that are the counters of random generators
settings    how it was to be compiled
constants   dtype and shape of the array in each member consts/*.npy, by the digest that the graph names it by
code        the files of each target for GPUs: machine code in kernels/, what is launched when in plans/, and the text
            of the kernels in src/, which is for people alone
members     size and sha256 of each other member
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, Final

import numpy as np

from ...compiler.dtypes import dtype_name
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import ArrayType
from ...compiler.symbolic_size import SymbolicSize
from ..files.digests import digest_of, document_digest
from ..variants.signature import ArraySpec, NumberSpec
from .contents import Contents
from .interface import interface_document
from .literal_document import literal_document
from .tree_document import tree_document

FORMAT: Final = 2
MANIFEST: Final = "manifest.json"
GRAPH: Final = "graph.txt"

NUMBERS: Final[Mapping[str, type[Any]]] = {"int": int, "float": float, "complex": complex}


def manifest_of(
    artifact: Contents, constants: Mapping[str, tuple[str, ArrayType]], members: Mapping[str, bytes]
) -> dict[str, Any]:
    """The manifest of an artifact with these other members; `constants` says which array is in which member."""
    program = artifact.program
    code = {target: sorted(files) for target, files in artifact.code.items()}
    document: dict[str, Any] = {
        "format": FORMAT,
        "producer": {"tracemill": _version("tracemill"), "numpy": np.__version__},
        "function": interface_document(artifact.interface),
        "arguments": tree_document(
            artifact.signature.tree, lambda number: _argument(artifact.signature.specs[number])
        ),
        "sizes": artifact.signature.facts,
        "results": tree_document(program.out_tree, lambda number: _result(program.out_leaves[number])),
        "mutated": [list(pair) for pair in program.mutated],
        "in_step": sorted(program.in_step),
        **({"in_c_order": sorted(program.in_c_order)} if program.in_c_order else {}),
        "settings": asdict(artifact.settings),
        "constants": {
            digest: {"file": name, "dtype": dtype_name(type.dtype), "shape": list(type.shape)}
            for digest, (name, type) in constants.items()
        },
        "code": code,
        "members": {
            name: {"bytes": len(content), "sha256": digest_of(content)} for name, content in members.items()
        },
    }
    return document | {"id": manifest_id(document)}


def manifest_id(document: Mapping[str, Any]) -> str:
    """The digest of a manifest without its own id."""
    rest = {name: part for name, part in document.items() if name != "id"}
    return document_digest(rest)


def _argument(spec: Any) -> dict[str, Any]:
    match spec:
        case ArraySpec():
            return {
                "leaf": "array",
                "dtype": dtype_name(spec.dtype),
                "shape": [str(size) if isinstance(size, SymbolicSize) else size for size in spec.shape],
            }
        case NumberSpec() if spec.type is np.generic:
            return {"leaf": "scalar", "dtype": dtype_name(spec.dtype)}
        case NumberSpec():
            return {"leaf": "number", "type": spec.type.__name__}
        case _:
            return {"leaf": "setting", "value": literal_document(spec.value)}


def _result(leaf: Any) -> dict[str, Any]:
    if not isinstance(leaf, ArrayOutput):
        return {"leaf": "value", "value": literal_document(leaf.value)}
    kind = leaf.weak.__name__ if leaf.weak is not None else "scalar" if leaf.is_scalar else "array"
    return {"leaf": "output", "output": leaf.index, "as": kind}


@cache  # it reads a file of the installed package
def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
