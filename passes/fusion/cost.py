"""The cost model of fusion for a target: rough, but the same for all programs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...compiler.analysis.fusible_ops import is_loop_call
from ...compiler.analysis.op_costs import OPERATION, element_cost
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.op import is_view, moved_inputs


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs on a target, in nanoseconds."""

    launch: float
    """Calling one more kernel and allocating its output."""
    bytes_per_nanosecond: float
    """Memory bandwidth, for reads and writes that miss the caches."""
    operation: float
    """An addition of two numbers, if all cores are busy with additions."""
    small: int
    """Up to this many elements, parallelism does not matter."""
    parallel: int
    """This many outer iterations keep all cores busy."""
    brief: int
    """Loops of at most this many elements need not run in parallel."""
    resident: int
    """The elements of an outer iteration that are computed at once: fewer than this are not slow."""
    again: int
    """This many additional bytes may be read if it saves a kernel."""
    held: int
    """At most this many bytes may stay in memory longer than without fusion."""
    registers: int
    """Registers of four bytes for values of an element that are needed later, or for arrays that are read."""
    can_compute: Callable[[Call], bool]
    """Whether a kernel can hold a call."""
    holds_products: bool
    """Whether a kernel can hold a matrix product and compute with each of its elements."""
    combines_in_passing: bool
    """Whether the loops of a kernel can also find whether any of the elements they read is true, or the largest one,
    although they run over rows."""
    writes_in_any_order: bool
    """Whether a kernel is as fast if it also transposes or flips its result: it goes over a transposed one in tiles."""
    goes_over_rows_once: Callable[[Graph], bool] | None
    """Whether the kernel of this graph computes rows and accumulates over all of them in one pass; None if kernels
    cannot."""

    def is_fusible(self, call: Call) -> bool:
        """Whether the call may be part of a kernel."""
        if len(moved_inputs(call)) > PARTS:
            return False
        if call.op == "power" and call.inputs[0].dtype.kind == "i" and not is_number(call.inputs[1]):
            return False  # only the kernel itself knows that no exponent is negative
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
    combines_in_passing=True,
    writes_in_any_order=True,
    goes_over_rows_once=None,
)
"""For one thread that reads past its caches. Kernels are C loops, and values that do not fit into registers are in a
cache."""

LARGEST: Final = 128
"""More statements in one loop do not help: the compiler runs out of registers and takes too long. A chain of 300
different functions and its gradient take a fifth of the time of kernels of 256 statements, and half of gcc's."""

MOST_PARTS: Final = 64
"""More writes to parts of one array do not share a kernel: each is a branch within the branch of the one before."""

STAGES: Final = 4
"""More consecutive sums over all elements, each depending on the one before, do not share a kernel, because each
recomputes its operands."""

SHARED_STAGES: Final = 8
"""Like `STAGES`, for sums in shared loops: cheap values are recomputed for each, and the text is as long."""

PARTS: Final = 8
"""More arrays than this are joined by copying each: a loop would have to find the array of every element."""


def operations(call: Call) -> float:
    """How many additions one element of the result costs; 0 if it is only another view of memory."""
    return 0.0 if is_view(call) else element_cost(call)


def is_number(value: Value) -> bool:
    """Whether a value is a constant of one element, which a kernel contains."""
    return isinstance(value, Constant) and value.type.size == 1
