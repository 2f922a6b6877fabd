"""logsumexp, softmax and log_softmax: SciPy's values, axes, infinities, and graphs that stay small."""

import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracemill as tm
from numpy_surface.differential import check
from tracemill import nn
from tracemill.compiler.errors import ArgumentTypeError, AxisError, DTypeError, ShapeError

ROWS = np.array([[-1000.0, -3.0, 0.0], [2.0, 1000.0, 0.5], [-np.inf, -np.inf, -np.inf]])
FUNCTIONS = ("logsumexp", "softmax", "log_softmax")


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1, 0)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_exponential_sums_are_scipys(name: str, axis: Any) -> None:
    ours, theirs = getattr(nn, name), getattr(special, name)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ours(ROWS[:2], axis), theirs(ROWS[:2], axis), rtol=1e-13)
    check(lambda x: ours(x, axis), ROWS, rtol=1e-13)


@pytest.mark.parametrize("sign", [False, True])
def test_weighted_sums_of_special_values_are_scipys(sign: bool) -> None:
    entries = [-np.inf, -1.0, 0.0, 2.0, 710.0, np.inf, np.nan]
    weights = [0.0, 1.0, -1.0, 2.5, -2.5, np.inf, np.nan]
    grid = np.array(list(product(entries, entries, weights, weights)))
    x, b = grid[:, :2], grid[:, 2:]

    def total(x: Any, b: Any) -> Any:
        return special.logsumexp(x, axis=1, b=b, return_sign=sign)

    with np.errstate(all="ignore"):
        for found, expected in (
            (tm.compile(total)(x, b), total(x, b)),
            (tm.compile(total)(x + 0j, b), total(x + 0j, b)),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, (2, 0), (-1, 1), None])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_backward_functions_are_the_gradients_along_any_axes(name: str, axis: Any) -> None:
    forward, backward = getattr(nn, name), getattr(nn, f"{name}_backward")
    rng = np.random.default_rng(0)
    x, ct = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    out, pull = tm.vjp(lambda x: forward(x, axis), x)
    np.testing.assert_allclose(backward(ct, out, axis), pull(ct)[0], rtol=1e-12)


def test_the_sum_of_no_probability_is_minus_infinity() -> None:
    assert nn.logsumexp(ROWS, axis=1)[2] == -np.inf
    assert nn.logsumexp(np.empty((2, 0)), axis=1).tolist() == [-np.inf, -np.inf]
    np.testing.assert_array_equal(tm.grad(lambda x: nn.logsumexp(x, axis=1)[2])(ROWS), np.zeros((3, 3)))


def test_weights_of_a_log_sum_may_be_0_and_keep_dims() -> None:
    weights = np.array([1.0, 2.0, 0.5])
    expected = special.logsumexp(ROWS[:2], axis=1, b=weights, keepdims=True)
    np.testing.assert_allclose(nn.logsumexp(ROWS[:2], axis=1, b=weights, keepdims=True), expected, rtol=1e-13)
    check(lambda x: nn.logsumexp(x, axis=1, b=weights, keepdims=True), ROWS[:2], rtol=1e-13)
    assert nn.logsumexp(np.array([0.0, 2000.0]), b=np.array([1.0, 0.0])) == 0
    slopes = tm.grad(lambda x: nn.logsumexp(x, b=np.array([1.0, 0.0])))(np.array([0.0, 2000.0]))
    np.testing.assert_array_equal(slopes, [1, 0])


@pytest.mark.parametrize("log_of_sum", [nn.logsumexp, special.logsumexp, np.logaddexp.reduce])
def test_a_log_sum_near_0_keeps_its_digits(log_of_sum: Callable[..., Any]) -> None:
    compiled = tm.compile(log_of_sum)
    for length in (2, 3, 4):
        x = np.full(length, -40.0)
        x[1] = 0.0
        np.testing.assert_allclose(compiled(x), np.log1p((length - 1) * np.exp(-40.0)), rtol=1e-15)


def test_an_infinite_entry_makes_a_weighted_sum_infinite() -> None:
    assert nn.logsumexp(np.array([np.inf, 0.0]), b=np.array([2.0, 1.0])) == np.inf


ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"axis": 1},
    {"axis": (0, 1), "keepdims": True},
    {"b": 2.0, "axis": 0},
    {"b": np.array([1, 0, 3])},
    {"b": np.array([1.0, -2.0, 0.5]), "axis": 1, "return_sign": True},
    {"return_sign": True, "keepdims": True},
)


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
def test_scipys_logsumexp_has_scipys_values_when_traced(arguments: Any, dtype: Any) -> None:
    x = np.array([[1.0, -3.0, 1.0], [2.0, 50.0, 0.5]]).astype(dtype)
    check(lambda x: special.logsumexp(x, **arguments), x, rtol=1e-6 if dtype == np.float32 else 1e-13)


def test_scipys_logsumexp_is_recorded_as_one_call_under_every_name() -> None:
    from scipy.special import logsumexp as imported

    for function in (
        special.logsumexp,
        imported,
        lambda x: special.logsumexp(2 * x),
        lambda x: imported([x, x]),
    ):
        text = str(tm.compile(function, backend="numpy").lower(np.ones(3)).graph)
        assert "logsumexp(" in text
        assert "isfinite" not in text


def test_scipys_own_code_runs_on_numpy_arrays_during_a_trace_and_afterwards() -> None:
    own = special.logsumexp.__code__
    outside, constants = np.array([0.0, -40.0]), []

    def f(x: Any) -> Any:
        constants.append(special.logsumexp(outside, keepdims=True))
        return x * constants[-1]

    tm.compile(f)(np.ones(3))
    assert type(constants[0]) is np.ndarray
    assert special.logsumexp.__code__ is own


@pytest.mark.slow
def test_scipy_that_a_traced_function_imports_first_gives_the_right_second_derivatives(
    tmp_path: Path,
) -> None:
    program = """
import sys
import numpy as np
import tracemill as tm

def f(x):
    from scipy.special import logsumexp
    return logsumexp(x)

tm.compile(np.sin)(1.0)
assert "scipy.special" not in sys.modules
print(tm.hessian(f)(np.zeros(2)).tolist())
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "[[0.25, -0.25], [-0.25, 0.25]]\n"


def test_an_infinite_entry_is_no_probability() -> None:
    x = np.array([0.0, -np.inf, 0.0])
    np.testing.assert_array_equal(nn.softmax(x), [0.5, 0, 0.5])
    jacobian = tm.jacrev(nn.softmax)(x)
    np.testing.assert_array_equal(jacobian, [[0.25, 0, -0.25], [0, 0, 0], [-0.25, 0, 0.25]])
    assert np.isnan(nn.softmax(np.full(2, -np.inf))).all()


def test_a_row_that_is_not_chosen_gives_no_nan_with_safe_where() -> None:
    x = np.array([[1.0, 2.0, 3.0], [-np.inf, -np.inf, -np.inf]])
    chosen, weights = np.array([[True], [False]]), np.arange(3.0)

    def loss(x: Any) -> Any:
        return np.sum(np.where(chosen, nn.softmax(x, 1), 0) * weights)

    slopes = tm.grad(loss, safe_where=True)(x)
    np.testing.assert_allclose(slopes[0], tm.grad(lambda x: nn.softmax(x) @ weights)(x[0]), rtol=1e-14)
    np.testing.assert_array_equal(slopes[1], 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_without_entries_have_results_without_entries(name: str) -> None:
    function = getattr(nn, name)
    assert function(np.empty((0, 3)), 1).size == 0
    assert tm.compile(lambda x: function(x, 1))(np.empty((0, 3))).size == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_precision_is_rounded_once(name: str) -> None:
    x = np.linspace(-3, 3, 1000).astype(np.float16)
    exact = getattr(nn, name)(x.astype(np.float32), 0).astype(np.float16)
    np.testing.assert_array_equal(getattr(nn, name)(x, 0), exact)
    np.testing.assert_array_equal(tm.compile(lambda x: getattr(nn, name)(x, 0))(x), exact)


def test_softmax_stays_one_call_under_transforms() -> None:
    def probabilities(x: Any) -> Any:
        return nn.softmax(x, axis=-1)

    def pulled(x: Any, ct: Any) -> Any:
        return tm.vjp(probabilities, x)[1](ct)[0]

    x = np.ones((2, 3, 4))
    text = str(tm.compile(tm.vmap(pulled)).lower(x, x).graph)
    assert "softmax_1: f64[2, 3, 4] = softmax(" in text
    assert "softmax_backward_1: f64[2, 3, 4] = softmax_backward(" in text
    assert "exp" not in text


def test_a_weighted_sum_of_no_terms_is_zero_and_one_without_axes_a_scalar() -> None:
    np.testing.assert_array_equal(nn.logsumexp(np.zeros((2, 0)), 1, b=1.0), [-np.inf, -np.inf])
    assert isinstance(nn.logsumexp(np.zeros(3), b=2.0), np.float64)


def test_misuse_is_named() -> None:
    with pytest.raises(AxisError, match="axis 2 is out of bounds for array of dimension 1"):
        nn.softmax(np.ones(3), 2)

    def beyond(x: Any) -> Any:
        return nn.softmax(x, 2)

    for function in (beyond, tm.compile(beyond)):
        with pytest.raises(AxisError) as caught:
            function(np.ones(3))
        assert "test_softmax.py" in str(caught.value.location)
    with pytest.raises(ArgumentTypeError, match="axis must be an integer, not str: 'last'"):
        nn.softmax(np.ones(3), "last")  # type: ignore[arg-type]
    with pytest.raises(AxisError, match="axis 1 is out of bounds for array of dimension 1"):
        nn.logsumexp(np.ones(3), 1, b=2.0)
    with pytest.raises(ShapeError, match=r"logsumexp: the shapes \(3,\) and \(2,\) do not broadcast"):
        nn.logsumexp(np.ones(3), b=np.ones(2))
    with pytest.raises(ShapeError, match="lists of equal lengths"):
        nn.softmax([[1.0], [2.0, 3.0]])
    with pytest.raises(DTypeError, match="expected an array of real numbers, not c128"):
        nn.log_softmax(np.ones(3, complex))
    with pytest.raises(ShapeError, match=r"softmax_backward of .*: it takes 2 of one shape"):
        nn.softmax_backward(np.ones(3), np.ones(2), 0)
