"""`Replay`: everything that a plan queues, recorded once and replayed by one driver call."""

from collections.abc import Sequence
from typing import Final

from ...compiler.backends.triton.plan import Plan
from .device import Device
from .graph import capture
from .loaded_plan import LoadedPlan

FEWEST: Final = 4
"""Fewer launches than this are as fast when queued one by one."""

MOST: Final = 10_000
"""A larger recording takes long to make, and much memory."""

COPIED: Final = 1 << 20
"""Up to this many bytes of inputs and outputs are copied to and from the places of the recording."""


def is_replayed(plan: Plan) -> bool:
    """Whether a plan consists of many short launches: for long ones the host is fast enough."""
    queued = plan.queued
    copied = sum(slot.type.nbytes for slot in (*plan.inputs, *plan.outputs))
    return queued is not None and FEWEST <= queued <= MOST and copied <= COPIED


class Replay:
    """A plan with its own inputs and outputs, because a recording has fixed pointers."""

    def __init__(self, loaded: LoadedPlan, device: Device) -> None:
        plan = loaded.plan
        self._device = device
        self._sizes = [[slot.type.nbytes for slot in slots] for slots in (plan.inputs, plan.outputs)]
        self._inputs, self._outputs = ([device.allocate(size) for size in sizes] for sizes in self._sizes)
        given, made = ([memory.pointer for memory in each] for each in (self._inputs, self._outputs))
        self._graph = capture(device, lambda stream: loaded.run(given, made, stream))

    def run(self, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> None:
        """Queue everything, with inputs and outputs at these addresses."""
        read, written = self._sizes
        for memory, source, size in zip(self._inputs, inputs, read, strict=True):
            self._device.copy(memory.pointer, source, size, stream)
        self._graph.replay(stream)
        for memory, target, size in zip(self._outputs, outputs, written, strict=True):
            self._device.copy(target, memory.pointer, size, stream)
