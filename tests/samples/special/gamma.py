"""log |Γ| and its derivatives."""

import math
from typing import Any

import mpmath
import scipy.special

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Sample
from samples.special.error_functions import digits, scipys
from tracemill.compiler.errors import DTypeError


def _gammaln(v: float) -> Any:
    """Infinity at the poles, and −∞ at −∞, as scipy has."""
    if math.isfinite(v) and abs(v) < 1e300:
        return mpmath.inf if v <= 0 and v == math.floor(v) else mpmath.re(mpmath.loggamma(v))
    return math.inf if math.isfinite(v) else v


def _polygamma(x: Any, order: int) -> Any:
    return scipy.special.polygamma(order, x.astype(float))


ROWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gammaln", {"ulps": 16, "reference": digits(_gammaln), "domain": "positive"}),
    ("digamma", {"ulps": 64, "reference": scipys(scipy.special.digamma), "domain": "positive"}),
    ("polygamma", {"ulps": 16, "reference": _polygamma, "domain": "positive", "params": {"order": 1}}),
    (
        "polygamma",
        {"ulps": 16, "reference": _polygamma, "domain": "positive", "params": {"order": 4}, "special": ""},
    ),
)
SAMPLES: tuple[Sample, ...] = tuple(
    sample for op, more in ROWS for sample in elementwise(op, 1, "f", signed_zeros=False, **more)
)
FAILURES: tuple[Failure, ...] = (
    *misuse("gammaln", 1, "f"),
    *misuse("digamma", 1, "f"),
    *misuse("polygamma", 1, "f", {"order": 1}),
    Failure("polygamma", ((2,),), "f64", DTypeError, "orders start from 1", {"order": 0}),
    Failure("polygamma", ((2,),), "f64", DTypeError, "orders end at 169", {"order": 170}),
)
