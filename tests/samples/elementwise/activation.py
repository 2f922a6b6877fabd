"""Activations of neural networks against their formulas in long double."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Sample
from samples.special.error_functions import digits


def _gelu(x: Any, approximate: bool) -> Any:
    if approximate:
        return x / 2 * (1 + np.tanh(np.sqrt(np.longdouble(2) / np.pi) * (x + 0.044715 * x**3)))
    return x * digits(mpmath.ncdf)(x)


# op, parameters, the value, and what differs from the usual
ROWS: tuple[tuple[str, dict[str, Any], Callable[..., Any], dict[str, Any]], ...] = (
    ("relu", {}, lambda x: np.where(x <= 0, 0, x), {}),
    ("elu", {"alpha": 1.5}, lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), {}),
    ("sigmoid", {}, lambda x: 1 / (1 + np.exp(-x)), {}),
    ("log_sigmoid", {}, lambda x: -np.logaddexp(-x, 0), {"signed_zeros": False}),
    ("softplus", {"beta": 1.0}, lambda x, beta: np.logaddexp(x, 0), {}),
    ("softplus", {"beta": 3.0}, lambda x, beta: np.logaddexp(3 * x, 0) / 3, {"special": "", "ulps": 8}),
    ("silu", {}, lambda x: x / (1 + np.exp(-x)), {"special": ""}),
    ("gelu", {"approximate": False}, _gelu, {"special": "", "ulps": 8}),
    ("gelu", {"approximate": True}, _gelu, {"special": "", "ulps": 256}),
)
USUAL: dict[str, Any] = {"domain": "away_from_zero", "ulps": 4}
SAMPLES: tuple[Sample, ...] = tuple(
    sample
    for op, params, reference, more in ROWS
    for sample in elementwise(op, 1, "f", params=params, reference=reference, **(USUAL | more))
)
FAILURES: tuple[Failure, ...] = tuple(
    failure for op, params, *_ in (*ROWS[:5], ROWS[6], ROWS[7]) for failure in misuse(op, 1, "f", params)
)
