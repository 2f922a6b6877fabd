"""Remove unused parts of calls that hold graphs: results, carried values, and operands."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeAlias, TypeVar

from ...compiler.ir import Call, Constant, Graph, Param, Value
from ...compiler.op import has_effect
from ...compiler.ops.control.loop_params import scan_params, while_params
from ...compiler.params import graph_param, graphs_param, ints_param

Clean: TypeAlias = Callable[[Graph], Graph]
"""Removes dead code from a graph."""

T = TypeVar("T")


def narrow(call: Call, needed: Set[Value], clean: Clean) -> Call:
    """The call without results that are not `needed` and without operands that its graphs do not use; the call itself
    if there are none.

    Before ``a, b = call(x, y, graph=g)`` where g returns ``sin(x), cos(y)`` and nothing needs b, after ``a = call(x,
    graph=g)`` where g returns ``sin(x)``.
    """
    rule = _RULES.get(call.op)
    return call if rule is None else rule(call, [value in needed for value in call.outputs], clean)


def _kept(items: Sequence[T], marks: Sequence[bool]) -> tuple[T, ...]:
    return tuple(item for item, mark in zip(items, marks, strict=True) if mark)


def _part(graph: Graph, outputs: Sequence[bool], clean: Clean) -> Graph:
    """`graph` with only these outputs, and without the calls that only the others needed."""
    if all(outputs):
        return clean(graph)
    return clean(
        Graph(graph.name, graph.inputs, graph.calls, _kept(graph.outputs, outputs), graph.input_names)
    )


def _used(graph: Graph) -> set[Value]:
    found = {value for call in graph.calls for value in call.inputs}.union(graph.outputs)
    return {value for value in found if not isinstance(value, Constant)}


def _taking(graph: Graph, inputs: Sequence[bool]) -> Graph:
    """`graph` with only these inputs."""
    if all(inputs):
        return graph
    names = _kept(graph.input_names, inputs)
    return Graph(graph.name, _kept(graph.inputs, inputs), graph.calls, graph.outputs, names)


def _with(call: Call, inputs: Sequence[bool], params: Mapping[str, Param], outputs: Sequence[bool]) -> Call:
    """The call with these inputs and outputs; the call itself if nothing differs."""
    if all(inputs) and all(outputs) and all(params[name] is call.params[name] for name in params):
        return call
    return Call(
        call.op,
        _kept(call.inputs, inputs),
        {**call.params, **params},
        _kept(call.outputs, outputs),
        call.location,
    )


def _same_tuple(new: tuple[Any, ...], old: Param) -> Param:
    """`old` if it holds the same objects."""
    assert isinstance(old, tuple)
    return old if all(a is b for a, b in zip(new, old, strict=True)) else new


# ---- calls and choices -----------------------------------------------------------------------------


def _call(call: Call, outputs: Sequence[bool], clean: Clean) -> Call:
    graph = graph_param(call)
    part = _part(graph, outputs, clean)
    used = _used(part)
    inputs = [value in used for value in part.inputs]
    return _with(call, inputs, {"graph": _taking(part, inputs)}, outputs)


def _switch(call: Call, outputs: Sequence[bool], clean: Clean) -> Call:
    """An operand stays if some branch uses it."""
    branches = graphs_param(call)
    parts = [_part(branch, outputs, clean) for branch in branches]
    used = [_used(part) for part in parts]
    inputs = [
        any(part.inputs[i] in found for part, found in zip(parts, used, strict=True))
        for i in range(len(call.inputs) - 1)
    ]
    taking = tuple(_taking(part, inputs) for part in parts)
    return _with(call, [True, *inputs], {"branches": _same_tuple(taking, branches)}, outputs)


# ---- loops -----------------------------------------------------------------------------------------


def _live_carries(
    step: Graph, consts: int, carries: Sequence[bool], others: Sequence[bool], also: Set[Value]
) -> list[bool]:
    """Which carried values are needed at the end, or in a step by needed values; `also` are inputs that are used
    elsewhere."""
    live = list(carries)
    carried = step.inputs[consts : consts + len(live)]
    while True:
        wanted = set(_kept(step.outputs, [*live, *others])) | also
        for inner in reversed(step.calls):
            if has_effect(inner) or any(value in wanted for value in inner.outputs):
                wanted.update(inner.inputs)
        grown = [mark or value in wanted for mark, value in zip(live, carried, strict=True)]
        if grown == live:
            return live
        live = grown


def _scan(call: Call, outputs: Sequence[bool], clean: Clean) -> Call:
    step, _, consts, carried, *_ = scan_params(call)
    live = _live_carries(step, consts, outputs[:carried], outputs[carried:], set())
    kept_outputs = [*live, *outputs[carried:]]
    part = _part(step, kept_outputs, clean)
    used = _used(part)
    inputs = [value in used for value in part.inputs]
    inputs[consts : consts + carried] = live
    counts = (sum(inputs[:consts]), sum(live))
    return _with(
        call,
        inputs,
        {
            "graph": _taking(part, inputs),
            "counts": counts if counts != (consts, carried) else ints_param(call, "counts"),
        },
        kept_outputs,
    )


def _while(call: Call, outputs: Sequence[bool], clean: Clean) -> Call:
    """Values that the condition depends on stay."""
    cond, body, consts, _ = while_params(call)
    cond = clean(cond)
    asked = _used(cond)
    also = {ours for theirs, ours in zip(cond.inputs, body.inputs, strict=True) if theirs in asked}
    live = _live_carries(body, consts, outputs, (), also)
    part = _part(body, live, clean)
    used = _used(part) | also
    inputs = [value in used for value in part.inputs]
    inputs[consts:] = live
    changed: dict[str, Param] = {
        "cond": _taking(cond, inputs),
        "body": _taking(part, inputs),
        "consts": sum(inputs[:consts]) if not all(inputs[:consts]) else consts,
    }
    return _with(call, inputs, changed, live)


_RULES: dict[str, Callable[[Call, Sequence[bool], Clean], Call]] = {
    "call": _call,
    "checkpoint": _call,
    "scan": _scan,
    "switch": _switch,
    "while_loop": _while,
}
