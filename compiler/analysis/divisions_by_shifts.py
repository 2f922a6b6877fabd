"""Divisions of integers that are shifts."""

from ..dtypes import is_integer
from ..ir import Call, Constant


def shift_of(call: Call) -> int | None:
    """k if a call is a quotient or a remainder, rounded down, by the number 2ᵏ of integers; otherwise None.

    In two's complement, ``n // 2**k`` is ``n >> k``, and ``n % 2**k`` is ``n & (2**k - 1)``, also for negative n.
    """
    if call.op not in ("floor_divide", "remainder"):
        return None
    divisor = call.inputs[1]
    if not isinstance(divisor, Constant) or divisor.array.size != 1 or not is_integer(divisor.dtype):
        return None
    number = int(divisor.array.reshape(()))
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None
