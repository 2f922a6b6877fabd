"""The effect of fusion on a graph: its kernels, the bytes that they save, and why other calls were not fused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...compiler.analysis.fusible_ops import PRODUCTS
from ...compiler.ir import Call, Graph, Value, called
from ...compiler.op import is_view
from ...compiler.text.naming import Naming
from .cost import Costs, is_number, operations
from .group import Group
from .kernels import is_not_worth_a_kernel, kernel_call
from .plan import Plan, Unit
from .products import first_refusal
from .reasons import NotFused, Reason, Refusal
from .traffic import bytes_moved, bytes_read, bytes_written


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """One kernel, and what it moves in each run."""

    name: str
    calls: tuple[str, ...]
    """The names of the results that it computes, stored or not, in order."""
    bytes_read: int
    bytes_written: int
    bytes_saved: int
    """How many fewer bytes than its calls would read and write one by one."""

    def __str__(self) -> str:
        moved = f"reads {self.bytes_read:_} bytes, writes {self.bytes_written:_}, saves {self.bytes_saved:_}"
        return f"{self.name}: {moved}: {', '.join(self.calls)}"


@dataclass(frozen=True, slots=True)
class Report:
    """The kernels of a graph in the order in which they run, and every pair of calls that is not in one."""

    graph: str
    """The name of the graph."""
    kernels: tuple[FusedKernel, ...]
    not_fused: tuple[NotFused, ...]
    bytes_before: int
    bytes_after: int
    nested: tuple["Report", ...]
    """Reports of nested graphs."""

    def __str__(self) -> str:
        head = (
            f"{self.graph}: {self.bytes_before:_} bytes moved without kernels, {self.bytes_after:_} with them"
        )
        lines = [head, *(f"  {kernel}" for kernel in self.kernels), *(f"  {pair}" for pair in self.not_fused)]
        return "\n".join([*lines, *map(str, self.nested)])


def report(plan: Plan, fused: Graph, nested: tuple[Report, ...]) -> Report:
    """The report of a plan for its graph, which becomes `fused`."""
    graph = plan.graph
    naming = Naming(graph)
    names = {
        value: name
        for call in graph.calls
        for value, name in zip(call.outputs, naming.make(call), strict=True)
    }
    return Report(
        graph.name,
        tuple(_kernels(plan, names)),
        tuple(_not_fused(plan, fused, names)),
        bytes_moved(graph),
        bytes_moved(fused),
        nested,
    )


def _kernels(plan: Plan, names: Mapping[Value, str]) -> Iterator[FusedKernel]:
    position = {call: index for index, call in enumerate(plan.graph.calls)}
    for unit in plan.in_order():
        if not isinstance(unit, Group) or is_not_worth_a_kernel(unit, plan):
            continue
        members = sorted(unit.calls, key=position.__getitem__)
        kernel = kernel_call(members, unit.stored, {})
        (inside,) = called((kernel,))
        read, written = bytes_read(kernel), bytes_written(kernel)
        alone = sum(bytes_read(call) + bytes_written(call) for call in members)
        computed = tuple(names[call.outputs[0]] for call in members)
        yield FusedKernel(inside.name, computed, read, written, alone - read - written)


def _not_fused(plan: Plan, fused: Graph, names: Mapping[Value, str]) -> Iterator[NotFused]:
    maker = {value: call for call in plan.graph.calls for value in call.outputs}
    for unit in plan.in_order():
        for value, users in _operands(unit).items():
            if value not in maker or not (
                plan.costs.is_fusible(maker[value]) or _could_be_fused(unit, plan.costs)
            ):
                continue
            refusal = plan.refusals.get((value, unit)) or _evident(value, maker[value], unit, plan.costs)
            if plan.costs.holds_products and maker[value].op in PRODUCTS:
                apart = first_refusal(fused, value)
                if apart is None:
                    continue
                refusal = apart
            for user in users:
                consumer = names[user.outputs[0]] if user.outputs else user.op
                yield NotFused(names[value], consumer, refusal.reason, refusal.number, value, user)
        if isinstance(unit, Group) and is_not_worth_a_kernel(unit, plan):
            yield from _left_apart(unit, maker, names)


def _left_apart(group: Group, maker: Mapping[Value, Call], names: Mapping[Value, str]) -> Iterator[NotFused]:
    """The pairs of calls that could have been in one kernel."""
    reason = Reason.VIEW if group.is_view else Reason.NUMBERS
    for call in group.calls:
        for value in call.inputs:
            if value in maker and maker[value] in group.calls:
                number = value.type.size if group.is_view else sum(map(operations, group.calls))
                yield NotFused(names[value], names[call.outputs[0]], reason, number, value, call)


def _operands(unit: Unit) -> dict[Value, dict[Call, None]]:
    """The values that a unit reads, and the calls for which it does."""
    if isinstance(unit, Group):
        return {value: {use.call: None for use in uses} for value, uses in unit.reads.items()}
    return {value: {unit.call: None} for value in unit.call.inputs if not is_number(value)}


def _could_be_fused(unit: Unit, costs: Costs) -> bool:
    return isinstance(unit, Group) or costs.is_fusible(unit.call)


def _evident(value: Value, maker: Call, unit: Unit, costs: Costs) -> Refusal:
    """Why a pair that was never considered is not fused."""
    if is_view(maker) or (unit.is_view if isinstance(unit, Group) else is_view(unit.call)):
        return Refusal(Reason.VIEW, value.type.size)
    if isinstance(unit, Group) and costs.is_fusible(maker):
        return Refusal(Reason.STORED, value.type.nbytes)
    return Refusal(Reason.LIBRARY_CALL, value.type.nbytes)
