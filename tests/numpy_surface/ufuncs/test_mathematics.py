"""Mathematical functions, polynomials and logic: every use of the table, in every dtype, as in NumPy."""
# pyright: reportCallIssue=false, reportDeprecated=false
# ruff: noqa: PLW0108  (the lambdas look functions up while tracing)

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tracemill as tm
from numpy_surface.differential import check, check_both_raise, run_traced
from samples.grouping import in_groups
from samples.numpy_functions import without_warning
from samples.numpy_math import CHAPTERS, TOLERANCE, Use, X, cases
from tracemill.compiler.errors import ConcretizationError, UnsupportedFunctionError
from tracemill.compiler.tracing.registry import FUNCTIONS

GRID = X["f64"]
OURS = {
    "bits", "differences", "einsum", "functional", "histograms", "linear_algebra", "logic", "mathematics",
    "nan_reductions", "order_statistics", "polynomials", "products", "reductions", "signals", "sorting", "averages",
}  # fmt: skip
"""The modules with samples in `samples.numpy_math`."""
BEYOND_PRODUCTS = {"polyfit", "roots"}
"""They need least squares and eigenvalues, and are sampled with these in `samples.numpy_linalg`."""


@in_groups(cases("mathematics", "polynomials", "logic"))
def test_this_use_does_what_numpy_does(use: Use, dtype: str) -> None:
    tolerance = TOLERANCE.get(dtype, 1e-12)
    check(use, X[dtype], rtol=tolerance, atol=tolerance)


def test_every_function_of_these_chapters_has_a_sample() -> None:
    ours = {f.__name__ for f, does in FUNCTIONS.items() if does.__module__.rpartition(".")[2] in OURS}
    sampled = {name for table in CHAPTERS.values() for name in table}
    assert ours - sampled - BEYOND_PRODUCTS == {"einsum_path"}


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: np.diff(x, -1),
        lambda x: np.diff(x[0, 0]),
        lambda x: np.gradient(x, edge_order=3),  # type: ignore[call-overload]
        lambda x: np.gradient(x[:1]),
        lambda x: np.gradient(x > 0),
        lambda x: np.gradient(x, 1, 2, 3),
        lambda x: np.gradient(x, np.ones(3), axis=1),
        lambda x: np.interp(x, [1, 2], [1, 2, 3]),
        lambda x: np.interp(x, [], []),
        lambda x: np.interp(x, [1, 2], [1, 2], period=0),
        lambda x: np.convolve(x, x),
        lambda x: np.convolve(x[0], []),
        lambda x: np.correlate(x[0], x[0], "half"),  # type: ignore[call-overload]
        lambda x: np.polyder(x[0], -1),
        lambda x: np.polyint(x[0], 2, [1, 2, 3][:1] * 0 + [1] * 0 + []),
        lambda x: np.i0(x * 1j),
        lambda x: np.isposinf(x * 1j),
        lambda x: without_warning(lambda: np.fix(x * 1j)),
        lambda x: np.packbits(x),
        lambda x: np.unpackbits(x),
        lambda x: np.piecewise(x, [x > 0], [1, 2, 3]),
        lambda x: np.round(x, "two"),  # type: ignore[call-overload]
        lambda x: np.round(x > 0, 1),
        lambda x: np.round(x > 0, -1),
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Callable[[Any], Any]) -> None:
    check_both_raise(misuse, GRID)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_windows_are_constants(name: str, length: int) -> None:
    check(lambda x: x[:length] * getattr(np, name)(length), np.arange(9.0))


def test_the_shape_of_a_kaiser_window_may_be_traced() -> None:
    check(lambda x, beta: x * np.kaiser(9, beta), np.arange(9.0), 2.5, rtol=1e-13)
    check(lambda x: x * np.kaiser(9, 4.0), np.arange(9.0), rtol=1e-13)


KNOWN = np.array([0.25, -4.0, 9.0])


@pytest.mark.parametrize(
    "use",
    [
        lambda k: np.emath.sqrt(k),
        lambda k: np.emath.sqrt(abs(k)),
        lambda k: np.emath.log(k),
        lambda k: np.emath.log2(k),
        lambda k: np.emath.log10(k),
        lambda k: np.emath.logn(2, k),
        lambda k: np.emath.power(k, -2),
        lambda k: np.emath.power(k, 0.5),
        lambda k: np.emath.arccos(k),
        lambda k: np.emath.arcsin(k),
        lambda k: np.emath.arctanh(k),
        lambda k: np.real_if_close(k + 0j),
        lambda k: np.real_if_close(k + 1j),
    ],
)
def test_dtypes_that_depend_on_values_work_where_these_are_known(use: Use) -> None:
    check(lambda x: x[0] * 0 + use(np.asarray(KNOWN) * 1.0), GRID[:, :1], rtol=1e-14)


@pytest.mark.parametrize("use", [lambda x: np.emath.sqrt(x), lambda x: np.real_if_close(x * 1j)])
def test_dtypes_that_depend_on_values_are_an_error_with_a_hint_otherwise(use: Use) -> None:
    with pytest.raises(ConcretizationError, match="dtype that depends on values: use"):
        run_traced(use, GRID)


def test_a_function_of_python_numbers_is_refused_with_advice() -> None:
    with pytest.raises(UnsupportedFunctionError, match="write it with NumPy functions"):
        run_traced(np.frompyfunc(lambda v: v + 1, 1, 1), GRID)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_places_in_many_windows_are_computed_and_no_long_constants(mode: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.convolve(x, y, mode)[::7], sliding_window_view(x, 100).max(1)

    x, y = np.sin(np.arange(3000.0)), np.cos(np.arange(101.0))
    x[[5, 900]] = np.inf
    compiled = tm.compile(f, backend="numpy")
    for found, expected in zip(compiled(x, y), f(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert "sha256" not in str(compiled.lower(x, y).graph)
