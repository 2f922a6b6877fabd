"""Attention against its formula in long double."""

from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError, ShapeError


def _attention(query: Any, key: Any, value: Any, *mask: Any, scale: float, causal: bool) -> Any:
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
    return np.einsum("...ls,...sv->...lv", terms / np.where(total == 0, 1, total), value)


def _params(causal: bool = False) -> dict[str, Any]:
    return {"scale": 0.5, "causal": causal}


SHARED: dict[str, Any] = {"reference": _attention, "ulps": 512, "signed_zeros": False}
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
)
FAILURES: tuple[Failure, ...] = (
    Failure("attention", ((2,), (2,), (2,)), "f64", ShapeError, "need two axes at least", _params()),
    Failure("attention", ((2, 3), (2, 2), (2, 2)), "f64", ShapeError, "last axes of one length", _params()),
    Failure("attention", ((2, 2, 3), (3, 2, 3), (2, 2)), "f64", ShapeError, "shapes do not broadcast", _params()),
    Failure("attention", ((2, 3), (2, 3), (2, 2), (4, 2, 2)), "f64", ShapeError, "the mask must broadcast", _params()),
    Failure("attention", ((2, 3), (2, 3), (2, 2), (2, 2)), ("f64", "f64", "f64", "f32"), DTypeError,
            "a mask is bool, or of the dtype", _params()),
)  # fmt: skip
