"""What NumPy refuses is refused while tracing, with an error of the same base class; values are when a program runs."""
# ruff: noqa: PLW0108  (lambdas look NumPy's functions up while they are traced)

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check_both_raise
from samples.thinning import mostly_on_numpy
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = pytest.mark.usefixtures("lightly_optimised")

LINES: Any = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]])
V: Any = np.array([1.0, 2.0, 3.0])

REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "nanargmax": (np.nanargmax, (LINES[1],), (LINES[0],)),
    "nanargmin": (np.nanargmin, (LINES[1],), (LINES[0],)),
    "nanargmax of rows": (lambda x: np.nanargmax(x, axis=1), (LINES,), (LINES[:1],)),
    "nanargmin of columns": (
        lambda x: np.nanargmin(x, axis=0, keepdims=True),
        (LINES[:, :2],),
        (LINES[:, ::2],),
    ),
    "nanargmax of complex numbers": (np.nanargmax, (LINES[1] + 1j,), (LINES[0] + 1j,)),
    "average": (lambda x, w: np.average(x, weights=w), (V, np.zeros(3)), (V, V)),
    "percentile": (np.percentile, (V, np.array(120.0)), (V, np.array(12.0))),
    "nanquantile": (np.nanquantile, (V, np.array([0.5, np.nan])), (V, np.array([0.5, 1]))),
    "digitize": (np.digitize, (V, np.array([1.0, 3.0, 2.0])), (V, V[::-1])),
    "bins": (np.histogram, (V, np.array([3.0, 1.0])), (V, np.array([1.0, 3.0]))),
    "NaN in a histogram": (lambda x: np.histogram(x, 3), (LINES[0],), (V,)),
    "infinity in a histogram": (lambda x: np.histogram_bin_edges(x, 3), (np.array([1.0, np.inf]),), (V,)),
    "limits of a histogram": (lambda x, a: np.histogram(x, 3, (a, 2.0)), (V, 3.0), (V, 1.0)),
    "infinite limits": (lambda x, a: np.histogram(x, 3, (a, 2.0)), (V, -np.inf), (V, 2.0)),
    "too many bins": (lambda x: np.histogram(x, 9)[1], (np.nextafter([1.0, 1.0], [1.0, 2.0]),), (V,)),
    "interp": (lambda x, p: np.interp(x, x, x, period=p), (V, np.array(0.0)), (V, np.array(2.5))),
}


@pytest.mark.sampled(
    "nanargmax of rows-numpy",
    "bins-numpy",
    "infinite limits-numpy",
    "nanargmax of complex numbers-c",
    "digitize-c",
)
@pytest.mark.parametrize(("name", "backend"), mostly_on_numpy(REFUSED, 4))
def test_a_program_raises_numpys_error_for_these_values(
    name: str, backend: str, c_toolchain: Toolchain
) -> None:
    function, refused, accepted = REFUSED[name]
    with pytest.raises(Exception) as expected:  # noqa: PT011  (whatever NumPy raises)
        function(*refused)
    compiled: Any = tm.compile(function, backend=backend)
    np.testing.assert_equal(compiled(*accepted), function(*accepted))
    with pytest.raises(expected.type) as found:
        compiled(*refused)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_one_example_that_numpy_refuses_is_refused_in_a_batch(backend: str, c_toolchain: Toolchain) -> None:
    compiled = tm.compile(tm.vmap(np.nanargmax), backend=backend)
    np.testing.assert_array_equal(compiled(LINES[:1]), [2])
    with pytest.raises(ValueError, match=r"^All-NaN slice encountered"):
        compiled(LINES)
    with pytest.raises(ValueError, match=r"^All-NaN slice encountered"):
        tm.vmap(np.nanargmax)(LINES)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_branch_that_is_not_taken_refuses_nothing(backend: str, c_toolchain: Toolchain) -> None:
    def place(x: Any, is_wanted: Any) -> Any:
        return np.nanargmax(x) if is_wanted else -1

    assert tm.compile(place, backend=backend)(LINES[1], np.False_) == -1
    batch = tm.compile(tm.vmap(place), backend=backend)
    np.testing.assert_array_equal(batch(LINES, np.array([True, False])), [2, -1])


# ---- misuse --------------------------------------------------------------------------------------------

GRID = np.arange(12.0).reshape(3, 4)
untyped: Any = np
"""NumPy for calls that its type hints do not allow."""

INDEXING = [
    lambda x: untyped.take(x, [1], mode="wrong"),
    lambda x: np.take_along_axis(x, x, 0),
    lambda x: np.take_along_axis(x, np.array([0, 1]), 0),
    lambda x: np.put_along_axis(x, np.array([[0, 1]]), 1.0, None),
    lambda x: np.compress(x > 1, x),
    lambda x: np.select([x > 1], []),
    lambda x: np.select([x], [x]),
    lambda x: np.putmask(x, x[0] > 0, 1.0),
    lambda x: np.place(x, x[0] > 0, [1.0]),
    lambda x: np.place(x, x > 0, []),
    lambda x: np.nonzero(x[0, 0]),
    lambda x: np.ix_(x),
    lambda x: np.ravel_multi_index((np.array([1, 2]),), (3, 4)) + x[0, 0],
    lambda x: np.unravel_index(np.asarray(12), x.shape)[0] + x[0, 0],
    lambda x: np.lexsort([]) + x,
    lambda x: np.digitize(x, np.ones((2, 2))),
    lambda x: np.delete(x, [[True, False], [False, True]], axis=0),
    lambda x: np.insert(x, [[0, 1]], 1.0, axis=0),
]
SHAPES = [
    lambda x: untyped.reshape(x, 12, order="B"),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=0),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, (9, 9)),
    lambda x: np.concatenate([x, x], out=np.zeros((6, 4)), dtype=float),
    lambda x: np.concatenate([]) + x,
    lambda x: untyped.rot90(x, axes=(0,)),
    lambda x: np.repeat(x, [1, -1, 2], axis=0),
    lambda x: np.diag_indices_from(x),
    lambda x: np.tril_indices_from(x[0]),
    lambda x: untyped.array(x, order="X"),
    lambda x: untyped.require(x, requirements=["C", "F"]),
    lambda x: x.fill([1.0, 2.0]),
    lambda x: x.to_device("cuda"),
    lambda x: x[0].mT,
    lambda x: len(x[0, 0]),
    lambda x: setattr(x, "imag", 1.0),
    lambda x: untyped.pad(x, 2, "maximum", stat_length=0),
    lambda x: np.apply_along_axis(np.sum, 1, x[:0]),
    lambda x: np.apply_over_axes(lambda x, axis: np.sum(x), x, [0, 1]),
]
MATHEMATICS = [
    lambda x: np.ediff1d(x.astype(np.int8), to_end=[1.5]),
    lambda x: np.gradient(x[0], np.ones((2, 2))),
    lambda x: np.polyint(x[0], -1),
    lambda x: np.poly(x[None]),
    lambda x: np.poly(x),
    lambda x: np.roots(x),
    lambda x: np.polyfit(x[0], x[0], -1),
    lambda x: np.polyfit(x, x, 1),
    lambda x: np.trace(x[0]),
    lambda x: np.trace(x, 0, 1, 1),
    lambda x: np.linalg.matrix_norm(x[0]),
    lambda x: untyped.einsum() + x,
    lambda x: untyped.packbits(x > 1, bitorder="middle"),
    lambda x: np.unpackbits(x.astype(np.uint8), count=-1000),
    lambda x: untyped.sum(x, where=x),
    lambda x: untyped.quantile(x, np.full((1, 1, 1), 0.5)),
    lambda x: np.quantile(x, 0.5, weights=np.ones((3, 4)), method="linear"),
    lambda x: np.var(x, correction=1, ddof=2),
    lambda x: untyped.cov(x, ddof=0.5),
    lambda x: np.bincount(x[0]),
    lambda x: np.bincount(np.asarray([1, -2])) + x[0, 0],
    lambda x: np.bincount(np.asarray([1, 2]), weights=x[0]),
    lambda x: np.histogram(x, np.ones((2, 2))),
    lambda x: untyped.histogram(x, 2.5),
    lambda x: untyped.histogram(x, "many"),
    lambda x: np.histogramdd(x, [2, 3]),
    lambda x: np.histogram2d(x[0], x[1, :2]),
]  # fmt: skip


@pytest.mark.parametrize("misuse", [*INDEXING, *SHAPES, *MATHEMATICS])
def test_what_numpy_refuses_is_refused_while_tracing(misuse: Callable[[Any], Any]) -> None:
    check_both_raise(misuse, GRID)
