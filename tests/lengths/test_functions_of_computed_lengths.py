"""NumPy's functions whose results have lengths that depend on values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import DataDependentShapeError

X = np.array([3.0, -1.0, 2.0, 5.0, -7.0, 0.0, 2.0])
NAN = np.array([np.nan, 1.0, np.nan, 1.0, 0.0])
INTS = np.array([4, 0, 2, 2, 7, 4, 4])
GRID = np.arange(12.0).reshape(3, 4) % 5 - 2
NOTHING = X[:0]
VECTORS = ((X,), (NOTHING,), (np.zeros(4),), (np.ones(5),))
COUNTED = (
    (X, INTS % 3),
    (X, np.zeros(7, int)),
    (X[:2], np.array([0, 4], np.int8)),
    (NOTHING, INTS[:0]),
    (X[:1], np.array([3])),
)

Case = tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]

POSITIONS: dict[str, Case] = {
    "nonzero": (np.nonzero, (*VECTORS, (GRID,), (GRID[:, :0],), (GRID.astype(complex),), (GRID > 0,))),
    "nonzero_method": (lambda x: x.nonzero(), (*VECTORS, (GRID,), (GRID.reshape(2, 3, 2),))),
    "nonzero_read": (lambda x: x[np.nonzero(x > 0)] * 2, (*VECTORS, (GRID,))),
    "flatnonzero": (np.flatnonzero, (*VECTORS, (GRID,), (GRID.T,), (np.float64(3),))),
    "argwhere": (np.argwhere, (*VECTORS, (GRID,), (GRID.T,), (np.float64(3),), (np.float64(0),))),
    "where": (lambda x: np.where(x > 1), (*VECTORS, (GRID,))),
    "compress": (lambda x: np.compress(x > 1, x), VECTORS),
    "compress_axis": (lambda x: (np.compress(x[0] > 0, x, 1), x.compress(x[:2, 0] < 0, axis=0)), ((GRID,),)),
    "extract": (lambda x: np.extract(x > 0, x**2), (*VECTORS, (GRID,))),
    "ix_": (lambda x: x[np.ix_(x[:, 0] > -2, x[0] < 2)], ((GRID,), (GRID * 0,))),
    "mask_without_axes": (lambda x: (x[x.sum() > 2], x[0, x[0, 0] > 2]), ((GRID,), (GRID + 9,))),
    "repeat": (np.repeat, COUNTED),
    "repeat_all": (np.repeat, ((X, np.int64(2)), (GRID, np.int64(0)), (GRID, np.array([2])))),
    "repeat_axis": (lambda x, n: x.repeat(n, axis=1), ((GRID, INTS[:4]), (GRID[:0], INTS[:4]))),
}

SORTED = (*VECTORS, (NAN,), (INTS,), (GRID,), (INTS > 2,), (NAN + 1j * NAN[::-1],))
PAIRS = (
    (X, X[::2] + 1),
    (X, NOTHING),
    (NOTHING, X),
    (NOTHING, NOTHING),
    (NAN, X),
    (NAN, NAN),
    (INTS, np.array([2, 9, 2])),
    (INTS, np.array([2.0, 9.5])),
    (GRID, X),
)

SETS: dict[str, Case] = {
    "unique": (np.unique, (*SORTED, (np.float64(3),))),
    "unique_extras": (
        lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
        SORTED,
    ),
    "unique_nan": (lambda x: np.unique(x, return_counts=True, equal_nan=False), SORTED),
    "unique_inverse": (lambda x: np.unique(x, return_inverse=True), SORTED),
    "unique_rows": (
        lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=0),
        ((np.stack([INTS, INTS > 3], 1),), (GRID[[0, 1, 0, 2, 1]],), (GRID[:0],), (X,), (NAN[:, None],)),
    ),
    "unique_columns": (lambda x: np.unique(x, axis=1), ((GRID[:, [0, 1, 0]],), (GRID.reshape(2, 3, 2),))),
    "unique_all": (np.unique_all, SORTED),
    "unique_counts": (np.unique_counts, SORTED),
    "unique_inverse_of_all": (np.unique_inverse, SORTED),
    "unique_values": (lambda x: np.sort(np.unique_values(x)), SORTED),
    "unique_of_selected": (lambda x: np.unique(x[x > 0], return_inverse=True), VECTORS),
    "union1d": (np.union1d, PAIRS),
    "intersect1d": (np.intersect1d, PAIRS),
    "intersect1d_indices": (lambda x, y: np.intersect1d(x, y, return_indices=True), PAIRS),
    "setdiff1d": (np.setdiff1d, PAIRS),
    "setxor1d": (np.setxor1d, PAIRS),
    "assuming_unique": (
        lambda x, y: (
            np.intersect1d(x, y, True),
            *np.intersect1d(x, y, True, return_indices=True),
            np.setdiff1d(x, y, True),
            np.setxor1d(x, y, True),
        ),
        ((X[:4], X[2:6] + 1), (NOTHING, X[:4])),
    ),
    "sets_of_selected": (
        lambda x, y: (np.union1d(x[x > 0], y[y > 0]), np.setdiff1d(x[x > 0], y[y > 0]), np.isin(x, y[y > 0])),
        ((X, X[::2] + 1), (X, -np.abs(X)), (-np.abs(X), X)),
    ),
    "searched_in_selected": (
        lambda x, y: (np.searchsorted(np.sort(x[x > 0]), y), np.searchsorted(np.sort(x[x > 0]), y, "right")),
        ((X, X[::2]), (-np.abs(X), X)),
    ),
}

CASES = POSITIONS | SETS


def flat(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x.copy() for x in arguments)


def check(function: Callable[..., Any], inputs: tuple[tuple[Any, ...], ...], backend: str) -> None:
    compiled = tm.compile(function, backend=backend)
    for arguments in inputs:
        wanted = flat(function(*copies(arguments)))
        for ours, theirs in zip(flat(compiled(*copies(arguments))), wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert np.shape(ours) == np.shape(theirs)
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("name", CASES)
def test_a_compiled_function_gives_what_numpy_gives(name: str, backend: str) -> None:
    check(*CASES[name], backend)


# ---- derivatives ---------------------------------------------------------------------------------------

REDUCED: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda x: np.sum(x[np.nonzero(x > 0)] ** 2),
    "argwhere": lambda x: np.sum(x[np.argwhere(x > 0)] ** 2),
    "compress": lambda x: np.sum(np.compress(x > 0, np.sin(x)) ** 2),
    "extract": lambda x: np.extract(x > 0, np.sin(x)).sum(),
    "unique": lambda x: np.sum(np.unique(x[1:]) ** 2 * np.arange(6)),
    "union1d": lambda x: np.sum(np.sin(np.union1d(x, x[:3]))),
    "intersect1d": lambda x: np.sum(np.sin(np.intersect1d(x, x[:3]))),
    "setdiff1d": lambda x: np.sum(np.sin(np.setdiff1d(x, x[:3]))),
    "setxor1d": lambda x: np.sum(np.sin(np.setxor1d(x, x[:3]))),
    "repeat": lambda x: np.sum(np.repeat(x, (x > 0) + 1) * np.arange(1.0, 1 + np.sum((x > 0) + 1))),
}


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("name", REDUCED)
def test_a_compiled_derivative_is_that_of_the_entries(name: str, backend: str) -> None:
    function, step, x = REDUCED[name], 1e-6, X + 0.25 + np.arange(7) / 100
    differences = [
        (function(x + step * one) - function(x - step * one)) / (2 * step) for one in np.eye(len(x))
    ]
    np.testing.assert_allclose(
        tm.compile(tm.grad(function), backend=backend)(x), differences, rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(tm.grad(function)(x), differences, rtol=1e-6, atol=1e-7)


# ---- errors --------------------------------------------------------------------------------------------


def test_negative_counts_are_an_error_as_in_numpy() -> None:
    repeated = tm.compile(np.repeat)
    np.testing.assert_array_equal(repeated(X, INTS), np.repeat(X, INTS))
    for counts in (INTS - 1, np.int64(-1)):
        with pytest.raises(ValueError, match="repeats may not contain negative values"):
            repeated(X, counts)


@pytest.mark.parametrize("function", [np.nonzero, np.flatnonzero, np.argwhere])
def test_a_batch_of_different_lengths_is_refused_with_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises(
        DataDependentShapeError, match=r"another length(.|\n)*test_functions_of_computed_lengths\.py"
    ):
        tm.vmap(function)(np.stack([X, -X]))
