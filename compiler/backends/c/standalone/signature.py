"""The parameters of an exported C function: each argument with its name and type, and whether it is read or written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....affine import same
from ....arguments.leaves import path_names
from ....dtypes import INT64
from ....free_sizes import sizes_in_param
from ....frontend.program import ArrayOutput, Program
from ....identifiers import unique_identifiers
from ....ir import ArrayType, Extent
from ...python.text import Names
from ..names import function_name, variable_name
from ..sizes import largest_size
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
    capacity: Extent = 0
    """How many elements it has at most, if it is as long as the function finds out."""

    @property
    def elements(self) -> Extent:
        """How many elements the caller's array has."""
        return self.capacity if self.is_found else self.type.size

    @property
    def is_found(self) -> bool:
        """Whether the function finds out how long it is."""
        return not same(self.capacity, 0)

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
    lengths: tuple[Parameter, ...] = ()
    """For each length that the function finds out and gives to its caller."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.inputs, *self.outputs, *self.lengths)

    @property
    def macro(self) -> str:
        """The prefix of its macros."""
        return self.name.upper()


def signature_of(
    program: Program,
    name: str | None = None,
    paths: Sequence[str] | None = None,
    reserved: Iterable[str] = (),
    most: Mapping[str, Any] | None = None,
) -> CSignature:
    """The signature of a program under its own name or this one; `paths` are the Python expressions for its inputs.

    No parameter has one of the `reserved` names. `most` has the maxima of lengths that the program finds out.
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
    most = most or {}
    outputs = [
        Parameter(taken.claim(c_identifier(given)), type, path, False, True, _capacity(type, most))
        for given, (path, type) in zip(unique_identifiers([p for p, _ in results]), results, strict=True)
    ]
    lengths = [
        Parameter(taken.claim(c_identifier(size)), ArrayType(INT64, ()), size, False, True)
        for size in found_lengths([type for _, type in results], most)
    ]
    return CSignature(name, tuple(inputs), tuple(outputs), tuple(lengths))


def found_lengths(types: Iterable[ArrayType], most: Mapping[str, Any]) -> list[str]:
    """The names of the lengths in types that the program finds out, in order."""
    named = [str(one) for type in types for size in sizes_in_param(type.shape) for one in size.sizes]
    return [name for name in dict.fromkeys(named) if name in most]


def _capacity(type: ArrayType, most: Mapping[str, Any]) -> Extent:
    return largest_size(type.size, most) if found_lengths([type], most) else 0


def c_identifier(name: str) -> str:
    """The name closest to a Python expression that has no other meaning in C.

    >>> c_identifier("weights"), c_identifier("double"), c_identifier("λ2")
    ('weights', 'double_', 'x2')
    """
    plain = re.sub("_+", "_", re.sub(r"[^A-Za-z0-9_]", "_", name))
    if not plain.isidentifier() or (plain != name and plain.startswith("_")):
        plain = f"x{plain.lstrip('_')}"
    return variable_name(plain)
