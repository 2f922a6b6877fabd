"""The parameters of an exported C function: each argument with its name and type, and whether it is read or written."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....frontend.traced_program import ArrayOutput, Program, path_names
from ....identifiers import unique_identifiers
from ....ir import ArrayType
from ...python_text import Names
from ..names import function_name, variable_name
from ..types import element_type

RESERVED = ("compute", "run", "work", "workspace")
"""Names that the exported function uses."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the exported function."""

    name: str
    type: ArrayType
    path: str
    """Its Python expression: ``weights['w']``, ``result[0]``."""
    is_read: bool
    is_written: bool

    @property
    def by_value(self) -> bool:
        """Whether it is a number instead of a pointer. C and C++ pass complex numbers differently."""
        return not (self.type.shape or self.is_written or self.type.dtype.kind == "c")

    @property
    def element(self) -> str:
        """The C type of an element; ``NAME_complex64`` stands in the header for a type with another name in C++."""
        return element_type(self.type.dtype)

    @property
    def use(self) -> str:
        """How it is used."""
        if self.is_read and self.is_written:
            return "read and overwritten"
        return "written" if self.is_written else "read"


@dataclass(frozen=True, slots=True)
class CSignature:
    """The exported function, as seen from C."""

    name: str
    inputs: tuple[Parameter, ...]
    """For each input of the graph."""
    outputs: tuple[Parameter, ...]
    """For each array of the result. A result that is written to an input has no parameter of its own."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def macro(self) -> str:
        """The prefix of its macros."""
        return self.name.upper()


def signature_of(
    program: Program,
    name: str | None = None,
    paths: Sequence[str] | None = None,
    reserved: Iterable[str] = (),
) -> CSignature:
    """The signature of a program under its own name or this one; `paths` are the Python expressions for its inputs.

    No parameter has one of the `reserved` names.
    """
    graph = program.graph
    name = function_name(c_identifier(graph.name if name is None else name))
    paths = [argument.name for argument in program.arguments] if paths is None else paths
    overwritten = {given for given, _ in program.mutated}
    taken = Names([*RESERVED, *reserved, name])
    inputs = [
        Parameter(taken.claim(c_identifier(given)), value.type, path, True, place in overwritten)
        for place, (given, value, path) in enumerate(zip(graph.input_names, graph.inputs, paths, strict=True))
    ]
    shown = path_names(program.out_tree, "result")
    results = [
        (path, graph.outputs[leaf.index].type)
        for path, leaf in zip(shown, program.out_leaves, strict=True)
        if isinstance(leaf, ArrayOutput)
    ]
    outputs = [
        Parameter(taken.claim(c_identifier(given)), type, path, False, True)
        for given, (path, type) in zip(unique_identifiers([p for p, _ in results]), results, strict=True)
    ]
    return CSignature(name, tuple(inputs), tuple(outputs))


def c_identifier(name: str) -> str:
    """The name closest to a Python expression that has no other meaning in C.

    >>> c_identifier("weights"), c_identifier("double"), c_identifier("λ2")
    ('weights', 'double_', 'x2')
    """
    plain = re.sub("_+", "_", re.sub(r"[^A-Za-z0-9_]", "_", name))
    if not plain.isidentifier() or (plain != name and plain.startswith("_")):
        plain = f"x{plain.lstrip('_')}"
    return variable_name(plain)
