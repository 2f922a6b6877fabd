"""Axes of a symbolic length that may be so short that a kernel is worth writing again for lengths that are known.

The turns of a loop over two or three entries take less time than what is around them, and the loop around it runs on
vectors only if they are written out. So where many short loops run, a kernel has versions in which the length is known.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from ....ir import Graph
from ....loops.nest import Block, Loop, Nest
from ....substitution import Substitution
from ....symbolic_size import SymbolicSize, is_known, typical

LENGTHS: Final = (2, 3, 4)
"""Those for which there are versions: of pairs, points and colours."""

SHORT: Final = 8
"""What is typical of an axis that may well have one of these is no more."""

OFTEN: Final = 1024
"""Short loops run at least so often."""


def short_axis(nest: Nest) -> SymbolicSize | None:
    """The first size that short loops with no others in them run over, where they run often."""
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
            with suppress(ZeroDivisionError):  # where something is divided by 0, nobody calls it
                found[length] = _version(graph, axis, length)
    return found


def _version(graph: Graph, axis: SymbolicSize, length: int) -> Graph:
    def value_of(size: SymbolicSize) -> Any:
        return size.where(axis, length)

    return Substitution(value_of).graph(graph)
