"""`numpy.testing` in compiled functions: the program checks the condition, and NumPy makes the text if it fails."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_almost_equal, assert_array_almost_equal, assert_array_less

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])
NAN, INF = np.nan, np.inf
X = np.array([1.0, 2.0, NAN, INF, 0.0])


def _outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    try:
        return ("returns", float(np.real(function(*args))))
    except AssertionError as error:
        return (type(error), str(error))


def _allclose(x: Any, y: Any) -> Any:
    np.testing.assert_allclose(x * 2, y * 2, rtol=1e-3, err_msg="twice")
    return y[0]


def _allclose_without_nan(x: Any, y: Any) -> Any:
    np.testing.assert_allclose(x, y, equal_nan=False)
    return y[0]


def _array_equal(x: Any, y: Any) -> Any:
    np.testing.assert_array_equal(x, y)
    return y[0]


def _strictly_equal(x: Any, y: Any) -> Any:
    np.testing.assert_array_equal(x, y.astype(np.float32), strict=True)
    return y[0]


def _array_less(x: Any, y: Any) -> Any:
    assert_array_less(x, np.where(y < 10, y + 1, y))
    return y[0]


def _array_almost_equal(x: Any, y: Any) -> Any:
    assert_array_almost_equal(x, y, 2)
    return y[0]


def _almost_equal(x: Any, y: Any) -> Any:
    assert_almost_equal(x[:2], y[:2], decimal=3)
    assert_almost_equal(x[0], y[0], decimal=3)
    return y[0]


def _almost_equal_complex(x: Any, y: Any) -> Any:
    assert_almost_equal(x + 1j * y[::-1], y + 1j * x[::-1], decimal=2)
    assert_almost_equal(x[1] + 1j * y[1], y[1] + 1j * x[1], decimal=2)
    return y[0]


def _equal_numbers(x: Any, y: Any) -> Any:
    for k in range(5):
        np.testing.assert_equal(x[k], y[k])
    np.testing.assert_equal(x[0] + 1j * x[2], y[0] + 1j * y[2])
    return y[0]


def _equal_containers(x: Any, y: Any) -> Any:
    np.testing.assert_equal({"a": x, "b": [x[0], (x[1], 3)]}, {"a": y, "b": [y[0], (y[1], 3)]})
    return y[0]


def _with_a_number(x: Any, y: Any) -> Any:
    np.testing.assert_array_equal(x[:2], y[0])
    return y[0]


def _with_a_list(x: Any, y: Any) -> Any:
    np.testing.assert_array_equal(x[:2], [y[0], 2])
    return y[0]


def _other_shapes(x: Any, y: Any) -> Any:
    np.testing.assert_array_equal(x[:2], y[:3])
    return y[0]


def _in_a_branch(x: Any, y: Any) -> Any:
    if y[1] > 0:
        np.testing.assert_array_equal(x, y)
    return y[0]


def _in_a_loop(x: Any, y: Any) -> Any:
    for mine, theirs in zip(x, y, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3)
    return y[0]


def _after_writes(x: Any, y: Any) -> Any:
    y[0] += 1
    np.testing.assert_array_equal(x[1:], y[1:])
    return y[0]


def _of_selections(x: Any, y: Any) -> Any:
    np.testing.assert_array_equal(x[x > 0], y[x > 0])
    return y[0]


def _with_a_handler(x: Any, y: Any) -> Any:
    try:
        np.testing.assert_array_equal(x, y)
    except AssertionError as error:
        return float(len(str(error)))
    return y[0]


FUNCTIONS = [
    _allclose,
    _allclose_without_nan,
    _array_equal,
    _strictly_equal,
    _array_less,
    _array_almost_equal,
    _almost_equal,
    _almost_equal_complex,
    _equal_numbers,
    _equal_containers,
    _with_a_number,
    _with_a_list,
    _other_shapes,
    _in_a_branch,
    _in_a_loop,
    _after_writes,
    _of_selections,
]
OTHERS = {
    "same": X,
    "near": X * (1 + 1e-4),
    "NaN elsewhere": np.array([NAN, 2.0, 3.0, INF, 0.0]),
    "other infinity": np.array([1.0, 2.0, NAN, -INF, 0.0]),
    "other zero": np.array([1.0, 2.0, NAN, INF, -0.0]),
    "other value": np.array([1.0, -2.5, NAN, INF, 0.0]),
}


@BACKENDS
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__.strip("_"))
def test_passes_and_fails_as_in_numpy(function: Callable[..., Any], backend: Any) -> None:
    compiled = tm.compile(function, backend=backend)
    for name, other in OTHERS.items():
        given, own = other.copy(), other.copy()
        with np.errstate(invalid="ignore"):
            assert _outcome(compiled, X, given) == _outcome(function, X, own), name
        np.testing.assert_array_equal(given, own, err_msg=name)


def test_numbers_of_python_have_the_dtype_that_they_have_in_numpy() -> None:
    def function(x: Any, number: float) -> Any:
        np.testing.assert_array_equal(x, number)
        return x[0]

    x = np.full(2, 0.1, np.float32)
    assert _outcome(tm.compile(function), x, 0.1) == _outcome(function, x, 0.1)
    assert _outcome(tm.compile(function), x, 0.1)[0] is AssertionError


def test_one_program_checks_all_calls() -> None:
    compiled = tm.compile(_allclose, on_recompile="error")
    y = np.arange(1.0, 4.0)
    for k in range(4):
        assert compiled(y + k, y + k) == y[0] + k
    with pytest.raises(AssertionError, match="twice"):
        compiled(y, y + 1)
    assert compiled(y, y) == y[0]
    assert "uncompiled" not in compiled.explain_recompile()


def test_a_handler_sees_the_text_of_numpy() -> None:
    compiled = tm.compile(_with_a_handler)
    with pytest.warns(UserWarning, match="makes a text of a number"):
        assert compiled(X, X + 1) == _with_a_handler(X, X + 1)


def test_lengths_that_may_differ_run_uncompiled() -> None:
    def function(x: Any, y: Any) -> Any:
        np.testing.assert_array_equal(x[x > 0], y[y > 1])
        return x[0]

    x, compiled = np.array([1.0, 2.0]), tm.compile(function, on_recompile="ignore")
    for y in (np.array([1.5, 2.0]), np.array([3.0, 0.0]), x):
        assert _outcome(compiled, x, y) == _outcome(function, x, y)
    with pytest.raises(ConcretizationError, match="lengths may differ"):
        tm.export(function, x, x)


def test_a_batch_raises_if_any_example_fails() -> None:
    def function(x: Any) -> Any:
        assert_array_less(x, 5.0)
        return x.sum()

    batched = tm.compile(tm.vmap(function))
    np.testing.assert_array_equal(batched(np.ones((3, 2))), [2.0, 2.0, 2.0])
    with pytest.raises(AssertionError):
        batched(np.array([[1.0, 2.0], [3.0, 6.0]]))


def test_a_derivative_checks() -> None:
    slope = tm.compile(tm.grad(lambda x: (np.testing.assert_allclose(x, 1.0), (x**2).sum())[1]))
    np.testing.assert_array_equal(slope(np.ones(2)), [2.0, 2.0])
    with pytest.raises(AssertionError):
        slope(np.full(2, 3.0))


def test_checks_can_be_left_out() -> None:
    compiled = tm.compile(_array_equal, checks=False)
    assert compiled(X, X + 1) == 2.0
