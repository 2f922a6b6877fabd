"""What fusion believes that things cost on a target: rough, but the same for all programs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...compiler.analysis.fusible_ops import is_loop_call
from ...compiler.analysis.op_costs import OPERATION, element_cost
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.op import is_view


@dataclass(frozen=True, slots=True)
class Costs:
    """What things cost on a target, in nanoseconds."""

    launch: float
    """Calling one more kernel, and making its output."""
    bytes_per_nanosecond: float
    """What is read or written beside the caches."""
    operation: float
    """An addition of two numbers, if all are busy with such."""
    small: int
    """Up to so many elements it does not matter how many compute them."""
    parallel: int
    """So many outer iterations keep all busy."""
    brief: int
    """Loops of so few elements need not run in parallel."""
    resident: int
    """So many elements that an outer iteration goes over are computed at once: few of these are not slow."""
    again: int
    """So many more bytes may be read if a kernel is saved."""
    held: int
    """Fewer bytes than these may stay in memory for longer than without fusion."""
    registers: int
    """So many, of four bytes, for the numbers of an element that are needed later, or of arrays that are read."""
    can_compute: Callable[[Call], bool]
    """Whether a kernel can hold a call."""
    holds_products: bool
    """Whether a kernel can hold a product of matrices, and what is made of each of its elements."""
    goes_over_rows_once: Callable[[Graph], bool] | None
    """Whether the graph of a kernel computes rows and gathers over all of them, and its kernel does both at once; None
    where no kernel does."""

    def is_fusible(self, call: Call) -> bool:
        """Whether the call may be part of a kernel."""
        if call.op == "concatenate" and len(call.inputs) > PARTS:
            return False
        if call.op == "power" and call.inputs[0].dtype.kind == "i" and not is_number(call.inputs[1]):
            return False  # that no exponent is negative is known of those alone that the kernel holds
        return self.can_compute(call)


CPU: Final = Costs(
    launch=250.0,
    bytes_per_nanosecond=8.0,
    operation=OPERATION,
    small=1 << 15,
    parallel=16,
    brief=64,
    resident=0,
    again=0,
    held=1 << 20,
    registers=1 << 20,
    can_compute=is_loop_call,
    holds_products=False,
    goes_over_rows_once=None,
)
"""Of one thread, which reads past its caches: kernels are loops in C, and what registers do not hold is in a cache."""

LARGEST: Final = 256
"""More calls in one loop help nobody: the compiler runs out of registers, and of time."""

TURNS: Final = 4
"""More sums of all elements, each of what follows from the one before, are not in one kernel: each computes it anew."""

SHARED_TURNS: Final = 8
"""As `TURNS`, of sums in loops that they share: what is cheap is computed anew for each, and the text is as long."""

PARTS: Final = 8
"""More arrays than these are joined by copying each: a loop would ask for every element which one it is in."""


def operations(call: Call) -> float:
    """How many additions one element of the result costs: nothing where it is only another view of memory."""
    return 0.0 if is_view(call) else element_cost(call)


def is_number(value: Value) -> bool:
    """Whether a value is a constant of one element, which a kernel holds itself."""
    return isinstance(value, Constant) and value.type.size == 1
