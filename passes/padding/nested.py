"""Rules for loops and branches: their graphs take padded arrays and their numbers of valid entries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...compiler.builder import bind_all
from ...compiler.dtypes import BOOL, INT64
from ...compiler.ir import ArrayType, Call, Graph, Value
from ...compiler.ops.control.loop_params import scan_params, while_params
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.params import graphs_param
from ...compiler.value_ops import convert, full
from .padded_lengths import Inputs, PaddedLengths


@dataclass(frozen=True)
class Nested:
    """The graphs of a call on padded arrays."""

    counts: Sequence[Value]
    """How many entries count, for each of the lengths that the call uses."""
    padded: Callable[[Graph, int], Graph]
    """``padded(graph, place)``: the graph on padded arrays; from this place on it has inputs for the counts."""


NestedRule: TypeAlias = Callable[[PaddedLengths, Call, Inputs, Nested], tuple[Value, ...]]


def _switch(lengths: PaddedLengths, call: Call, inputs: Inputs, nested: Nested) -> tuple[Value, ...]:
    padded = tuple(nested.padded(branch, len(branch.inputs)) for branch in graphs_param(call))
    return bind_all("switch", *inputs, *nested.counts, branches=padded)


def _while_loop(lengths: PaddedLengths, call: Call, inputs: Inputs, nested: Nested) -> tuple[Value, ...]:
    consts = while_params(call).consts
    graphs = {
        name: nested.padded(graph, consts) for name, graph in call.params.items() if isinstance(graph, Graph)
    }
    params = {**call.params, **graphs, "consts": consts + len(nested.counts)}
    return bind_all("while_loop", *inputs[:consts], *nested.counts, *inputs[consts:], **params)


def _scan(lengths: PaddedLengths, call: Call, inputs: Inputs, nested: Nested) -> tuple[Value, ...]:
    loop = scan_params(call)
    given = (*inputs[: loop.consts], *nested.counts, *inputs[loop.consts :])
    step = nested.padded(loop.graph, loop.consts)
    consts = loop.consts + len(nested.counts)
    params = {**call.params, "counts": (consts, loop.carried)}
    if not lengths.is_padded(loop.length):
        return bind_all("scan", *given, **{**params, "graph": step})
    params |= {"graph": _while_it_counts(step, consts, loop.carried), "length": lengths.most_of(loop.length)}
    return bind_all("scan", *given, lengths.counting(loop.length), **params)


def _while_it_counts(step: Graph, consts: int, carried: int) -> Graph:
    """A step that keeps what it carries if its last input, which says whether the step counts, is false."""

    def skip(*inputs: Value) -> list[Value]:
        stacked = step.outputs[carried:]
        return [*inputs[consts : consts + carried], *(full(one.shape, 0, one.dtype) for one in stacked)]

    types = [value.type for value in step.inputs]
    skipped = graph_of(f"{step.name}_skipped", types, skip)

    def run(*inputs: Value) -> tuple[Value, ...]:
        *given, counts = inputs
        return bind_all("switch", convert(counts, INT64), *given, branches=(skipped, step))

    return graph_of(f"{step.name}_while_it_counts", [*types, ArrayType(BOOL, ())], run)


NESTED_RULES: Final[Mapping[str, NestedRule]] = {"scan": _scan, "switch": _switch, "while_loop": _while_loop}
"""By op."""
