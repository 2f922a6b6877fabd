"""Normalisation to mean 0 and variance 1: over the last axes, over a batch, over groups of channels; and backward.

The formulas of the backward ops are those of S. Ioffe and C. Szegedy, "Batch normalization" (2015), for both.
"""

import math
from collections.abc import Sequence
from typing import Any

from ...builder import bind_all
from ...errors import ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import by_decomposition, not_linear
from ...value_ops import (
    add,
    at_least_one,
    divide,
    moveaxis,
    multiply,
    reciprocal,
    reshape,
    sqrt,
    square,
    subtract,
    sum_,
)
from ..arrays.reduction import keep_dims
from ..batch_axes import in_front, leading
from ..composite import composite, floating_operands

FAMILY = "normalization"


def _mean(x: Value, axes: Sequence[int]) -> Value:
    """The mean over `axes`, which are kept with length 1; 0 for empty arrays."""
    count = math.prod(x.shape[axis] for axis in axes)
    return keep_dims(divide(sum_(x, axes), at_least_one(count, x.dtype)), x.shape, tuple(axes))


def _scaled(x: Value, affine: Sequence[Value], weight: bool, bias: bool, shape: Shape) -> Value:
    """``x * weight + bias``, with those of the two that are given, reshaped to `shape`."""
    given = [reshape(one, shape) for one in affine]
    if weight:
        x = multiply(x, given[0])
    return add(x, given[-1]) if bias else x


def _check_inputs(name: str, types: Sequence[ArrayType], expected: Sequence[Shape]) -> None:
    """Checks that the inputs have these shapes."""
    if [t.shape for t in types] != list(expected):
        given, wanted = ", ".join(map(str, types)), ", ".join(map(str, expected))
        raise ShapeError(f"{name} of {given}: the shapes must be {wanted}")


# ---- over the last axes ----------------------------------------------------------------------------


def _last_axes(name: str, x: ArrayType, shape: Shape) -> tuple[int, ...]:
    """The axes of `x` that have the normalised shape."""
    first = x.ndim - len(shape)
    if not shape or first < 0 or x.shape[first:] != shape:
        raise ShapeError(f"{name} of {x}: its last axes are not {shape}, the normalised shape")
    return tuple(range(first, x.ndim))


def _check_layer_norm(
    *types: ArrayType, normalized_shape: Shape, eps: float, weight: bool, bias: bool
) -> None:
    floating_operands("layer_norm")(*types)
    _last_axes("layer_norm", types[0], normalized_shape)
    _check_inputs("layer_norm", types, [types[0].shape, *(normalized_shape,) * (weight + bias)])


def _layer_norm(
    x: Value, *affine: Value, normalized_shape: Shape, eps: float, weight: bool, bias: bool
) -> tuple[Value, Value, Value]:
    axes = _last_axes("layer_norm", x.type, normalized_shape)
    mean = _mean(x, axes)
    centred = subtract(x, mean)
    rstd = reciprocal(sqrt(add(_mean(square(centred), axes), eps)))
    return _scaled(multiply(centred, rstd), affine, weight, bias, normalized_shape), mean, rstd


@in_front
def _layer_norm_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    normalized_shape: Shape,
    eps: float,
    weight: bool,
    bias: bool,
) -> tuple[Value, ...]:
    """The batch is one more leading axis. Weights that differ within it are applied outside."""
    x = leading(inputs[0], mapped[0], size)
    params: dict[str, Any] = {"normalized_shape": normalized_shape, "eps": eps}
    if not any(mapped[1:]):
        return bind_all("layer_norm", x, *inputs[1:], weight=weight, bias=bias, **params)
    out, mean, rstd = bind_all("layer_norm", x, weight=False, bias=False, **params)
    shape = (size, *(1,) * (x.ndim - 1 - len(normalized_shape)), *normalized_shape)
    own = [leading(value, m, size) for value, m in zip(inputs[1:], mapped[1:], strict=True)]
    return _scaled(out, own, weight, bias, shape), mean, rstd


def _check_layer_norm_backward(
    *types: ArrayType, normalized_shape: Shape, weight: bool, wanted: tuple[bool, ...]
) -> None:
    name = "layer_norm_backward"
    floating_operands(name)(*types)
    axes = _last_axes(name, types[0], normalized_shape)
    shape = types[0].shape
    statistics = (*shape[: axes[0]], *(1,) * len(axes))
    _check_inputs(name, types, [shape, shape, statistics, statistics, *(normalized_shape,) * weight])


def _layer_norm_backward(
    ct: Value,
    x: Value,
    mean: Value,
    rstd: Value,
    *affine: Value,
    normalized_shape: Shape,
    weight: bool,
    wanted: tuple[bool, ...],
) -> tuple[Value, ...]:
    axes = _last_axes("layer_norm_backward", x.type, normalized_shape)
    rest = tuple(range(axes[0]))
    normal = multiply(subtract(x, mean), rstd)
    outputs = []
    if wanted[0]:
        outputs.append(
            _through_statistics(_scaled(ct, affine, weight, False, normalized_shape), normal, rstd, axes)
        )
    if wanted[1]:
        outputs.append(sum_(multiply(ct, normal), rest))
    if wanted[2]:
        outputs.append(sum_(ct, rest))
    return tuple(outputs)


def _through_statistics(ct: Value, normal: Value, rstd: Value, axes: Sequence[int]) -> Value:
    """The cotangent of x from that of ``(x - mean) * rstd``, where both statistics are those of x over `axes`."""
    inner = subtract(ct, _mean(ct, axes))
    return multiply(subtract(inner, multiply(normal, _mean(multiply(ct, normal), axes))), rstd)


composite(
    "layer_norm",
    _layer_norm,
    check=_check_layer_norm,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=_layer_norm_batch,
    family=FAMILY,
    doc="x less its mean, divided by √(variance + eps), over the last axes, whose shape is `normalized_shape`; "
    "times the `weight`, plus the `bias`, if these are given. Also the mean and 1 / √(variance + eps).",
)
composite(
    "layer_norm_backward",
    _layer_norm_backward,
    check=_check_layer_norm_backward,
    jvp=by_decomposition,
    transpose=by_decomposition,
    batch=by_decomposition,
    family=FAMILY,
    doc="The cotangents of the input, the weight and the bias of layer_norm, as far as `wanted`, from that of its "
    "output, its input, its other outputs, and its `weight` if there is one.",
)


def _check_rms_norm(*types: ArrayType, normalized_shape: Shape, eps: float, weight: bool) -> None:
    floating_operands("rms_norm")(*types)
    _last_axes("rms_norm", types[0], normalized_shape)
    _check_inputs("rms_norm", types, [types[0].shape, *(normalized_shape,) * weight])


def _rms_norm(x: Value, *affine: Value, normalized_shape: Shape, eps: float, weight: bool) -> Value:
    axes = _last_axes("rms_norm", x.type, normalized_shape)
    rstd = reciprocal(sqrt(add(_mean(square(x), axes), eps)))
    return _scaled(multiply(x, rstd), affine, weight, False, normalized_shape)


composite(
    "rms_norm",
    _rms_norm,
    check=_check_rms_norm,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=by_decomposition,
    family=FAMILY,
    doc="x divided by √(mean of x² + eps) over the last axes, whose shape is `normalized_shape`; times the `weight` "
    'if it is given. B. Zhang and R. Sennrich, "Root mean square layer normalization" (2019).',
)


# ---- over the batch, per channel: axis 1 -------------------------------------------------------------


def _channels(name: str, x: ArrayType) -> int:
    if x.ndim < 2:
        raise ShapeError(f"{name} of {x}: its axis 1 must be the channels")
    return x.shape[1]


def _per_channel(x: Value, ndim: int) -> Value:
    """A value per channel, reshaped to broadcast against an array with this many axes."""
    return reshape(x, (1, x.shape[0], *(1,) * (ndim - 2)))


def _check_batch_norm(*types: ArrayType, training: bool, eps: float, weight: bool, bias: bool) -> None:
    floating_operands("batch_norm")(*types)
    channels = _channels("batch_norm", types[0])
    given = 2 * (not training) + weight + bias
    _check_inputs("batch_norm", types, [types[0].shape, *((channels,),) * given])


def _batch_norm(
    x: Value, *rest: Value, training: bool, eps: float, weight: bool, bias: bool
) -> tuple[Value, Value, Value]:
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    shape = (1, x.shape[1], *(1,) * (x.ndim - 2))
    if training:
        mean = _mean(x, axes)
        centred = subtract(x, mean)
        variance, affine = _mean(square(centred), axes), rest
    else:
        mean, variance = reshape(rest[0], shape), reshape(rest[1], shape)
        centred, affine = subtract(x, mean), rest[2:]
    normal = divide(centred, sqrt(add(variance, eps)))
    per_channel = (x.shape[1],)
    return (
        _scaled(normal, affine, weight, bias, shape),
        reshape(mean, per_channel),
        reshape(variance, per_channel),
    )


@in_front
def _batch_norm_batch(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, **params: Any
) -> tuple[Value, ...]:
    """Each example has its own channels: the batch and the channels become one axis."""
    x, *rest = (leading(value, m, size) for value, m in zip(inputs, mapped, strict=True))
    channels = size * x.shape[2]
    moved = moveaxis(x, 0, 1)
    flat = reshape(moved, (moved.shape[0], channels, *moved.shape[3:]))
    out, mean, variance = bind_all(
        "batch_norm", flat, *(reshape(value, (channels,)) for value in rest), **params
    )
    per_channel = (size, x.shape[2])
    return (
        moveaxis(reshape(out, moved.shape), 1, 0),
        reshape(mean, per_channel),
        reshape(variance, per_channel),
    )


def _check_batch_norm_backward(
    *types: ArrayType, training: bool, weight: bool, wanted: tuple[bool, ...]
) -> None:
    name = "batch_norm_backward"
    floating_operands(name)(*types)
    channels = _channels(name, types[0])
    shape = types[0].shape
    _check_inputs(name, types, [shape, shape, *((channels,),) * (2 + weight)])


def _batch_norm_backward(
    ct: Value,
    x: Value,
    mean: Value,
    rstd: Value,
    *affine: Value,
    training: bool,
    weight: bool,
    wanted: tuple[bool, ...],
) -> tuple[Value, ...]:
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    mean, rstd = _per_channel(mean, x.ndim), _per_channel(rstd, x.ndim)
    normal = multiply(subtract(x, mean), rstd)
    outputs = []
    if wanted[0]:
        scaled = _scaled(ct, affine, weight, False, mean.shape)
        outputs.append(
            _through_statistics(scaled, normal, rstd, axes) if training else multiply(scaled, rstd)
        )
    if wanted[1]:
        outputs.append(sum_(multiply(ct, normal), axes))
    if wanted[2]:
        outputs.append(sum_(ct, axes))
    return tuple(outputs)


composite(
    "batch_norm",
    _batch_norm,
    check=_check_batch_norm,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=_batch_norm_batch,
    family=FAMILY,
    doc="x less the mean, divided by √(variance + eps), per channel, which is axis 1: statistics of x itself in "
    "`training`, else those given. Times the `weight`, plus the `bias`, if these are given. Also both statistics.",
)
composite(
    "batch_norm_backward",
    _batch_norm_backward,
    check=_check_batch_norm_backward,
    jvp=by_decomposition,
    transpose=by_decomposition,
    batch=by_decomposition,
    family=FAMILY,
    doc="The cotangents of the input, the weight and the bias of batch_norm, as far as `wanted`, from that of its "
    "output, its input, the mean, 1 / √(variance + eps), and its `weight` if there is one.",
)


# ---- over groups of channels -------------------------------------------------------------------------


def _check_group_norm(*types: ArrayType, num_groups: int, eps: float, weight: bool, bias: bool) -> None:
    floating_operands("group_norm")(*types)
    channels = _channels("group_norm", types[0])
    if num_groups < 1 or channels % num_groups:
        raise ShapeError(
            f"group_norm of {types[0]}: {channels} channels are not {num_groups} groups of one size"
        )
    _check_inputs("group_norm", types, [types[0].shape, *((channels,),) * (weight + bias)])


def _group_norm(x: Value, *affine: Value, num_groups: int, eps: float, weight: bool, bias: bool) -> Value:
    grouped = reshape(x, (x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups))
    centred = subtract(grouped, _mean(grouped, (2,)))
    normal = divide(centred, sqrt(add(_mean(square(centred), (2,)), eps)))
    return _scaled(reshape(normal, x.shape), affine, weight, bias, (1, x.shape[1], *(1,) * (x.ndim - 2)))


composite(
    "group_norm",
    _group_norm,
    check=_check_group_norm,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=by_decomposition,
    family=FAMILY,
    doc="x less its mean, divided by √(variance + eps), per example and per group of channels, which are axis 1; "
    'times the `weight`, plus the `bias`, per channel, if these are given. Y. Wu and K. He, "Group normalization" '
    "(2018).",
)
