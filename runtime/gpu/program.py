"""`GpuProgram`: a plan with its kernels loaded on one device, ready to be called."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...compiler.backends.triton.plan import Plan, Slot
from .device import Device
from .device_array import DeviceArray
from .kernel import LoadedKernel
from .loaded_plan import LoadedPlan
from .memory import Memory
from .replay import Replay, is_replayed


class GpuProgram:
    """Runs a plan on a device: all launches go to the device's stream, one call of a program after another.

    Arrays of the device go in as they are, and results stay there; if all arguments are NumPy's, they are copied, and
    so are the results. `origin` says what its kernels are, if not code for this device.
    """

    def __init__(
        self, plan: Plan, kernels: Mapping[str, LoadedKernel], device: Device, origin: str = ""
    ) -> None:
        self.plan = plan
        self.device = device
        with device:
            self._arena = device.allocate(plan.arena_bytes)
            self._loaded = LoadedPlan(plan, kernels, device, self._arena.pointer)
        self._replay: Replay | None = None
        self._is_replayed, self._has_run = is_replayed(plan), False
        self._kernels = kernels
        self._is_running = False
        self.origin = origin

    def __str__(self) -> str:
        """What it launches."""
        return f"# {self.origin}\n{self.plan}" if self.origin else str(self.plan)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The results, as `DeviceArray` if an input is one, else as NumPy arrays."""
        with self.device:
            # A callback of its own may call it again, which needs other memory to work in.
            if self._is_running:
                return GpuProgram(self.plan, self._kernels, self.device)(*inputs)
            self._is_running = True
            try:
                return self._results(inputs)
            finally:
                self._is_running = False

    def _results(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        stay = any(isinstance(x, DeviceArray) for x in inputs)
        entered = [self._entered(x, slot) for x, slot in zip(inputs, self.plan.inputs, strict=True)]
        outputs = [self.device.allocate(slot.type.nbytes) for slot in self.plan.outputs]
        self._run([x.pointer for x in entered], [memory.pointer for memory in outputs])
        left = zip(outputs, self.plan.outputs, strict=True)
        return tuple(self._left(memory, slot, stay) for memory, slot in left)

    def _run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """The first time launch by launch; programs of many short launches are recorded when they run again."""
        if self._is_replayed and self._has_run and self._replay is None:
            self._replay = Replay(self._loaded, self.device)
        (self._replay or self._loaded).run(inputs, outputs, self.device.stream)
        self._has_run = True

    def _entered(self, x: Any, slot: Slot) -> DeviceArray | Memory:
        if isinstance(x, DeviceArray):
            return x
        return self.device.copy_in(np.require(x, slot.type.dtype, ("C", "A")))

    def _left(self, memory: Memory, slot: Slot, stays: bool) -> Any:
        if stays:
            return DeviceArray(memory, slot.type.shape, slot.type.dtype)
        array = self.device.copy_out(memory.pointer, slot.type.shape, slot.type.dtype)
        return array if array.ndim else array[()]
