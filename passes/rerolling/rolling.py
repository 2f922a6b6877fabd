"""From the places where calls may repeat to a graph with loops there."""

from collections.abc import Iterable

from ...compiler.ir import Graph
from .loop import Loop, Numbering, explained
from .repetition import Repetition
from .writing import with_loops


def roll(graph: Graph, places: Iterable[Repetition], fewest_calls: int) -> Graph:
    """The graph with a loop at each place that can be written as one; of two that overlap, at the first."""
    numbering = Numbering(graph)
    loops: list[Loop] = []
    for place in places:
        if any(place.start < loop.place.stop and loop.place.start < place.stop for loop in loops):
            continue
        loop = explained(place, numbering, fewest_calls)
        if loop is not None:
            loops.append(loop)
    if not loops:
        return graph
    return with_loops(graph, numbering, sorted(loops, key=lambda loop: loop.place.start))
