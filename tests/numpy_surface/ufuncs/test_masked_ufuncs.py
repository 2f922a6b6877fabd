"""``where=`` of ufuncs: where it is false, nothing is computed, so that nothing fails and no slope is infinite."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracemill as tm

Array = np.ndarray[Any, np.dtype[Any]]

BAD_NUMBERS = (0.0, -1.0, 1e308, np.inf, np.nan)
OF_ONE_NUMBER = (
    np.sqrt, np.cbrt, np.log, np.log2, np.log10, np.log1p, np.exp, np.exp2, np.expm1, np.reciprocal, np.square,
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh,
    np.arctanh, special.gammaln, special.digamma, special.logit, special.erfinv, special.ndtri,
)  # fmt: skip
OF_TWO_NUMBERS = (
    np.divide, np.power, np.float_power, np.multiply, np.subtract, np.fmod, np.remainder, np.arctan2, np.hypot,
    np.logaddexp, special.xlogy,
)  # fmt: skip
BACKENDS = ("numpy", "c")


def masked(ufunc: Any) -> Callable[[Array], Array]:
    """The ufunc where x is a good number, with 7 elsewhere; each operand is x."""

    def apply(x: Array) -> Array:
        filled: Array = np.full(x.shape, 7.0)
        ufunc(*[x] * ufunc.nin, out=filled, where=np.isclose(x, good_number(ufunc)))
        return filled

    return apply


def good_number(ufunc: Any) -> float:
    return 1.25 if ufunc is np.arccosh else 0.25


def numbers(ufunc: Any) -> Array:
    return np.array([good_number(ufunc), *BAD_NUMBERS])


@pytest.mark.sampled("multiply", every=4, slow=2)
@pytest.mark.parametrize("ufunc", OF_ONE_NUMBER + OF_TWO_NUMBERS, ids=lambda ufunc: ufunc.__name__)
def test_derivatives_are_zero_where_nothing_is_computed(ufunc: Any) -> None:
    x, f = numbers(ufunc), masked(ufunc)
    slope = tm.grad(lambda x: np.sum(ufunc(*[x] * ufunc.nin)))(x[:1])
    expected = np.concatenate([slope, np.zeros(len(BAD_NUMBERS))])
    total = lambda x: np.sum(f(x))  # noqa: E731
    np.testing.assert_allclose(tm.grad(total)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(tm.compile(tm.grad(total), backend="numpy")(x), expected, rtol=1e-14)
    np.testing.assert_allclose(tm.jvp(f, (x,), (np.ones_like(x),))[1], expected, rtol=1e-14)
    curvature = tm.hessian(total)(x)
    assert np.isfinite(curvature).all()
    assert not curvature[1:].any()


@pytest.mark.parametrize(
    ("ufunc", "backend"),
    [*((ufunc, "numpy") for ufunc in OF_ONE_NUMBER + OF_TWO_NUMBERS), (np.divide, "c"), (np.log, "c")],
)
def test_nothing_fails_where_nothing_is_computed(ufunc: Any, backend: str) -> None:
    x, f = numbers(ufunc), masked(ufunc)
    with np.errstate(all="ignore"):
        expected = f(x)
    compiled = tm.compile(f, backend=backend)
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_division_by_zero_fails_where_the_mask_is_true(backend: str) -> None:
    @tm.compile(backend=backend)
    def ratio(x: Array, y: Array) -> Array:
        divided: Array = np.divide(x, y, out=np.zeros_like(x), where=x > 0)
        return divided

    ones = np.ones(3)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(ratio(np.array([0.0, 1, 0]), np.array([0.0, 2, 0])), [0, 0.5, 0])
        with pytest.raises(FloatingPointError, match="divide by zero"):
            ratio(ones, np.array([0.0, 2, 0]))


def test_masks_of_more_axes_than_the_operand_and_integers() -> None:
    rows = np.array([[True, False, True], [False, True, True]])

    def quotients(n: Array) -> Array:
        found: Array = np.floor_divide(12, n, out=np.full((2, 3), -1), where=rows)
        return found

    n = np.array([5, 0, 3])
    with np.errstate(divide="ignore"):
        expected = quotients(n)
        for backend in BACKENDS:
            np.testing.assert_array_equal(tm.compile(quotients, backend=backend)(n), expected)
