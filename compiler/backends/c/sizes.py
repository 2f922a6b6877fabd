"""Sizes in C: named ones are parameters of functions; expressions of them are computed where they are used."""

from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

from ...affine import Affine
from ...free_sizes import names_bound_in, sizes_in_call, sizes_in_graph
from ...ir import Call, Graph, called
from ...symbolic_size import SymbolicSize, quotient

CALL: Final = "tm_size_"
"""Contained in a text that computes with sizes by functions."""

_FINE: Final = 64
"""Factors of sizes are multiples of its inverse."""

_FUNCTIONS: Final = {
    "min": "static inline long tm_size_min(long x, long y) { return x < y ? x : y; }\n",
    "max": "static inline long tm_size_max(long x, long y) { return x > y ? x : y; }\n",
    "quotient": """\
static inline long tm_size_quotient(long x, long y)
{
    return y ? x / y - (x % y && (x < 0) != (y < 0)) : 0;
}
""",
    "remainder": """\
static inline long tm_size_remainder(long x, long y) { return x - tm_size_quotient(x, y) * y; }
""",
}


def size_functions(text: str) -> list[str]:
    """The functions that a text calls, to be placed before it."""
    used = {name for name in _FUNCTIONS if f"{CALL}{name}(" in text}
    if "remainder" in used:
        used.add("quotient")
    if not used:
        return []
    comment = "// Minimum and maximum of two sizes, and quotients rounded down. Results with divisor 0 are unused.\n"
    return ["".join([comment, *(_FUNCTIONS[name] for name in _FUNCTIONS if name in used)])]


def size_text(size: Any) -> str:
    """A size as a C expression: a number, or a sum without parentheses."""
    if not isinstance(size, SymbolicSize):
        return str(size)
    from .size_spelling import c_spelled

    return c_spelled(size.terms)  # type: ignore[attr-defined]


def factor_text(size: Any) -> str:
    """The same as an operand of any operator."""
    text = size_text(size)
    return (
        text if text.isidentifier() or text.isdigit() or not isinstance(size, SymbolicSize) else f"({text})"
    )


def scaled(size: Any, factor: float) -> Any:
    """A size times a number, rounded, for estimates of work."""
    if isinstance(size, int):
        return round(size * factor)
    return quotient(size * max(round(factor * _FINE), 1), _FINE)


def place_text(place: Affine) -> str:
    """An index expression as C."""
    return place.text(size_text)


def size_parameters(names: Iterable[str]) -> list[str]:
    """Parameters for the named sizes."""
    return [f"const long {size_variable(name)}" for name in names]


def size_variable(name: str) -> str:
    """The variable that holds a named size."""
    from .size_spelling import c_name

    return c_name(name)


def names_in_graph(graph: Graph) -> tuple[str, ...]:
    """The named sizes that a graph is given, in order: those that it finds out are not among them."""
    return _names(sizes_in_graph(graph), names_bound_in(graph))


def names_in_call(call: Call) -> tuple[str, ...]:
    """The named sizes of a call's operands, results and parameters, in order, except those that its graphs find out."""
    found = [size for value in call.inputs for size in value.type.shape]
    bound = set[str]().union(*map(names_bound_in, called((call,))))
    return _names([*sizes_in_call(call), *found], bound)


def _names(sizes: Iterable[Any], without: Set[str]) -> tuple[str, ...]:
    named = {name for size in sizes if isinstance(size, SymbolicSize) for name in size.limits}
    return tuple(sorted(named - without))


def largest_size(size: Any, most: Mapping[str, Any]) -> Any:
    """A size where the names of `most` have their maxima."""
    if not most or not isinstance(size, SymbolicSize):
        return size
    from ...shapes.largest import largest

    return largest(size, most)
