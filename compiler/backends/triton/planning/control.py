"""Loops and branches on a GPU: the host runs the iterations, and launches the computation of each.

A loop with a known number of iterations is queued completely. For others the host waits, in each iteration, for the
number that decides.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ....dtypes import BOOL, dtype_named
from ....ir import ArrayType, Call, Graph
from ....op import has_effect
from ....ops.control.loop_params import scan_params, while_params
from ....params import graphs_param
from ..plan import ALIGNED, Plan, ScanStep, Slot, Step, SwitchStep, WhileStep
from ..task import Task

PlanOf: TypeAlias = Callable[[Graph], Plan]
"""Makes a plan of a nested graph."""


def control_task(call: Call, plan_of: PlanOf) -> Task | None:
    """The task of a loop or a branch; None if the call is neither, or NumPy would have to compute in every
    iteration."""
    form = _FORMS.get(call.op)
    return None if form is None or has_effect(call) else form(call, plan_of)


def _scan(call: Call, plan_of: PlanOf) -> Task | None:
    graph, length, consts, carried, reverse, _ = scan_params(call)
    body = plan_of(graph)
    if not _is_on_gpu(body):
        return None
    rows = [slot.type for slot in (*body.inputs[consts + carried :], *body.outputs[carried:])]
    carries = [value.type for value in call.inputs[consts : consts + carried]]

    def steps_at(inputs: Sequence[Slot], outputs: Sequence[Slot], scratch: Sequence[Slot]) -> list[Step]:
        work, spares, staged = scratch[0], scratch[1 : carried + 1], scratch[carried + 1 :]
        sizes = length, reverse, consts, carried
        return [ScanStep(body, *sizes, tuple(inputs), tuple(outputs), work, tuple(spares), tuple(staged))]

    return Task(call.inputs, call.outputs, (_work(body), *carries, *map(_staged, rows)), steps_at)


def _staged(row: ArrayType) -> ArrayType:
    """Where a row is copied to; no memory if it can be read and written in place."""
    return row if row.nbytes % ALIGNED else ArrayType(row.dtype, (0,))


def _while(call: Call, plan_of: PlanOf) -> Task | None:
    cond, step, consts, most = while_params(call)
    condition, body = plan_of(cond), plan_of(step)
    if not (_is_on_gpu(condition) and _is_on_gpu(body)):
        return None
    carries = [value.type for value in call.inputs[consts:]]

    def steps_at(inputs: Sequence[Slot], outputs: Sequence[Slot], scratch: Sequence[Slot]) -> list[Step]:
        goes_on, first, second, *spares = scratch
        plans, works = (condition, body), (first, second)
        return [
            WhileStep(*plans, most, consts, tuple(inputs), tuple(outputs), goes_on, *works, tuple(spares))
        ]

    scratch = (ArrayType(BOOL, ()), _work(condition), _work(body), *carries)
    return Task(call.inputs, call.outputs, scratch, steps_at)


def _switch(call: Call, plan_of: PlanOf) -> Task | None:
    graphs = graphs_param(call)
    branches = tuple(map(plan_of, graphs))
    if not all(map(_is_on_gpu, branches)):
        return None

    def steps_at(inputs: Sequence[Slot], outputs: Sequence[Slot], scratch: Sequence[Slot]) -> list[Step]:
        index, *operands = inputs
        return [SwitchStep(branches, index, tuple(operands), tuple(outputs), scratch[0])]

    largest = max(branches, key=lambda plan: plan.arena_bytes)
    return Task(call.inputs, call.outputs, (_work(largest),), steps_at)


def _work(plan: Plan) -> ArrayType:
    """The arena of a plan that runs as a part of another."""
    return ArrayType(dtype_named("u8"), (plan.arena_bytes,))


def _is_on_gpu(plan: Plan) -> bool:
    return not any(True for _ in plan.host_steps)


_FORMS: dict[str, Callable[[Call, PlanOf], Task | None]] = {
    "scan": _scan,
    "switch": _switch,
    "while_loop": _while,
}
