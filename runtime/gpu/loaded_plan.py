"""`LoadedPlan`: the steps of a plan on one device, prepared once, and run on different memory in each call."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ...compiler.backends.triton.plan import (
    CopyStep,
    HostStep,
    LaunchStep,
    Plan,
    Region,
    ScanStep,
    Slot,
    Step,
    SwitchStep,
    WhileStep,
)
from ...compiler.interpreter import evaluate
from ...compiler.ir import Constant
from .by_cupy import compute, is_by_cupy
from .device import Device, Memory
from .kernel import LoadedKernel, PreparedLaunch

Prepared: TypeAlias = Callable[[int], None]
"""A step that can be queued on a stream."""


class LoadedPlan:
    """Queues a plan on the stream of its device. Only one thread at a time runs it: call inside ``with device:``.

    Args:
        plan: what is done.
        kernels: the functions that it launches, by their names in the plan.
        device: where.
        arena: the address of the memory that the plan works in.
        constants: those that lie on the device already, to which others are added.
    """

    def __init__(
        self,
        plan: Plan,
        kernels: Mapping[str, LoadedKernel],
        device: Device,
        arena: int,
        constants: dict[Constant, Memory] | None = None,
    ) -> None:
        self.plan = plan
        self._device = device
        self._arena = arena
        self._constants: dict[Constant, Memory] = {} if constants is None else constants
        for constant in plan.constants:
            if constant not in self._constants:
                self._constants[constant] = device.copy_in(constant.array)
        self._kept = [self._constants[constant] for constant in plan.constants]
        self._inputs: list[int] = [0] * len(plan.inputs)
        """The addresses of the inputs of the current call."""
        self._outputs: list[int] = [0] * len(plan.outputs)
        self._patches: list[tuple[PreparedLaunch, list[tuple[int, int]], list[tuple[int, int]]]] = []
        """For launches: which of its pointers are inputs and outputs."""
        self._kernels = kernels
        self._steps = [self._prepared(step) for step in plan.steps]

    def run(self, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> None:
        """Queue all steps on a stream, with inputs and outputs at these addresses."""
        self._inputs[:], self._outputs[:] = inputs, outputs
        for launch, given, made in self._patches:
            pointers = launch.pointers
            for place, number in given:
                pointers[place] = inputs[number]
            for place, number in made:
                pointers[place] = outputs[number]
        for step in self._steps:
            step(stream)

    def _prepared(self, step: Step) -> Prepared:
        match step:
            case LaunchStep():
                return self._prepared_launch(step)
            case CopyStep():
                return partial(self._copy, step)
            case HostStep():
                return partial(self._compute_by_cupy if is_by_cupy(step) else self._compute_on_host, step)
            case ScanStep():
                return partial(self._scan, step, self._inner(step.body, step.work))
            case WhileStep():
                condition = self._inner(step.condition, step.condition_work)
                return partial(self._while, step, condition, self._inner(step.body, step.body_work))
            case SwitchStep():
                branches = [self._inner(branch, step.work) for branch in step.branches]
                return partial(self._switch, step, branches)

    # ---- memory --------------------------------------------------------------------------------------

    def _pointer(self, slot: Slot) -> int:
        """The address of a slot in the current call."""
        if slot.region is Region.INPUT:
            return self._inputs[slot.at]
        return self._outputs[slot.at] if slot.region is Region.OUTPUT else self._fixed(slot)

    def _pointers(self, slots: Sequence[Slot]) -> list[int]:
        return [self._pointer(slot) for slot in slots]

    def _fixed(self, slot: Slot) -> int:
        """The address of a slot in every call; 0 if it changes."""
        if slot.region is Region.CONSTANT:
            return self._kept[slot.at].pointer
        return self._arena + slot.at if slot.region is Region.ARENA else 0

    # ---- launches, copies, the host ------------------------------------------------------------------

    def _prepared_launch(self, step: LaunchStep) -> Prepared:
        launch = self._kernels[step.function].prepare(
            step.programs,
            [self._fixed(slot) for slot in step.slots],
            [number.value for number in step.numbers],
        )
        given = [(i, slot.at) for i, slot in enumerate(step.slots) if slot.region is Region.INPUT]
        made = [(i, slot.at) for i, slot in enumerate(step.slots) if slot.region is Region.OUTPUT]
        if given or made:
            self._patches.append((launch, given, made))
        return launch

    def _copy(self, step: CopyStep, stream: int) -> None:
        size = step.source.type.nbytes
        self._device.copy(self._pointer(step.target), self._pointer(step.source), size, stream)

    def _compute_by_cupy(self, step: HostStep, stream: int) -> None:
        inputs, outputs = self._pointers(step.inputs), self._pointers(step.outputs)
        try:
            compute(step, inputs, outputs, self._device, stream)
        except ImportError:  # CuPy finds NVIDIA's libraries on its first call to them
            self._compute_on_host(step, stream)

    def _compute_on_host(self, step: HostStep, stream: int) -> None:
        device = self._device
        arrays = [device.copy_out(self._pointer(x), x.type.shape, x.type.dtype) for x in step.inputs]
        with device.left():  # a callback may wait for a thread that uses the GPU
            results = evaluate(step.graph, *arrays)
        for slot, array in zip(step.outputs, results, strict=True):
            device.write(self._pointer(slot), np.require(array, slot.type.dtype, ("C", "A")))

    # ---- loops and choices ---------------------------------------------------------------------------

    def _inner(self, plan: Plan, work: Slot) -> "LoadedPlan":
        """A plan that runs as a part of this one, in a part of its memory."""
        return LoadedPlan(plan, self._kernels, self._device, self._fixed(work), self._constants)

    def _scan(self, step: ScanStep, body: "LoadedPlan", stream: int) -> None:
        """The carry alternates between two places, so that the last iteration writes to the output."""
        copy = self._device.copy
        carries = step.consts + step.carried
        inputs, outputs = self._pointers(step.inputs), self._pointers(step.outputs)
        consts, now = inputs[: step.consts], inputs[step.consts : carries]
        places = outputs[: step.carried], self._pointers(step.spares)
        xs = list(zip(inputs[carries:], body.plan.inputs[carries:], step.staged, strict=False))
        staged_ys = step.staged[len(xs) :]
        ys = list(zip(outputs[step.carried :], body.plan.outputs[step.carried :], staged_ys, strict=True))
        for iteration in range(step.length):
            row = step.length - 1 - iteration if step.reverse else iteration
            then = places[(step.length - 1 - iteration) & 1]
            read = [self._row(start, x, staged, row) for start, x, staged in xs]
            written = [self._row(start, y, staged, row) for start, y, staged in ys]
            for (_, x, _), (source, place) in zip(xs, read, strict=True):
                if place != source:
                    copy(place, source, x.type.nbytes, stream)
            given, made = [place for _, place in read], [place for _, place in written]
            body.run([*consts, *now, *given], [*then, *made], stream)
            for (_, y, _), (target, place) in zip(ys, written, strict=True):
                if place != target:
                    copy(target, place, y.type.nbytes, stream)
            now = then
        if not step.length:
            self._move(now, places[0], step.outputs, stream)

    def _row(self, start: int, row: Slot, staged: Slot, number: int) -> tuple[int, int]:
        """The addresses of the row with this number in its array, and of the body's slot for it."""
        place = start + number * row.type.nbytes
        return place, self._fixed(staged) if staged.type.nbytes else place

    def _while(self, step: WhileStep, condition: "LoadedPlan", body: "LoadedPlan", stream: int) -> None:
        inputs, outputs = self._pointers(step.inputs), self._pointers(step.outputs)
        consts, now = inputs[: step.consts], inputs[step.consts :]
        places = outputs, self._pointers(step.spares)
        iteration = 0
        while iteration != step.most:
            condition.run([*consts, *now], [self._fixed(step.goes_on)], stream)
            if not self._read(step.goes_on):
                break
            then = places[iteration & 1]
            body.run([*consts, *now], then, stream)
            now, iteration = then, iteration + 1
        self._move(now, outputs, step.outputs, stream)

    def _switch(self, step: SwitchStep, branches: Sequence["LoadedPlan"], stream: int) -> None:
        chosen = min(max(self._read(step.index), 0), len(branches) - 1)
        branches[chosen].run(self._pointers(step.inputs), self._pointers(step.outputs), stream)

    def _read(self, slot: Slot) -> int:
        """A number, once the GPU has computed it."""
        return int(self._device.copy_out(self._pointer(slot), (), slot.type.dtype))

    def _move(
        self, sources: Sequence[int], targets: Sequence[int], slots: Sequence[Slot], stream: int
    ) -> None:
        for source, target, slot in zip(sources, targets, slots, strict=False):
            if source != target:
                self._device.copy(target, source, slot.type.nbytes, stream)
