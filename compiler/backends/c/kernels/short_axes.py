"""Axes of a symbolic length that may be so short that it is worth generating a kernel again for known lengths.

The iterations of a loop over two or three entries take less time than the code around them, and the enclosing loop is
only vectorised if they are unrolled. So if many short loops run, a kernel has versions with a known length.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from ....ir import Graph
from ....loops.nest import Block, Loop, Nest
from ....substitution import Substitution
from ....symbolic_size import SymbolicSize, is_known, typical

LENGTHS: Final = (2, 3, 4)
"""The lengths with versions: of pairs, points and colours."""

SHORT: Final = 8
"""An axis whose typical length is above this probably has none of these."""

OFTEN: Final = 1024
"""Short loops run at least this often."""


def short_axis(nest: Nest) -> SymbolicSize | None:
    """The first size of short innermost loops that run often."""
    return next(_short(nest.body, 1), None)


def _short(body: Block, times: int) -> Iterator[SymbolicSize]:
    for loop in body:
        if not isinstance(loop, Loop):
            continue
        extent: Any = loop.variable.extent
        is_innermost = not any(isinstance(inner, Loop) for inner in loop.body)
        if is_innermost and times >= OFTEN and isinstance(extent, SymbolicSize) and len(extent.sizes) == 1:
            (size,) = extent.sizes
            if typical(size) <= SHORT:
                yield size
        yield from _short(loop.body, times * typical(extent))


def versions(graph: Graph, axis: Any) -> dict[int, Graph]:
    """The graph for each of the lengths that a named size may have."""
    found: dict[int, Graph] = {}
    for length in LENGTHS:
        if not is_known(axis != length):
            with suppress(ZeroDivisionError):  # where something is divided by 0, the function is never called
                found[length] = _version(graph, axis, length)
    return found


def _version(graph: Graph, axis: SymbolicSize, length: int) -> Graph:
    def value_of(size: SymbolicSize) -> Any:
        return size.where(axis, length)

    return Substitution(value_of).graph(graph)
