"""The work of one element of a call, which loops, their chunks and fusion weigh against memory."""

from collections.abc import Mapping
from typing import Final

from ..ir import Call
from ..op import lookup
from .divisions_by_shifts import shift_of
from .fusible_ops import is_elementwise

OPERATION: Final = 0.1
"""Nanoseconds of an addition of two numbers in a vectorised loop."""

TRANSCENDENTAL: Final = 15.0
"""An element of ``exp``: what costs as much calls the math library, whose vectors may round differently."""
_SPECIAL: Final = 60.0

_BY_FAMILY: Final[Mapping[str, float]] = {
    "arithmetic": 1.0,
    "comparison": 1.0,
    "conversion": 1.0,
    "control": 0.0,
    "elementary": TRANSCENDENTAL,
}
_BY_OP: Final[Mapping[str, float]] = {
    **dict.fromkeys(("divide", "reciprocal", "sqrt", "root_of_squares", "hypot"), 4.0),
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), 8.0),
    **dict.fromkeys(("power", "cbrt", "gcd", "lcm"), 2 * TRANSCENDENTAL),
    "gather": 2.0,
    "iota": 0.0,
}


def element_cost(call: Call) -> float:
    """The approximate cost of one output element, in vectorised additions."""
    if shift_of(call) is not None:
        return 1.0
    if call.op in _BY_OP:
        return _BY_OP[call.op]
    return _BY_FAMILY.get(lookup(call.op).family, _SPECIAL) if is_elementwise(call) else 1.0
