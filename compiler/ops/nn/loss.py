"""Losses: how far predictions are from targets, and the backward op of the loss that reads by class."""

import math
from collections.abc import Sequence
from typing import Any

from ...builder import bind, bind_all
from ...dtypes import FLOAT64, INT64, DType, is_inexact, is_integer
from ...errors import ArgumentValueError, DTypeError, ShapeError
from ...ir import ArrayType, Value
from ...nesting import shown
from ...op import by_decomposition, not_linear
from ...symbolic_size import SymbolicSize
from ...value_ops import (
    absolute,
    add,
    at_least_one,
    broadcast_to,
    constant,
    convert,
    divide,
    elementwise,
    equal,
    expand_dims,
    full,
    gather,
    iota,
    less_equal,
    logical_not,
    multiply,
    negative,
    reshape,
    square,
    subtract,
    sum_,
    take_along_axis,
    where,
)
from ..composite import composite, floating_operands
from ..elementwise.broadcasting import batch_elementwise, elementwise_type, same_dtype

FAMILY = "loss"
REDUCTIONS = ("none", "sum", "mean")


# ---- entry by entry --------------------------------------------------------------------------------


def _huber_loss(x: Value, target: Value, delta: float) -> Value:
    error = subtract(x, target)
    distance = absolute(error)
    far = multiply(subtract(distance, 0.5 * delta), delta)
    return where(less_equal(distance, delta), multiply(square(error), 0.5), far)


def _huber_loss_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, Value | None], outputs: Any, delta: float
) -> Value:
    """The slope is the error, clipped."""
    slope = elementwise("clip", subtract(*inputs), -delta, delta)
    dx, dtarget = tangents
    if dtarget is None:
        assert dx is not None
        return multiply(broadcast_to(dx, slope.shape), slope)
    return multiply(negative(dtarget) if dx is None else subtract(dx, dtarget), slope)


def _bce_with_logits(x: Value, target: Value, *pos_weight: Value) -> Value:
    """(1 − t) · x − (1 + (w − 1) · t) · log σ(x), with w = 1 without weights: log σ(−x) = log σ(x) − x."""
    log_sigmoid = bind("log_sigmoid", x)
    rest = multiply(subtract(1, target), x)
    if not pos_weight:
        return subtract(rest, log_sigmoid)
    (weight,) = pos_weight
    return subtract(rest, multiply(add(multiply(subtract(weight, 1), target), 1), log_sigmoid))


def _check_bce(*types: ArrayType) -> None:
    name = "binary_cross_entropy_with_logits"
    elementwise_type(name, 3 if len(types) == 3 else 2, "f", same_dtype)(*types)


def _check_huber_loss(*types: ArrayType, delta: float) -> object:
    return elementwise_type("huber_loss", 2, "f", same_dtype)(*types)


composite(
    "huber_loss",
    _huber_loss,
    check=_check_huber_loss,
    jvp=_huber_loss_jvp,
    transpose=not_linear,
    batch=batch_elementwise("huber_loss"),
    family=FAMILY,
    doc='Half the square of x − target up to `delta`, linear beyond: P. J. Huber, "Robust estimation of a location '
    'parameter" (1964).',
)
composite(
    "binary_cross_entropy_with_logits",
    _bce_with_logits,
    check=_check_bce,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=batch_elementwise("binary_cross_entropy_with_logits"),
    family=FAMILY,
    doc="−(w · target · log σ(x) + (1 − target) · log(1 − σ(x))), with the third input as w, else w = 1.",
)


# ---- by class ----------------------------------------------------------------------------------------


def class_axis(x: Any) -> int:
    """The axis of the classes: axis 1 of a batch, axis 0 of one example."""
    return 0 if x.ndim == 1 else 1


def _check_target(name: str, x: ArrayType, target: ArrayType) -> None:
    if x.ndim == 0:
        raise ShapeError(f"{name} of {x}: its axis 0 or 1 must be the classes")
    if not is_integer(target.dtype):
        raise DTypeError(f"{name} of {x}: the target must be integers, not {target}")
    axis = class_axis(x)
    expected = (*x.shape[:axis], *x.shape[axis + 1 :])
    if target.shape != expected:
        raise ShapeError(f"{name} of {x}: the target must have the shape {expected}, not {target.shape}")


def _check_classes(
    name: str, x: ArrayType, weights: Sequence[ArrayType], weight: bool, reduction: str
) -> None:
    classes = (x.shape[class_axis(x)],)
    if [w.shape for w in weights] != [classes] * weight:
        raise ShapeError(f"{name} of {x}: weights must have the shape {classes}, one per class")
    if reduction not in REDUCTIONS:
        raise ArgumentValueError(
            f"{name}: the reduction is one of {', '.join(REDUCTIONS)}, not {shown(reduction)}"
        )


def _weights(
    x: Value, target: Value, weight: Sequence[Value], ignore_index: int
) -> tuple[Value, Value, Value]:
    """Per target: the class, 0 where it is ignored; its weight, 0 where it is ignored; whether it counts."""
    target = convert(target, INT64)
    counts = logical_not(equal(target, ignore_index))
    known = where(counts, target, 0)
    each = gather(weight[0], [known], (0,)) if weight else full(target.shape, 1, x.dtype)
    return known, where(counts, each, 0), counts


def _reduced(losses: Value, total: Value, reduction: str) -> Value:
    """The losses, their sum, or the sum divided by the total weight."""
    if reduction == "none":
        return losses
    whole = sum_(losses, range(losses.ndim))
    return divide(whole, total) if reduction == "mean" else whole


def _check_nll_loss(*types: ArrayType, ignore_index: int, reduction: str, weight: bool) -> None:
    floating_operands("nll_loss")(*types)
    _check_target("nll_loss", types[0], types[1])
    _check_classes("nll_loss", types[0], types[2:], weight, reduction)


def _nll_loss(
    x: Value, target: Value, *weight: Value, ignore_index: int, reduction: str, **given: bool
) -> tuple[Value, Value]:
    axis = class_axis(x)
    known, weights, counts = _weights(x, target, weight, ignore_index)
    picked = reshape(take_along_axis(x, expand_dims(known, axis), axis), target.shape)
    losses = where(counts, negative(multiply(picked, weights)), 0)
    total = sum_(weights, range(weights.ndim))
    return _reduced(losses, total, reduction), total


def _check_nll_loss_backward(*types: ArrayType, ignore_index: int, reduction: str, weight: bool) -> None:
    name = "nll_loss_backward"
    floating_operands(name)(*types)
    ct, x, target, total = types[:4]
    _check_target(name, x, target)
    _check_classes(name, x, types[4:], weight, reduction)
    if ct.shape != (target.shape if reduction == "none" else ()) or total.shape != ():
        raise ShapeError(f"{name} of {x}: no cotangent of its loss is {ct}, with a total weight of {total}")


def _nll_loss_backward(
    ct: Value,
    x: Value,
    target: Value,
    total: Value,
    *weight: Value,
    ignore_index: int,
    reduction: str,
    **given: bool,
) -> Value:
    axis = class_axis(x)
    known, weights, counts = _weights(x, target, weight, ignore_index)
    scale = divide(ct, total) if reduction == "mean" else ct
    each = where(counts, negative(multiply(weights, scale)), 0)
    classes = reshape(iota(x.shape[axis], INT64), (x.shape[axis], *(1,) * (x.ndim - 1 - axis)))
    return where(equal(expand_dims(known, axis), classes), expand_dims(each, axis), 0)


def _check_cross_entropy(
    *types: ArrayType, ignore_index: int, reduction: str, label_smoothing: float, weight: bool
) -> None:
    name = "cross_entropy"
    floating_operands(name)(*types)
    x, target = types[:2]
    if not is_inexact(target.dtype):
        _check_target(name, x, target)
    elif x.ndim == 0 or target.shape != x.shape:
        raise ShapeError(f"{name} of {x}: probabilities of classes must have that shape, not {target.shape}")
    _check_classes(name, x, types[2:], weight, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentValueError(f"{name}: label_smoothing must be between 0 and 1, not {label_smoothing}")


def _cross_entropy(
    x: Value,
    target: Value,
    *weight: Value,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    **given: bool,
) -> Value:
    """The share `label_smoothing` of each target is spread over all classes: C. Szegedy et al., "Rethinking the
    Inception architecture for computer vision" (2015).
    """
    axis = class_axis(x)
    logs = bind("log_softmax", x, axis=axis)
    shape = (x.shape[axis], *(1,) * (x.ndim - 1 - axis))
    weighted = multiply(logs, reshape(weight[0], shape)) if weight else logs
    if is_inexact(target.dtype):
        if label_smoothing:
            target = add(
                multiply(target, 1 - label_smoothing), _share(label_smoothing, x.shape[axis], x.dtype)
            )
        losses = negative(sum_(multiply(weighted, target), (axis,)))
        count = at_least_one(math.prod(losses.shape), x.dtype)
        return _reduced(losses, count, reduction)
    params = {"ignore_index": ignore_index, "weight": bool(weight)}
    losses, total = bind_all("nll_loss", logs, target, *weight, reduction="none", **params)
    if label_smoothing:
        _, _, counts = _weights(x, target, (), ignore_index)
        spread = where(
            counts, multiply(sum_(weighted, (axis,)), _share(-label_smoothing, x.shape[axis], x.dtype)), 0
        )
        losses = add(multiply(losses, 1 - label_smoothing), spread)
    return _reduced(losses, total, reduction)


def _share(of: float, classes: int, dtype: DType) -> Value:
    """The share of a number that each of the classes gets, rounded once."""
    if isinstance(classes, SymbolicSize):
        return convert(divide(constant(of, FLOAT64), at_least_one(classes, FLOAT64)), dtype)
    return constant(of / max(classes, 1), dtype)


composite(
    "nll_loss",
    _nll_loss,
    check=_check_nll_loss,
    jvp=by_decomposition,
    transpose=by_decomposition,
    batch=by_decomposition,
    family=FAMILY,
    doc="The negative log-likelihood of the target classes, given logarithms of probabilities with the classes along "
    "axis 1 (axis 0 of one example); times the weight of the class if there are weights; 0 where the target is "
    "`ignore_index`. By itself, as a sum, or as a mean by weight. Also the sum of the weights.",
)
composite(
    "nll_loss_backward",
    _nll_loss_backward,
    check=_check_nll_loss_backward,
    jvp=by_decomposition,
    transpose=by_decomposition,
    batch=by_decomposition,
    family=FAMILY,
    doc="The cotangent of the first input of nll_loss from that of the loss, both inputs, and the sum of the weights.",
)
composite(
    "cross_entropy",
    _cross_entropy,
    check=_check_cross_entropy,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=by_decomposition,
    family=FAMILY,
    doc="nll_loss of log_softmax; or, if the target is floating, the cross entropy of the probabilities that it holds.",
)
