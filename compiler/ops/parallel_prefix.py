"""The steps 1, 2, 4, … by which a scan combines entries (W. D. Hillis and G. L. Steele, 1986), for any length."""

from collections.abc import Iterator
from math import inf
from typing import Any

from ..errors import UndecidedDimError
from ..symbolic_size import assume, min_expr, upper_bound


def prefix_strides(length: Any) -> Iterator[Any]:
    """The powers of 2 below a length.

    How many there are for a symbolic length becomes a guard where a call is observed: the program is for the lengths
    from above one power of 2 to the next. Where sizes are declared there are as many steps as the longest array needs.
    Those that others do not need are as long as the array, so that nothing has an entry that far before it.
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
