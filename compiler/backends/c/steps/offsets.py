"""The position of an element in an array: C expressions of a number that counts through some of the axes."""

import math
from collections.abc import Sequence
from itertools import pairwise

from ....affine import same
from ....ir import Shape
from ....memory_layout.strides import filled_strides
from ....symbolic_size import is_known, is_none, is_one, max_expr, quotient
from ..sizes import factor_text


def offset_along(shape: Shape, axes: Sequence[int], number: str) -> str:
    """The offset of the element with this number, counted in row-major order along `axes` of an array.

    >>> offset_along((5, 3, 4), (1, 2), "i"), offset_along((5, 3, 4), (0,), "i"), offset_along((5, 3, 4), (2, 0), "i")
    ('i', 'i * 12', 'i / 5 + i % 5 * 12')
    """
    strides = filled_strides(shape)
    return strided_offset([(shape[axis], strides[axis]) for axis in axes], number)


def broadcast_offset(shape: Shape, to: Shape, number: str) -> str:
    """The offset of the element with this number in an operand that is broadcast to the shape `to`.

    >>> broadcast_offset((3, 1), (3, 4), "i"), broadcast_offset((4,), (3, 4), "i"), broadcast_offset((), (3, 4), "i")
    ('i / 4', 'i % 4', '0')
    """
    aligned = (1,) * (len(to) - len(shape)) + shape
    strides = filled_strides(aligned)
    return strided_offset(
        [
            (length, 0 if is_known(dim <= 1) else stride)
            for length, dim, stride in zip(to, aligned, strides, strict=True)
        ],
        number,
    )


def even_distance(shape: Shape, axes: Sequence[int]) -> int | None:
    """The distance of neighbours counted in row-major order along `axes`; None if it is not constant.

    >>> even_distance((5, 3, 4), (0, 1)), even_distance((5, 3, 4), (1, 2)), even_distance((5, 3, 4), (0, 2))
    (4, 1, None)
    """
    strides = filled_strides(shape)
    long = [axis for axis in axes if not is_known(shape[axis] <= 1)]
    if not all(same(strides[outer], shape[inner] * strides[inner]) for outer, inner in pairwise(long)):
        return None
    return strides[long[-1]] if long else 1


def strided_offset(axes: Sequence[tuple[int, int]], number: str) -> str:
    """Σ of digit times stride, where the digits of the number are those of its axes, given as (length, stride)."""
    runs: list[tuple[int, int]] = []  # of adjacent axes
    for length, stride in axes:
        if runs and same(runs[-1][1], length * stride):
            runs[-1] = (runs[-1][0] * length, stride)
        elif not is_known(length <= 1):
            runs.append((length, stride))
    terms: list[str] = []
    within = math.prod(length for length, _ in runs)
    for place, (length, stride) in enumerate(runs):
        within = quotient(within, max_expr(length, 1))
        if not is_none(stride):
            whole = "" if is_known(within <= 1) else f" / {factor_text(within)}"
            digit = f"{number}{whole}" + (f" % {factor_text(length)}" if place else "")
            terms.append(digit if is_one(stride) else f"{digit} * {factor_text(stride)}")
    return " + ".join(terms) or "0"
