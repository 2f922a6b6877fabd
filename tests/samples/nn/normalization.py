"""Normalisation and its backward ops against their formulas in long double."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape

EPS = 0.125
NARROW = ("f16", "bf16", "f32")
SHARED: dict[str, Any] = {"ulps": 256, "signed_zeros": False}


def _mean(x: Any, axes: Sequence[int]) -> Any:
    return np.sum(x, tuple(axes), keepdims=True) / max(math.prod(x.shape[a] for a in axes), 1)


def _affine(x: Any, rest: Sequence[Any], weight: bool, bias: bool, shape: Shape) -> Any:
    rest = [np.reshape(one, shape) for one in rest]
    return x * (rest[0] if weight else 1) + (rest[-1] if bias else 0)


def _layer_norm(x: Any, *rest: Any, normalized_shape: Shape, eps: float, weight: bool, bias: bool) -> Any:
    axes = range(x.ndim - len(normalized_shape), x.ndim)
    mean = _mean(x, axes)
    rstd = 1 / np.sqrt(_mean((x - mean) ** 2, axes) + eps)
    return _affine((x - mean) * rstd, rest, weight, bias, normalized_shape), mean, rstd


def _backward(ct: Any, normal: Any, rstd: Any, axes: Sequence[int]) -> Any:
    return rstd * (ct - _mean(ct, axes) - normal * _mean(ct * normal, axes))


def _layer_norm_backward(
    ct: Any, x: Any, mean: Any, rstd: Any, *rest: Any, normalized_shape: Shape, weight: bool, wanted: Any
) -> Any:
    first = x.ndim - len(normalized_shape)
    normal = (x - mean) * rstd
    scaled = ct * rest[0] if weight else ct
    lead = tuple(range(first))
    outputs = (
        _backward(scaled, normal, rstd, range(first, x.ndim)),
        np.sum(ct * normal, lead),
        np.sum(ct, lead),
    )
    return tuple(out for out, one in zip(outputs, wanted, strict=True) if one)


def _rms_norm(x: Any, *rest: Any, normalized_shape: Shape, eps: float, weight: bool) -> Any:
    axes = range(x.ndim - len(normalized_shape), x.ndim)
    return _affine(x / np.sqrt(_mean(x * x, axes) + eps), rest, weight, False, normalized_shape)


def _per_channel(x: Any) -> Shape:
    return (1, x.shape[1], *(1,) * (x.ndim - 2))


def _batch_norm(x: Any, *rest: Any, training: bool, eps: float, weight: bool, bias: bool) -> Any:
    axes = [axis for axis in range(x.ndim) if axis != 1]
    shape = _per_channel(x)
    if training:
        mean = _mean(x, axes)
        var = _mean((x - mean) ** 2, axes)
    else:
        mean, var = (one.reshape(shape) for one in rest[:2])
    affine = rest if training else rest[2:]
    out = _affine((x - mean) / np.sqrt(var + eps), affine, weight, bias, shape)
    return out, mean.reshape(-1), var.reshape(-1)


def _batch_norm_backward(
    ct: Any, x: Any, mean: Any, rstd: Any, *rest: Any, training: bool, weight: bool, wanted: Any
) -> Any:
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    mean, rstd = mean.reshape(_per_channel(x)), rstd.reshape(_per_channel(x))
    normal = (x - mean) * rstd
    scaled = ct * rest[0].reshape(_per_channel(x)) if weight else ct
    outputs = (
        _backward(scaled, normal, rstd, axes) if training else scaled * rstd,
        np.sum(ct * normal, axes),
        np.sum(ct, axes),
    )
    return tuple(out for out, one in zip(outputs, wanted, strict=True) if one)


def _group_norm(x: Any, *rest: Any, num_groups: int, eps: float, weight: bool, bias: bool) -> Any:
    grouped = x.reshape(x.shape[0], num_groups, -1) if x.size else x.reshape(x.shape[0], num_groups, 0)
    mean = _mean(grouped, [2])
    normal = (grouped - mean) / np.sqrt(_mean((grouped - mean) ** 2, [2]) + eps)
    return _affine(normal.reshape(x.shape), rest, weight, bias, _per_channel(x))


ALL = (True, True, True)


def _last(shape: Shape, weight: bool = False, bias: bool = False) -> dict[str, Any]:
    return {"normalized_shape": shape, "eps": EPS, "weight": weight, "bias": bias}


def _layer_norms() -> list[Sample]:
    op, ref = "layer_norm", _layer_norm
    return [
        Sample(op, ((2, 3), (3,), (3,)), "f64", _last((3,), True, True), reference=ref, **SHARED),
        Sample(
            op, ((2, 2, 3), (2, 3)), "f64", _last((2, 3), weight=True), reference=ref, label="each", **SHARED
        ),
        Sample(op, ((3,), (3,)), "f64", _last((3,), bias=True), reference=ref, **SHARED),
        Sample(op, ((0, 3),), "f64", _last((3,)), reference=ref, **SHARED),
        Sample(op, ((2, 0),), "f64", _last((0,)), reference=ref, **SHARED),
        *(Sample(op, ((2, 4),), name, _last((4,)), reference=ref, **SHARED) for name in NARROW),
    ]


def _layer_norm_backwards() -> list[Sample]:
    op, ref = "layer_norm_backward", _layer_norm_backward
    rows: tuple[tuple[Shape, Shape, bool, tuple[bool, ...], str], ...] = (
        ((3,), (3,), True, ALL, ""),
        ((2, 3), (3,), True, (True, False, True), "each"),
        ((2, 2, 3), (2, 3), False, (True, True, False), "each"),
        ((0, 3), (3,), True, ALL, "each"),
        ((2, 0), (0,), True, ALL, "each"),
    )
    return [
        Sample(
            op,
            (shape, shape, *(((*shape[: -len(last)], *(1,) * len(last)),) * 2), *(last,) * weight),
            "f64",
            {"normalized_shape": last, "weight": weight, "wanted": wanted},
            reference=ref,
            label=label,
            **SHARED,
        )
        for shape, last, weight, wanted, label in rows
    ]


def _batch_norms() -> list[Sample]:
    op, ref = "batch_norm", _batch_norm
    given: dict[str, Any] = {"eps": EPS, "weight": True, "bias": True}
    bare: dict[str, Any] = {"eps": EPS, "weight": False, "bias": False}
    positive = ("real", "real", "positive")
    return [
        Sample(op, ((3, 2), (2,), (2,)), "f64", {"training": True, **given}, reference=ref, **SHARED),
        Sample(op, ((3, 2, 2, 2),), "f64", {"training": True, **bare}, reference=ref, **SHARED),
        Sample(op, ((0, 2),), "f64", {"training": True, **bare}, reference=ref, **SHARED),
        Sample(op, ((2, 2), (2,), (2,)), "f64", {"training": False, **bare}, positive, reference=ref, **SHARED),
        Sample(op, ((2, 2, 2), *((2,),) * 4), "f64", {"training": False, **given}, (*positive, "real", "real"),
               reference=ref, label="each", **SHARED),
        *(Sample(op, ((4, 2),), name, {"training": True, **bare}, reference=ref, **SHARED) for name in NARROW),
    ]  # fmt: skip


def _batch_norm_backwards() -> list[Sample]:
    op, ref = "batch_norm_backward", _batch_norm_backward
    rows: tuple[tuple[Shape, bool, bool, tuple[bool, ...], str], ...] = (
        ((3, 2), True, False, ALL, ""),
        ((3, 2, 2), True, True, (True, True, False), "each"),
        ((3, 2, 2), False, True, (True, False, True), "each"),
        ((0, 2), False, False, ALL, "each"),
    )
    return [
        Sample(
            op,
            (shape, shape, (shape[1],), (shape[1],), *((shape[1],),) * weight),
            "f64",
            {"training": training, "weight": weight, "wanted": wanted},
            reference=ref,
            label=label,
            **SHARED,
        )
        for shape, training, weight, wanted, label in rows
    ]


def _grouped(weight: bool = False, groups: int = 2) -> dict[str, Any]:
    return {"num_groups": groups, "eps": EPS, "weight": weight, "bias": weight}


SAMPLES: tuple[Sample, ...] = (
    *_layer_norms(),
    *_layer_norm_backwards(),
    Sample("rms_norm", ((2, 3), (3,)), "f64", {"normalized_shape": (3,), "eps": EPS, "weight": True},
           reference=_rms_norm, **SHARED),
    Sample("rms_norm", ((2, 2, 2),), "f32", {"normalized_shape": (2, 2), "eps": EPS, "weight": False},
           reference=_rms_norm, **SHARED),
    *_batch_norms(),
    *_batch_norm_backwards(),
    Sample("group_norm", ((2, 4), (4,), (4,)), "f64", _grouped(True), reference=_group_norm, **SHARED),
    Sample("group_norm", ((2, 2, 3),), "f64", _grouped(), reference=_group_norm, **SHARED),
    Sample("group_norm", ((0, 2, 3),), "f64", _grouped(), reference=_group_norm, **SHARED),
    Sample("group_norm", ((2, 4),), "f32", _grouped(), reference=_group_norm, **SHARED),
)  # fmt: skip

_LAST: dict[str, Any] = {"normalized_shape": (3,), "weight": False}
_EACH: dict[str, Any] = {"training": True, "eps": EPS, "weight": False, "bias": False}
FAILURES: tuple[Failure, ...] = (
    Failure("layer_norm", ((2,),), "f64", ShapeError, r"its last axes are not \(3,\)", _last((3,))),
    Failure("layer_norm", ((2, 3), (2,)), "f64", ShapeError, "the shapes must be", _last((3,), True)),
    Failure("layer_norm", ((3,),), "i64", DTypeError, "layer_norm is not defined for", _last((3,))),
    Failure("layer_norm", ((3,), (3,)), ("f64", "f32"), DTypeError, "layer_norm is not defined for", _last((3,), True)),
    Failure("layer_norm_backward", ((3,), (3,), (3,), (1,)), "f64", ShapeError, "the shapes must be",
            {**_LAST, "wanted": ALL}),
    Failure("rms_norm", ((3, 2),), "f64", ShapeError, "its last axes are not", {**_LAST, "eps": EPS}),
    Failure("batch_norm", ((3,),), "f64", ShapeError, "its axis 1 must be the channels", _EACH),
    Failure("batch_norm", ((3, 2),), "f64", ShapeError, "the shapes must be", {**_EACH, "training": False}),
    Failure("batch_norm_backward", ((3, 2), (3, 2), (3,), (2,)), "f64", ShapeError, "the shapes must be",
            {"training": True, "weight": False, "wanted": ALL}),
    Failure("group_norm", ((2, 4),), "f64", ShapeError, "4 channels are not 3 groups", _grouped(groups=3)),
)  # fmt: skip
