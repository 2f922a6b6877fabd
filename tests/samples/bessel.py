"""Bessel functions of orders 0 and 1."""

from typing import Any

import scipy.special

from samples.elementwise import elementwise, misuse
from samples.sample import Failure, Interval, Points, Sample
from samples.special import scipys

BETWEEN_ZEROS = Interval(0.95, 2.1)
EDGES = Points((float("nan"), 0.0, -0.0, 1e-300, 0.5, -0.5, 7.9, 8.1, -8.1, 20.0, -20.0))

OSCILLATING: dict[str, Any] = {"domain": BETWEEN_ZEROS, "special": ""}

ROWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("i0e", {"reference": scipys(scipy.special.i0e), "domain": "away_from_zero"}),
    ("i1e", {"reference": scipys(scipy.special.i1e), "domain": "away_from_zero"}),
    ("j0", {"reference": scipys(scipy.special.j0), **OSCILLATING}),
    ("j1", {"reference": scipys(scipy.special.j1), **OSCILLATING}),
    ("y0", {"reference": scipys(scipy.special.y0), **OSCILLATING}),
    ("y1", {"reference": scipys(scipy.special.y1), **OSCILLATING}),
)
SAMPLES: tuple[Sample, ...] = (
    *(sample for op, more in ROWS for sample in elementwise(op, 1, "f", ulps=64, signed_zeros=False, **more)),
    *(
        Sample(op, ((11,),), "f64", {}, EDGES, reference=more["reference"], signed_zeros=False, ulps=200)
        for op, more in ROWS
    ),
)
FAILURES: tuple[Failure, ...] = tuple(failure for op, _ in ROWS for failure in misuse(op, 1, "f"))
