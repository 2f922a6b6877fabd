"""Special functions by themselves: error functions, sinc, entropies."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError


def scipys(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of scipy on f64; it has none on longdouble."""
    return lambda *arrays, **params: function(*(x.astype(np.float64) for x in arrays), **params)


def digits(function: Callable[[float], Any]) -> Callable[[Any], Any]:
    """A function of mpmath, with 50 digits: where scipy is not a reference."""

    def evaluated(x: Any) -> Any:
        with mpmath.workdps(50):
            return np.vectorize(lambda v: float(function(float(v))), [np.float64])(x)

    return evaluated


def _sinc(x: Any, order: int) -> Any:
    """From (x·sinc x)⁽ⁿ⁾ = x·sinc⁽ⁿ⁾ + n·sinc⁽ⁿ⁻¹⁾."""

    def one(v: float) -> Any:
        value = mpmath.sinc(mpmath.pi * v)
        for n in range(1, order + 1):
            wave = mpmath.sin(mpmath.pi * v + n * mpmath.pi / 2)
            value = (mpmath.pi ** (n - 1) * wave - n * value) / mpmath.mpf(v)
        return value

    return digits(one)(x)


def _erfcx_derivative(x: Any, order: int) -> Any:
    """From f' = 2x·f − 2/√π, with enough digits for what cancels."""

    def one(v: float) -> Any:
        twice = 2 * mpmath.mpf(v)
        before, at = mpmath.mpf(0), mpmath.exp(mpmath.mpf(v) ** 2) * mpmath.erfc(v)
        for n in range(order):
            before, at = at, twice * at + (2 * n * before if n else -2 / mpmath.sqrt(mpmath.pi))
        return at

    return digits(one)(x)


# op, arity, and what differs from the usual
ROWS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("erf", 1, {"reference": scipys(scipy.special.erf)}),
    ("erfc", 1, {"reference": scipys(scipy.special.erfc)}),
    ("erfcx", 1, {"reference": scipys(scipy.special.erfcx)}),
    ("erfinv", 1, {"reference": scipys(scipy.special.erfinv), "domain": "unit"}),
    ("ndtri", 1, {"reference": scipys(scipy.special.ndtri), "domain": "probability"}),
    ("log_ndtr", 1, {"reference": digits(lambda v: mpmath.log(mpmath.ncdf(v))), "special": ""}),
    ("entr", 1, {"reference": scipys(scipy.special.entr), "domain": "positive"}),
    ("xlogy", 2, {"reference": scipys(scipy.special.xlogy), "domain": "positive"}),
    ("xlog1py", 2, {"reference": scipys(scipy.special.xlog1py), "domain": "positive"}),
)
SINC: tuple[dict[str, Any], ...] = tuple(
    {"reference": _sinc, "special": "", "ulps": ulps, "params": {"order": order}}
    for order, ulps in ((0, 4), (1, 1000), (4, 10000))  # derivatives have zeros that are not known exactly
)
SAMPLES: tuple[Sample, ...] = (
    *(
        sample
        for op, arity, more in ROWS
        for sample in elementwise(op, arity, "f", ulps=8, signed_zeros=False, **more)
    ),
    *(sample for more in SINC for sample in elementwise("sinc", 1, "f", **more)),
    *(
        sample
        for order, ulps in ((1, 512), (2, 4096))
        for domain in ("positive", Points((-2.0, 0.0, 2.4, 2.6, 4.0, 9.6, 100.0, 1e4)))
        for sample in elementwise(
            "erfcx_derivative", 1, "f", domain, special="", ulps=ulps, params={"order": order},
            reference=_erfcx_derivative,
        )
    ),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    *(failure for op, arity, _ in ROWS for failure in misuse(op, arity, "f")),
    *misuse("sinc", 1, "f", {"order": 0}),
    *misuse("erfcx_derivative", 1, "f", {"order": 1}),
    Failure("erfcx_derivative", ((2,),), "f64", DTypeError, "orders start from 1", {"order": 0}),
    Failure("erfcx_derivative", ((2,),), "f64", DTypeError, "orders end at 16", {"order": 17}),
    Failure("sinc", ((2,),), "f64", DTypeError, "orders start from 0", {"order": -1}),
    Failure("sinc", ((2,),), "f64", DTypeError, "orders end at 64", {"order": 65}),
)
