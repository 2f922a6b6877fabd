"""Short programs in which NumPy's memory order, views or values depend on a detail."""

import copy
import warnings
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.dtypes import Array

Program = Callable[[Array], Any]

COMPLEX = np.random.default_rng(0).integers(-40, 41, (70, 20, 100)) * (0.125 + 0.25j)


@pytest.mark.parametrize("x", [COMPLEX, COMPLEX.T], ids=["C", "F"])
def test_a_large_complex_range_is_the_difference_of_its_ends(x: Array) -> None:
    def spread(x: Any) -> Any:
        return np.ptp(x, axis=0)

    np.testing.assert_array_equal(tm.compile(spread, backend="numpy")(x), spread(x))


@pytest.mark.parametrize("x", [COMPLEX, COMPLEX.T], ids=["C", "F"])
def test_large_complex_numbers_are_clipped_at_both_ends(x: Array) -> None:
    def clipped(x: Any) -> Any:
        return np.clip(x, -1, 2)

    np.testing.assert_array_equal(tm.compile(clipped, backend="numpy")(x), clipped(x))


LIKE: dict[str, Program] = {
    "a new last axis": lambda x: np.zeros_like(x[::2, :, None], shape=(3, 8, 4)),
    "a new first axis": lambda x: np.zeros_like(x[None, ::2], shape=(4, 3, 8)),
    "a new axis between": lambda x: np.ones_like(x[::2][:, None], shape=(3, 4, 8)),
    "a reshaped last axis": lambda x: np.zeros_like(x[::2].reshape(3, 8, 1), shape=(3, 8, 4)),
    "a split axis": lambda x: np.full_like(x[::2].reshape(3, 2, 4, 1), 1.0, shape=(3, 2, 4, 5)),
    "expand_dims": lambda x: np.zeros_like(np.expand_dims(x[::2], 1), shape=(3, 4, 8)),
    "atleast_3d": lambda x: np.zeros_like(np.atleast_3d(x[::2]), shape=(3, 8, 5)),
    "one column": lambda x: np.zeros_like(x[::2, :1], shape=(3, 4)),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("program", LIKE.values(), ids=LIKE)
def test_arrays_like_another_in_a_new_shape_count_its_axes_of_length_1(program: Program, order: Any) -> None:
    x = np.zeros((6, 8), order=order)
    assert tm.compile(program, backend="numpy")(x).strides == program(x).strides


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_a_new_axis_of_an_array_without_axes_is_written_through(order: Any) -> None:
    def doubled(x: Any) -> Any:
        x[None].ravel(order)[...] *= 2
        return x.copy()

    x, y = np.array(3.0), np.array(3.0)
    np.testing.assert_array_equal(tm.compile(doubled, backend="numpy")(x), doubled(y))
    np.testing.assert_array_equal(x, y)


def rows_as_contiguous(x: Any) -> Any:
    rows = x[::2]
    np.ascontiguousarray(rows)[...] += 1
    return rows.copy()


def corner_in_a_row(x: Any) -> Any:
    row = x[::-2, ::-2, None].reshape(-1)
    x += 1
    return row.copy()


def rows_of_columns(x: Any) -> Any:
    rows = np.asfortranarray(x)[1:] * 2
    np.ascontiguousarray(rows)[...] += 1
    return rows


def chosen_columns(x: Any) -> Any:
    rows = x[1:, [0]]
    rows.ravel()[...] += 1
    return rows


@pytest.mark.parametrize("program", [rows_as_contiguous, corner_in_a_row, rows_of_columns, chosen_columns])
def test_for_many_sizes_a_part_of_length_1_is_shared_and_a_longer_one_copied(program: Program) -> None:
    compiled = tm.compile(program, backend="numpy", dynamic=True)
    for shape in ((2, 5), (6, 5), (3, 2), (2, 2), (7, 4), (2, 5)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        y = x.copy()
        np.testing.assert_array_equal(compiled(x), program(y))
        np.testing.assert_array_equal(x, y)


def test_squeezing_nothing_gives_the_array_itself() -> None:
    def is_same(x: Any) -> list[bool]:
        return [np.squeeze(x) is x, x.squeeze() is x, np.squeeze(x, ()) is x, x.squeeze(axis=()) is x]

    x = np.zeros((2, 3))
    assert tm.compile(is_same)(x) == is_same(x) == [True] * 4


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "x", [np.zeros((2, 3), order="F"), np.zeros((2, 3)), np.zeros((4, 3), order="F")[::2]]
)
def test_the_copy_module_keeps_the_memory_order(x: Array, copied: Callable[..., Any]) -> None:
    assert tm.compile(copied, backend="numpy")(x).strides == copied(x).strides


def test_a_single_block_is_in_c_order_and_joined_ones_keep_theirs() -> None:
    def blocks(x: Any) -> list[Any]:
        return [np.block(x), np.block([x]), np.block([x, x]), np.block([[x], [x]])]

    x = np.zeros((2, 3), order="F")
    found = tm.compile(blocks, backend="numpy")(x)
    assert [one.strides for one in found] == [one.strides for one in blocks(x)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("entries", [[[2, 1], [1, 3]], [[0, 1], [-1, 0]]])
def test_eigenvalues_own_their_memory_where_they_do_in_numpy(entries: Any, dtype: str) -> None:
    x = np.array(entries, dtype)
    found: list[bool] = []

    def values(x: Any) -> Any:
        arrays = [*np.linalg.eig(x), np.linalg.eigvals(x)]
        found.extend(one.flags.owndata for one in arrays)
        return np.sum(x)

    values(x)
    tm.jvp(values, (x,), (np.zeros_like(x),))
    assert found[:3] == found[3:]


def test_broadcast_arrays_are_flagged_writeable_and_those_of_the_shape_are_written_to() -> None:
    def flags(x: Any) -> Any:
        grids = [
            *np.broadcast_arrays(x, x[0]),
            *np.meshgrid(x[0], x[1], copy=False),
            np.broadcast_to(x[0], (4, 3)),
        ]
        np.broadcast_arrays(x, x[0])[0][...] = 7
        return [grid.flags.writeable for grid in grids]

    x, y = np.zeros((2, 3)), np.zeros((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert tm.compile(flags)(x) == flags(y) == [True, True, True, True, False]
    np.testing.assert_array_equal(x, y)


def put(x: Any, at: Any) -> Any:
    np.put(x, at, 5.0)
    return x.copy()


def choose(x: Any, at: Any) -> Any:
    return np.choose(at, [x, x + 1])


@pytest.mark.parametrize("function", [put, choose])
@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8"])
def test_put_and_choose_take_index_arrays_that_int64_holds(function: Callable[..., Any], dtype: str) -> None:
    at = np.array([1], dtype)
    np.testing.assert_array_equal(tm.compile(function)(np.zeros(3), at), function(np.zeros(3), at))


@pytest.mark.parametrize("function", [put, choose])
@pytest.mark.parametrize("dtype", ["u8", "f8", "c16"])
def test_put_and_choose_refuse_index_arrays_that_int64_does_not_hold(
    function: Callable[..., Any], dtype: str
) -> None:
    at = np.array([1], dtype)
    with pytest.raises(TypeError):
        function(np.zeros(3), at)
    with pytest.raises(tm.errors.DTypeError):
        tm.compile(function)(np.zeros(3), at)


@pytest.mark.parametrize("at", [[1.5], 1.5, np.uint64(2), [np.uint64(1)], []])
def test_put_rounds_other_numbers_towards_0(at: Any) -> None:
    found = tm.compile(lambda x: put(x, at))(np.zeros(3))
    np.testing.assert_array_equal(found, put(np.zeros(3), at))


@pytest.mark.parametrize("step", [-1, 2])
def test_writes_through_a_row_of_a_view_are_seen_at_all_sizes(step: int) -> None:
    def written(x: Any) -> Any:
        row = x[0]
        row.ravel()[:2] = 5.0
        return row

    compiled = tm.compile(written, backend="numpy", dynamic=True)
    for shape in [(5, 4, 2), (7, 6, 4), (3, 1, 2)]:
        expected, found = (np.arange(float(np.prod(shape))).reshape(shape)[::step] for _ in range(2))
        np.testing.assert_array_equal(compiled(found), written(expected))
        np.testing.assert_array_equal(found, expected)


COLUMNS: dict[str, Program] = {
    "a new last axis": lambda x: np.delete(np.exp2(x, order="F"), 0, axis=0)[..., None],
    "a new middle axis": lambda x: (np.asfortranarray(x)[1:] * 2)[:, None],
    "a copy": lambda x: np.copy(np.asfortranarray(x)[1:], order="K")[None],
}


@pytest.mark.parametrize("program", COLUMNS.values(), ids=COLUMNS)
def test_new_axes_of_columns_that_a_first_call_leaves_short_are_in_order_at_all_sizes(
    program: Program,
) -> None:
    compiled = tm.compile(program, backend="numpy", dynamic=True)
    for shape in ((3, 3), (5, 5), (4, 6)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        expected, found = program(x), compiled(x)
        longer = [axis for axis, length in enumerate(expected.shape) if length > 1]
        assert [found.strides[axis] for axis in longer] == [expected.strides[axis] for axis in longer]


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float64])
def test_comparison_with_a_repeated_row_has_numpys_order(dtype: Any) -> None:
    """NumPy first copies integers and bools to floats, with axes in another order than those of the repeated row."""

    def compared(x: Any) -> Any:
        return np.isclose(x[::-1], x), np.isclose(x.astype(float), x)

    row = np.arange(5).astype(dtype)
    for x in (np.broadcast_to(row, (4, 5)), np.broadcast_to(row[:, None], (5, 4))):
        found = tm.compile(compared, backend="numpy")(x)
        assert [one.strides for one in found] == [one.strides for one in compared(x)]


RESHAPED: dict[str, tuple[Program, Any, list[tuple[int, ...]]]] = {
    "a literal that is a size": (lambda b: b.T.reshape(4, 3), "C", [(3, 4), (4, 3), (2, 6), (3, 4)]),
    "an inferred length": (lambda b: b.T.reshape(2, -1, 3), "C", [(3, 4), (3, 6), (5, 6), (3, 4)]),
    "a new axis": (lambda b: b[:, None, :].reshape(3, 4), "F", [(3, 4), (4, 3), (2, 6)]),
    "swapped axes": (lambda b: np.swapaxes(b, 0, 1).reshape(4, 3), "C", [(3, 4), (2, 6)]),
    "every second row": (lambda b: b[::2].reshape(-1, 2, 2), "C", [(4, 4), (8, 2), (6, 4)]),
    "the first axis fastest": (lambda b: b.T.reshape((4, 3), order="F"), "C", [(3, 4), (2, 6)]),
}


@pytest.mark.sampled("an inferred length", "a new axis", "the first axis fastest")
@pytest.mark.parametrize("name", RESHAPED)
def test_a_reshape_for_many_sizes_is_a_view_where_numpys_is(name: str) -> None:
    reshaped, order, shapes = RESHAPED[name]

    def written(b: Any) -> Any:
        reshaped(b)[0] = 9
        return b * 1

    compiled = tm.compile(written, dynamic=True)
    for shape in shapes:
        ours = np.arange(float(np.prod(shape))).reshape(shape).copy(order=order)
        theirs = ours.copy(order="K")
        np.testing.assert_array_equal(compiled(ours), written(theirs))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("transposed", [False, True])
def test_np_vectorize_has_the_order_of_its_arguments(transposed: bool) -> None:
    def doubled(x: Any) -> Any:
        result = np.vectorize(lambda a, b: a * 2 + b)(x.T if transposed else x, 1.0)
        flat = result.ravel()
        flat += 1
        return result

    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(tm.compile(doubled)(x), doubled(y))


def test_uncompiled_transforms_keep_the_order_of_results() -> None:
    def turned(x: Any) -> Any:
        return np.sin(x.T)

    x = np.ones((2, 3))
    assert tm.jvp(turned, (x,), (x,))[0].strides == turned(x).strides


def _reversed_in_place(x: Any) -> Any:
    total = np.sum(x, axis=1)
    total[::-1] *= 2
    return total


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "function",
    [
        _reversed_in_place,
        lambda x: np.mean(x, 1, out=np.zeros(2)[::-1])[::-1],
        lambda x: np.cumsum(x[0])[::-1].copy(),
    ],
)
def test_vectors_written_in_reverse_are_returned_in_order(function: Any, backend: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    expected, found = function(x), tm.compile(function, backend=backend)(x)
    assert found.strides == expected.strides
    np.testing.assert_array_equal(found, expected)


ROWS: dict[str, Callable[[Any, Any, int], Any]] = {
    "unique": lambda x, at, axis: np.unique(x, axis=axis),
    "unique_inverse": lambda x, at, axis: np.unique(x, axis=axis, return_inverse=True)[0],
    "delete_one": lambda x, at, axis: np.delete(x, [1], axis=axis),
    "delete_computed": lambda x, at, axis: np.delete(x, at[0], axis=axis),
    "delete_two": lambda x, at, axis: np.delete(x, [0, 1], axis=axis),
    "delete_none": lambda x, at, axis: np.delete(x, at[at > 9], axis=axis),
    "delete_selection": lambda x, at, axis: np.delete(x, at[at >= 0], axis=axis),
    "delete_mask": lambda x, at, axis: np.delete(x, np.arange(x.shape[axis]) == at[0], axis=axis),
}


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rows_that_are_left_are_in_numpys_order(name: str, axis: int) -> None:
    compiled = tm.compile(lambda x, at: ROWS[name](x, at, axis), on_recompile="ignore")
    at = np.array([1, 0])
    for order in permutations(range(3)):
        x = (
            np.random.default_rng(0)
            .integers(0, 9, (3, 4, 5))
            .transpose(np.argsort(order))
            .copy("C")
            .transpose(order)
        )
        found, expected = compiled(x, at), ROWS[name](x, at, axis)
        np.testing.assert_array_equal(found, expected)
        longer = [axis for axis, length in enumerate(expected.shape) if length > 1]
        assert [found.strides[axis] for axis in longer] == [expected.strides[axis] for axis in longer]
