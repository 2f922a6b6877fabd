"""Normalisation to mean 0 and variance 1, and the gradients through it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments.option_checks import flag, number, size
from ..builder import bind
from ..callers.user_code import user_location
from ..errors import ArgumentValueError, ShapeError
from ..nesting import shown
from ..tracing.traced_array import wrap
from ..tracing.traced_memory import is_traced
from .arguments import call, floating, in_one_dtype

Shape = int | Sequence[int]
Mask = Sequence[bool]


def layer_norm(
    x: Any, normalized_shape: Shape, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, with the statistics of the last axes.

    J. L. Ba et al., "Layer normalization" (2016).

    Args:
        x: an array whose shape ends with `normalized_shape`.
        normalized_shape: the lengths of the axes to normalise over; an int for the last axis alone.
        weight, bias: arrays of shape `normalized_shape`, or None.
        eps: what is added to the variance.

    Raises:
        ShapeError: (a ValueError) a shape does not fit.

    >>> layer_norm(np.array([1.0, 3.0]), 2, eps=0.0).tolist()
    [-1.0, 1.0]
    """
    x, weight, bias = in_one_dtype(x, optional=(weight, bias))
    shape = _shape(normalized_shape)
    given = {"weight": weight is not None, "bias": bias is not None}
    out, _, _ = call("layer_norm", x, weight, bias, normalized_shape=shape, eps=number("eps", eps), **given)
    return out


def layer_norm_backward(
    grad_output: Any,
    x: Any,
    normalized_shape: Shape,
    mean: Any,
    rstd: Any,
    weight: Any = None,
    bias: Any = None,
    output_mask: Mask = (True, True, True),
) -> tuple[Any, Any, Any]:
    """The gradients for the input, the weight and the bias of `layer_norm`, from the gradient for its result.

    `mean` and `rstd`, which is ``1 / sqrt(variance + eps)``, are those of `x`, with the normalised axes kept with
    length 1. They count as functions of `x`: derivatives of the gradients flow through them into `x`. Gradients that
    `output_mask` does not request are None. The value of `bias` does not matter.

    >>> x = np.array([[1.0, 3.0, 8.0]])
    >>> mean, rstd = np.mean(x, 1, keepdims=True), 1 / np.std(x, 1, keepdims=True)
    >>> layer_norm_backward(np.ones((1, 3)), x, 3, mean, rstd, np.ones(3), None)[1].round(2).tolist()
    [-1.02, -0.34, 1.36]
    """
    shape = _shape(normalized_shape)
    grad_output, x, mean, rstd, weight = in_one_dtype(grad_output, x, mean, rstd, optional=(weight,))
    wanted = _wanted(output_mask)
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    mean, rstd = _following(x, axes, mean, rstd)
    params: dict[str, Any] = {"normalized_shape": shape, "weight": weight is not None, "wanted": wanted}
    return _placed(call("layer_norm_backward", grad_output, x, mean, rstd, weight, **params), wanted)


def rms_norm(x: Any, normalized_shape: Shape, weight: Any = None, eps: float = 1e-6) -> Any:
    """``x / sqrt(mean(x**2) + eps) * weight``, with the mean over the last axes.

    B. Zhang and R. Sennrich, "Root mean square layer normalization" (2019).

    >>> rms_norm(np.array([3.0, 3.0]), 2, eps=0.0).tolist()
    [1.0, 1.0]
    """
    x, weight = in_one_dtype(x, optional=(weight,))
    params: dict[str, Any] = {"eps": number("eps", eps), "weight": weight is not None}
    return call("rms_norm", x, weight, normalized_shape=_shape(normalized_shape), **params)


def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalises the channels of each example, axis 1, in groups; `weight` and `bias` are per channel.

    Y. Wu and K. He, "Group normalization" (2018).

    >>> group_norm(np.array([[1.0, 3.0, 0.0, 4.0]]), 2, eps=0.0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    x, weight, bias = in_one_dtype(x, optional=(weight, bias))
    given = {"weight": weight is not None, "bias": bias is not None}
    return call(
        "group_norm",
        x,
        weight,
        bias,
        num_groups=size("num_groups", num_groups),
        eps=number("eps", eps),
        **given,
    )


def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`group_norm` with every channel in its own group.

    >>> instance_norm(np.array([[[1.0, 3.0], [0.0, 4.0]]]), eps=0.0).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    x = floating(x)
    return group_norm(x, max(x.shape[1], 1) if x.ndim > 1 else 1, weight, bias, eps)


def batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """``(output, running_mean, running_var)``: `x` normalised per channel, axis 1, and the new statistics.

    S. Ioffe and C. Szegedy, "Batch normalization" (2015).

    Args:
        x: an array of at least two axes.
        running_mean, running_var: one number per channel. They are what inference normalises with, and in training
            move towards the statistics of `x`: ``(1 - momentum) * old + momentum * new``, the variance without bias.
            The arrays themselves stay as they are: keep those that are returned, or write ``mean[...] = new``.
        weight, bias: one number per channel, or None.
        training: normalise with the statistics of `x`, through which derivatives flow.
        momentum: the share of the new statistics.
        eps: what is added to the variance.

    Raises:
        ShapeError: (a ValueError) a shape does not fit, or one value per channel is to give a variance.
        ArgumentValueError: (a ValueError) inference without running statistics.

    >>> x = np.array([[1.0], [3.0]])
    >>> out, mean, var = batch_norm(x, np.zeros(1), np.ones(1), training=True, eps=0.0)
    >>> out.tolist(), mean.tolist(), var.tolist()
    ([[-1.0], [1.0]], [0.2], [1.1])
    """
    training, momentum = flag("training", training), number("momentum", momentum)
    if not training and (running_mean is None or running_var is None):
        raise ArgumentValueError(
            "batch_norm normalises with running_mean and running_var unless training: pass both",
            user_location(),
        )
    x, weight, bias, old_mean, old_var = in_one_dtype(x, optional=(weight, bias, running_mean, running_var))
    _per_channel("batch_norm", x, running_mean=old_mean, running_var=old_var)
    statistics = () if training else (old_mean, old_var)
    params: dict[str, Any] = {
        "eps": number("eps", eps),
        "weight": weight is not None,
        "bias": bias is not None,
    }
    out, mean, var = call("batch_norm", x, *statistics, weight, bias, training=training, **params)
    if not training:
        return out, running_mean, running_var
    count = x.size // x.shape[1] if x.shape[1] else 0
    if count == 1:
        raise ShapeError(
            f"batch_norm of an array of shape {x.shape}: training needs more than one value per channel",
            user_location(),
        )
    unbiased = var * (count / max(count - 1, 1))
    return (
        out,
        None if old_mean is None else (1 - momentum) * old_mean + momentum * mean,
        None if old_var is None else (1 - momentum) * old_var + momentum * unbiased,
    )


def batch_norm_backward(
    grad_output: Any,
    x: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_rstd: Any,
    training: bool,
    eps: float = 1e-5,
    output_mask: Mask = (True, True, True),
) -> tuple[Any, Any, Any]:
    """The gradients for the input, the weight and the bias of `batch_norm`, from the gradient for its output.

    In training `save_mean` and `save_rstd`, which is ``1 / sqrt(variance + eps)``, are those of `x` per channel, and
    count as functions of it: derivatives of the gradients flow through them into `x`. In inference the running
    statistics are used, and these two may be None. Gradients that `output_mask` does not request are None.

    >>> x, ct = np.array([[1.0], [3.0]]), np.array([[1.0], [0.0]])
    >>> dx, _, dbias = batch_norm_backward(ct, x, None, np.zeros(1), np.ones(1), None, None, False, eps=0.0)
    >>> dx.tolist(), dbias.tolist()
    ([[1.0], [0.0]], [1.0])
    """
    wanted, training = _wanted(output_mask), flag("training", training)
    if training:
        grad_output, x, mean, rstd, weight = in_one_dtype(
            grad_output, x, save_mean, save_rstd, optional=(weight,)
        )
        _per_channel("batch_norm_backward", x, save_mean=mean, save_rstd=rstd)
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        kept = tuple(-1 if axis == 1 else 1 for axis in range(x.ndim))
        mean, rstd = (
            np.reshape(one, x.shape[1:2])
            for one in _following(x, axes, np.reshape(mean, kept), np.reshape(rstd, kept))
        )
    else:
        grad_output, x, mean, var, weight = in_one_dtype(
            grad_output, x, running_mean, running_var, optional=(weight,)
        )
        _per_channel("batch_norm_backward", x, running_mean=mean, running_var=var)
        rstd = 1 / np.sqrt(var + number("eps", eps))
    params: dict[str, Any] = {"training": training, "weight": weight is not None, "wanted": wanted}
    return _placed(call("batch_norm_backward", grad_output, x, mean, rstd, weight, **params), wanted)


def _per_channel(function: str, x: Any, **statistics: Any) -> None:
    """Raises `ShapeError` unless there is one number per channel."""
    if x.ndim < 2:
        raise ShapeError(
            f"{function} of an array of shape {x.shape}: axis 1 must be the channels", user_location()
        )
    for name, array in statistics.items():
        if array is not None and array.shape != x.shape[1:2]:
            raise ShapeError(
                f"{function} of an array of shape {x.shape}: {name} must have the shape {x.shape[1:2]}, one number "
                f"per channel, not {array.shape}",
                user_location(),
            )


def _shape(normalized_shape: Shape) -> tuple[int, ...]:
    lengths = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    return tuple(size("normalized_shape", one, "a length, or one for each axis") for one in lengths)


def _wanted(output_mask: Mask) -> tuple[bool, ...]:
    if not isinstance(output_mask, (tuple, list)) or len(output_mask) != 3:
        raise ArgumentValueError(
            f"output_mask is three booleans, for input, weight and bias, not {shown(output_mask)}",
            user_location(),
        )
    return tuple(flag("output_mask", one) for one in output_mask)


def _placed(results: Any, wanted: Sequence[bool]) -> tuple[Any, Any, Any]:
    """The outputs at their positions, and None at the others."""
    rest = iter(results if isinstance(results, tuple) else (results,))
    first, second, third = (next(rest) if one else None for one in wanted)
    return first, second, third


def _following(x: Any, axes: tuple[int, ...], mean: Any, rstd: Any) -> tuple[Any, Any]:
    """The same statistics with derivatives: statistics computed outside count as functions of `x`.

    The difference between the statistic of `x` and a constant with the same value is added to both.
    """
    if not is_traced(x):
        return mean, rstd
    own = np.mean(x, axis=axes, keepdims=True)
    variance = np.mean((x - own) ** 2, axis=axes, keepdims=True)
    offset = _held(mean - own)
    eps = _held(rstd**-2.0 - variance)
    return own + offset, 1 / np.sqrt(variance + eps)


def _held(x: Any) -> Any:
    return wrap(bind("stop_gradient", x.value))
