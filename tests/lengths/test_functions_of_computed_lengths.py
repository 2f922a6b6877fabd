"""NumPy's functions whose results have lengths that depend on values."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import DataDependentShapeError

pytestmark = pytest.mark.usefixtures("lightly_optimised")

X = np.array([3.0, -1.0, 2.0, 5.0, -7.0, 0.0, 2.0])
NAN = np.array([np.nan, 1.0, np.nan, 1.0, 0.0])
INTS = np.array([4, 0, 2, 2, 7, 4, 4])
GRID = np.arange(12.0).reshape(3, 4) % 5 - 2
NOTHING = X[:0]
trim_zeros: Any = np.trim_zeros
"""It takes capital letters, which its annotations do not know."""
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


def edited(x: Any, at: Any) -> Any:
    return np.delete(x, at), np.insert(x, at, 9.5), np.insert(x, at, x[:1])


SAMPLES = tuple(
    (x,)
    for x in (
        np.random.default_rng(0).normal(size=60),
        np.random.default_rng(2).integers(0, 20, 50),
        np.ones(5),
        X[:1],
        NOTHING,
        GRID,
    )
)
BINNED: dict[str, Case] = {
    f"histogram_{name}": (
        lambda x, name=name: (*np.histogram(x, bins=name), np.histogram_bin_edges(x, name)),
        SAMPLES,
    )
    for name in ("auto", "doane", "fd", "rice", "scott", "sqrt", "sturges")
}

EDITED: dict[str, Case] = {
    "places": (
        edited,
        ((X, np.array([1, 3, 3, -1])), (X, INTS[:0]), (X, np.array([2])), (X, np.array([0, 6]))),
    ),
    "one_place": (edited, ((X, np.int64(2)), (X, np.int8(-7)), (X[:1], np.int64(0)))),
    "mask": (edited, ((X, X > 1), (X, X > 9), (X, X < 9), (X, X == 5))),
    "end": (
        lambda x, at: np.insert(x, at, [1, 2]),
        ((X, np.array([7, 0])), (X, np.int64(7)), (X, np.array([7]))),
    ),
    "several": (
        lambda x, at: np.insert(x, at, np.arange(4)),
        ((X, np.array([5, 1, 5, 0])), (X, np.int64(3))),
    ),
    "axes": (
        lambda x, at: (
            np.delete(x, at, 1),
            np.delete(x, at),
            np.insert(x, at, 7, axis=1),
            np.insert(x, at, np.ones((3, 1)), axis=-1),
        ),
        ((GRID, np.array([1, 3])), (GRID, np.array([2, -2])), (GRID, np.array([0]))),
    ),
    "slice_to_delete": (lambda x, k: np.delete(x, slice(k, None)), ((X, np.int64(2)), (X, np.int64(5)))),
    "selected_places": (lambda x, at: np.delete(x, at[at > 1]), ((X, INTS[:4]), (X, INTS[:2] * 0))),
    "trim_zeros": (np.trim_zeros, (*VECTORS, (np.array([0.0, 0, 1, 0, 2, 0]),), (INTS * (INTS < 3),))),
    "trim_front": (lambda x: np.trim_zeros(x, "f"), (*VECTORS, (np.array([0.0, 0, 1, 0, 2, 0]),))),
    "trim_back": (lambda x: trim_zeros(x, "B"), (*VECTORS, (np.array([0.0, 0, 1, 0, 2, 0]),))),
    "trim_axes": (
        lambda x: (np.trim_zeros(x), np.trim_zeros(x, axis=1)),
        ((np.pad(GRID, 2),), (GRID,), (GRID * 0,)),
    ),
}

QUOTIENTS: dict[str, Case] = {
    "polydiv": (
        np.polydiv,
        (
            (np.array([1.0, 2, 3, 4]), np.array([1.0, 2])),
            (np.array([1.0, 2, 4, 8]), np.array([1.0, 1, 1])),
            (np.array([1.0, 3, 3, 1]), np.array([1.0, 2, 1])),
            (np.array([1.0, 0, 0, 0, 5]), np.array([2.0, 0, 0])),
            (np.array([1e12, 3.3e12, 7.7e11]), np.array([0.3, 0.7])),
            (np.array([0.0, 1e-9, 2]), np.array([1.0, 0, 0, 1])),
            (np.array([1.0, np.nan, 2]), np.array([1.0, 1])),
            (np.array([1, 2j, 3]), np.array([1j, 2])),
            (X, np.array([3.0])),
            (X[:1], X[:2]),
            (X[:1].astype(np.float32), X[:1].astype(np.float32)),
        ),
    ),
}

COUNTS: dict[str, Case] = {
    "bincount": (np.bincount, ((INTS,), (INTS[:0],), (INTS.astype(np.uint8),), (INTS > 2,))),
    "extreme_with_initial": (
        lambda x: (x[x > 4].max(initial=3), np.min(x[x > 4], initial=5), x[x > 4, None].max(0, initial=3)),
        ((INTS,), (INTS[1:4],)),
    ),
    "bincount_weights": (np.bincount, ((INTS, X), (INTS, INTS))),
    "bincount_minlength": (lambda x: np.bincount(x, minlength=5), ((INTS,), (INTS[:3],), (INTS[1:3],))),
    "bincount_of_selected": (lambda x: np.bincount(x[x > 2]), ((INTS,), (INTS[1:4],))),
}

RANGES: dict[str, Case] = {
    "one_end": (
        np.arange,
        ((np.int64(4),), (np.int64(0),), (np.int64(-2),), (np.float64(3.5),), (np.float32(2),)),
    ),
    "two_ends": (
        np.arange,
        (
            (np.int64(2), np.int64(6)),
            (np.int64(-2), np.int64(-6)),
            (np.int32(2), np.int32(6)),
            (np.float64(0.25), np.float64(4)),
            (np.float64(-0.25), np.int64(3)),
            (np.float32(0.1), np.float32(2)),
        ),
    ),
    "step": (
        np.arange,
        (
            (np.int64(2), np.int64(9), np.int64(3)),
            (np.int64(9), np.int64(2), np.int64(-3)),
            (np.int64(9), np.int64(2), np.int64(3)),
            (np.float64(0), np.float64(1), np.float64(0.1)),
            (np.float64(0.1), np.float64(1.3), np.float64(0.3)),
            (np.float64(1), np.float64(0), np.float64(-0.1)),
            (np.float32(1), np.float32(2), np.float32(0.1)),
        ),
    ),
    "numbers_and_values": (
        lambda k: (np.arange(1, k), np.arange(k, 9), np.arange(k, 0, -1), np.arange(0, k, 0.5)),
        ((np.int64(4),), (np.int64(-3),), (np.float64(2.75),)),
    ),
    "dtype": (lambda k: (np.arange(k, dtype=np.float32), np.arange(0, k, dtype=np.uint8)), ((np.int64(4),),)),
    "with_zeros": (lambda k: np.zeros(k) + np.arange(k) + np.ones(k), ((np.int64(4),), (np.int64(0),))),
    "before_zeros": (lambda k: np.arange(k) + np.zeros(k), ((np.int64(4),),)),
    "grid": (lambda a: np.mgrid[a : a + 2.5], ((np.float64(3.0),),)),
}

CASES = POSITIONS | SETS | EDITED | BINNED | QUOTIENTS | COUNTS | RANGES


def flat(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x.copy() for x in arguments)


def check(function: Callable[..., Any], inputs: tuple[tuple[Any, ...], ...], backend: str) -> None:
    compiled = tm.compile(function, backend=backend)
    for arguments in inputs:
        wanted, found = function(*copies(arguments)), compiled(*copies(arguments))
        assert type(found) is type(wanted)
        for ours, theirs in zip(flat(found), flat(wanted), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert np.shape(ours) == np.shape(theirs)
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype


REACHES_MORE = """
    argwhere extract mask_without_axes repeat_all unique_rows unique_all unique_inverse_of_all assuming_unique
    searched_in_selected setdiff1d axes trim_front histogram_doane step
""".split()
"""Functions that reach lines of the library that the others do not."""


def on_both_backends(names: Iterable[str]) -> list[Any]:
    """The names on NumPy, of which every second is quick, and on C."""
    slow, exhaustive = pytest.mark.slow, pytest.mark.exhaustive
    return [
        *(
            pytest.param(name, "numpy", marks=[] if n % 2 == 0 else slow if n % 16 == 1 else exhaustive)
            for n, name in enumerate(names)
        ),
        *(pytest.param(name, "c", marks=exhaustive if n % 40 else slow) for n, name in enumerate(names)),
    ]


@pytest.mark.sampled(*(f"{name}-numpy" for name in REACHES_MORE))
@pytest.mark.parametrize(("name", "backend"), on_both_backends(CASES))
def test_a_compiled_function_matches_numpy(name: str, backend: str) -> None:
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
    "delete": lambda x: np.sum(np.sin(np.delete(x, np.argmax(x)))) + np.sum(np.delete(x, x > 0) ** 2),
    "insert": lambda x: np.sum(np.insert(x, [np.argmax(x), np.argmin(x)], x[:2] ** 2) * np.arange(9.0)),
    "trim_zeros": lambda x: np.sum(np.trim_zeros(np.where(x > 0, x, 0)) ** 2),
    "bincount": lambda x: np.sum(np.bincount((x > 0) * 2, np.sin(x)) ** 2),
    "arange": lambda x: np.sum(np.arange(x[0], x[0] + 3.5, x[2] / 2) ** 2),
    "repeat": lambda x: np.sum(np.repeat(x, (x > 0) + 1) * np.arange(1.0, 1 + np.sum((x > 0) + 1))),
}


@pytest.mark.sampled("unique-numpy", "intersect1d-numpy", "setxor1d-numpy", "bincount-numpy")
@pytest.mark.parametrize(("name", "backend"), on_both_backends(REDUCED))
def test_a_compiled_derivative_matches_that_of_the_entries(name: str, backend: str) -> None:
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
        with pytest.raises(ValueError, match="negative") as expected:
            np.repeat(X, counts)
        with pytest.raises(ValueError, match=re.escape(str(expected.value))):
            repeated(X, counts)


def test_an_index_beyond_the_end_is_an_error_as_in_numpy() -> None:
    deleted, inserted = tm.compile(np.delete), tm.compile(lambda x, at: np.insert(x, at, 0))
    for places in (np.array([0, 8]), np.array([-8, 0]), np.int64(8)):
        for function in (deleted, inserted):
            with pytest.raises(IndexError, match="out of bounds"):
                function(X, places)
    for place in (np.int64(8), np.int64(-8)):
        with pytest.raises(IndexError) as expected:
            np.delete(X, place)
        for function in (deleted, inserted):
            with pytest.raises(IndexError) as found:
                function(X, place)
            assert str(found.value).split("\n")[0] == str(expected.value)


def test_indices_of_a_computed_number_are_checked() -> None:
    taken = tm.compile(lambda x, at: x[at[at > 1]], check_bounds=True)
    for places in (INTS[:4], INTS[:2] * 0):
        np.testing.assert_array_equal(taken(X, places), X[places[places > 1]])
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 7"):
        taken(X, INTS)


def test_negative_numbers_are_not_counted_as_in_numpy() -> None:
    counted = tm.compile(np.bincount)
    np.testing.assert_array_equal(counted(INTS), np.bincount(INTS))
    with pytest.raises(ValueError, match="'list' argument must have no negative elements"):
        counted(INTS - 1)


def test_a_negative_length_is_an_error_where_the_same_range_is_empty() -> None:
    both = tm.compile(lambda k: (np.arange(k), np.zeros(k)))
    assert list(map(len, both(np.int64(2)))) == [2, 2]
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        both(np.int64(-1))


def test_a_range_without_end_is_an_error_as_in_numpy() -> None:
    numbers = tm.compile(np.arange)
    with pytest.raises(ZeroDivisionError):
        numbers(np.int64(0), np.int64(3), np.int64(0))
    with pytest.raises(ValueError, match="Maximum allowed size exceeded"):
        numbers(np.float64(0), np.float64(np.inf))


@pytest.mark.parametrize("function", [np.nonzero, np.flatnonzero, np.argwhere])
def test_a_batch_of_different_lengths_is_refused_with_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises(
        DataDependentShapeError, match=r"another length(.|\n)*test_functions_of_computed_lengths\.py"
    ):
        tm.vmap(function)(np.stack([X, -X]))


def test_one_program_gives_the_medians_of_all_lengths() -> None:
    middle = tm.compile(lambda x: (np.median(x[x > 0]), np.nanquantile(x[x > 0], 0.3)))
    for x in (X, X[:3], X + 3, X * np.nan, np.where(X > 2, np.nan, X)):
        chosen = x[x > 0]
        wanted = (np.median(chosen), np.quantile(chosen, 0.3)) if len(chosen) else (np.nan, np.nan)
        np.testing.assert_allclose(middle(x), wanted, rtol=1e-15)
    assert len(middle.signatures()) == 2, "one for each length of x"


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    ("edited", "places", "wrong"),
    [
        (lambda x, at: np.delete(x, at, axis=1), [0, 5], 5),
        (lambda x, at: np.delete(x, at, axis=1), [-5], -5),
        (lambda x, at: np.insert(x, at, 7.0, axis=1), [0, 6, 9], 9),
    ],
)
def test_places_out_of_range_are_named(edited: Any, places: list[int], wrong: int, dynamic: Any) -> None:
    compiled = tm.compile(edited, dynamic=dynamic)
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 1 with size 4"):
        compiled(np.ones((3, 4)), np.array(places))


# ---- what NumPy says of lengths and empty arrays ---------------------------------------------------------


def _placed(x: Any, mask: Any, values: Any) -> Any:
    np.place(x, mask, values)
    return x


@pytest.mark.parametrize("mask", [np.zeros(4, bool), np.arange(4) > 2])
def test_place_takes_no_values_where_the_mask_chooses_nothing(mask: Any) -> None:
    for values in (np.zeros(0), np.array([7.0, 8.0])):
        outcomes = []
        for function in (_placed, tm.compile(_placed)):
            try:
                outcomes.append(function(np.arange(4.0), mask, values).tolist())
            except ValueError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "function", [np.zeros, np.ones, np.empty, lambda n: np.full(n, 2.0), lambda n: np.zeros((2, n))]
)
def test_a_negative_int_is_no_length(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(lambda n: function(n).shape)
    for n in (-3, -1):
        with pytest.raises(ValueError, match=r"^negative dimensions are not allowed"):
            compiled(n)
    assert compiled(2) == function(2).shape


def test_a_range_of_unsigned_numbers_has_numpys_dtype() -> None:
    for args in ((np.uint64(3),), (np.uint64(1), np.uint64(3)), (np.uint32(3),), (np.int8(1), np.int8(3))):
        np.testing.assert_array_equal(tm.compile(np.arange)(*args), np.arange(*args), strict=True)
