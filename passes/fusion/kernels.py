"""From a plan to calls: every group becomes a call of `kernel` with a graph."""

from collections.abc import Iterable, Mapping, Sequence

from ...compiler.analysis.fusible_ops import PRODUCTS, REDUCTIONS
from ...compiler.ir import Call, Graph, Value
from ...compiler.op import is_move, is_view
from .cost import is_number, operations
from .group import Group
from .plan import Plan

LONGEST_NAME = 3
"""How many ops appear in the name of a kernel."""

CHEAP_NUMBERS = 8.0
"""Python computes single numbers with up to this many operations faster than a kernel."""


def fused_calls(plan: Plan) -> tuple[Call, ...]:
    """The graph with each group of calls replaced by a call of `kernel`."""
    position = {call: index for index, call in enumerate(plan.graph.calls)}
    names = names_of(plan.graph)
    calls: dict[Call, None] = {}
    for unit in plan.in_order():
        if not isinstance(unit, Group):
            calls[unit.call] = None
            continue
        members = sorted(unit.calls, key=position.__getitem__)
        if is_not_worth_a_kernel(unit, plan):
            calls.update(dict.fromkeys(members))
        else:
            calls[kernel_call(members, unit.stored, names)] = None
    return tuple(calls)


def names_of(graph: Graph) -> dict[Value, str]:
    """The names of a kernel's inputs."""
    names = {value: call.op for call in graph.calls for value in call.outputs}
    names.update(zip(graph.inputs, graph.input_names, strict=True))
    return names


def is_not_worth_a_kernel(group: Group, plan: Plan) -> bool:
    """Whether a kernel gains nothing: views of arrays in memory, and a few operations on single numbers.

    In the step of a loop, several of these become one kernel, so that C keeps intermediate values in registers.
    """
    if group.is_view:
        return True
    if plan.is_held and len(group.calls) > 1:
        return False
    values = [value for call in group.calls for value in (*call.inputs, *call.outputs)]
    return all(value.ndim == 0 for value in values) and sum(map(operations, group.calls)) <= CHEAP_NUMBERS


def kernel_call(members: Sequence[Call], stored: Iterable[Value], names: Mapping[Value, str]) -> Call:
    """The call of a kernel that computes the stored results by calls in order."""
    inside: dict[Value, Value] = {}
    taken: dict[Value, str] = {}
    calls: list[Call] = []
    for call in members:
        for value in call.inputs:
            if value not in inside and not is_number(value):
                inside[value] = Value(value.type)
                taken[value] = names.get(value, "constant")
        (value,) = call.outputs
        inside[value] = Value(value.type)
        inputs = tuple([inside.get(operand, operand) for operand in call.inputs])
        calls.append(Call(call.op, inputs, call.params, (inside[value],), call.location))
    made = {value: place for place, call in enumerate(members) for value in call.outputs}
    stored = tuple(sorted(stored, key=made.__getitem__))
    graph = Graph(
        kernel_name(members),
        tuple(inside[value] for value in taken),
        tuple(calls),
        tuple(inside[value] for value in stored),
        tuple(taken.values()),
    )
    return Call("kernel", tuple(taken), {"graph": graph}, stored, members[-1].location)


def kernel_name(calls: Iterable[Call]) -> str:
    """``kernel_max_exp_sum``: named after the reductions and the most expensive ops, in order."""
    calls = [call for call in calls if not is_view(call)]
    heavy = [call.op for call in calls if call.op in REDUCTIONS | PRODUCTS or operations(call) > 1.0]
    light = [call.op for call in calls if not is_move(call)]
    ops = list(dict.fromkeys(heavy or light or [call.op for call in calls]))
    if len(ops) > LONGEST_NAME:
        ops = [*ops[: LONGEST_NAME - 1], ops[-1]]
    return "_".join(["kernel", *ops])
