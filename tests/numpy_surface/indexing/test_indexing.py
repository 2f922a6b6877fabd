"""Index expressions, drawn at random and chosen, read and write what they do in NumPy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tracemill as tm
from numpy_surface.differential import Function, assert_same, check, check_both_raise, run_traced
from samples.numpy_functions import changed
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import (
    ImmutableScalarError,
    IndexTypeError,
    OutOfBoundsError,
    ShapeError,
)

often = settings(max_examples=100, deadline=None, derandomize=True, database=None)
"""Many examples, the same ones in every run."""

SHAPES = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3) | st.sampled_from(
    [[0], [2, 0], [0, 3]]
)


def numbered(shape: Any) -> Array:
    return np.arange(float(np.prod(shape))).reshape(shape)


@st.composite
def slices(draw: st.DrawFn, dim: int) -> slice:
    ends = st.none() | st.integers(-dim - 2, dim + 2)
    return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3, -1, -2, -3])))


def basic_items(dim: int) -> st.SearchStrategy[Any]:
    return st.integers(-dim, dim - 1) | slices(dim) if dim else slices(dim)


def array_items(dim: int) -> st.SearchStrategy[Any]:
    places = st.integers(-dim, dim - 1)
    masks = st.lists(st.booleans(), min_size=dim, max_size=dim).map(lambda row: np.array(row, bool))
    if not dim:
        return masks
    rows = st.lists(places, min_size=2, max_size=2)
    return (
        rows
        | rows.map(np.array)
        | st.tuples(places, places).map(lambda pair: np.array(pair)[:, None])
        | places.map(lambda i: np.array([i], np.int32))
        | masks
    )


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], arrays: bool) -> Any:
    """An index expression for an array of `shape`; perhaps with too many dimensions' worth of None or an Ellipsis."""
    items = [draw(array_items(d) | basic_items(d) if arrays else basic_items(d)) for d in shape]
    cut = draw(st.integers(0, len(items)))
    kept = items[:cut]
    if draw(st.booleans()):
        tail = draw(st.integers(cut, len(items)))
        kept = [*kept, Ellipsis, *items[tail:]]
    for _ in range(draw(st.integers(0, 2))):
        kept.insert(draw(st.integers(0, len(kept))), None)
    return tuple(kept)


@st.composite
def indexed(draw: st.DrawFn, *, arrays: bool = True) -> tuple[Array, Any]:
    shape = tuple(draw(SHAPES))
    return numbered(shape), draw(indices(shape, arrays))


def is_valid(x: Array, index: Any) -> bool:
    try:
        x[index]
    except (IndexError, ValueError):
        return False
    return True


# ---- drawn at random ---------------------------------------------------------------------------------


@pytest.mark.slow
@often
@given(indexed())
def test_any_index_reads_what_numpy_reads(case: tuple[Array, Any]) -> None:
    x, index = case
    if is_valid(x, index):
        check(lambda x: x[index], x)
    else:
        check_both_raise(lambda x: x[index], x)


@pytest.mark.slow
@often
@given(indexed(), st.booleans())
def test_any_index_writes_where_numpy_writes(case: tuple[Array, Any], one_number: bool) -> None:
    x, index = case
    assume(is_valid(x, index))

    def write(x: Any) -> Any:
        x[index] = -1.0 if one_number else 10.0 * numbered(x[index].shape)
        return x

    check(write, x)


@pytest.mark.slow
@often
@given(indexed())
def test_any_index_updates_in_place_what_numpy_updates(case: tuple[Array, Any]) -> None:
    x, index = case
    assume(is_valid(x, index))

    def update(x: Any) -> Any:
        x[index] += 2 * x[index]
        return x

    check(update, x)


@pytest.mark.slow
@often
@given(indexed(arrays=False), st.data())
def test_writing_to_a_view_of_a_view_reaches_the_base(case: tuple[Array, Any], data: st.DataObject) -> None:
    x, index = case
    view = x[index]
    assume(isinstance(view, np.ndarray))
    inner = data.draw(indices(view.shape, arrays=True))
    assume(is_valid(view, inner))

    def write(x: Any) -> Any:
        view = x[index]
        view[inner] = 99.0
        view *= 2
        x[...] = x + 1  # which the views see
        return x, view, view[inner]

    check(write, x)


@pytest.mark.slow
@often
@given(indexed())
def test_integer_arrays_may_be_arguments(case: tuple[Array, Any]) -> None:
    """Then the indices are not known while tracing."""
    x, index = case
    is_array = [isinstance(item, np.ndarray) and item.dtype.kind == "i" for item in index]
    assume(any(is_array) and is_valid(x, index))
    arrays = tuple(item for item, array in zip(index, is_array, strict=True) if array)

    def update(x: Any, arrays: Any) -> Any:
        given = iter(arrays)
        items = tuple(next(given) if array else item for item, array in zip(index, is_array, strict=True))
        found = x[items]
        x[items] = -found
        return x, found

    check(update, x, arrays)


# ---- chosen ------------------------------------------------------------------------------------------

CUBE = numbered((2, 3, 4))
ROW = numbered(6)

READS: list[Any] = [
    ...,
    (),
    None,
    (None, ..., None),
    True,
    np.True_,
    (True, 0),
    (0, 1, 2),
    (0, 1, 2, ...),
    (0, [1, 2]),
    ([0, 1], slice(None), [1, 2]),
    (0, slice(None), [1, 2]),
    (slice(None), [0, 1], [1, 2]),
    (slice(None), 0, [[1], [2]]),
    ([0, 1], None, [1, 2]),
    ([0, 1], ..., [1, 2]),
    (np.int8(1), np.uint8(2)),
    np.array(1),
    np.array([], int),
    [],
    [[0, 1], [1, 0]],
    np.array([0, 1], np.uint8),
    CUBE > 5,
    CUBE[:, :, 0] > 5,
    (CUBE[:, 0, 0] > 5, 1),
    (slice(None), [True, False, True]),
    (slice(None), [True, False, True], [0, 1]),
    ([True, True], None, slice(1, None), [0, 3]),
    (slice(5, 1), slice(None, None, -1)),
    (slice(np.int64(0), np.int64(2)),),
]


@pytest.mark.parametrize("index", READS, ids=lambda index: repr(index).replace("\n", "")[:60])
def test_this_index_reads_and_writes_as_in_numpy(index: Any) -> None:
    def both(x: Any) -> Any:
        found = x[index]
        x[index] = 0.5
        return x, found

    def read(x: Any) -> Any:
        return x[index]

    check(read, CUBE)
    check(both, CUBE) if isinstance(CUBE[index], np.ndarray) else check(changed(both), CUBE)


@pytest.mark.parametrize(
    "index",
    [
        7,
        -3,
        (0, 0, 9),
        (0, 0, 0, 0),
        [0, 2],
        (slice(None), [3]),
        [True, False, True],
        (..., ...),
        1.5,
        "a",
        [0.5],
    ],
    ids=repr,
)
def test_an_index_that_numpy_refuses_is_refused(index: Any) -> None:
    check_both_raise(lambda x: x[index], CUBE)
    check_both_raise(changed(lambda x: x.__setitem__(index, 0)), CUBE)


def test_of_several_writes_to_one_place_the_last_stays() -> None:
    def write(x: Any) -> Any:
        x[[1, 1, 2]] = [5.0, 6.0, 7.0]
        x[[0, 0]] += 1
        np.add.at(x, [3, 3, -1], 1.0)
        return x

    check(write, ROW)


def test_values_are_converted_to_the_dtype_of_the_array() -> None:
    def write(i: Any, f: Any, u: Any) -> Any:
        i[0], i[1], i[2:] = 1.75, True, f[2:]
        u[:2] = i[:2]
        f[1] = i[3]
        return i, f, u

    check(write, np.arange(6), ROW + 0.75, np.zeros(3, np.uint8))


@pytest.mark.parametrize("value", [np.ones(2), np.ones((2, 3, 4, 1)), [1.0, 2.0, 3.0]])
def test_a_value_that_does_not_fit_is_refused(value: Any) -> None:
    check_both_raise(changed(lambda x: x.__setitem__(slice(None), value)), CUBE)


def test_leading_axes_of_length_one_are_dropped_from_a_value() -> None:
    check(changed(lambda x: x.__setitem__(0, np.ones((1, 1, 3, 4)))), CUBE)


# ---- indices and masks that are not known while tracing ----------------------------------------------


@pytest.mark.parametrize("i", [0, 3, -1, -6])
def test_an_unknown_integer_reads_and_writes_its_entry(i: int) -> None:
    check(lambda x, i: (x[i], x[None, i], x[i, ...]), ROW, np.int64(i))
    check(changed(lambda x, i: x.__setitem__(i, 100.0)), ROW, np.int64(i))
    check(
        changed(lambda x, i: x.__setitem__((slice(None), i, [0, 2]), 1.0)), CUBE, np.int64(max(-3, min(i, 2)))
    )
    check(changed(lambda x, i: x.__setitem__(i, x[i] + 1)), ROW, np.int64(i))


def test_numpys_own_array_takes_an_unknown_index() -> None:
    for use in (lambda i: ROW[i], lambda i: np.take(ROW, i), lambda i: np.asarray(ROW)[i]):
        assert run_traced(use, np.int64(1)) == ROW[1]


@pytest.mark.parametrize(("i", "read"), [(6, 5), (100, 5), (-7, 0), (-100, 0)])
def test_an_unknown_index_outside_reads_the_nearest_entry_and_writes_nothing_in_compiled_functions(
    i: int, read: int
) -> None:
    assert tm.compile(lambda x, i: x[i], check_bounds=False)(ROW, np.int64(i)) == ROW[read]
    x = ROW.copy()
    write = changed(lambda x, i: x.__setitem__(i, 100.0))
    result = tm.compile(write, check_bounds=False)(x, np.int64(i))
    np.testing.assert_array_equal(result, ROW)
    np.testing.assert_array_equal(x, ROW)


def test_an_unknown_mask_selects_what_is_written() -> None:
    mask = ROW > 2
    check(changed(lambda x, m: x.__setitem__(m, 0.0)), ROW, mask)
    check(changed(lambda x, m: x.__setitem__(m, x[0])), ROW, mask)
    check(changed(lambda x: x.__setitem__(x > 2, -1.0)), ROW)
    check(changed(lambda x, m: x.__setitem__(m, [1.0, 2.0, 3.0, 4.0])), CUBE, CUBE[:, :, 0] > 5)
    check(changed(lambda x: x.__setitem__(x > 7, 0.0)), CUBE.transpose(2, 0, 1).copy())


def test_an_unknown_mask_may_occur_beside_other_indices() -> None:
    check(changed(lambda x, m: x.__setitem__((0, m), 5.0)), CUBE, np.array([True, False, True]))
    check(changed(lambda x, m: x.__setitem__((slice(None), m), 5.0)), CUBE, np.array([True, False, True]))
    check(changed(lambda x, m: x.__setitem__((..., m), 5.0)), CUBE, np.array([True, False, True, False]))
    check(changed(lambda x, m: x.__setitem__((0, m), x[1, 0])), CUBE, np.array([True, False, True]))
    check(changed(lambda x, m: x.__setitem__((m, None, 0), x[1, :1])), CUBE, np.array([True, False]))
    check(changed(lambda x, m: x.__setitem__((m, slice(None), 0), x[1, :, 1])), CUBE, np.array([True, False]))


def test_what_a_mask_selects_is_as_long_as_the_program_finds_out() -> None:
    np.testing.assert_array_equal(run_traced(lambda x: x[x > 2], ROW), ROW[ROW > 2])


def test_errors_of_indexing_name_the_line() -> None:
    cases: list[tuple[Function, type[Exception], str]] = [
        (lambda x: x[9], OutOfBoundsError, "index 9 is out of bounds for axis 0 with size 6"),
        (lambda x: x[0, 0], OutOfBoundsError, "too many indices"),
        (lambda x: x[0.5], IndexTypeError, "only integers"),
        (lambda x: x[[0, 1], [0, 1, 2]], OutOfBoundsError, ""),
        (changed(lambda x: x.__setitem__(slice(2), np.ones(3))), ShapeError, ""),
        (changed(lambda x: x[0].__setitem__(..., 1.0)), ImmutableScalarError, "scalar"),
    ]
    for function, error, message in cases:
        with pytest.raises(error, match=rf"{message}(.|\n)*at (test_indexing|numpy_functions)\.py:\d+"):
            run_traced(function, ROW)


@pytest.mark.parametrize("number", [255, 256, -1, -300, 2**40])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i8"])
def test_a_number_that_does_not_fit_is_wrapped_or_refused_by_where_as_in_numpy(
    dtype: str, number: int
) -> None:
    def use(x: Any, n: Any) -> Any:
        return np.where(x > 0, x, n), np.where(x > 0, number, x)

    x = np.array([1, 0, 3], dtype)
    try:
        expected = use(x, number)
    except OverflowError:
        with pytest.raises(OverflowError, match="out of bounds"):
            run_traced(lambda x: np.where(x > 0, x, number), x)
        with pytest.raises(OverflowError, match="out of bounds"):
            tm.compile(use)(x, number)
    else:
        assert_same(expected, run_traced(use, x, number))
        assert_same(expected, tm.compile(use)(x, number))


@pytest.mark.parametrize("given", ["f4", "f8", "i4"])
@pytest.mark.parametrize("out", ["f4", "f8", "i8", "c16"])
@pytest.mark.filterwarnings("ignore:Casting complex", "ignore:Implicit casting of output:DeprecationWarning")
def test_take_casts_its_result_to_the_dtype_of_out_or_refuses_it_as_in_numpy(given: str, out: str) -> None:
    def use(x: Any, y: Any) -> Any:
        return np.take(x, [2, 0], out=y), np.compress([True, True, False], x, out=y)

    x, y = np.array([1.0, 2.0, 3.0]).astype(given), np.zeros(2, out)
    try:
        use(x, y.copy())
    except TypeError:
        check_both_raise(use, x, y)
    else:
        check(use, x, y)
