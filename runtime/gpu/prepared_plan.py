"""`PreparedPlan`: a plan for arrays of known sizes in its own memory, queued step by step or as a recording."""

from collections.abc import Mapping, Sequence

from ...compiler.backends.triton.plan import Plan
from ...compiler.ir import Constant
from .device import Device, Memory
from .kernel import LoadedKernel
from .loaded_plan import LoadedPlan
from .replay import Replay, is_replayed


class PreparedPlan:
    """Queues a plan: the first time launch by launch; programs of many short launches are recorded when they run
    again.

    Call inside ``with device:``.

    Args:
        plan: what is done, for arrays of known sizes.
        kernels: the functions that it launches, by their names in the plan.
        device: where.
        arena: the memory that it works in, which must live as long as this is run.
        constants: arrays that lie on the device already, to which others are added.
    """

    def __init__(
        self,
        plan: Plan,
        kernels: Mapping[str, LoadedKernel],
        device: Device,
        arena: Memory,
        constants: dict[Constant, Memory],
    ) -> None:
        self.plan = plan
        self._device = device
        self._loaded = LoadedPlan(plan, kernels, device, arena.pointer, constants)
        self._replay: Replay | None = None
        self._is_replayed, self._has_run = is_replayed(plan), False

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Queue it with inputs and outputs at these addresses."""
        if self._is_replayed and self._has_run and self._replay is None:
            self._replay = Replay(self._loaded, self._device)
        (self._replay or self._loaded).run(inputs, outputs, self._device.stream)
        self._has_run = True
