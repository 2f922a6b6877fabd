"""Bessel functions of orders 0 and 1, and of others."""

from typing import Any

import scipy.special

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Interval, Points, Sample
from samples.special.error_functions import scipys
from tracemill.compiler.errors import DTypeError

BETWEEN_ZEROS = Interval(0.95, 2.1)
EDGES = Points((float("nan"), 0.0, -0.0, 1e-300, 0.5, -0.5, 7.9, 8.1, -8.1, 20.0, -20.0))
ORDINARY_EDGES = Points(tuple(x for x in EDGES if x != 1e-300))
"""SciPy's functions of any order are 0 at denormal numbers."""

OSCILLATING: dict[str, Any] = {"domain": BETWEEN_ZEROS, "special": ""}

ROWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("i0e", {"reference": scipys(scipy.special.i0e), "domain": "away_from_zero"}),
    ("i1e", {"reference": scipys(scipy.special.i1e), "domain": "away_from_zero"}),
    ("j0", {"reference": scipys(scipy.special.j0), **OSCILLATING}),
    ("j1", {"reference": scipys(scipy.special.j1), **OSCILLATING}),
    ("y0", {"reference": scipys(scipy.special.y0), **OSCILLATING}),
    ("y1", {"reference": scipys(scipy.special.y1), **OSCILLATING}),
)
ORDERS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("bessel_j", {"reference": scipys(lambda x, order: scipy.special.jv(order, x))}, 2),
    ("bessel_ie", {"reference": scipys(lambda x, order: scipy.special.ive(order, x))}, 2),
    ("bessel_i", {"reference": scipys(lambda x, order: scipy.special.iv(order, x))}, 0),
)
SAMPLES: tuple[Sample, ...] = (
    *(sample for op, more in ROWS for sample in elementwise(op, 1, "f", ulps=64, signed_zeros=False, **more)),
    *(
        Sample(op, ((11,),), "f64", {}, EDGES, reference=more["reference"], signed_zeros=False, ulps=200)
        for op, more in ROWS
    ),
    *(
        sample
        for op, more, lowest in ORDERS
        for order in (lowest, lowest + 3)
        for sample in elementwise(
            op,
            1,
            "f",
            BETWEEN_ZEROS,
            params={"order": order},
            special="",
            ulps=256,
            signed_zeros=False,
            **more,
        )
    ),
    *(
        Sample(
            op, ((10,),), "f64", {"order": lowest + 1}, ORDINARY_EDGES, **more, signed_zeros=False, ulps=1000
        )
        for op, more, lowest in ORDERS
    ),
)
FAILURES: tuple[Failure, ...] = (
    *(failure for op, _ in ROWS for failure in misuse(op, 1, "f")),
    *(failure for op, _, lowest in ORDERS for failure in misuse(op, 1, "f", {"order": lowest})),
    *(
        Failure(op, ((2,),), "f64", DTypeError, f"orders start from {lowest}", {"order": lowest - 1})
        for op, _, lowest in ORDERS
    ),
    *(
        Failure(op, ((2,),), "f64", DTypeError, "orders end at 128", {"order": order})
        for op, _, _ in ORDERS
        for order in (129, 2**70)
    ),
)
