"""`digits_text`: the digits of 2/π that the C functions of far angles multiply with."""

from typing import Final

import mpmath
from mpmath import mp

_WORDS: Final = 19
"""The last digit that a double-precision number needs is the one of weight 2^(−971 − 190)."""
_BITS: Final = 64
_IN_A_LINE: Final = 5


def digits() -> list[int]:
    """0, and the binary digits of 2/π after the point, 64 in each number."""
    with mp.workprec(_BITS * (_WORDS + 2)):
        whole = int(mpmath.floor(mpmath.ldexp(2 / mp.pi, _BITS * _WORDS)))
    return [0, *(whole >> _BITS * place & 2**_BITS - 1 for place in reversed(range(_WORDS)))]


def digits_text() -> str:
    """The rows of the table in C."""
    texts = [f"0x{number:016x}" for number in digits()]
    rows = (texts[first : first + _IN_A_LINE] for first in range(0, len(texts), _IN_A_LINE))
    return "".join(f"        {', '.join(row)},\n" for row in rows)
