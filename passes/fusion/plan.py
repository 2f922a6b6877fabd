"""Which calls of a graph run together: a walk from the results to the inputs.

Every kernel, and every call outside kernels, has a time: the position of the call for which it was started. A value
is computed before the times of all its readers. So kernels can run in the order of their times, and no cycle can
arise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, inf
from typing import TypeAlias

from ...compiler.ir import Call, Graph, Value
from ...compiler.op import Aliasing, is_view, lookup
from .cost import Costs, is_number, operations
from .group import Fit, Group
from .reasons import Reason, Refusal
from .values_computed_once import values_computed_once


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A call outside kernels."""

    time: float
    call: Call


Unit: TypeAlias = Group | Step


@dataclass(slots=True)
class Plan:
    """The kernels and other calls of a graph, and why values between them are not fused."""

    graph: Graph
    costs: Costs
    units: list[Unit] = field(default_factory=list["Unit"])
    users: dict[Value, dict[Unit, None]] = field(default_factory=dict["Value", "dict[Unit, None]"])
    """The units that read a value from memory."""
    refusals: dict[tuple[Value, Unit], Refusal] = field(default_factory=dict["tuple[Value, Unit]", Refusal])
    """Why the call that computes a value is not in a unit that reads it."""
    overwritten: Mapping[Value, float] = field(default_factory=dict["Value", float])
    """The times of the calls that overwrite values."""
    is_held: bool = False
    """Whether a call holds the graph, such as a loop. C may run its calls without Python in between."""

    def is_readable(self, values: Iterable[Value], time: float) -> bool:
        """Whether none of the values is overwritten before this time."""
        return all(self.overwritten.get(value, inf) > time for value in values)

    def in_order(self) -> list[Unit]:
        """The units in an order in which they can run."""
        return sorted(self.units, key=lambda unit: unit.time)


def group_calls(
    graph: Graph,
    costs: Costs,
    *,
    overwritten: Mapping[Value, Call],
    again: frozenset[Value] = frozenset(),
    is_held: bool = False,
) -> Plan:
    """Group the calls of a graph; nested graphs do not change.

    No call reads an `overwritten` value after the call that overwrites it, and that call is in no kernel. Every
    kernel that needs a value in `again` recomputes it if it can, at any cost. `is_held` says whether a call holds the
    graph.
    """
    planner = _Planner(graph, costs, frozenset(overwritten.values()), again)
    times = {call: time for time, call in enumerate(graph.calls)}
    planner.plan.overwritten = {value: times[call] for value, call in overwritten.items()}
    planner.plan.is_held = is_held
    for time in range(len(graph.calls) - 1, -1, -1):
        planner.place(time, graph.calls[time])
    return planner.plan


class _Planner:
    def __init__(self, graph: Graph, costs: Costs, alone: frozenset[Call], always: frozenset[Value]) -> None:
        self.plan = Plan(graph, costs)
        self.costs = costs
        self.alone = alone
        """Calls that could be in a kernel but are not."""
        self.always = always
        """Values that every kernel recomputes."""
        self.outputs = set(graph.outputs)
        self.producer = {value: call for call in graph.calls for value in call.outputs}
        self.time = len(graph.calls)
        """The time of the call that is being placed."""
        self.next_step: float = inf
        """When the next call runs that is in no kernel and is not a view."""
        self.once = values_computed_once(graph, costs)
        """Values of which there must not be two copies."""
        self.again: dict[Value, float] = {}
        """For values that several kernels compute: the operations per element of the value and of the result it is
        computed for."""

    def place(self, time: int, call: Call) -> None:
        """Add a call to kernels, start one, or leave it alone. All users of its results have been placed."""
        self.time = time
        if call in self.alone or not self.costs.is_fusible(call):
            self._leave(time, call)
            self.next_step = time
        elif is_view(call):
            self._place_view(time, call)
        elif not (self._compute_where_used(call) or self._store(call)):
            self._begin(time, call)

    def _place_view(self, time: int, call: Call) -> None:
        """A view costs nothing anywhere: kernels index with it, and other calls get a view of memory."""
        (value,) = call.outputs
        users = self._users(value)
        refused = [user for user in users if not (isinstance(user, Group) and self._try(call, user))]
        if users and not refused and value not in self.outputs:
            return
        op = lookup(call.op)
        is_moved_result = not users and op.aliasing == Aliasing.WHOLE and self.costs.writes_in_any_order
        if (op.keeps_order or is_moved_result) and self._is_computed(call.inputs[0]):
            self._begin(time, call)  # results are returned in row-major order, so a view would be copied
        else:
            self._leave(time, call)

    def _compute_where_used(self, call: Call) -> bool:
        """Add it to all kernels that use it, unless that costs more than storing it."""
        (value,) = call.outputs
        users = self._users(value)
        if not users or value in self.outputs or not all(isinstance(user, Group) for user in users):
            return False
        groups = [user for user in users if isinstance(user, Group)]
        if len(groups) == 1:
            return self._try(call, groups[0])
        if any(group.is_view for group in groups):
            return False
        fits: dict[Group, Fit] = {}
        for group in groups:
            fit = self._fit(call, group, store=False)
            if isinstance(fit, Refusal):
                self.plan.refusals[value, group] = fit
                return False
            fits[group] = fit
        refusal = self._refuse_again(call, groups)
        if refusal is not None:
            self.plan.refusals.update({(value, group): refusal for group in groups})
            return False
        for group, fit in fits.items():
            self._join(call, group, fit, store=False)
        return True

    def _refuse_again(self, call: Call, groups: Sequence[Group]) -> Refusal | None:
        """Why not to compute a result in each of these kernels: it must not differ, or storing it costs less."""
        (value,) = call.outputs
        if value in self.once:
            return Refusal(Reason.CHOSEN, value.type.size)
        if value in self.always:
            return None
        read = [_bytes_to_read(call, group) for group in groups]
        stored = read[0] + len(groups) * value.type.nbytes  # written once, read by all but the first
        if sum(read) > stored + self.costs.again:
            return Refusal(Reason.MORE_BYTES, sum(read) - stored)
        after = (use.call.outputs[0] for group in groups for use in group.reads[value])
        spent = operations(call) + max(self.again.get(result, 0.0) for result in after)
        costs = (len(groups) - 1) * value.type.size * spent * self.costs.operation
        saves = (stored - sum(read)) / self.costs.bytes_per_nanosecond + self.costs.launch
        if costs > saves:
            return Refusal(Reason.COSTLY, costs - saves)
        self.again[value] = spent
        return None

    def _store(self, call: Call) -> bool:
        """Add it, as a further result, to the first kernel that can hold it; the others read it."""
        (value,) = call.outputs
        earlier: list[Group] = []
        for user in sorted(self._users(value), key=lambda unit: unit.time):
            if isinstance(user, Step):
                return False
            if user.is_view:
                self.plan.refusals[value, user] = Refusal(Reason.VIEW, value.type.size)
            elif all(self._can_wait(group, user) for group in earlier) and self._try(call, user, store=True):
                for group in earlier:
                    user_time = user.time
                    group.time = user_time + (floor(user_time) + 1 - user_time) / 2
                return True
            earlier.append(user)
        return False

    def _can_wait(self, group: Group, other: Group) -> bool:
        """Whether a kernel can run after a later one that reads the same values, without more memory in use
        meanwhile."""
        needed = (user.time for value in group.stored for user in self._users(value))
        if min(needed, default=inf) < floor(other.time) + 1:
            return False
        if not self.plan.is_readable(group.reads, other.time):
            return False
        held = sum(value.type.nbytes for value in group.reads if value in self.producer)
        shared = sum(value.type.nbytes for value in group.reads if value in other.reads)
        return held <= shared

    def _try(self, call: Call, group: Group, *, store: bool = False) -> bool:
        fit = self._fit(call, group, store=store)
        if isinstance(fit, Refusal):
            self.plan.refusals.setdefault((call.outputs[0], group), fit)
            return False
        self._join(call, group, fit, store=store)
        return True

    def _fit(self, call: Call, group: Group, *, store: bool) -> Fit | Refusal:
        if not self.plan.is_readable(call.inputs, group.time):
            return Refusal(Reason.OVERWRITTEN, call.outputs[0].type.nbytes)
        growth = self._held_until(group.time, call) - call.outputs[0].type.nbytes
        if growth > self.costs.held and not is_view(call):
            return Refusal(Reason.MEMORY, growth)
        return group.fit(call, store=store, once=call.outputs[0] in self.once)

    def _held_until(self, end: float, call: Call) -> int:
        """The bytes of operands that could be freed now if a later kernel did not need them for this call."""
        if self.next_step > end:
            return 0
        made = {value for value in call.inputs if value in self.producer}
        return sum(value.type.nbytes for value in made if not self._is_needed_at(value, end))

    def _is_needed_at(self, value: Value, end: float) -> bool:
        return value in self.outputs or any(user.time >= end for user in self._users(value))

    def _join(self, call: Call, group: Group, fit: Fit, *, store: bool) -> None:
        group.add(call, fit, store=store)
        del self.plan.users[call.outputs[0]][group]
        self._reads(call, group)

    def _begin(self, time: int, call: Call) -> None:
        group = Group.begun(time, call, self.costs)
        self.plan.units.append(group)
        self._reads(call, group)

    def _leave(self, time: int, call: Call) -> None:
        step = Step(time, call)
        self.plan.units.append(step)
        self._reads(call, step)

    def _reads(self, call: Call, unit: Unit) -> None:
        for value in call.inputs:
            if not is_number(value):
                self.plan.users.setdefault(value, {})[unit] = None

    def _users(self, value: Value) -> list[Unit]:
        return list(self.plan.users.get(value, ()))

    def _is_computed(self, value: Value) -> bool:
        """Whether a kernel computes a value. It can then also compute a view of it, with as many writes, in the same
        order."""
        call = self.producer.get(value)
        while call is not None and lookup(call.op).keeps_order:
            call = self.producer.get(call.inputs[0])
        return call is not None and self.costs.is_fusible(call) and not is_view(call)


def _bytes_to_read(call: Call, group: Group) -> int:
    """What a kernel would have to read for a call in addition to what it already reads."""
    values = {value for value in call.inputs if not is_number(value) and value not in group.reads}
    return sum(value.type.nbytes for value in values)
