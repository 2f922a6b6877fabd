"""Reductions over axes, which are removed: sum, prod, max, min, any, all, argmax, argmin, trace."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import BOOL, INT64, DType, kind
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import JvpRule, Meaning, Op, TransposeRule, by_decomposition, not_linear, register, zero_derivative
from ...symbolic_size import has_no_entries, is_known, is_none, min_expr
from ...value_ops import (
    broadcast_to,
    concatenate,
    convert,
    divide,
    equal,
    full,
    multiply,
    reshape,
    slice_axis,
    sum_,
    transpose,
)
from ..batch_axes import Batched, batch_reduction
from ..composite import composite
from ..elementwise.broadcasting import same_dtype

FAMILY = "reduction"


def keep_dims(x: Value, shape: Shape, axes: tuple[int, ...]) -> Value:
    """A reduced value with its axes restored as axes of length 1, to broadcast against an array of `shape`."""
    return reshape(x, tuple(1 if axis in axes else dim for axis, dim in enumerate(shape)))


def _check_axes(op: str, x: ArrayType, axes: tuple[int, ...]) -> Shape:
    if len(set(axes)) != len(axes) or not all(0 <= axis < x.ndim for axis in axes):
        raise ShapeError(f"{op} of {x}: {axes} are not different axes of it")
    return tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)


def _reduction(
    name: str,
    numpy: Meaning,
    jvp: JvpRule,
    transpose_rule: TransposeRule = not_linear,
    *,
    kinds: str,
    result: Callable[[DType], DType] = same_dtype,
    of_nothing: bool = True,
    doc: str,
) -> None:
    def type_rule(x: ArrayType, axes: tuple[int, ...]) -> ArrayType:
        if kind(x.dtype) not in kinds:
            raise DTypeError(f"{name} is not defined for {x}")
        shape = _check_axes(name, x, axes)
        if not of_nothing and any(has_no_entries(x.shape[axis]) for axis in axes):
            raise ShapeError(
                f"{name} of {x}: an axis of {axes} is empty, and {name} of nothing is not defined"
            )
        return ArrayType(result(x.dtype), shape)

    register(
        Op(
            name, FAMILY, type_rule, numpy, jvp, transpose_rule, batch_reduction(name), spelling=None, effect=None,
            doc=doc,
        )
    )  # fmt: skip


def _sum_transpose(cotangents: tuple[Value], inputs: Any, axes: tuple[int, ...]) -> Value:
    shape = inputs[0].shape
    return broadcast_to(keep_dims(cotangents[0], shape, axes), shape)


_reduction(
    "sum",
    lambda x, axes: np.sum(x, axis=axes, dtype=x.dtype),
    lambda inputs, tangents, outputs, axes: sum_(tangents[0], axes),
    _sum_transpose,
    kinds="biufc",
    doc="The sum, in the dtype of x. Pairwise along the fast axis, as NumPy's.",
)


def product_of_others(x: Value, axis: int) -> Value:
    """For each entry the product of all others along `axis`: of those before times those after, without division."""
    length = x.shape[axis]
    if is_none(length):
        return x
    one = full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), 1, x.dtype)
    if is_known(length >= 1):
        shifted_up = concatenate([one, slice_axis(x, 0, length - 1, axis)], axis)
        shifted_down = concatenate([slice_axis(x, 1, length, axis), one], axis)
    else:
        shifted_up = slice_axis(concatenate([one, x], axis), 0, length, axis)
        shifted_down = slice_axis(concatenate([x, one], axis), 1, length + 1, axis)
    before = bind("cumprod", shifted_up, axis=axis, reverse=False)
    return multiply(before, bind("cumprod", shifted_down, axis=axis, reverse=True))


def _prod_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: Any, axes: tuple[int, ...]) -> Value:
    """The reduced axes are merged into the first axis, so that one scan serves any number of them."""
    (x,), (dx,) = inputs, tangents
    if not axes:
        return dx
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*axes, *rest)
    shape = (math.prod(x.shape[axis] for axis in axes), *(x.shape[axis] for axis in rest))
    flat, tangent = (reshape(transpose(value, order), shape) for value in (x, dx))
    return sum_(multiply(tangent, product_of_others(flat, 0)), (0,))


_reduction("prod", lambda x, axes: np.prod(x, axis=axes, dtype=x.dtype), _prod_jvp, kinds="biufc",
           doc="The product, in the dtype of x. Its derivative is exact where entries are 0.")  # fmt: skip


def _extremum_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: Any, axes: tuple[int, ...]) -> Value:
    """The mean of the tangents of the entries that attain the extremum."""
    (x,), (dx,) = inputs, tangents
    hit = convert(equal(x, keep_dims(outputs[0], x.shape, axes)), x.dtype)
    return divide(sum_(multiply(dx, hit), axes), sum_(hit, axes))


_reduction("max", lambda x, axes: np.max(x, axis=axes), _extremum_jvp, kinds="biuf", of_nothing=False,
           doc="The largest entry; NaN if there is one. Ties share the derivative equally.")  # fmt: skip
_reduction("min", lambda x, axes: np.min(x, axis=axes), _extremum_jvp, kinds="biuf", of_nothing=False,
           doc="The smallest entry; NaN if there is one. Ties share the derivative equally.")  # fmt: skip
_reduction("any", lambda x, axes: np.any(x, axis=axes), zero_derivative, kinds="b", result=lambda dtype: BOOL,
           doc="Whether any entry is true.")  # fmt: skip
_reduction("all", lambda x, axes: np.all(x, axis=axes), zero_derivative, kinds="b", result=lambda dtype: BOOL,
           doc="Whether all entries are true.")  # fmt: skip


# ---- the sum of a diagonal -----------------------------------------------------------------------------


def _check_trace(x: ArrayType, offset: int, axes: tuple[int, int]) -> None:
    _check_axes("trace", x, axes)


def _trace(x: Value, offset: int, axes: tuple[int, int]) -> Value:
    """The diagonal of the square block that it spans: every (n + 1)-th of its n² entries."""
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    x = transpose(x, (*axes, *rest))
    rows, columns = x.shape[:2]
    below, above = min_expr(max(-offset, 0), rows), min_expr(max(offset, 0), columns)
    n = min_expr(rows - below, columns - above)
    block = slice_axis(slice_axis(x, below, below + n, 0), above, above + n, 1)
    return sum_(slice_axis(reshape(block, (n * n, *x.shape[2:])), 0, n * n, 0, n + 1), (0,))


def _trace_jvp(
    inputs: Any, tangents: tuple[Value], outputs: Any, offset: int, axes: tuple[int, int]
) -> Value:
    return bind("trace", tangents[0], offset=offset, axes=axes)


composite(
    "trace",
    _trace,
    check=_check_trace,
    jvp=_trace_jvp,
    transpose=by_decomposition,
    batch=batch_reduction("trace"),
    family=FAMILY,
    doc="The sum of the diagonal that two axes make, `offset` diagonals above the main one, in the dtype of x.",
)


# ---- where the extrema are -----------------------------------------------------------------------------


def _index_of(name: str, numpy: Meaning, doc: str) -> None:
    def batch(inputs: Sequence[Batched], size: int, axis: int) -> Batched:
        (x,) = inputs
        along = x.physical_axis(axis)
        return Batched(bind(name, x.value, axis=along), x.axis_without([along]))

    def type_rule(x: ArrayType, axis: int) -> ArrayType:
        if x.dtype.kind == "c":
            raise DTypeError(f"{name} is not defined for {x}")
        shape = _check_axes(name, x, (axis,))
        if has_no_entries(x.shape[axis]):
            raise ShapeError(f"{name} of {x}: axis {axis} is empty")
        return ArrayType(INT64, shape)

    register(
        Op(
            name,
            FAMILY,
            type_rule,
            numpy,
            zero_derivative,
            not_linear,
            batch,
            spelling=None,
            effect=None,
            doc=doc,
        )
    )


_index_of(
    "argmax", lambda x, axis: np.argmax(x, axis), "The index of the first largest entry, or of the first NaN."
)
_index_of(
    "argmin",
    lambda x, axis: np.argmin(x, axis),
    "The index of the first smallest entry, or of the first NaN.",
)
