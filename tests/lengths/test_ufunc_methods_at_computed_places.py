"""`reduceat` and `at` of ufuncs at places that the program computes: values, errors, batches and derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import UnsupportedFunctionError

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])

X = np.array([1.0, 2.0, -1.0, 0.5, 3.0, -2.0, 1.5])
GROUPS = np.array([0, 1, 0, 1, 1, 0, 1])


def _firsts(keys: Any) -> Any:
    """Where each run of equal keys begins."""
    return np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])


@pytest.mark.usefixtures("c_compiler")
@BACKENDS
@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.logical_or, np.logical_and]
)
def test_reduceat_takes_computed_indices(ufunc: np.ufunc, backend: Any) -> None:
    x = np.array([[3.0, -1.0, 2.0, 5.0], [-0.0, np.nan, 1.0, 4.0]])
    if ufunc in (np.logical_or, np.logical_and):
        x = x > 1
    compiled = tm.compile(lambda x, at: ufunc.reduceat(x, at[at >= 0], axis=1), backend=backend)
    for at in ([0, 2, 3], [-1, 1, 3], [3, 0, 2], [2, 2, 2], [-1, -1, -1]):
        places = np.array(at)
        wanted = ufunc.reduceat(x, places[places >= 0], axis=1)
        np.testing.assert_array_equal(compiled(x, places), wanted, strict=True)
    assert len(compiled.signatures()) == 1


@pytest.mark.usefixtures("c_compiler")
@BACKENDS
@pytest.mark.parametrize("places", [[0, 4, 1], [2, -1], [7, -9], [-(2**62)]])
def test_an_index_of_reduceat_out_of_bounds_is_numpys_error(places: list[int], backend: Any) -> None:
    compiled = tm.compile(np.add.reduceat, backend=backend)
    for x in (np.arange(4.0), np.zeros(0)):
        with pytest.raises(IndexError) as wanted:
            np.add.reduceat(x, places)
        with pytest.raises(IndexError) as found:
            compiled(x, np.array(places))
        assert str(found.value) == str(wanted.value)


def test_one_program_sums_any_groups() -> None:
    def sums(x: Any, keys: Any) -> Any:
        return np.add.reduceat(x, _firsts(keys))

    compiled = tm.compile(sums)
    for n in (5, 6, 9, 100):
        keys = np.sort(np.random.default_rng(n).integers(0, 4, n))
        np.testing.assert_allclose(compiled(np.arange(1.0, n + 1), keys), sums(np.arange(1.0, n + 1), keys))
    assert len(compiled.signatures()) <= 2


def test_a_batch_sums_groups_of_its_examples() -> None:
    def found(x: Any, keys: Any) -> Any:
        return (np.add.reduceat(x, _firsts(keys)) ** 2).sum()

    x, keys = np.stack([X, 2 * X]), np.stack([np.sort(GROUPS), np.arange(7) // 2])
    np.testing.assert_allclose(tm.vmap(found)(x, keys), [*map(found, x, keys)])
    places = np.array([[0, 3, 5], [5, 3, 0]])
    np.testing.assert_allclose(tm.vmap(np.add.reduceat)(x, places), [*map(np.add.reduceat, x, places)])


def test_other_ufuncs_need_known_indices() -> None:
    with pytest.raises(UnsupportedFunctionError, match=r"hypot.reduceat of float64 .* make them static"):
        tm.compile(np.hypot.reduceat)(X, np.array([0, 2]))


# ---- derivatives -----------------------------------------------------------------------------------------


def _products(x: Any, groups: Any) -> Any:
    chosen = x > 0
    found = np.ones(2)
    np.multiply.at(found, groups[chosen], x[chosen])
    return (found**2).sum()


def _rows(x: Any, groups: Any) -> Any:
    chosen = x > 0
    found = np.ones((2, 2))
    np.multiply.at(found, groups[chosen], np.stack([x[chosen], x[chosen] ** 2], axis=1))
    return (found**2 * np.arange(4.0).reshape(2, 2)).sum()


def _others(x: Any, groups: Any) -> Any:
    chosen = x > 0
    found = np.full(2, 0.1)
    np.add.at(found, groups[chosen], x[chosen] ** 2)
    np.subtract.at(found, groups[chosen], x[chosen])
    np.maximum.at(found, groups[chosen], x[chosen])
    return (found**2).sum()


def _pieces(x: Any, groups: Any) -> Any:
    firsts = _firsts(groups)
    return (np.multiply.reduceat(x, firsts) ** 2).sum() + (np.add.reduceat(x, firsts) ** 3).sum()


def _with_a_zero(x: Any, groups: Any) -> Any:
    chosen = x > -1.2
    found = np.ones(2)
    np.multiply.at(found, groups[chosen], x[chosen] + 1)  # one factor is 0, and its derivative is not
    return (found**2).sum() + found.sum()


@pytest.mark.usefixtures("c_compiler")
@pytest.mark.parametrize("function", [_products, _rows, _others, _pieces, _with_a_zero])
def test_updates_at_a_selection_have_derivatives(function: Callable[..., Any]) -> None:
    compiled: list[Any] = [tm.compile(tm.grad(function), backend=backend) for backend in ("numpy", "c")]
    for x in (X, -X, -abs(X)):
        moved = np.linspace(0.5, 1.5, len(x))
        step = 1e-6 * moved
        slope = (function(x + step, GROUPS) - function(x - step, GROUPS)) / 2e-6
        for gradient in (tm.grad(function), *compiled):
            np.testing.assert_allclose(gradient(x, GROUPS) @ moved, slope, rtol=1e-6, atol=1e-7)
        forward = tm.compile(lambda x, moved: tm.jvp(lambda x: function(x, GROUPS), (x,), (moved,)))
        np.testing.assert_allclose(forward(x, moved)[1], slope, rtol=1e-6, atol=1e-7)


def test_products_at_a_selection_have_second_derivatives() -> None:
    found = tm.compile(tm.hessian(_products))(X, GROUPS)
    for i, row in enumerate(found):
        step = 1e-6 * (np.arange(len(X)) == i)
        slope = (tm.grad(_products)(X + step, GROUPS) - tm.grad(_products)(X - step, GROUPS)) / 2e-6
        np.testing.assert_allclose(row, slope, rtol=1e-6, atol=1e-7)


def test_products_of_pairs_of_any_number_have_derivatives() -> None:
    def multiplied_in_pairs(x: Any) -> Any:
        y = np.ones_like(x)
        np.multiply.at(y, np.arange(x.shape[0]) // 2, x)
        return np.sum(y)

    loaded = tm.export(tm.grad(multiplied_in_pairs), "x: f64[N]", constraints="N >= 1").function()
    for length in (1, 2, 9, 40):
        x = np.linspace(0.5, 2.0, length)
        np.testing.assert_allclose(loaded(x), tm.grad(multiplied_in_pairs)(x))
