"""The functions and classes of ``numpy.polynomial`` take traced arrays: they are converted where they get some."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import polynomial as P  # noqa: N812

import tracemill as tm

X = np.array([3.0, 1.0, 2.0, 0.5])
FIXED = P.Polynomial([1.0, -2.0, 0.5])
USES: dict[str, Callable[[Any], Any]] = {
    "chebvander": lambda x: P.chebyshev.chebvander(x, 3),
    "legvander": lambda x: P.legendre.legvander(x, 3),
    "hermvander": lambda x: P.hermite.hermvander(x, 2),
    "polyvander": lambda x: P.polynomial.polyvander(x, 3),
    "chebvander2d": lambda x: P.chebyshev.chebvander2d(x, x, [1, 2]),
    "polyval": lambda x: P.polynomial.polyval(x, [1.0, 2.0, 3.0]),
    "coefficients": lambda x: P.chebyshev.chebval(0.5, x),
    "lagval": lambda x: P.laguerre.lagval(x, [1.0, 2.0, 3.0]),
    "polymul": lambda x: P.polynomial.polymul(x, [1.0, 2.0]),
    "polyder": lambda x: P.polynomial.polyder(x),  # noqa: PLW0108 (a lambda is converted)
    "polyint": lambda x: P.polynomial.polyint(x),  # noqa: PLW0108
    "polyfit": lambda x: P.polynomial.polyfit(x, x**2, 2),
    "polyfromroots": lambda x: P.polynomial.polyfromroots(x),  # noqa: PLW0108
    "cheb2poly": lambda x: P.chebyshev.cheb2poly(x),  # noqa: PLW0108
    "made inside": lambda x: P.Polynomial(x)(0.5),
    "derivative": lambda x: P.Chebyshev(x).deriv()(0.3),
    "from outside": lambda x: FIXED(x),  # noqa: PLW0108
    "of no input": lambda x: P.legendre.leggauss(3)[0] * x[0],
}


@pytest.mark.parametrize("name", USES)
def test_compiled_polynomials_are_numpys(name: str) -> None:
    function = USES[name]
    compiled = tm.compile(function, backend="numpy")
    for x in (X, X + 1):
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-9, atol=1e-12)


def test_the_degree_may_be_an_argument() -> None:
    compiled = tm.compile(lambda x, n: 1 * P.chebyshev.chebvander(x, n), backend="numpy")
    for degree in (3, 4, 3):
        np.testing.assert_allclose(compiled(X, degree), P.chebyshev.chebvander(X, degree))


@pytest.mark.parametrize("name", ["chebvander", "coefficients", "made inside", "from outside"])
def test_polynomials_have_derivatives(name: str) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.sin(USES[name](x)))

    direction, step = np.array([0.3, -1.0, 0.5, 0.2]), 1e-6
    slope = (loss(X + step * direction) - loss(X - step * direction)) / (2 * step)
    for derivative in (tm.grad(loss), tm.compile(tm.grad(loss))):
        assert derivative(X) @ direction == pytest.approx(slope, rel=1e-6)
