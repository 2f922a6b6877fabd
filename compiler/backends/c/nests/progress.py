"""What a loop does to the integers that it carries: how much they grow in a step, and what its test says of them."""

from collections.abc import Iterator, Mapping, Sequence

from ....ir import Call, Constant, Graph, Value
from .bounds import Known, LinearForm, Variable, interval_of, is_exact, lower_bound, upper_bound, within
from .numbers import Item, is_number, known_result


def fresh_integers(values: Sequence[Value]) -> list[Known]:
    """Unknowns for carried integers; None for what is none."""
    return [
        LinearForm(0, {Variable(): 1}) if value.dtype.name == "int64" and is_number(value) else None
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
    return LinearForm(int(value.array)) if value.dtype.name == "int64" and value.array.size == 1 else None


def growth(graph: Graph, consts: Sequence[Item], carried: Sequence[Known]) -> list[Known]:
    """By how much each carried integer grows in a step; None where that is not known."""
    found = sums_in(graph, [*(item.known for item in consts), *carried])
    grown: list[Known] = []
    for before, value in zip(carried, graph.outputs, strict=False):
        after = _sum_of(value, found)
        step = None if before is None or after is None else after - before
        is_free = step is not None and not any(one in carried_variables(carried) for one in step.terms)
        grown.append(step if is_free else None)
    return grown


def carried_variables(carried: Sequence[Known]) -> set[Variable]:
    return {one for known in carried if known is not None for one in known.terms}


def tests_in(
    graph: Graph, consts: Sequence[Item], carried: Sequence[Known]
) -> Iterator[tuple[LinearForm, LinearForm]]:
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
        more = LinearForm(1 if "equal" in call.op else 0)
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


# ---- the bounds of carried integers --------------------------------------------------------------------


def bound_by_growth(known: LinearForm, start: Known, step: Known, steps: int) -> None:
    """Set the bounds of a carried integer at the start of each step, after at most `steps` others."""
    grown = interval_of(step)
    if start is None or grown is None:
        return
    low, high = start + LinearForm(min(0, grown[0] * steps)), start + LinearForm(max(0, grown[1] * steps))
    if is_exact(low) and is_exact(high):  # or it may wrap around
        (one,) = known.terms
        one.add_low(low)
        one.add_high(high)


def bound_by_test(known: Known, start: Known, step: Known) -> None:
    """A carried integer that only grows until the test ends the loop is never less than its initial value."""
    grown = interval_of(step)
    if known is None or start is None or grown is None:
        return
    (one,) = known.terms
    low, high = lower_bound(known), upper_bound(known)
    if grown[0] >= 0 and high is not None and is_exact(LinearForm(high + grown[1])):
        one.add_low(start)
    if grown[1] <= 0 and low is not None and is_exact(LinearForm(low + grown[0])):
        one.add_high(start)


def value_after(start: Known, step: Known, steps: int) -> Known:
    """A carried integer after at most `steps` steps."""
    first, grown = interval_of(start), interval_of(step)
    if first is None or grown is None:
        return None
    return within(first[0] + min(0, grown[0] * steps), first[1] + max(0, grown[1] * steps))


def bound_by_comparison(low: LinearForm, high: LinearForm, carried: set[Variable]) -> None:
    """If one integer is less than another, this bounds a carried one on which the other side does not depend."""
    for one, factor in low.terms.items():
        if one in carried and factor == 1 and not any(other in carried for other in high.terms):
            one.add_high(high - (low - LinearForm(0, {one: 1})) - LinearForm(1))
    for one, factor in high.terms.items():
        if one in carried and factor == 1 and not any(other in carried for other in low.terms):
            one.add_low(low - (high - LinearForm(0, {one: 1})) + LinearForm(1))
