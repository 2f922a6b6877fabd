"""Merge kernels that go over the same elements and do not need each other, so that they read shared values once."""

from math import prod

from ...compiler.analysis.fusible_ops import combines_everything, reduced_axes
from ...compiler.ir import Call, Shape, Value, called
from .cost import LARGEST
from .group import Group, registers_of, size_of
from .kernels import kernel_call
from .plan import Plan
from .shared_axes import common_prefix, is_reduction, long_axes, reduces_last_axes

ATTEMPTS = 4
"""A kernel is compared with this many earlier kernels that read the same value."""


def merge_siblings(plan: Plan) -> None:
    """Merge pairs of kernels that read the same value, if this moves fewer bytes and needs no more memory."""
    _Merger(plan).run()


class _Merger:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.producer = {value: call for call in plan.graph.calls for value in call.outputs}
        self.outputs = set(plan.graph.outputs)
        self.made: dict[Value, float] = {}
        for unit in plan.units:
            stored = unit.stored if isinstance(unit, Group) else unit.call.outputs
            self.made.update(dict.fromkeys(stored, unit.time))
        self.gone: set[Group] = set()

    def run(self) -> None:
        for users in list(self.plan.users.values()):
            if len(users) > 1:
                self._merge_among([unit for unit in users if isinstance(unit, Group)])
        if self.plan.costs.goes_over_rows_once is not None:
            self._merge_with_makers()
        if self.gone:
            self.plan.units = [unit for unit in self.plan.units if unit not in self.gone]

    def _merge_with_makers(self) -> None:
        """Let a kernel that accumulates over all rows do so where the rows are computed."""
        for maker in [unit for unit in self.plan.units if isinstance(unit, Group)]:
            for value in list(maker.stored):
                users = [unit for unit in self.plan.users.get(value, ()) if isinstance(unit, Group)]
                if users and maker not in self.gone:
                    self._merge_among([maker, *users])

    def _merge_among(self, groups: list[Group]) -> None:
        kept: list[Group] = []
        for group in sorted(groups, key=lambda group: group.time):
            if group in self.gone or not any(self._merge(other, group) for other in kept[-ATTEMPTS:]):
                kept.append(group)

    def _merge(self, first: Group, second: Group) -> bool:
        """Merge the calls of `second` into `first`, if that is possible and worth it."""
        time = self._time(first, second)
        if time is None or not self.plan.is_readable((*first.reads, *second.reads), time):
            return False
        is_independent = not any(value in second.reads for value in first.stored)
        if not (is_independent and _fit_together(first, second)) and not self._goes_over_rows_once(
            first, second
        ):
            return False
        first.time = time
        first.calls.update(second.calls)
        first.stored += second.stored
        first.work += second.work
        first.repeated += second.repeated
        first.largest = max(first.largest, second.largest, key=size_of)
        self.made.update(dict.fromkeys(first.stored, time))
        for value, uses in second.reads.items():
            del self.plan.users[value][second]
            if value in self.producer and self.producer[value] in first.calls:
                if value in first.stored and not self._is_needed(value):  # the second may compute it as well
                    first.stored.remove(value)
                continue
            self.plan.users[value][first] = None
            first.reads.setdefault(value, []).extend(uses)
            if (value, second) in self.plan.refusals:
                self.plan.refusals[value, first] = self.plan.refusals[value, second]
        for call in second.calls:
            if first.reads.pop(call.outputs[0], None) is not None:
                del self.plan.users[call.outputs[0]][first]
        self.gone.add(second)
        return True

    def _goes_over_rows_once(self, first: Group, second: Group) -> bool:
        """Whether one kernel computes rows, the other accumulates over all rows, and one kernel can do both."""
        is_one_pass = first.costs.goes_over_rows_once
        if is_one_pass is None or first.is_view or second.is_view:
            return False
        if not any(map(_gathers_over_rows, (*first.calls, *second.calls))):
            return False
        calls = {**first.calls, **second.calls}
        if len(calls) > LARGEST or registers_of({**first.reads, **second.reads}) > first.costs.registers:
            return False
        members = [call for call in self.plan.graph.calls if call in calls]
        both = Group(first.time, first.costs, first.largest, calls, [*first.stored, *second.stored])
        (graph,) = called((kernel_call(members, both.stored, {}),))
        return is_one_pass(graph)

    def _is_needed(self, value: Value) -> bool:
        """Whether anything but the kernel that computes it needs a value."""
        return value in self.outputs or bool(self.plan.users.get(value))

    def _time(self, first: Group, second: Group) -> float | None:
        """When both can run; None if they cannot, or if memory would be in use too long.

        Values that the first computes and the second reads do not count.
        """
        shared = sum(value.type.nbytes for value in (*first.reads, *first.stored) if value in second.reads)
        if (
            max((self.made.get(v, -1) for v in second.reads if v not in first.stored), default=-1)
            < first.time
        ):
            early = sum(value.type.nbytes for value in second.stored)
            return first.time if early <= shared else None
        if min(self._needed_at(value, besides=second) for value in first.stored) > second.time:
            late = sum(value.type.nbytes for value in first.reads) - shared
            return second.time if late <= shared else None
        return None

    def _needed_at(self, value: Value, besides: Group) -> float:
        users = self.plan.users.get(value, ())
        return min((unit.time for unit in users if unit is not besides), default=len(self.plan.graph.calls))


def _gathers_over_rows(call: Call) -> bool:
    """Whether a reduction goes over the first axes."""
    return is_reduction(call) and all(dim == 1 for dim in call.inputs[0].shape[: min(reduced_axes(call))])


def _fit_together(first: Group, second: Group) -> bool:
    if first.is_view or second.is_view or len(first.calls) + len(second.calls) > LARGEST:
        return False
    if registers_of({**first.reads, **second.reads}) > first.costs.registers:
        return False
    (shape, axes), (other_shape, other_axes) = _space(first), _space(second)
    if shape != other_shape:
        return False
    if first.work + second.work <= first.costs.small:
        return True
    if first.costs.combines_in_passing and (_combines_everything(first) or _combines_everything(second)):
        return True
    shapes = [long_axes(value.shape) for value in (*first.stored, *second.stored)]
    if axes != other_axes:
        return False
    if all(shape == shapes[0] for shape in shapes):
        return True
    return prod(common_prefix(shapes)) >= first.costs.parallel


def _combines_everything(group: Group) -> bool:
    """Whether a kernel combines all elements to one, with the same result in any order. If so, it can do that in the
    loops of any other kernel."""
    return combines_everything(group.largest) and all(value.type.size == 1 for value in group.stored)


def _space(group: Group) -> tuple[Shape, tuple[int, ...]]:
    """The shape of the largest loops of a kernel, and the axes that they sum over unless they are the last ones."""
    call = group.largest
    if not is_reduction(call):
        return long_axes(call.outputs[0].shape), ()
    shape = call.inputs[0].shape
    return long_axes(shape), () if reduces_last_axes(call) else _reduced_long_axes(call)


def _reduced_long_axes(call: Call) -> tuple[int, ...]:
    axes = reduced_axes(call)
    long = [axis for axis, dim in enumerate(call.inputs[0].shape) if dim != 1]
    return tuple(place for place, axis in enumerate(long) if axis in axes)
