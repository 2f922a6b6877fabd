"""Reductions, statistics and histograms: every use of the table, in every dtype, as in NumPy; misuse refused."""
# ruff: noqa: PLW0108  (the lambdas look functions up while tracing)

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check, check_both_raise
from samples.grouping import in_groups, quick_first
from samples.numpy_math import TOLERANCE, Use, X, cases, use_of

GRID = X["f64"]


@in_groups(quick_first(cases("reductions", "without_nan", "statistics", "histograms"), 4, use_of))
def test_this_use_does_what_numpy_does(use: Use, dtype: str) -> None:
    tolerance = TOLERANCE.get(dtype, 1e-12)
    with warnings.catch_warnings():  # NumPy's about means of nothing
        warnings.simplefilter("ignore")
        check(use, X[dtype], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: np.sum(x, axis=2),
        lambda x: np.sum(x, axis=(0, 0)),
        lambda x: np.sum(x, axis=(0, -2)),
        lambda x: np.max(x, where=x > 0),
        lambda x: np.max(x[:0], axis=0),
        lambda x: np.argmax(x[:0], axis=0),
        lambda x: np.argmax(x, axis=5),
        lambda x: np.sum(x, out=np.zeros(3)),
        lambda x: np.var(x, ddof=1, correction=1),
        lambda x: np.nanvar(x, ddof=1, correction=1),
        lambda x: np.average(x, weights=np.ones(3)),
        lambda x: np.average(x, axis=0, weights=np.ones(4)),
        lambda x: np.quantile(x, 1.5),
        lambda x: np.percentile(x, [50, -1]),
        lambda x: np.median(x[0, 0], axis=0),
        lambda x: np.median(x, axis="rows"),  # type: ignore[arg-type]
        lambda x: np.quantile(x, 0.5, method="best"),  # type: ignore[call-overload]
        lambda x: np.quantile(x * 1j, 0.5),
        lambda x: np.quantile(x, 0.5, weights=np.ones((3, 4))),
        lambda x: np.cumulative_sum(x),
        lambda x: np.cov(x[None]),
        lambda x: np.histogram(x, 0),
        lambda x: np.histogram(x, [3, 2, 1]),
        lambda x: np.histogram(x, 3, weights=np.ones(3)),
        lambda x: np.histogram(x, 3, range=(2, 1)),
        lambda x: np.digitize(x, [1, 3, 2]),
        lambda x: np.digitize(x * 1j, [1, 2]),
        lambda x: np.interp(x * 1j, [1, 2], [3, 4]),
        lambda x: np.bincount(x),
        lambda x: np.ptp(x > 0),
        lambda x: np.histogram(x * (1j * np.nan), 3),
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Callable[[Any], Any]) -> None:
    check_both_raise(misuse, GRID)


@pytest.mark.parametrize("number", [np.float64(1.5), np.int8(2), np.array(1.5)])
@pytest.mark.parametrize("dtype", ["f64", "f32", "i8"])
def test_initial_and_ddof_may_have_a_dtype_of_their_own(dtype: str, number: Any) -> None:
    def use(x: Any, number: Any) -> Any:
        return (
            np.sum(x, axis=0, initial=number),
            np.prod(x[0], initial=number, where=x[0] > 0),
            np.var(x, ddof=number),
        )

    check(use, X[dtype], number, rtol=1e-5)
    check(lambda x: use(x, number), X[dtype], rtol=1e-5)


def test_sums_of_half_precision_do_not_lose_small_terms() -> None:
    many = np.full(5000, 0.01, np.float16)
    check(lambda x: (np.sum(x), np.mean(x), np.var(x)), many, rtol=1e-3)


def test_a_quantile_may_be_traced() -> None:
    check(lambda x, q: np.quantile(x, q, axis=0), GRID, np.array([0.25, 0.75]), rtol=1e-12)
    check(lambda x, q: np.quantile(x, q, axis=0), GRID.astype(np.float32), 0.25, rtol=1e-6)


def test_the_number_of_bins_may_depend_on_values() -> None:
    for values in (GRID, GRID**2, GRID[:1]):
        found = tm.compile(lambda x: np.histogram(x, "auto"), backend="numpy", on_recompile="ignore")(values)
        for ours, numpys in zip(found, np.histogram(values, "auto"), strict=True):
            np.testing.assert_allclose(ours, numpys, rtol=1e-13)


def test_counting_works_on_values_that_are_known() -> None:
    known = np.array([3, 1, 1, 0])
    check(lambda x: x * np.bincount(np.asarray(known) + 0, weights=np.ones(4)), np.arange(4.0))


def test_reductions_are_methods_too() -> None:
    check(lambda x: (x.sum(), x.mean(0), x.var(1, ddof=1), x.max(0), x.argmin(1), x.cumprod(), x.any()), GRID)


def test_a_missing_axis_is_numpys_own_error_and_ours() -> None:
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds") as caught:
        tm.compile(lambda x: np.sum(x, axis=2))(np.ones((2, 3)))
    assert isinstance(caught.value, tm.TracemillError)


def test_quantiles_of_no_lines_are_nan() -> None:
    check(
        lambda x: (np.nanmedian(x, axis=0), np.nanquantile(x, 0.3, axis=0, keepdims=True)), np.zeros((3, 0))
    )


def test_a_list_may_hold_a_traced_quantile() -> None:
    check(lambda x: np.percentile(x, [25, np.abs(x[0, 0]) * 0 + 30]), GRID, rtol=1e-12)
    slope = tm.grad(lambda q: np.sum(np.quantile(GRID, [q, 0.9])))
    step = 1e-6
    expected = (np.quantile(GRID, 0.31 + step) - np.quantile(GRID, 0.31 - step)) / (2 * step)
    np.testing.assert_allclose(slope(0.31), expected, rtol=1e-6)
