"""Losses: how far predictions are from targets. ``reduction`` is "mean", "sum", or "none" for separate losses."""

from typing import Any

import numpy as np

from ..arguments.option_checks import integer, number
from ..callers.user_code import user_location
from ..dtypes import Array, is_inexact, is_integer
from ..errors import ArgumentValueError, DTypeError, OutOfBoundsError
from ..ir import Constant
from ..nesting import shown
from ..numpy_surface.ufuncs.eager_ops import as_numbers
from ..ops.nn.loss import REDUCTIONS, class_axis
from ..tracing.array_values import as_value
from ..tracing.traced_memory import is_traced
from .arguments import broadcast, call, in_one_dtype


def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The square of ``x - target``.

    >>> float(mse_loss(np.array([1.0, 3.0]), np.array([0.0, 0.0])))
    5.0
    """
    x, target = broadcast("mse_loss", *in_one_dtype(x, target))
    return _reduced("mse_loss", (x - target) ** 2, reduction)


def l1_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute value of ``x - target``, with derivative 0 where both are equal.

    >>> float(l1_loss(np.array([1.0, -3.0]), np.array([0.0, 0.0])))
    2.0
    """
    x, target = broadcast("l1_loss", *in_one_dtype(x, target))
    return _reduced("l1_loss", np.abs(x - target), reduction)


def huber_loss(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the square of ``x - target`` up to `delta`, linear beyond.

    P. J. Huber, "Robust estimation of a location parameter" (1964).

    >>> huber_loss(np.array([0.5, 3.0]), np.zeros(2), "none").tolist()
    [0.125, 2.5]
    """
    delta = number("delta", delta)
    if not delta > 0:
        raise ArgumentValueError(f"huber_loss: delta must be positive, not {delta}", user_location())
    x, target = in_one_dtype(x, target)
    return _reduced("huber_loss", call("huber_loss", x, target, delta=delta), reduction)


def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """``-(pos_weight * target * log(σ(x)) + (1 - target) * log(1 - σ(x))) * weight``, stable for large `x`.

    Args:
        x: logits.
        target: probabilities, of the shape of `x`.
        weight: what each loss counts, broadcast; 1 if None.
        pos_weight: what a target of 1 counts against one of 0, broadcast; 1 if None.
        reduction: "mean", "sum" or "none".

    >>> binary_cross_entropy_with_logits(np.array([1000.0, -1000.0]), np.array([1.0, 1.0]), reduction="none").tolist()
    [0.0, 1000.0]
    """
    x, target, weight, pos_weight = in_one_dtype(x, target, optional=(weight, pos_weight))
    losses = call("binary_cross_entropy_with_logits", x, target, pos_weight)
    if weight is not None:
        losses = np.multiply(*broadcast("binary_cross_entropy_with_logits", losses, weight))
    return _reduced("binary_cross_entropy_with_logits", losses, reduction)


def nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """The negative log-likelihood of target classes.

    Args:
        x: logarithms of probabilities: [C] for one example, [N, C] for a batch, [N, C, d1, …] with places.
        target: classes as integers: [], [N] or [N, d1, …].
        weight: what each class counts, [C]; 1 if None.
        ignore_index: targets of this value count nothing.
        reduction: "none", "sum", or "mean", which divides by the sum of the weights of the targets: NaN if none count.

    Raises:
        ShapeError: (a ValueError) a shape does not fit.
        DTypeError: (a TypeError) the targets are not integers.
        OutOfBoundsError: (an IndexError) a target is not a class. Where targets are traced, the nearest class is read.

    >>> float(nll_loss(np.log([[0.25, 0.75], [0.5, 0.5]]), np.array([0, 1]), reduction="sum"))
    2.0794415416798357
    """
    return _nll_loss(x, target, weight, ignore_index, reduction)[0]


def nll_loss_backward(
    grad_output: Any,
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    total_weight: Any = None,
) -> Any:
    """The gradient for the first argument of `nll_loss`, from the gradient for its result.

    `total_weight` is the sum of the weights of the targets, computed if it is None.

    >>> nll_loss_backward(np.array(1.0), np.zeros((1, 3)), np.array([2])).tolist()
    [[0.0, 0.0, -1.0]]
    """
    ignore_index = integer("ignore_index", ignore_index)
    reduction = _reduction("nll_loss_backward", reduction)
    if total_weight is None:
        total_weight = _nll_loss(x, target, weight, ignore_index, "sum")[1]
    grad_output, x, total_weight, weight = in_one_dtype(grad_output, x, total_weight, optional=(weight,))
    target = _classes(x, target, ignore_index)
    return call(
        "nll_loss_backward",
        grad_output,
        x,
        target,
        total_weight,
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
        weight=weight is not None,
    )


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`nll_loss` of ``log_softmax(x)``, for classes or for probabilities of classes.

    Args:
        x: logits: [C] for one example, [N, C] for a batch, [N, C, d1, …] with places.
        target: integers as for `nll_loss`; or floating numbers of the shape of `x`, the probabilities of all classes.
        weight: what each class counts, [C]; 1 if None.
        ignore_index: integer targets of this value count nothing.
        reduction: "none", "sum", or "mean": of classes by their weights, of probabilities over all examples.
        label_smoothing: the share of each target, from 0 to 1, that is spread evenly over the classes.

    Raises:
        ShapeError, DTypeError, OutOfBoundsError: as for `nll_loss`.

    >>> float(cross_entropy(np.array([[1000.0, 0.0]]), np.array([1])))
    1000.0
    """
    ignore_index, reduction = integer("ignore_index", ignore_index), _reduction("cross_entropy", reduction)
    if is_inexact(as_numbers(target).dtype):
        x, target, weight = in_one_dtype(x, target, optional=(weight,))
    else:
        x, weight = in_one_dtype(x, optional=(weight,))
        target = _classes(x, target, ignore_index)
    params: dict[str, Any] = {"reduction": reduction, "weight": weight is not None}
    smoothing = number("label_smoothing", label_smoothing)
    return call(
        "cross_entropy", x, target, weight, ignore_index=ignore_index, label_smoothing=smoothing, **params
    )


def _nll_loss(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple[Any, Any]:
    """The loss and the sum of the weights."""
    ignore_index, reduction = integer("ignore_index", ignore_index), _reduction("nll_loss", reduction)
    x, weight = in_one_dtype(x, optional=(weight,))
    target = _classes(x, target, ignore_index)
    params: dict[str, Any] = {"ignore_index": ignore_index, "weight": weight is not None}
    loss, total = call("nll_loss", x, target, weight, reduction=reduction, **params)
    return loss, total


def _classes(x: Any, target: Any, ignore_index: int) -> Any:
    """The target as integers; known ones must be classes of `x`."""
    target = as_numbers(target)
    if not is_integer(target.dtype):
        raise DTypeError(f"target must be integers, not {target.dtype}", user_location())
    known = _known(target)
    if known is not None and x.ndim:
        classes = x.shape[class_axis(x)]
        counted = known[known != ignore_index]
        largest = int(np.max(counted, initial=0))
        wrong = counted[counted < 0] if largest < classes or not counted.size else np.array([largest])
        if wrong.size:
            raise OutOfBoundsError(
                f"target {wrong[0]} is not one of the {classes} classes, which count from 0", user_location()
            )
    return target


def _known(target: Any) -> Array | None:
    """The array, unless it is an input of the graph: a closed-over array may change from call to call."""
    if not is_traced(target):
        return np.asarray(target)
    value = as_value(target)
    return value.array if isinstance(value, Constant) else None


def _reduced(function: str, losses: Any, reduction: str) -> Any:
    reduction = _reduction(function, reduction)
    if reduction == "none":
        return losses
    return np.sum(losses) if reduction == "sum" else np.mean(losses)


def _reduction(function: str, reduction: Any) -> str:
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise ArgumentValueError(
            f"{function}: the reduction is one of {', '.join(REDUCTIONS)}, not {shown(reduction)}",
            user_location(),
        )
    return reduction
