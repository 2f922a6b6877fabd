"""Rules for calls that hold graphs and have several results: a known branch, a carry that never changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ...compiler.builder import bind_all, inline
from ...compiler.ir import Constant, Graph, Param, Value
from ...compiler.ops.nested_graphs import rearranged

Rule: TypeAlias = Callable[[tuple[Value, ...], Mapping[str, Any]], tuple[Value, ...] | None]
"""From the inputs and parameters of a call to the values that replace its outputs, or None."""


def known_branch(inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    """``switch(1, x, branches=(f, g))`` is g(x)."""
    index, *operands = inputs
    branches = params["branches"]
    if len(branches) == 1:
        return inline(branches[0], operands)
    if not isinstance(index, Constant):
        return None
    return inline(branches[min(max(int(index.array), 0), len(branches) - 1)], operands)


def unchanged_carry(inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    """A carry that every step returns unchanged is a constant of the loop, and its final value is its initial value."""
    graph: Graph = params["graph"]
    consts, carried = params["counts"]
    same = [graph.outputs[i] is graph.inputs[consts + i] for i in range(carried)]
    if not any(same):
        return None
    fixed = [consts + i for i in range(carried) if same[i]]
    moving = [consts + i for i in range(carried) if not same[i]]
    order = [*range(consts), *fixed, *moving, *range(consts + carried, len(inputs))]
    kept = [i for i in range(len(graph.outputs)) if i >= carried or not same[i]]
    changed: dict[str, Param] = {
        **params,
        "graph": rearranged(graph, order, kept),
        "counts": (consts + len(fixed), len(moving)),
    }
    found = iter(bind_all("scan", *(inputs[i] for i in order), **changed))
    return tuple(
        inputs[consts + i] if i < carried and same[i] else next(found) for i in range(len(graph.outputs))
    )


def known_constants(inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    """A constant of the loop with a known value becomes a constant of its step."""
    graph: Graph = params["graph"]
    consts, carried = params["counts"]
    known = {
        place: value
        for place, value in zip(graph.inputs, inputs[:consts], strict=False)
        if isinstance(value, Constant)
    }
    if not known:
        return None
    calls = tuple(
        replace(call, inputs=tuple(known.get(value, value) for value in call.inputs)) for call in graph.calls
    )
    outputs = tuple(known.get(value, value) for value in graph.outputs)
    step = Graph(graph.name, graph.inputs, calls, outputs, graph.input_names)
    order = [i for i, place in enumerate(graph.inputs) if place not in known]
    changed: dict[str, Param] = {
        **params,
        "graph": rearranged(step, order, range(len(outputs))),
        "counts": (consts - len(known), carried),
    }
    return bind_all("scan", *(inputs[i] for i in order), **changed)


RULES: Mapping[str, tuple[tuple[str, Rule], ...]] = {
    "scan": (
        ("a carry that no step changes → a constant of the loop", unchanged_carry),
        ("a constant of a loop that is known → one of its step", known_constants),
    ),
    "switch": (("a choice that is known → its branch", known_branch),),
}
"""Per op: the rules that may replace its calls, with their names."""
