"""What fusion believes that things cost, in nanoseconds of one thread: rough, but the same for all backends."""

from typing import Final

from ...compiler.additions import additions
from ...compiler.ir import Call, Constant, Value
from ...compiler.kernel import is_loop_call
from ...compiler.memory_plan import VIEWS

LAUNCH: Final = 250.0
"""Calling one more kernel, and making its output."""

BYTES_PER_NANOSECOND: Final = 8.0
"""What one core reads or writes beside its caches."""

SMALL: Final = 1 << 15
"""Up to so many elements one thread is as fast as several."""

PARALLEL: Final = 16
"""So many outer iterations keep all threads busy."""

BRIEF: Final = 64
"""Loops of so few elements need not run in parallel."""

HELD: Final = 1 << 20
"""Fewer bytes than these may stay in memory for longer than without fusion."""

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
    return 0.0 if call.op in VIEWS else additions(call)


def is_fusible(call: Call) -> bool:
    """Whether the call may be part of a kernel."""
    if call.op == "concatenate" and len(call.inputs) > PARTS:
        return False
    if call.op == "power" and call.inputs[0].dtype.kind == "i" and not is_number(call.inputs[1]):
        return False  # that no exponent is negative is known of those alone that the kernel holds
    return is_loop_call(call)


def is_number(value: Value) -> bool:
    """Whether a value is a constant of one element, which a kernel holds itself."""
    return isinstance(value, Constant) and value.type.size == 1


def is_view(call: Call) -> bool:
    """Whether the result costs nothing if the operand is in memory."""
    return call.op in VIEWS
