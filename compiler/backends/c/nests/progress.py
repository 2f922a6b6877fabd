"""What a loop does to the integers that it carries: how much they grow in a step, and what its test says of them."""

from collections.abc import Iterator, Mapping, Sequence

from ....ir import Call, Constant, Graph, Value
from .bounds import Known, Sum, Unknown
from .numbers import Item, is_number, known_result


def fresh_integers(values: Sequence[Value]) -> list[Known]:
    """Unknowns for carried integers; None for what is none."""
    return [
        Sum(0, {Unknown(): 1}) if value.dtype.name == "int64" and is_number(value) else None
        for value in values
    ]


def sums_in(graph: Graph, given: Sequence[Known]) -> dict[Value, Known]:
    """The integers that a flat graph computes without loops or choices, given those that enter it."""
    found = dict(zip(graph.inputs, given, strict=False))  # a step's rows of stacks come last
    for call in graph.calls:
        if len(call.outputs) == 1 and call.outputs[0].dtype.name == "int64" and is_number(call.outputs[0]):
            found[call.outputs[0]] = known_result(call.op, [_sum_of(value, found) for value in call.inputs])
    return found


def _sum_of(value: Value, found: Mapping[Value, Known]) -> Known:
    if not isinstance(value, Constant):
        return found.get(value)
    return Sum(int(value.array)) if value.dtype.name == "int64" and value.array.size == 1 else None


def growth(graph: Graph, consts: Sequence[Item], carried: Sequence[Known]) -> list[Known]:
    """By how much each carried integer grows in a step; None where that is not known."""
    found = sums_in(graph, [*(item.known for item in consts), *carried])
    grown: list[Known] = []
    for before, value in zip(carried, graph.outputs, strict=False):
        after = _sum_of(value, found)
        step = None if before is None or after is None else after - before
        is_free = step is not None and not any(one in carried_unknowns(carried) for one in step.terms)
        grown.append(step if is_free else None)
    return grown


def carried_unknowns(carried: Sequence[Known]) -> set[Unknown]:
    return {one for known in carried if known is not None for one in known.terms}


def tests_in(graph: Graph, consts: Sequence[Item], carried: Sequence[Known]) -> Iterator[tuple[Sum, Sum]]:
    """Pairs of integers for which the test of a loop says that the first is less than the second."""
    found = sums_in(graph, [*(item.known for item in consts), *carried])
    makers = {output: call for call in graph.calls for output in call.outputs}
    waiting = [graph.outputs[0]]
    while waiting:
        call = makers.get(waiting.pop())
        if call is None:
            continue
        if call.op == "logical_and":
            waiting += call.inputs
            continue
        if call.op not in _LESS or len(call.inputs) != 2:
            continue
        x, y = (_sum_of(value, found) for value in call.inputs)
        if x is None or y is None:
            continue
        more = Sum(1 if "equal" in call.op else 0)
        yield (x, y + more) if call.op.startswith("less") else (y, x + more)


_LESS = frozenset({"less", "less_equal", "greater", "greater_equal"})


def counting_test(graph: Graph) -> tuple[Value, Value] | None:
    """Two integers, if the test only checks whether the first, an input of the graph, is less than the second."""
    if len(graph.calls) != 1:
        return None
    (call,) = graph.calls
    if call.op != "less" or graph.outputs[0] is not call.outputs[0]:
        return None
    x, y = call.inputs
    if not all(one.dtype.name == "int64" and is_number(one) for one in (x, y)):
        return None
    return (x, y) if x in graph.inputs and _is_given(y, graph, call) else None


def _is_given(value: Value, graph: Graph, call: Call) -> bool:
    return isinstance(value, Constant) or (value in graph.inputs and value is not call.inputs[0])
