"""Derivatives of powers whose exponents are computed."""

from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError


def _derivative(x: Any, y: Any, by_x: int, by_y: int) -> Any:
    """The derivative of exp(y·log x) by y as a product of logarithms, differentiated by x with 40 digits."""

    def one(x: Any, y: Any) -> complex:
        x, y = mp.mpmathify(complex(x)), mp.mpmathify(complex(y))
        with mpmath.workdps(40):
            return complex(mp.diff(lambda v: mp.power(v, y) * mp.log(v) ** by_y, x, by_x))

    out = np.vectorize(one, [np.complex128])(x, y)
    return out if x.dtype.kind == "c" else out.real


_ORDERS = ((1, 0), (0, 1), (2, 0), (1, 1), (3, 2))

SAMPLES: tuple[Sample, ...] = tuple(
    sample
    for by_x, by_y in _ORDERS
    for sample in elementwise(
        "power_derivative", 2, "fc", "positive", params={"by_x": by_x, "by_y": by_y}, special="",
        reference=_derivative, signed_zeros=False, ulps=64,
    )
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    *misuse("power_derivative", 2, "fc", {"by_x": 1, "by_y": 0}),
    *(
        Failure("power_derivative", ((2,), (2,)), "f64", DTypeError, error, params)
        for error, params in (
            ("by its base of order -1 is not defined", {"by_x": -1, "by_y": 0}),
            ("by its exponent of order 33 is not supported", {"by_x": 1, "by_y": 33}),
        )
    ),
)
