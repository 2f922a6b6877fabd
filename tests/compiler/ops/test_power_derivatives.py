"""Derivatives of powers with computed exponents are right where their parts overflow or underflow."""

from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import tracemill as tm
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = pytest.mark.usefixtures("lightly_optimised")

BASES = (1e-80, 1e-110, -1e-155, 3e-160, 1e-200, -1e-300, 1e-320, 0.0, 1e155, -1e200)
EXPONENTS = (-3, -2, -1, 0, 1, 2, 3, 4, 7)
X: Any = np.repeat(BASES, len(EXPONENTS))
WHOLE: Any = np.tile(EXPONENTS, len(BASES))


def exact(order: int) -> Any:
    """The derivatives of that order by the base; NaN where there is none."""

    def one(x: float, n: int) -> float:
        factor = mp.ff(n, order)
        if not factor:
            return 0.0
        if not x and n < order:
            return float("nan")
        return float(factor * mp.mpf(x) ** (n - order))

    with mpmath.workdps(40):
        return np.array([one(x, int(n)) for x, n in zip(X, WHOLE, strict=True)])


def by_jvp(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: tm.jvp(lambda v: function(v, y), (x,), (np.ones_like(x),))[1]


def by_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    return tm.grad(lambda x, y: np.sum(function(x, y)))


@pytest.mark.sampled(every=3, slow=2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("backend", [None, "numpy", "c"])
@pytest.mark.parametrize("derivative", [by_jvp, by_grad])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_up_to_the_third_derivative_of_whole_powers(
    dtype: Any, derivative: Callable[..., Any], backend: Any, c_toolchain: Toolchain
) -> None:
    function: Callable[..., Any] = np.power
    for order in (1, 2, 3):
        function = derivative(function)
        if backend == "c" and order < 3:
            continue  # its formulas are in the third, too
        found = (tm.compile(function, backend=backend) if backend else function)(X, WHOLE.astype(dtype))
        expected = exact(order)
        known = ~np.isnan(expected)
        # Below the smallest normal number, a product has as many digits as its factors.
        np.testing.assert_allclose(found[known], expected[known], rtol=1e-13, atol=1e-321)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_by_base_and_exponent_where_the_power_underflows() -> None:
    def mixed(x: Any, y: Any) -> Any:
        return tm.grad(lambda v: tm.grad(np.power)(v, y))(x), tm.grad(lambda w: tm.grad(np.power)(x, w))(y)

    with mpmath.workdps(40):
        for x, y in product((1e-200, 1e-150, 3.0, 1e200), (0.0, 1.0, 2.0, 2.5, -1.0)):
            base, exponent = mp.mpf(x), mp.mpf(y)
            twice = float(exponent * (exponent - 1) * base ** (exponent - 2))
            both = float(base ** (exponent - 1) * (1 + exponent * mp.log(base)))
            np.testing.assert_allclose(mixed(x, y), (twice, both), rtol=1e-12)
