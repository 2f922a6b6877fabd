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


def _box_cox_derivative(x: Any, p: Any, order: int, shifted: bool) -> Any:
    """The integral of tᵖ⁻¹·log(t)ⁿ from 1 to x."""

    def one(x: float, p: float) -> Any:
        log_x = mp.log(x)
        return log_x ** (order + 1) * mp.diff(lambda v: mp.hyp1f1(1, 2, v), p * log_x, order)

    with mpmath.workdps(40):
        return np.vectorize(lambda x, p: float(one(float(x), float(p))), [np.float64])(x, p)


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
    *elementwise("box_cox", 2, "f", "positive", special="", ulps=64, params={"order": 0, "shifted": False},
                 reference=lambda x, p, **_: scipy.special.boxcox(x.astype(float), p.astype(float))),
    *elementwise("box_cox", 2, "f", "positive", special="", ulps=64, params={"order": 0, "shifted": True},
                 reference=lambda x, p, **_: scipy.special.boxcox1p(x.astype(float), p.astype(float))),
    *(
        sample
        for order in (1, 3)
        for sample in elementwise(
            "box_cox", 2, "f", "positive", special="", ulps=4096, params={"order": order, "shifted": False},
            reference=_box_cox_derivative,
        )
    ),
    *elementwise("powm1", 2, "f", "positive", special="", ulps=16, reference=scipys(scipy.special.powm1)),
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
    *misuse("box_cox", 2, "f", {"order": 0, "shifted": False}),
    Failure("box_cox", ((2,), (2,)), "f64", DTypeError, "orders end at 32", {"order": 33, "shifted": True}),
    *misuse("powm1", 2, "f"),
    *misuse("log1p_over", 2, "f"),
)
