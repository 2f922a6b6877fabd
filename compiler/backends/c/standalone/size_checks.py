"""The named sizes of an exported C function: their conditions, and the functions that check them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ....free_sizes import bound_size, given_maximum
from ....ir import Call, Graph, Value, called
from ....shapes.dim import Comparison, Dim, answering
from ....shapes.guards import Guard, Guards
from ....shapes.scope import Declared, relations
from ....shapes.spelling import sides
from ....shapes.terms import Size, sizes_in
from ....symbolic_size import SymbolicSize
from ..layout import folded_lines
from ..module.graph import is_bounded_length
from ..size_magnitude import c_magnitude
from ..size_spelling import c_spelled
from ..sizes import largest_size, size_text, size_variable
from .signature import CSignature

FIRST: Final = 16
"""The code of the first condition."""

LARGEST: Final = "0x1p50"
"""The maximum bytes of an array. All sums of sizes for this many bytes are far below the limit of a 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on sizes."""

    text: str
    """In Python syntax: ``1 <= B <= 64``."""
    violated: str
    """C that is true if it does not hold."""


@dataclass(frozen=True, slots=True)
class SizeChecks:
    """Codes and functions for the named sizes of the function called `name`."""

    name: str
    names: tuple[str, ...]
    """Of the sizes, in the order of the parameters."""
    limits: tuple[Condition, ...]
    """For single sizes: they come first, so that nothing is divided by 0 and no product overflows."""
    relations: tuple[Condition, ...]
    """Between sizes."""
    magnitude: str
    """An upper bound of the bytes of any array, in `double`."""
    counts: tuple[tuple[str, str], ...]
    """The arrays of the interface with unknown sizes: their names, and how many elements they have."""
    workspace: str
    """The bytes of the workspace."""
    maxima: Mapping[str, str]
    """The names that limit a length which the function finds out, and its name."""

    @property
    def macro(self) -> str:
        return self.name.upper()

    @property
    def parameters(self) -> str:
        """The parameters of each of the functions."""
        return ", ".join(f"int64_t {size_variable(name)}" for name in self.names)

    @property
    def arguments(self) -> str:
        return ", ".join(map(size_variable, self.names))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return (*self.limits, *self.relations)

    def said_of(self, name: str) -> str:
        """The header's description of a size's parameter."""
        limits = [one.text for one in self.limits if name in one.text.split()]
        what = f"how large {self.maxima[name]} may be" if name in self.maxima else f"the size {name}"
        return ", ".join([what, *limits])

    @property
    def codes(self) -> list[tuple[str, int, str]]:
        """Errors of sizes: names and numbers of the codes, and their meanings."""
        return [
            (f"{self.macro}_TOO_LARGE", 4, "sizes are so large that no memory holds the arrays"),
            *(
                (f"{self.macro}_CONDITION_{number + 1}", FIRST + number, f"sizes do not satisfy {one.text}")
                for number, one in enumerate(self.conditions)
            ),
        ]

    @property
    def declarations(self) -> str:
        """For the header."""
        name, parameters = self.name, self.parameters
        parts = [
            f"// {self.macro}_OK, or the code of what these sizes do not satisfy.\n"
            f"int {name}_check_sizes({parameters});\n",
            "// The bytes of the workspace for these sizes; 0 for sizes that are not allowed.\n"
            f"size_t {name}_workspace_size({parameters});\n",
        ]
        if self.counts:
            counts = "".join(f"size_t {name}_{array}_size({parameters});\n" for array, _ in self.counts)
            at_most = " at most" if self.maxima else ""
            parts.append(
                f"// How many elements the arrays have{at_most} for these sizes; 0 for sizes that are not allowed.\n"
                f"{counts}"
            )
        return folded_lines("\n".join(parts))

    @property
    def definitions(self) -> str:
        """For the source."""
        parts = [self._check(), self._counting("workspace", self.workspace)]
        parts += [self._counting(*found) for found in self.counts]
        return "\n".join(parts)

    def _check(self) -> str:
        texts = [one.violated for one in self.conditions]
        texts.insert(len(self.limits), f"{self.magnitude} > {LARGEST}")
        names = [name for name, _, _ in self.codes]
        names.insert(len(self.limits), names.pop(0))
        lines = [
            f"    if ({text})\n        return {code};\n" for text, code in zip(texts, names, strict=True)
        ]
        return (
            f"int {self.name}_check_sizes({self.parameters})\n{{\n{''.join(lines)}"
            f"    return {self.macro}_OK;\n}}\n"
        )

    def _counting(self, what: str, count: str) -> str:
        checked = f"{self.name}_check_sizes({self.arguments}) == {self.macro}_OK"
        return (
            f"size_t {self.name}_{what}_size({self.parameters})\n{{\n"
            f"    return {checked} ? (size_t)({count}) : 0;\n}}\n"
        )


def named_sizes(graph: Graph) -> tuple[Size, ...]:
    """The sizes of the inputs in the order of their occurrence, then those that are only compared, then maxima."""
    found: list[Any] = [size for value in graph.inputs for size in value.type.shape]
    named: list[Any] = [dim for size in found if isinstance(size, SymbolicSize) for dim in size.sizes]
    sizes = [size for dim in named for size in sizes_in(dim.terms)]
    compared = [size for one in relations() for size in sizes_in(one.terms)]
    maxima: list[Any] = [size for size, _ in given_maxima(graph)]
    return tuple(
        dict.fromkeys([*sizes, *compared, *(size for one in maxima for size in sizes_in(one.terms))])
    )


def given_maxima(graph: Graph) -> list[tuple[SymbolicSize, str]]:
    """The sizes by which the caller limits lengths that the graph, or one in it, finds out, and those lengths."""
    found = [(given_maximum(call), str(bound_size(call))) for call in all_calls(graph)]
    return [(size, name) for size, name in found if size is not None]


def maximum_lengths(graph: Graph) -> Mapping[str, Any]:
    """The lengths that the graph, or one in it, finds out, and their maxima."""
    return {
        str(bound_size(call)): call.params["most"] for call in all_calls(graph) if is_bounded_length(call)
    }


def all_calls(graph: Graph) -> Iterator[Call]:
    """The calls of a graph and of all that it holds."""
    for call in graph.calls:
        yield call
        for inner in called((call,)):
            yield from all_calls(inner)


def checks_of(
    signature: CSignature, sizes: Sequence[Size], graph: Graph, workspace: Any, most: Mapping[str, Any]
) -> SizeChecks | None:
    """The checks of a function that takes these sizes, for everything assumed about them in this context.

    `graph` contains all arrays that may be allocated, except the bytes of the `workspace`. `most` has the maxima of
    the lengths that it finds out. None without named sizes.
    """
    if not sizes:
        return None
    known = Guards(tuple(map(Guard, relations()))).simplified()
    compared = [guard.comparison for guard in known.guards]
    with answering(Declared()):  # they are checked in order, and none may rely on a later one
        conditions = tuple(map(_relation, compared))
    arrays = [p for p in signature.parameters if isinstance(p.elements, SymbolicSize)]
    return SizeChecks(
        signature.name,
        tuple(size.text for size in sizes),
        tuple(condition for size in sizes for condition in _limits(size)),
        conditions,
        _magnitude(graph, compared, workspace, most),
        tuple((p.name, size_text(p.elements)) for p in arrays),
        size_text(workspace),
        {str(size): name for size, name in given_maxima(graph)},
    )


def _limits(size: Size) -> Iterator[Condition]:
    name = size_variable(size.text)
    if size.max is None:
        yield Condition(f"{size.text} >= {size.min}", f"{name} < {size.min}")
    else:
        text = f"{size.min} <= {size.text} <= {size.max}"
        yield Condition(text, f"{name} < {size.min} || {name} > {size.max}")
    if size.multiple_of > 1:
        yield Condition(f"{size.text} % {size.multiple_of} == 0", f"{name} % {size.multiple_of} != 0")


def _relation(comparison: Comparison) -> Condition:
    left, sign, right = sides(comparison.terms, comparison.relation)
    return Condition(repr(comparison), f"!({c_spelled(left)} {sign} {c_spelled(right)})")


def _magnitude(graph: Graph, compared: Iterable[Comparison], workspace: Any, most: Mapping[str, Any]) -> str:
    """C for an upper bound of all arrays of a program, its workspace, and compared expressions."""
    sums: list[Any] = [*(largest_size(value.type.nbytes, most) for value in _values(graph)), workspace]
    found = dict.fromkeys(size.terms for size in sums if isinstance(size, Dim))
    return c_magnitude([*found, *(one.terms for one in compared)])


def _values(graph: Graph) -> Iterator[Value]:
    """Those of a graph and of all that it holds."""
    yield from graph.inputs
    for call in graph.calls:
        yield from call.outputs
    for inner in called(graph.calls):
        yield from _values(inner)
