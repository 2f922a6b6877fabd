"""`GpuProgram`: a plan with its kernels loaded on one device, ready to be called."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...compiler.backends.triton.plan import ALIGNED, Plan, Slot
from ...compiler.ir import Constant
from ...compiler.shapes.arguments.solving import SizeReader
from .device import Device, Memory
from .device_array import DeviceArray
from .fixed_plan import fixed_plan
from .kernel import LoadedKernel
from .prepared_plan import PreparedPlan

MOST: Final = 64
"""Launches are kept prepared for this many shapes of arguments."""

Shapes: TypeAlias = tuple[tuple[int, ...], ...]


class GpuProgram:
    """Runs a plan on a device: all launches go to the device's stream, one call of a program after another.

    Arrays of the device are used directly, and results stay there. If all arguments are NumPy arrays, they are
    copied, and so are the results. `origin` says what its kernels are, if not code for this device. A plan with named
    sizes is prepared for the sizes of each call, and kept for the most recent shapes.
    """

    def __init__(
        self, plan: Plan, kernels: Mapping[str, LoadedKernel], device: Device, origin: str = ""
    ) -> None:
        self.plan = plan
        self.device = device
        self._kernels = kernels
        self._constants: dict[Constant, Memory] = {}
        self._kept: OrderedDict[Shapes, PreparedPlan] = OrderedDict()
        """By the shapes of arguments, the most recent ones at the end."""
        self._sizes: SizeReader | None = None
        with device:
            if plan.is_symbolic:
                names, shapes = [slot.name for slot in plan.inputs], [slot.type.shape for slot in plan.inputs]
                self._sizes = SizeReader(names, shapes)
                self._arena = device.allocate(0)
            else:
                self._arena = device.allocate(plan.arena_bytes)
                self._known = self._prepared(plan)
        self._is_running = False
        self.origin = origin

    def __str__(self) -> str:
        """Its launches."""
        return f"# {self.origin}\n{self.plan}" if self.origin else str(self.plan)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The results, as `DeviceArray` if an input is one, otherwise as NumPy arrays."""
        with self.device:
            # A callback inside it may call it again, which needs another workspace.
            if self._is_running:
                return GpuProgram(self.plan, self._kernels, self.device)(*inputs)
            self._is_running = True
            try:
                return self._results(inputs)
            finally:
                self._is_running = False

    def _results(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        stay = any(isinstance(x, DeviceArray) for x in inputs)
        prepared = self._known if self._sizes is None else self._for_sizes(inputs, self._sizes)
        plan = prepared.plan
        entered = [self._entered(x, slot) for x, slot in zip(inputs, plan.inputs, strict=True)]
        outputs = [self.device.allocate(slot.type.nbytes) for slot in plan.outputs]
        prepared.run([x.pointer for x in entered], [memory.pointer for memory in outputs])
        left = zip(outputs, plan.outputs, strict=True)
        return tuple(self._left(memory, slot, stay) for memory, slot in left)

    def _prepared(self, plan: Plan) -> PreparedPlan:
        return PreparedPlan(plan, self._kernels, self.device, self._arena, self._constants)

    def _for_sizes(self, inputs: Sequence[Any], reader: SizeReader) -> PreparedPlan:
        """The plan for arguments of these sizes."""
        shapes: Shapes = tuple(tuple(np.shape(x)) for x in inputs)
        found = self._kept.get(shapes)
        if found is not None:
            self._kept.move_to_end(shapes)
            return found
        plan = fixed_plan(self.plan, reader.read(shapes))
        if plan.arena_bytes > self._arena.nbytes:
            self._kept.clear()  # prepared plans use the old one
            self._arena = self.device.allocate(plan.arena_bytes)
        found = self._kept[shapes] = self._prepared(plan)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return found

    def _entered(self, x: Any, slot: Slot) -> DeviceArray | Memory:
        if isinstance(x, DeviceArray):  # memory of another library may have any alignment
            return x if x.pointer % ALIGNED == 0 else self.device.copied(x.pointer, x.nbytes)
        return self.device.copy_in(np.require(x, slot.type.dtype, ("C", "A")))

    def _left(self, memory: Memory, slot: Slot, stays: bool) -> Any:
        if stays:
            return DeviceArray(memory, slot.type.shape, slot.type.dtype)
        array = self.device.copy_out(memory.pointer, slot.type.shape, slot.type.dtype)
        return array if array.ndim else array[()]
