"""Recompute the values that kernels pass to each other, with everything that they depend on, if that is cheaper.

For one value at a time this never looks worth it, because each is charged with all of its upstream. Together, they
share it. An example is the forces between pairs of bodies, summed along both axes: two kernels that compute all pairs
from a few numbers are faster than one kernel that stores five arrays of pairs for two others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...compiler.ir import Call, Graph, Value
from .cost import LARGEST, Costs, operations
from .group import Group, size_of
from .kernels import fused_calls, is_not_worth_a_kernel
from .plan import Plan, group_calls
from .reasons import Reason
from .shared_axes import is_reduction
from .siblings import merge_siblings
from .traffic import bytes_moved

ATTEMPTS = 4
"""This many sets of values with a common upstream are tried, the largest first."""

LARGE = 1 << 18
"""Sets of fewer bytes stay in the cache between two kernels."""

_BY_PRICE = (Reason.COSTLY, Reason.MORE_BYTES)
"""Why a value is stored although every kernel could recompute it."""


def recompute_upstream(
    graph: Graph, costs: Costs, overwritten: Mapping[Value, Call], *, is_held: bool
) -> Plan:
    """The cheapest plan found: value by value, or with shared values recomputed by each kernel.

    A call in no kernel overwrites the `overwritten` values, and nothing reads them after it; `is_held` as in `Plan`.
    """

    def planned(again: frozenset[Value]) -> Plan:
        plan = group_calls(graph, costs, overwritten=overwritten, again=again, is_held=is_held)
        merge_siblings(plan)
        return plan

    best = planned(frozenset())
    producer = {value: call for call in graph.calls for value in call.outputs}
    sets = _connected(list(_handed_over(best)), producer, costs)[:ATTEMPTS]
    if not sets:
        return best
    price, again = _nanoseconds(best), frozenset[Value]()
    for values in sets:
        for through_sums in (True, False):
            upstream = _upstream(values, producer, costs, through_sums=through_sums)
            if upstream is None:
                continue
            trial = again | upstream
            plan = planned(trial)
            if (found := _nanoseconds(plan)) < price:
                best, price, again = plan, found, trial
                break
    return best


def _handed_over(plan: Plan) -> Iterator[Value]:
    """The values that kernels store for others only because that is cheaper for each alone."""
    kept = set(plan.graph.outputs)
    for unit in plan.units:
        for value in unit.stored if isinstance(unit, Group) else ():
            users = plan.users.get(value, {})
            if value in kept or not all(isinstance(user, Group) for user in users):
                continue
            reasons = [plan.refusals[value, user].reason for user in users if (value, user) in plan.refusals]
            if any(reason in _BY_PRICE for reason in reasons):
                yield value


def _upstream(
    values: list[Value], producer: dict[Value, Call], costs: Costs, *, through_sums: bool
) -> frozenset[Value] | None:
    """The values and everything that loops compute them from; None if that is too much for one of the kernels."""
    cones = [_cone(value, producer, costs, through_sums=through_sums) for value in values]
    return None if any(cone is None for cone in cones) else frozenset[Value]().union(*filter(None, cones))


def _cone(
    value: Value, producer: dict[Value, Call], costs: Costs, *, through_sums: bool
) -> set[Value] | None:
    """A value and everything that loops compute it from; None if no kernel can hold so many calls."""
    found: set[Value] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        call = producer.get(value)
        if value in found or call is None or not costs.is_fusible(call):
            continue
        if is_reduction(call) and not through_sums:
            continue
        found.add(value)
        if len(found) > LARGEST:
            return None
        waiting += call.inputs
    return found


def _connected(values: list[Value], producer: dict[Value, Call], costs: Costs) -> list[list[Value]]:
    """Sets of large values that have upstream calls in common, those with most bytes first."""
    members: dict[int, list[Value]] = {}
    owner: dict[Value, int] = {}
    """The number of a set for each upstream value, or of the set that it has been merged into."""
    part_of: dict[int, int] = {}

    def number_of(value: Value) -> int:
        number = owner[value]
        while number in part_of:
            number = part_of[number]
        return number

    for number, value in enumerate(values):
        cone = _cone(value, producer, costs, through_sums=False)
        if cone is None:
            continue
        joined = sorted({number_of(other) for other in cone if other in owner})
        members[number] = [other for place in joined for other in members.pop(place)] + [value]
        part_of.update(dict.fromkeys(joined, number))
        owner.update(dict.fromkeys(cone, number))
    large = [found for found in members.values() if _nbytes(found) >= LARGE]
    return sorted(large, key=_nbytes, reverse=True)


def _nbytes(values: list[Value]) -> int:
    return sum(value.type.nbytes for value in values)


def _nanoseconds(plan: Plan) -> float:
    """The time of a plan's kernels, by the cost model of fusion."""
    kernels = [
        unit for unit in plan.units if isinstance(unit, Group) and not is_not_worth_a_kernel(unit, plan)
    ]
    moved = bytes_moved(replace(plan.graph, calls=fused_calls(plan)))
    computed = sum(operations(call) * size_of(call) for kernel in kernels for call in kernel.calls)
    repeated = sum(kernel.repeated for kernel in kernels)
    costs = plan.costs
    spent = moved / costs.bytes_per_nanosecond + computed * costs.operation + repeated
    return spent + len(kernels) * costs.launch
