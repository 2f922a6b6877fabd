"""Which calls of a graph compute with all examples of a batch at once: those of `compiler.ops.control.collective`."""

from collections.abc import Iterator, Sequence

from ..errors import CollectiveError
from ..ir import Call, Graph, Value, called

ONE_FOR_ALL = frozenset({"all_gather", "pmax", "pmin", "psum"})
"""The collectives whose result is the same for all examples."""

COLLECTIVES = ONE_FOR_ALL | {"ppermute", "psum_scatter"}


def collective_calls(graph: Graph) -> Iterator[Call]:
    """The collective calls of a graph and of its nested graphs."""
    for call in graph.calls:
        if call.op in COLLECTIVES:
            yield call
        for nested in called((call,)):
            yield from collective_calls(nested)


def mapped_values(graph: Graph, mapped: Sequence[bool]) -> set[Value]:
    """The values that differ between examples, given which inputs do; the results of most collectives do not."""
    reached = {value for value, marked in zip(graph.inputs, mapped, strict=True) if marked}
    for call in graph.calls:
        is_agreed = call.op in ONE_FOR_ALL and call.inputs[0] in reached
        if not is_agreed and any(value in reached for value in call.inputs):
            reached.update(call.outputs)
    return reached


def refuse_collectives(graphs: Sequence[Graph], why: str, instead: str) -> None:
    """Raises `CollectiveError` if a graph computes with all examples but not all of them take part."""
    for graph in graphs:
        for call in collective_calls(graph):
            raise CollectiveError(
                f"{call.op} over the axis {call.params['axis']!r} {why}: {instead}", call.location
            )
