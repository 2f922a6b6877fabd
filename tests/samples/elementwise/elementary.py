"""Exponentials, logarithms, trigonometric and hyperbolic functions."""

from typing import Any

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Sample

# op, arity, kinds, and what differs from the usual
ROWS: tuple[tuple[str, int, str, dict[str, Any]], ...] = (
    ("exp", 1, "fc", {}),
    ("exp2", 1, "fc", {}),
    ("expm1", 1, "fc", {}),
    ("log", 1, "fc", {"domain": "positive"}),
    ("log2", 1, "fc", {"domain": "positive"}),
    ("log10", 1, "fc", {"domain": "positive"}),
    ("log1p", 1, "fc", {"domain": "positive"}),
    ("sin", 1, "fc", {}),
    ("cos", 1, "fc", {}),
    ("tan", 1, "fc", {"domain": "unit"}),
    ("arcsin", 1, "fc", {"domain": "unit"}),
    ("arccos", 1, "fc", {"domain": "unit"}),
    ("arctan", 1, "fc", {"domain": "unit"}),
    ("sinh", 1, "fc", {}),
    ("cosh", 1, "fc", {}),
    ("tanh", 1, "fc", {"domain": "unit"}),
    ("arcsinh", 1, "fc", {"domain": "unit"}),
    ("arccosh", 1, "fc", {"domain": "above_one"}),
    ("arctanh", 1, "fc", {"domain": "unit"}),
    ("arctan2", 2, "f", {"domain": "away_from_zero"}),
    ("hypot", 2, "f", {}),
    ("logaddexp", 2, "f", {"domain": "positive", "ulps": 4}),
    ("logaddexp2", 2, "f", {"domain": "positive", "ulps": 4}),
)
SAMPLES: tuple[Sample, ...] = tuple(
    sample for op, arity, kinds, more in ROWS for sample in elementwise(op, arity, kinds, **more)
)
FAILURES = tuple(failure for op, arity, kinds, _ in ROWS for failure in misuse(op, arity, kinds))
