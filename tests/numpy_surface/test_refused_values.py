"""Where NumPy raises an error because of values, a program raises it when it runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
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
