"""What kernels hand to each other is computed by each of them instead, with all that it needs, if that is cheaper.

Value by value this never looks worth it: each costs all that lies upstream. Together they share that. The forces
between pairs of bodies, summed along both axes, are the example: two kernels that compute all pairs, from a few
numbers each, are faster than one that stores five arrays of pairs for two others.
"""

from collections.abc import Iterator
from dataclasses import replace

from ...compiler.additions import OPERATION
from ...compiler.ir import Call, Graph, Value
from .alignment import is_reduction
from .cost import BYTES_PER_NANOSECOND, LAUNCH, is_fusible, operations
from .group import Group, size_of
from .kernels import fused_calls, stays_calls
from .plan import Plan, group_calls
from .reasons import Reason
from .siblings import merge_siblings
from .traffic import bytes_moved

ATTEMPTS = 4
"""So many sets of values that have their upstream in common are tried, the largest first."""

LARGE = 1 << 18
"""Sets of fewer bytes stay in the cache between two kernels."""

_BY_PRICE = (Reason.COSTLY, Reason.MORE_BYTES)
"""Why a value is stored that every kernel could compute for itself."""


def recompute_upstream(graph: Graph) -> Plan:
    """The cheapest plan found: value by value, or with all that some kernels share computed by each of them."""
    best = _planned(graph, frozenset())
    handed = list(_handed_over(best))
    if not handed:
        return best
    producer = {value: call for call in graph.calls for value in call.outputs}
    price, again = _nanoseconds(best), frozenset[Value]()
    for values in _connected(handed, producer)[:ATTEMPTS]:
        for through_sums in (True, False):
            trial = again | _upstream(values, producer, through_sums=through_sums)
            plan = _planned(graph, trial)
            if (found := _nanoseconds(plan)) < price:
                best, price, again = plan, found, trial
                break
    return best


def _planned(graph: Graph, again: frozenset[Value]) -> Plan:
    plan = group_calls(graph, again=again)
    merge_siblings(plan)
    return plan


def _handed_over(plan: Plan) -> Iterator[Value]:
    """What kernels store for others only because it is cheaper, each taken alone."""
    kept = set(plan.graph.outputs)
    for unit in plan.units:
        for value in unit.stored if isinstance(unit, Group) else ():
            users = plan.users.get(value, {})
            if value in kept or not all(isinstance(user, Group) for user in users):
                continue
            reasons = [plan.refusals[value, user].reason for user in users if (value, user) in plan.refusals]
            if any(reason in _BY_PRICE for reason in reasons):
                yield value


def _upstream(values: list[Value], producer: dict[Value, Call], *, through_sums: bool) -> frozenset[Value]:
    """The values and all that they are computed from by loops."""
    found: set[Value] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        call = producer.get(value)
        if value in found or call is None or not is_fusible(call):
            continue
        if is_reduction(call) and not through_sums:
            continue
        found.add(value)
        waiting += call.inputs
    return frozenset(found)


def _connected(values: list[Value], producer: dict[Value, Call]) -> list[list[Value]]:
    """The values in sets that have calls upstream in common, the large ones, those with most bytes first."""
    sets: list[tuple[list[Value], frozenset[Value]]] = []
    for value in values:
        members, cone = [value], _upstream([value], producer, through_sums=False)
        apart: list[tuple[list[Value], frozenset[Value]]] = []
        for others, upstream in sets:
            if cone & upstream:
                members, cone = [*others, *members], cone | upstream
            else:
                apart.append((others, upstream))
        sets = [*apart, (members, cone)]
    large = [members for members, _ in sets if _nbytes(members) >= LARGE]
    return sorted(large, key=_nbytes, reverse=True)


def _nbytes(values: list[Value]) -> int:
    return sum(value.type.nbytes for value in values)


def _nanoseconds(plan: Plan) -> float:
    """How long the kernels of a plan take, by the same rough costs that all of fusion believes in."""
    kernels = [unit for unit in plan.units if isinstance(unit, Group) and not stays_calls(unit)]
    moved = bytes_moved(replace(plan.graph, calls=fused_calls(plan)))
    computed = sum(operations(call) * size_of(call) for kernel in kernels for call in kernel.calls)
    repeated = sum(kernel.repeated for kernel in kernels)
    return moved / BYTES_PER_NANOSECOND + computed * OPERATION + repeated + len(kernels) * LAUNCH
