"""Losses against their formulas in long double."""

from typing import Any

import numpy as np

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import ArgumentValueError, DTypeError, ShapeError
from tracemill.compiler.ir import Shape

IGNORED = 2
SHARED: dict[str, Any] = {"ulps": 64, "signed_zeros": False}
NARROW = ("f16", "bf16", "f32")


def _huber(x: Any, target: Any, delta: float) -> Any:
    r = np.abs(x - target)
    return np.where(r <= delta, r * r / 2, delta * (r - np.longdouble(delta) / 2))


def _bce(x: Any, target: Any, weight: Any = 1) -> Any:
    return weight * target * np.logaddexp(-x, 0) + (1 - target) * np.logaddexp(x, 0)


def _per_class(x: Any, target: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The classes as zeros and ones of the shape of x with the classes last, weights, and x in that order."""
    x = np.moveaxis(x, min(x.ndim - 1, 1), -1)
    counts = target != IGNORED
    hot = (target[..., None] == np.arange(x.shape[-1])) & counts[..., None]
    each = np.sum(hot * (weight[0] if weight else np.ones(x.shape[-1], x.dtype)), -1)
    return hot, each, x


def _reduce(losses: Any, total: Any, reduction: str) -> Any:
    return {"none": lambda: losses, "sum": lambda: np.sum(losses), "mean": lambda: np.sum(losses) / total}[
        reduction
    ]()


def _nll(x: Any, target: Any, *weights: Any, ignore_index: int, reduction: str, weight: bool) -> Any:
    hot, each, x = _per_class(x, target, weights)
    return _reduce(-each * np.sum(np.where(hot, x, 0), -1), np.sum(each), reduction), np.sum(each)


def _nll_backward(
    ct: Any, x: Any, target: Any, total: Any, *weights: Any, ignore_index: int, reduction: str, weight: bool
) -> Any:
    hot, each, _ = _per_class(x, target, weights)
    scale = -each * (ct / total if reduction == "mean" else ct)
    return np.moveaxis(hot * np.asarray(scale)[..., None], -1, min(x.ndim - 1, 1))


def _cross_entropy(
    x: Any,
    target: Any,
    *weights: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    weight: bool,
) -> Any:
    axis = min(x.ndim - 1, 1)
    classes = x.shape[axis]
    logs = x - np.log(np.sum(np.exp(x), axis, keepdims=True))
    smoothing = np.longdouble(label_smoothing)
    if target.dtype.kind == "f":
        logs = np.moveaxis(logs, axis, -1) * (weights[0] if weight else 1)
        target = np.moveaxis(target, axis, -1) * (1 - smoothing) + smoothing / classes
        losses = -np.sum(logs * target, -1)
        return _reduce(losses, max(losses.size, 1), reduction)
    losses, total = _nll(logs, target, *weights, ignore_index=0, reduction="none", weight=weight)
    _, _, logs = _per_class(logs, target, weights)
    spread = -np.sum(logs * (weights[0] if weight else 1), -1) / classes * (target != IGNORED)
    return _reduce((1 - smoothing) * losses + smoothing * spread, total, reduction)


def _by_class(reduction: str = "mean", weight: bool = False) -> dict[str, Any]:
    return {"ignore_index": IGNORED, "reduction": reduction, "weight": weight}


CLASSES = Points((0, 2, 1, 0))
# the shapes of x and target, the reduction, whether there are weights
ROWS: tuple[tuple[Shape, Shape, str, bool], ...] = (
    ((4, 3), (4,), "mean", True),
    ((4, 3), (4,), "sum", False),
    ((4, 3), (4,), "none", True),
    ((3,), (), "mean", False),
    ((2, 3, 2, 1), (2, 2, 1), "mean", True),
    ((0, 3), (0,), "sum", False),
)


def _nlls() -> list[Sample]:
    samples = []
    for x, target, reduction, weight in ROWS:
        label = "" if len(x) < 4 else "each"
        params = _by_class(reduction, weight)
        shapes, dtypes = (x, target, *((3,),) * weight), ("f64", "i64", *("f64",) * weight)
        domains: tuple[Any, ...] = ("real", CLASSES, *("positive",) * weight)
        samples.append(
            Sample("nll_loss", shapes, dtypes, params, domains, reference=_nll, label=label, **SHARED)
        )
        smooth = {**params, "label_smoothing": 0.25 if weight else 0.0}
        samples.append(
            Sample(
                "cross_entropy",
                shapes,
                dtypes,
                smooth,
                domains,
                reference=_cross_entropy,
                label=label,
                **SHARED,
            )
        )
        ct = target if reduction == "none" else ()
        shapes, dtypes = (
            (ct, x, target, (), *((3,),) * weight),
            ("f64", "f64", "i64", "f64", *("f64",) * weight),
        )
        domains = ("real", "real", CLASSES, "positive", *("positive",) * weight)
        label = "" if len(x) == 1 else "each"
        samples.append(
            Sample(
                "nll_loss_backward",
                shapes,
                dtypes,
                params,
                domains,
                reference=_nll_backward,
                label=label,
                **SHARED,
            )
        )
    return samples


def _probabilities() -> list[Sample]:
    rows: tuple[tuple[Shape, str, bool, float], ...] = (
        ((2, 3), "mean", True, 0.25), ((3,), "sum", False, 0.0), ((2, 3, 2), "none", False, 0.5),
        ((0, 3), "sum", False, 0.0),
    )  # fmt: skip
    return [
        Sample(
            "cross_entropy",
            (x, x, *((3,),) * weight),
            "f64",
            {**_by_class(reduction, weight), "label_smoothing": smoothing},
            ("real", "probability", *("positive",) * weight),
            reference=_cross_entropy,
            **SHARED,
        )
        for x, reduction, weight, smoothing in rows
    ]


HUBER: dict[str, Any] = {
    "params": {"delta": 1.0},
    "reference": _huber,
    "special": "",
    "ulps": 64,
    "signed_zeros": False,
}
BCE: dict[str, Any] = {
    "reference": _bce, "domain": "probability", "special": "", "ulps": 64, "signed_zeros": False,
}  # fmt: skip
NAME = "binary_cross_entropy_with_logits"
SAMPLES: tuple[Sample, ...] = (
    *elementwise("huber_loss", 2, "f", **HUBER),
    *elementwise(NAME, 2, "f", **BCE),
    Sample(NAME, ((2, 3), (2, 3), (3,)), "f64", domain=("real", "probability", "positive"), reference=_bce, **SHARED),
    *_nlls(),
    *_probabilities(),
    *(
        Sample("nll_loss", ((4, 3), (4,)), (name, "i32"), _by_class(), ("real", CLASSES), reference=_nll, **SHARED)
        for name in NARROW
    ),
    *(
        Sample("cross_entropy", ((4, 3), (4,)), (name, "u8"), {**_by_class(), "label_smoothing": 0.125},
               ("real", CLASSES), reference=_cross_entropy, **SHARED)
        for name in NARROW
    ),
)  # fmt: skip

_SMOOTH: dict[str, Any] = {**_by_class(), "label_smoothing": 0.0}
FAILURES: tuple[Failure, ...] = (
    *misuse("huber_loss", 2, "f", {"delta": 1.0}),
    Failure(NAME, ((2,), (2,)), "i64", DTypeError, f"{NAME} is not defined for"),
    Failure(NAME, ((2,), (3,)), "f64", ShapeError, "shapes do not broadcast"),
    Failure("nll_loss", ((4, 3), (4,)), "f64", DTypeError, "the target must be integers", _by_class()),
    Failure("nll_loss", ((4, 3), (3,)), ("f64", "i64"), ShapeError, "must have the shape", _by_class()),
    Failure("nll_loss", ((), ()), ("f64", "i64"), ShapeError, "must be the classes", _by_class()),
    Failure("nll_loss", ((4, 3), (4,), (4,)), ("f64", "i64", "f64"), ShapeError, "one per class",
            _by_class(weight=True)),
    Failure("nll_loss", ((4, 3), (4,)), ("f64", "i64"), ArgumentValueError, "none, sum, mean, not 'max'",
            _by_class("max")),
    Failure("nll_loss_backward", ((4,), (4, 3), (4,), ()), ("f64", "f64", "i64", "f64"), ShapeError,
            "no cotangent of its loss", _by_class()),
    Failure("cross_entropy", ((4, 3), (4,)), "f64", ShapeError, "probabilities of classes", _SMOOTH),
    Failure("cross_entropy", ((4, 3), (4,)), ("f64", "i64"), ArgumentValueError, "between 0 and 1",
            {**_SMOOTH, "label_smoothing": 2.0}),
)  # fmt: skip
