"""Attention against its formula in long double."""

from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError, ShapeError


def attention_weights(query: Any, key: Any, *mask: Any, scale: float, causal: bool) -> tuple[Any, Any, Any]:
    """Scores, terms e^score that are 0 where a key is not seen, and their sums; a sum of none counts as 1."""
    scores = np.longdouble(scale) * np.einsum("...le,...se->...ls", query, key)
    seen = np.ones(scores.shape, bool)
    if mask and mask[0].dtype == bool:
        seen = seen & mask[0]
    elif mask:
        scores = scores + mask[0]
    if causal:
        seen = seen & (np.tri(*scores.shape[-2:]) == 1)
    terms = np.where(seen, np.exp(scores), 0)
    total = np.sum(terms, -1, keepdims=True)
    return np.where(seen, scores, -np.inf), terms, np.where(total == 0, 1, total)


def attended(query: Any, key: Any, value: Any, *mask: Any, scale: float, causal: bool) -> tuple[Any, Any]:
    """The result, and the weights."""
    _, terms, total = attention_weights(query, key, *mask, scale=scale, causal=causal)
    weights = terms / total
    weights = np.broadcast_to(
        weights, (*np.broadcast_shapes(weights.shape[:-2], value.shape[:-2]), *weights.shape[-2:])
    )
    return np.einsum("...ls,...sv->...lv", weights, value), weights


def _attention(*operands: Any, scale: float, causal: bool) -> Any:
    return attended(*operands, scale=scale, causal=causal)[0]


def _params(causal: bool = False) -> dict[str, Any]:
    return {"scale": 0.5, "causal": causal}


SHARED: dict[str, Any] = {"reference": _attention, "ulps": 512, "signed_zeros": False}
WEIGHTED: dict[str, Any] = {**SHARED, "reference": attended}
BLIND = Points((-np.inf, 0.0, -np.inf, -np.inf))
REAL = ("real", "real", "real")
SAMPLES: tuple[Sample, ...] = (
    Sample("attention", ((2, 3), (2, 3), (2, 2)), "f64", _params(), **SHARED),
    Sample("attention", ((2, 1), (3, 1), (3, 2), (3,)), ("f64", "f64", "f64", "bool"), _params(), **SHARED),
    Sample("attention", ((3, 2), (2, 2), (2, 1)), "f64", _params(causal=True), **SHARED),
    Sample(
        "attention",
        ((2, 1, 3, 2), (2, 2, 2), (2, 2, 3), (3, 2)),
        "f64",
        _params(causal=True),
        label="each",
        **SHARED,
    ),
    Sample(
        "attention",
        ((2, 2), (2, 2), (2, 2), (2, 2)),
        "f64",
        _params(),
        (*REAL, BLIND),
        label="each",
        **SHARED,
    ),
    Sample("attention", ((2, 2), (0, 2), (0, 3)), "f64", _params(), **SHARED),
    Sample("attention", ((2, 3), (4, 3), (4, 2)), "f32", _params(), **SHARED),
    Sample("attention", ((2, 3), (4, 3), (4, 2)), "f16", _params(), **SHARED),
    Sample("attention", ((2, 3), (4, 3), (4, 2)), "bf16", _params(), **SHARED),
    *(
        Sample("attention_with_weights", shapes, dtypes, params, **WEIGHTED)
        for shapes, dtypes, params in (
            (((2, 3), (4, 3), (4, 2)), "f64", _params()),
            (((2, 1, 3, 2), (2, 2, 2), (2, 2, 3), (3, 2)), "f64", _params(causal=True)),
            (((2, 1), (3, 1), (3, 2), (3,)), ("f32", "f32", "f32", "bool"), _params()),
            (((2, 3), (4, 3), (4, 2)), "bf16", _params()),
        )
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure("attention_with_weights", ((2, 3), (2, 2), (2, 2)), "f64", ShapeError, "last axes of one", _params()),
    Failure("attention", ((2,), (2,), (2,)), "f64", ShapeError, "need two axes at least", _params()),
    Failure("attention", ((2, 3), (2, 2), (2, 2)), "f64", ShapeError, "last axes of one length", _params()),
    Failure("attention", ((2, 2, 3), (3, 2, 3), (2, 2)), "f64", ShapeError, "shapes do not broadcast", _params()),
    Failure("attention", ((2, 3), (2, 3), (2, 2), (4, 2, 2)), "f64", ShapeError, "the mask must broadcast", _params()),
    Failure("attention", ((2, 3), (2, 3), (2, 2), (2, 2)), ("f64", "f64", "f64", "f32"), DTypeError,
            "a mask is bool, or of the dtype", _params()),
)  # fmt: skip
