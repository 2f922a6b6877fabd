"""A step under construction: functions from templates, one after another, and the memory that they share."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ....dtypes import DType
from ....ir import ArrayType, Call
from ..kernels.expression import functions_in
from ..kernels.kernel import Launch, TritonKernel
from ..kernels.numbers import Numbers
from ..plan import Number
from .places import needs_wide_offsets
from .step_sizes import StepSizes


@dataclass(slots=True)
class StepWriter:
    """The functions of one call so far."""

    call: Call
    scratch: list[ArrayType] = field(default_factory=list[ArrayType])
    texts: list[str] = field(default_factory=list[str])
    launches: list[Launch] = field(default_factory=list[Launch])

    @property
    def buffers(self) -> tuple[int, ...]:
        """Those of the inputs and outputs."""
        return tuple(range(len(self.call.inputs) + len(self.call.outputs)))

    @property
    def pointers(self) -> str:
        """The parameters of functions that take them: ``x0_ptr, out0_ptr``."""
        inputs = [f"x{number}_ptr" for number in range(len(self.call.inputs))]
        return ", ".join([*inputs, *(f"out{number}_ptr" for number in range(len(self.call.outputs)))])

    def output(self, number: int) -> int:
        """Which buffer an output is."""
        return len(self.call.inputs) + number

    def memory(self, dtype: DType, size: int) -> int:
        """A buffer that functions write for later ones."""
        self.scratch.append(ArrayType(dtype, (size,)))
        return len(self.call.inputs) + len(self.call.outputs) + len(self.scratch) - 1

    def sizes(self, *counts: int) -> StepSizes:
        """The spelling of sizes in the next function, which goes through this many elements of each array."""
        return StepSizes(Numbers.of_step(self.call), needs_wide_offsets(counts))

    def function(self, text: str) -> None:
        """Add a function, which launches run."""
        self.texts.append(text)

    def launch(
        self,
        function: str,
        programs: int,
        warps: int,
        buffers: Iterable[int],
        stages: int = 3,
        numbers: tuple[Number, ...] = (),
    ) -> None:
        """Launch a function, after all earlier launches."""
        self.launches.append(Launch(function, programs, warps, tuple(buffers), stages, numbers=numbers))

    def kernel(self) -> TritonKernel:
        needs = frozenset[str]().union(*map(functions_in, self.texts))
        values = (*self.call.inputs, *self.call.outputs)
        return TritonKernel(
            tuple(self.texts),
            needs,
            tuple(self.launches),
            (*(value.type for value in values), *self.scratch),
            len(self.call.outputs),
        )


def empty_kernel(call: Call) -> TritonKernel:
    """The kernel of a call whose results have no elements."""
    return StepWriter(call).kernel()
