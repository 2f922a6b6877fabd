"""Exponentials relative to their sum: logsumexp, softmax, log_softmax, and their backward ops."""

import math
from collections.abc import Sequence
from typing import Any

from ...builder import bind
from ...errors import ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import Linear, not_linear
from ...symbolic_size import is_empty
from ...value_ops import (
    add,
    convert,
    divide,
    elementwise,
    equal,
    exp,
    full,
    log,
    multiply,
    negative,
    reshape,
    subtract,
    sum_,
    where,
)
from ..batch_axes import batch_along_axis, batch_reduction
from ..composite import Check, composite, floating_operands

FAMILY = "softmax"


def _kept(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))


def sum_kept(x: Value, axes: Sequence[int]) -> Value:
    """The sum over `axes`, which are kept with length 1."""
    return reshape(sum_(x, axes), _kept(x.shape, axes))


def _finite_maximum(x: Value, axes: Sequence[int]) -> Value:
    """The largest entry, or 0 if it is infinite, so that subtracting it never gives NaN."""
    top = reshape(bind("max", x, axes=tuple(axes)), _kept(x.shape, axes))
    return where(elementwise("isfinite", top), top, 0)


def _along_axes(name: str, operands: int) -> Check:
    """Checks for this many floating-point arrays of one shape, which has the axes ``axis`` or ``axes``."""
    floating = floating_operands(name)

    def check(*types: ArrayType, axis: int | None = None, axes: tuple[int, ...] = ()) -> None:
        floating(*types)
        chosen = axes if axis is None else (axis,)
        fits = len(set(chosen)) == len(chosen) and all(0 <= one < types[0].ndim for one in chosen)
        if len(types) != operands or any(t.shape != types[0].shape for t in types) or not fits:
            given = ", ".join(map(str, types))
            raise ShapeError(f"{name} of {given}: it takes {operands} of one shape, and {chosen} of its axes")

    return check


# ---- logsumexp -------------------------------------------------------------------------------------


def _logsumexp(x: Value, axes: tuple[int, ...]) -> Value:
    shape = tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)
    if any(x.shape[axis] == 0 for axis in axes):
        return full(shape, -math.inf, x.dtype)
    # The largest terms are 1 and are counted. The sum of the others can be far below 1, so it is kept for log1p.
    top = _finite_maximum(x, axes)
    is_top = equal(x, top)
    others = sum_(where(is_top, 0, exp(subtract(x, top))), axes)
    count = sum_(convert(is_top, x.dtype), axes)
    return add(elementwise("log1p", add(others, subtract(count, 1))), reshape(top, shape))


def _logsumexp_jvp(
    inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value], axes: tuple[int, ...]
) -> Value:
    """The mean of the tangents by weight; e^−∞ has none, even if nothing else is in the sum."""
    (x,), (dx,) = inputs, tangents
    share = exp(subtract(x, reshape(outputs[0], _kept(x.shape, axes))))
    return sum_(multiply(dx, where(equal(x, -math.inf), 0, share)), axes)


composite(
    "logsumexp",
    _logsumexp,
    check=_along_axes("logsumexp", 1),
    jvp=_logsumexp_jvp,
    transpose=not_linear,
    batch=batch_reduction("logsumexp"),
    family=FAMILY,
    doc="The logarithm of the sum of e^x over `axes`, which disappear. −∞ for nothing.",
)


# ---- softmax and its logarithm -----------------------------------------------------------------------


def _softmax(x: Value, axis: int) -> Value:
    if is_empty(x.shape) or x.shape[axis] == 0:
        return x
    terms = exp(subtract(x, _finite_maximum(x, (axis,))))
    return divide(terms, sum_kept(terms, (axis,)))


def _log_softmax(x: Value, axis: int) -> Value:
    if is_empty(x.shape) or x.shape[axis] == 0:
        return x
    shifted = subtract(x, _finite_maximum(x, (axis,)))
    return subtract(shifted, log(sum_kept(exp(shifted), (axis,))))


def _softmax_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value], axis: int) -> Value:
    """The Jacobian is symmetric: pushing a tangent forward is the same as pulling a cotangent back."""
    return bind("softmax_backward", tangents[0], outputs[0], axis=axis)


def _log_softmax_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value], axis: int) -> Value:
    (dx,) = tangents
    return subtract(dx, sum_kept(multiply(dx, exp(outputs[0])), (axis,)))


# ---- their backward ops: linear in the cotangent, the first input --------------------------------------


def _softmax_backward(ct: Value, output: Value, axis: int) -> Value:
    return multiply(output, subtract(ct, sum_kept(multiply(ct, output), (axis,))))


def _softmax_backward_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, Value | None], outputs: Any, axis: int
) -> Value | None:
    (ct, output), (dct, doutput) = inputs, tangents
    change = None if dct is None else bind("softmax_backward", dct, output, axis=axis)
    if doutput is None:
        return change
    mean = sum_kept(multiply(ct, output), (axis,))
    moved = multiply(doutput, subtract(ct, mean))
    moved = subtract(moved, multiply(output, sum_kept(multiply(doutput, ct), (axis,))))
    return moved if change is None else add(change, moved)


def _softmax_backward_transpose(cotangents: tuple[Value], inputs: Any, axis: int) -> tuple[Value, None]:
    return bind("softmax_backward", cotangents[0], inputs[1], axis=axis), None


def _log_softmax_backward(ct: Value, output: Value, axis: int) -> Value:
    return subtract(ct, multiply(exp(output), sum_kept(ct, (axis,))))


def _log_softmax_backward_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, Value | None], outputs: Any, axis: int
) -> Value | None:
    (ct, output), (dct, doutput) = inputs, tangents
    change = None if dct is None else bind("log_softmax_backward", dct, output, axis=axis)
    if doutput is None:
        return change
    moved = negative(multiply(multiply(doutput, exp(output)), sum_kept(ct, (axis,))))
    return moved if change is None else add(change, moved)


def _log_softmax_backward_transpose(
    cotangents: tuple[Value], inputs: tuple[Linear, Value], axis: int
) -> tuple[Value, None]:
    (ct,) = cotangents
    return subtract(ct, sum_kept(multiply(ct, exp(inputs[1])), (axis,))), None


def _register(name: str, decomposed: Any, jvp: Any, transpose: Any, operands: int, doc: str) -> None:
    composite(name, decomposed, check=_along_axes(name, operands), jvp=jvp, transpose=transpose,
              batch=batch_along_axis(name),
              family=FAMILY, doc=doc)  # fmt: skip


_register("softmax", _softmax, _softmax_jvp, not_linear, 1,
          doc="e^x divided by its sum along `axis`.")  # fmt: skip
_register("log_softmax", _log_softmax, _log_softmax_jvp, not_linear, 1,
          doc="The logarithm of softmax along `axis`, exact also where that underflows.")  # fmt: skip
_register("softmax_backward", _softmax_backward, _softmax_backward_jvp, _softmax_backward_transpose, 2,
          doc="The cotangent of the input of softmax from that of its output, and the output.")  # fmt: skip
_register("log_softmax_backward", _log_softmax_backward, _log_softmax_backward_jvp,
          _log_softmax_backward_transpose, 2,
          doc="The cotangent of the input of log_softmax from that of its output, and the output.")  # fmt: skip
