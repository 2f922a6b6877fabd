"""Cumulative sums, products, extrema and log-sums along an axis, from the front or, reversed, from the back."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import INT64, kind
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Value
from ...op import JvpRule, Meaning, Op, TransposeRule, not_linear, register
from ...symbolic_size import is_known
from ...value_ops import (
    add,
    broadcast_to,
    concatenate,
    elementwise,
    equal,
    exp,
    flip,
    full,
    iota,
    logical_and,
    logical_not,
    logical_or,
    multiply,
    reshape,
    slice_axis,
    subtract,
    take_along_axis,
    where,
)
from ..batch_axes import batch_along_axis
from ..parallel_prefix import prefix_strides

FAMILY = "cumulative"

Forward = Callable[[Value, Value, Value, int], Value]
"""``tangent(x, dx, out, axis)`` of a scan from the front."""


def _from_the_front(rule: Forward) -> JvpRule:
    """A JVP rule for both directions: a scan from the back is a scan from the front of the reversed array."""

    def jvp(
        inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value], axis: int, reverse: bool
    ) -> Value:
        (x,), (dx,), (out,) = inputs, tangents, outputs
        if not reverse:
            return rule(x, dx, out, axis)
        x, dx, out = (flip(value, (axis,)) for value in (x, dx, out))
        return flip(rule(x, dx, out, axis), (axis,))

    return jvp


def _cumulative(
    name: str, numpy: Meaning, jvp: JvpRule, transpose: TransposeRule = not_linear, *, kinds: str, doc: str
) -> None:
    def type_rule(x: ArrayType, axis: int, reverse: bool) -> ArrayType:
        if kind(x.dtype) not in kinds:
            raise DTypeError(f"{name} is not defined for {x}")
        if not 0 <= axis < x.ndim:
            raise ShapeError(f"{name}: axis {axis} is out of range for {x}")
        return x

    batch = batch_along_axis(name)
    register(Op(name, FAMILY, type_rule, numpy, jvp, transpose, batch, spelling=None, effect=None, doc=doc))


# ---- sum -------------------------------------------------------------------------------------------


def _cumsum_numpy(x: Any, axis: Any, reverse: Any) -> Any:
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis, x.dtype), axis)
    return np.cumsum(x, axis, x.dtype)


_cumulative(
    "cumsum",
    _cumsum_numpy,
    lambda inputs, tangents, outputs, **params: bind("cumsum", tangents[0], **params),
    lambda cotangents, inputs, axis, reverse: bind("cumsum", cotangents[0], axis=axis, reverse=not reverse),
    kinds="iufc",
    doc="The sum of the entries so far, in the dtype of x.",
)


# ---- product ---------------------------------------------------------------------------------------


def _cumprod_numpy(x: Any, axis: Any, reverse: Any) -> Any:
    if reverse:
        return np.flip(np.cumprod(np.flip(x, axis), axis, x.dtype), axis)
    return np.cumprod(x, axis, x.dtype)


def _parts(x: Value, step: int, axis: int) -> tuple[Value, Value, Value]:
    """The entries with nothing `step` before them; the others; and for each of these the one before."""
    length = x.shape[axis]
    return (
        slice_axis(x, 0, step, axis),
        slice_axis(x, step, length, axis),
        slice_axis(x, 0, length - step, axis),
    )


def _cumprod_tangent(x: Value, dx: Value, out: Value, axis: int) -> Value:
    """Pairs of a product and its tangent, combined by the product rule in log n doubling steps.

    Nothing is divided, so entries that are 0 are exact.
    """
    for step in prefix_strides(x.shape[axis]):
        first, late, early = _parts(x, step, axis)
        dfirst, dlate, dearly = _parts(dx, step, axis)
        dx = concatenate([dfirst, add(multiply(dlate, early), multiply(dearly, late))], axis)
        x = concatenate([first, multiply(early, late)], axis)
    return dx


_cumulative(
    "cumprod",
    _cumprod_numpy,
    _from_the_front(_cumprod_tangent),
    kinds="iufc",
    doc="The product of the entries so far, in the dtype of x. Its derivative is exact where entries are 0.",
)


# ---- extrema ---------------------------------------------------------------------------------------


def _cummax_numpy(x: Any, axis: Any, reverse: Any) -> Any:
    if reverse:
        return np.flip(np.maximum.accumulate(np.flip(x, axis), axis), axis)
    return np.maximum.accumulate(x, axis)


def _cummin_numpy(x: Any, axis: Any, reverse: Any) -> Any:
    if reverse:
        return np.flip(np.minimum.accumulate(np.flip(x, axis), axis), axis)
    return np.minimum.accumulate(x, axis)


def _extremum_tangent(x: Value, dx: Value, out: Value, axis: int) -> Value:
    """The tangent of the entry that first attained the extremum: where the output last changed."""
    length = x.shape[axis]
    if is_known(length < 2):
        return dx
    _, late, early = _parts(out, 1, axis)
    both_nan = logical_and(elementwise("isnan", early), elementwise("isnan", late))
    changed = logical_not(logical_or(equal(early, late), both_nan))
    start = full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), 0, INT64)
    place = reshape(slice_axis(iota(length, INT64), 1, length, 0), (length - 1, *(1,) * (x.ndim - 1 - axis)))
    record = concatenate([start, broadcast_to(where(changed, place, 0), late.shape)], axis)
    return take_along_axis(dx, bind("cummax", record, axis=axis, reverse=False), axis)


_cumulative("cummax", _cummax_numpy, _from_the_front(_extremum_tangent), kinds="biuf",
            doc="The largest entry so far; NaN from the first NaN on. The derivative is that of the first "
            "entry that attains it.")  # fmt: skip
_cumulative("cummin", _cummin_numpy, _from_the_front(_extremum_tangent), kinds="biuf",
            doc="The smallest entry so far; NaN from the first NaN on. The derivative is that of the first "
            "entry that attains it.")  # fmt: skip


# ---- log-sum-exp -----------------------------------------------------------------------------------


def _cumlogsumexp_numpy(x: Any, axis: Any, reverse: Any) -> Any:
    if reverse:
        return np.flip(np.logaddexp.accumulate(np.flip(x, axis), axis), axis)
    return np.logaddexp.accumulate(x, axis)


def _cumlogsumexp_tangent(x: Value, dx: Value, out: Value, axis: int) -> Value:
    """Σ exp(xⱼ − outᵢ) dxⱼ over j ≤ i, in doubling steps.

    A sum up to j contributes with exp(outⱼ − outᵢ) ≤ 1 at i, so nothing overflows. If the sum is still 0 (out = −∞),
    the derivative is 0.
    """
    safe = where(equal(out, -np.inf), 0, out)
    total = multiply(dx, exp(subtract(x, safe)))
    for step in prefix_strides(x.shape[axis]):
        first, late, early = _parts(total, step, axis)
        weight = exp(subtract(_parts(out, step, axis)[2], _parts(safe, step, axis)[1]))
        total = concatenate([first, add(late, multiply(early, weight))], axis)
    return total


_cumulative(
    "cumlogsumexp",
    _cumlogsumexp_numpy,
    _from_the_front(_cumlogsumexp_tangent),
    kinds="f",
    doc="log of the sum of exp of the entries so far, without overflow.",
)
