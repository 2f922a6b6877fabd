"""Sums, products, quotients, powers, rounding, extrema."""

from typing import Any

import numpy as np

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Sample

NUMBERS, REALS, ORDERED = "iufc", "iuf", "biuf"
QUOTIENT = ("real", "away_from_zero")


def _reference_sign(x: Any) -> Any:
    """x / |x|, 0 at 0."""
    return np.where(x == 0, 0, x / np.abs(np.where(x == 0, 1, x))) if x.dtype.kind == "c" else np.sign(x)


SIGN: dict[str, Any] = {
    "domain": "away_from_zero",
    "reference": _reference_sign,
    "special": "iuf",
    "signed_zeros": False,
}
CLIP: dict[str, Any] = {"domain": ("real", "unit", "positive"), "reference": np.clip, "signed_zeros": False}

# op, arity, kinds, and what differs from the usual
ROWS: tuple[tuple[str, int, str, dict[str, Any]], ...] = (
    ("add", 2, "biufc", {}),
    ("subtract", 2, NUMBERS, {}),
    ("multiply", 2, "biufc", {}),
    ("divide", 2, "fc", {"domain": QUOTIENT}),
    ("floor_divide", 2, REALS, {"domain": QUOTIENT, "widened": False}),
    ("remainder", 2, REALS, {"domain": QUOTIENT, "widened": False}),
    ("fmod", 2, REALS, {"domain": QUOTIENT}),
    ("maximum", 2, ORDERED, {"signed_zeros": False}),
    ("minimum", 2, ORDERED, {"signed_zeros": False}),
    ("fmax", 2, ORDERED, {"signed_zeros": False}),
    ("fmin", 2, ORDERED, {"signed_zeros": False}),
    ("copysign", 2, "f", {"domain": "away_from_zero"}),
    ("nextafter", 2, "f", {"widened": False}),
    ("heaviside", 2, "f", {}),
    ("gcd", 2, "iu", {}),
    ("lcm", 2, "iu", {}),
    ("negative", 1, NUMBERS, {}),
    ("reciprocal", 1, NUMBERS, {"domain": "away_from_zero"}),
    ("square", 1, NUMBERS, {}),
    ("sqrt", 1, "fc", {"domain": "positive"}),
    ("root_of_squares", 1, "f", {"domain": "positive", "reference": np.sqrt}),
    ("cbrt", 1, "f", {"domain": "away_from_zero", "ulps": 4}),  # of which glibc says 4
    ("sign", 1, NUMBERS, SIGN),
    ("absolute", 1, "biufc", {"domain": "away_from_zero"}),
    ("floor", 1, ORDERED, {"domain": "away_from_integers"}),
    ("ceil", 1, ORDERED, {"domain": "away_from_integers"}),
    ("trunc", 1, ORDERED, {"domain": "away_from_integers"}),
    ("rint", 1, "fc", {"domain": "away_from_zero"}),
    ("spacing", 1, "f", {"domain": "away_from_zero", "widened": False}),
    ("clip", 3, ORDERED, CLIP),
    ("clip_to_bounds", 3, "f", CLIP),
)

SAMPLES: tuple[Sample, ...] = (
    *(sample for op, arity, kinds, more in ROWS for sample in elementwise(op, arity, kinds, **more)),
    *elementwise("power", 2, "fc", ("positive", "real")),
    *elementwise("power", 2, "iu", "integers", special="u"),  # NumPy has no integer to a negative power
)
FAILURES = tuple(
    failure
    for op, arity, kinds, _ in (*ROWS, ("power", 2, NUMBERS, {}))
    for failure in misuse(op, arity, kinds)
)
