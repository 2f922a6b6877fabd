"""Attention with its sums, and its gradient by these, against their formulas in long double."""

from typing import Any

import numpy as np

from samples.nn.attention import attended, attention_weights
from samples.nn.attention_derivatives import SEVERAL as MANY
from samples.nn.attention_derivatives import sum_to
from samples.sample import Failure, Sample
from tracemill.compiler.errors import ShapeError


def _with_sums(query: Any, key: Any, value: Any, *mask: Any, scale: float, causal: bool) -> Any:
    scores, terms, _ = attention_weights(query, key, *mask, scale=scale, causal=causal)
    out, weights = attended(query, key, value, *mask, scale=scale, causal=causal)
    largest = np.max(scores, -1)
    largest = np.where(largest == -np.inf, 0, largest)
    total = np.sum(terms, -1) * np.exp(-largest)
    rows = weights.shape[:-1]
    return out, np.broadcast_to(largest, rows), np.broadcast_to(np.where(total == 0, 1, total), rows)


def _gradient(ct: Any, query: Any, key: Any, value: Any, *others: Any, scale: float, causal: bool) -> Any:
    *mask, out, largest, total = others
    scores, _, _ = attention_weights(query, key, *mask, scale=scale, causal=causal)
    weights = np.exp(scores - largest[..., None]) / total[..., None]
    change = np.einsum("...lv,...sv->...ls", ct, value) - np.sum(ct * out, -1, keepdims=True)
    moved = np.longdouble(scale) * weights * change
    return (
        sum_to(np.einsum("...ls,...se->...le", moved, key), query.shape),
        sum_to(np.einsum("...ls,...le->...se", moved, query), key.shape),
        sum_to(np.einsum("...ls,...lv->...sv", weights, ct), value.shape),
    )


def _params(causal: bool = False) -> dict[str, Any]:
    return {"scale": 0.5, "causal": causal}


SHARED: dict[str, Any] = {"ulps": 4096, "signed_zeros": False}
SEVERAL: dict[str, Any] = {**MANY, **SHARED}
QKV = ((2, 3), (4, 3), (4, 2))
GROUPED = ((2, 2, 3, 2), (2, 1, 2, 2), (2, 1, 2, 3))
SAMPLES: tuple[Sample, ...] = (
    *(
        Sample("attention_with_sums", shapes, dtypes, params, reference=_with_sums, **SHARED)
        for shapes, dtypes, params in (
            (QKV, "f64", _params()),
            (GROUPED, "f64", _params(causal=True)),
            ((*QKV, (4,)), ("f32", "f32", "f32", "bool"), _params()),
            ((*QKV, (2, 1)), "f64", _params()),
            (QKV, "f16", _params()),
        )
    ),
    *(
        Sample(
            "attention_gradient_by_sums",
            shapes,
            dtypes,
            params,
            (*("real",) * (len(shapes) - 1), "positive"),
            reference=_gradient,
            **SEVERAL,
        )
        for shapes, dtypes, params in (
            (((2, 2), *QKV, (2, 2), (2,), (2,)), "f64", _params()),
            (((2, 2, 3, 3), *GROUPED, (2, 2, 3, 3), (2, 2, 3), (2, 2, 3)), "f64", _params(causal=True)),
            (((2, 2), *QKV, (4,), (2, 2), (2,), (2,)), ("f32",) * 4 + ("bool",) + ("f32",) * 3, _params()),
            (((2, 2), *QKV, (2, 1), (2, 2), (2,), (2,)), "f64", _params()),
            (((2, 2), *QKV, (2, 2), (2,), (2,)), ("bf16",) * 5 + ("f32",) * 2, _params()),
        )
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure("attention_with_sums", ((2, 3), (2, 2), (2, 2)), "f64", ShapeError, "last axes of one length", _params()),
    Failure("attention_gradient_by_sums", ((2, 2), *QKV, (2, 2), (2,), (3,)), "f64", ShapeError, "sums do not fit",
            _params()),
)  # fmt: skip
