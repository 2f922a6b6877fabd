"""The ufuncs of `scipy.special` on traced arrays."""
# ruff: noqa: PLW0108  (the lambdas look functions up while tracing)

from typing import Any

import numpy as np
import pytest
from scipy import special

import tracemill as tm
from numpy_surface.differential import check, run_traced
from tracemill.compiler.errors import UnsupportedFunctionError
from tracemill.compiler.numpy_surface.ufuncs.ufunc_calls import BY_NAME
from tracemill.compiler.op import all_ops

REAL = np.array(
    [-50.3, -20.5, -5.5, -3.0, -2.2, -1, -0.7, -0.1, 0.0, 1e-8, 0.1, 0.3, 0.51, 1, 1.5, 2, 5.5, 20, 50.1]
)
EDGES = np.array([-0.0, 0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
PROBABILITIES = np.array(
    [0.0, 1e-300, 1e-20, 1e-5, 0.01, 0.3, 0.45, 0.4999999, 0.5, 0.500001, 0.6, 0.9, 0.999999, 1.0]
)
POSITIVE = np.array([1e-5, 0.3, 1, 2.5, 7, 30, 100.0])
OF_PROBABILITIES = {"erfinv", "erfcinv", "ndtri", "logit"}
BESSEL = {"j0", "j1", "y0", "y1"}
"""At infinity they are 0 here, NaN in SciPy."""


def _names(inputs: int) -> list[str]:
    """The ufuncs of SciPy with that many inputs that Tracemill knows."""
    known = {*BY_NAME, *all_ops()}
    found = {f.__name__ for f in vars(special).values() if isinstance(f, np.ufunc) and f.nin == inputs}
    return sorted(found & known)


@pytest.mark.parametrize("name", _names(1))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_function_of_one_number_is_scipys(name: str, dtype: Any) -> None:
    function = getattr(special, name)
    numbers = PROBABILITIES if name in OF_PROBABILITIES else REAL
    rtol, atol = (2e-13, 1e-14) if dtype == np.float64 else (4e-6, 1e-6)
    check(lambda x: function(x), numbers.astype(dtype), rtol=rtol, atol=atol)
    if name not in BESSEL:
        check(lambda x: function(x), EDGES.astype(dtype), rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", [name for name in _names(2) if name not in np.__all__])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_function_of_two_numbers_is_scipys(name: str, dtype: Any) -> None:
    function = getattr(special, name)
    x = POSITIVE.astype(dtype)
    check(lambda a, b: function(a[:, None], b), x, x, rtol=1e-12 if dtype == np.float64 else 6e-6)


@pytest.mark.parametrize("name", ["betainc", "betaincc"])
def test_the_incomplete_beta_function_is_scipys(name: str) -> None:
    function = getattr(special, name)
    share, positive = np.linspace(0, 1, 11), POSITIVE[1:]
    check(lambda a, b, x: function(a[:, None, None], b[:, None], x), positive, positive, share, rtol=1e-11)


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "xlogy", "xlog1py", "huber"])
def test_corners_are_scipys(name: str) -> None:
    function = getattr(special, name)
    corners = np.array([-1.0, -0.0, 0.0, 1e-300, 1.0, np.inf, np.nan])
    check(lambda x, y: function(x[:, None], y), corners[:-2], corners[:-2], rtol=1e-14)


def test_integers_and_half_precision_take_scipys_dtypes() -> None:
    check(lambda n: (special.erf(n), special.expit(n), special.gammaln(n)), np.arange(1, 4), rtol=1e-14)
    check(lambda h: (special.erf(h), special.expit(h)), np.array([0.5, -2], np.float16), rtol=1e-3)


def test_the_options_of_ufuncs_work_on_scipys() -> None:
    check(lambda x: special.erf(x, out=x, where=x > 0), REAL, rtol=1e-14)


def test_an_unknown_function_is_refused_by_name() -> None:
    own = np.frompyfunc(abs, 1, 1)
    with pytest.raises(UnsupportedFunctionError, match="cannot be traced: it calls Python for every element"):
        run_traced(lambda x: own(x), REAL)


ROWS = np.array([[-1000.0, -3.0, 0.0], [2.0, 1000.0, 0.5]])


def test_softmax_of_scipy_can_be_traced() -> None:
    check(lambda x: special.softmax(x, axis=1), ROWS, rtol=1e-14)


@pytest.mark.sampled(every=10, slow=2)
@pytest.mark.parametrize("x", [143.0, 170.0, 100.5, 0.5, -0.5, -20.3, -100.5, -150.5, -170.25])
def test_derivatives_of_gamma_are_finite_where_they_fit(x: float) -> None:
    """Γ′ = Γψ, Γ″ = Γ(ψ² + ψ′), Γ‴ = Γ(ψ³ + 3ψψ′ + ψ″)."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        value, (p, q, r) = mpmath.gamma(x), (mpmath.psi(k, x) for k in range(3))
        expected = [value * p, value * (p**2 + q), value * (p**3 + 3 * p * q + r)]
    function: Any = special.gamma
    for number in expected:
        function = tm.grad(function)
        np.testing.assert_allclose(function(x), float(number), rtol=1e-12)
    np.testing.assert_allclose(tm.compile(function, backend="numpy")(x), float(expected[2]), rtol=1e-12)


@pytest.mark.sampled(every=10, slow=2)
@pytest.mark.parametrize("x", [-150.5, -3.0, -0.5, 0.0, 0.5, 60.0, 169.9, 171.5, 175.5, 181.0])
def test_derivatives_of_rgamma_are_right_where_gamma_overflows(x: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    derivative: Any = special.rgamma
    for order in range(3):
        with mpmath.workdps(40):
            expected = mpmath.diff(mpmath.rgamma, x, order) if order else mpmath.rgamma(x)
        np.testing.assert_allclose(
            derivative(x) if order else tm.compile(derivative)(x), float(expected), 1e-9, 1e-300
        )
        derivative = tm.grad(derivative)


def test_rgamma_is_zero_at_the_poles_of_gamma() -> None:
    x = np.array([0.0, -0.0, -1.0, -169.0, -170.0, -171.0, -1e300, -np.inf, np.inf])
    for got in (run_traced(special.rgamma, x), tm.compile(special.rgamma)(x)):
        np.testing.assert_array_equal(got, np.zeros_like(x))
        np.testing.assert_array_equal(np.signbit(got), [False, True] + [False] * 7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_gamma_is_infinite_where_even_its_logarithm_overflows(dtype: type[np.floating[Any]]) -> None:
    big = np.finfo(dtype).max
    x = np.array([big, big / 2, big / 10, np.inf, -big, -np.inf], dtype)
    check(special.gamma, x)
    slopes = tm.compile(tm.grad(lambda x: special.gamma(x).sum()), backend="numpy")(x[:2])
    np.testing.assert_array_equal(slopes, np.array([np.inf, np.inf], dtype))
