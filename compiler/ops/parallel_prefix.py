"""The steps 1, 2, 4, … in which a scan combines entries (W. D. Hillis and G. L. Steele, 1986), for any length."""

from collections.abc import Iterator
from math import inf
from typing import Any

from ..errors import UndecidedDimError
from ..symbolic_size import assume, min_expr, upper_bound


def prefix_strides(length: Any) -> Iterator[Any]:
    """The powers of 2 below a length.

    For a symbolic length, the number of steps becomes a guard when a call is traced: the program is for lengths
    between two powers of 2. For declared sizes there are as many steps as the longest array needs. A step that a
    shorter array does not need is as long as the array, so that no entry has one that far before it.
    """
    step = 1
    while assume(step < length):
        yield step
        step *= 2
    if assume(step >= length):
        return
    most = upper_bound(length)
    if most == inf:
        raise UndecidedDimError(
            f"a scan in log2({length!r}) steps needs to know how many these can be: add a constraint that gives the "
            f'size a maximum, such as "{length!r} <= 4096"'
        )
    while step < most:
        yield min_expr(step, length)
        step *= 2
