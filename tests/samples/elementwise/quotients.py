"""Quotients with a limit at 0, and their derivatives."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special
from mpmath import mp

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Sample
from samples.special.error_functions import scipys
from tracemill.compiler.errors import DTypeError

QUOTIENTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "exprel": ("f", lambda x: mp.hyp1f1(1, 2, x)),
    "log1prel": ("f", lambda x: mp.log1p(x) / x),
    "sin_quotient": ("fc", lambda x: mp.hyp0f1(1.5, -x * x / 4)),
}


def _derivative(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """The derivative of a function of mpmath, of that order, with 40 digits."""

    def one(x: Any, order: int) -> Any:
        with mpmath.workdps(40):
            return complex(mp.diff(function, mp.mpmathify(complex(x)), order))

    def evaluated(x: Any, order: int) -> Any:
        out = np.vectorize(lambda v: one(v, order), [np.complex128])(x)
        return out if x.dtype.kind == "c" else out.real

    return evaluated


SAMPLES: tuple[Sample, ...] = (
    *(
        sample
        for op, (kinds, function) in QUOTIENTS.items()
        for order in (0, 1, 3)
        for sample in elementwise(
            op, 1, kinds, "positive", params={"order": order}, special="", reference=_derivative(function),
            signed_zeros=False, ulps=8 if order == 0 else 4096,
        )
    ),
    *elementwise("expm1_over", 2, "f", "positive", special="", ulps=8,
                 reference=scipys(lambda x, p: np.expm1(p * x) / p)),
    *elementwise("log1p_over", 2, "f", "positive", special="", ulps=8,
                 reference=scipys(lambda x, p: scipy.special.log1p(p * x) / p)),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    *(failure for op, (kinds, _) in QUOTIENTS.items() for failure in misuse(op, 1, kinds, {"order": 0})),
    *(
        Failure(op, ((2,),), "f64", DTypeError, error, {"order": order})
        for order, error in (
            (-1, "orders start from 0"),
            (33, "orders end at 32"),
            (2**70, "orders end at 32"),
        )
        for op in QUOTIENTS
    ),
    *misuse("expm1_over", 2, "f"),
    *misuse("log1p_over", 2, "f"),
)
