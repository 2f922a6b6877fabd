"""`GpuProgram`: a plan with its kernels loaded on one device, ready to be called."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...compiler.backends.triton.plan import CopyStep, HostStep, LaunchStep, Plan, Region, Slot
from ...compiler.trace import evaluate
from .device import Device
from .device_array import DeviceArray
from .kernel import LoadedKernel, PreparedLaunch
from .memory import Memory

Step: TypeAlias = Callable[[], None]


class GpuProgram:
    """Runs a plan on a device: all launches go to the device's stream, one call of a program after another.

    Arrays of the device go in as they are, and results stay there; if all arguments are NumPy's, they are copied, and
    so are the results.
    """

    def __init__(self, plan: Plan, kernels: Mapping[str, LoadedKernel], device: Device) -> None:
        self.plan = plan
        self.device = device
        self._kept = [device.copy_in(constant.array) for constant in plan.constants]
        self._arena = device.allocate(plan.arena_bytes) if plan.arena_bytes else None
        self._given: list[int] = [0] * len(plan.inputs)
        """Where the inputs of the present call lie."""
        self._results: list[int] = [0] * len(plan.outputs)
        self._patches: list[tuple[PreparedLaunch, list[tuple[int, int]], list[tuple[int, int]]]] = []
        """For launches: which of its pointers is which input, and which output."""
        with device:
            self._steps = [self._prepared(step, kernels) for step in plan.steps]

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The results, as `DeviceArray` if an input is one, else as NumPy arrays."""
        with self.device as device:
            entered = [self._entered(x, slot) for x, slot in zip(inputs, self.plan.inputs, strict=True)]
            outputs = [device.allocate(max(1, slot.type.nbytes)) for slot in self.plan.outputs]
            self._given[:] = [x.pointer for x in entered]
            self._results[:] = [memory.pointer for memory in outputs]
            self._patch()
            for step in self._steps:
                step()
            return tuple(
                self._left(memory, slot, any(isinstance(x, DeviceArray) for x in inputs))
                for memory, slot in zip(outputs, self.plan.outputs, strict=True)
            )

    def _entered(self, x: Any, slot: Slot) -> "DeviceArray | Memory":
        if isinstance(x, DeviceArray):
            return x
        return self.device.copy_in(np.require(x, slot.type.dtype, ("C", "A")))

    def _left(self, memory: Memory, slot: Slot, stays: bool) -> Any:
        if stays:
            return DeviceArray(memory, slot.type.shape, slot.type.dtype)
        array = self.device.copy_out(memory.pointer, slot.type.shape, slot.type.dtype)
        return array if array.ndim else array[()]

    # ---- steps ---------------------------------------------------------------------------------------

    def _prepared(self, step: LaunchStep | CopyStep | HostStep, kernels: Mapping[str, LoadedKernel]) -> Step:
        match step:
            case LaunchStep():
                return self._prepared_launch(step, kernels[step.function])
            case CopyStep():
                return partial(self._copy, step)
            case HostStep():
                return partial(self._compute_on_host, step)

    def _prepared_launch(self, step: LaunchStep, kernel: LoadedKernel) -> Step:
        launch = kernel.prepare(step.programs, [self._fixed(slot) for slot in step.slots])
        given = [(i, slot.at) for i, slot in enumerate(step.slots) if slot.region is Region.INPUT]
        made = [(i, slot.at) for i, slot in enumerate(step.slots) if slot.region is Region.OUTPUT]
        if given or made:
            self._patches.append((launch, given, made))
        return partial(launch, self.device.stream)

    def _patch(self) -> None:
        """Let the launches point to the inputs and outputs of this call."""
        for launch, given, made in self._patches:
            pointers = launch.pointers
            for place, number in given:
                pointers[place] = self._given[number]
            for place, number in made:
                pointers[place] = self._results[number]

    def _copy(self, step: CopyStep) -> None:
        if step.source.type.nbytes:
            self.device.copy(self._pointer(step.target), self._pointer(step.source), step.source.type.nbytes)

    def _compute_on_host(self, step: HostStep) -> None:
        arrays = [
            self.device.copy_out(self._pointer(slot), slot.type.shape, slot.type.dtype)
            for slot in step.inputs
        ]
        for slot, array in zip(step.outputs, evaluate(step.graph, *arrays), strict=True):
            self.device.write(self._pointer(slot), np.require(array, slot.type.dtype, ("C", "A")))

    # ---- memory --------------------------------------------------------------------------------------

    def _pointer(self, slot: Slot) -> int:
        if slot.region is Region.INPUT:
            return self._given[slot.at]
        return self._results[slot.at] if slot.region is Region.OUTPUT else self._fixed(slot)

    def _fixed(self, slot: Slot) -> int:
        """Where a slot lies in every call; 0 if that changes."""
        if slot.region is Region.CONSTANT:
            return self._kept[slot.at].pointer
        if slot.region is Region.ARENA:
            assert self._arena is not None
            return self._arena.pointer + slot.at
        return 0
