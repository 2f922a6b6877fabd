"""Who sees which write: arguments that share memory with what is read, views of another dtype, ``x.shape = …``."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.dtypes import Array

Made = tuple[Callable[..., Any], Array]
"""A function, and the array that it may be called with."""


def of_a_closure() -> Made:
    table = np.arange(6.0)

    def f(x: Any) -> Any:
        x += 1
        return table.sum(), table[::-1].copy()

    return f, table


def of_a_view() -> Made:
    table = np.arange(6.0)
    part = table[1:3]

    def f(x: Any) -> Any:
        x *= 2
        return part.copy()

    return f, table


def of_a_default() -> Made:
    table = np.arange(6.0)

    def f(x: Any, read: Any = table) -> Any:
        x -= 1
        return read.max()

    return f, table


def of_bound_arguments() -> Made:
    table = np.arange(6.0)

    def f(read: Any, x: Any) -> Any:
        x[::2] = 7
        return read.copy()

    return partial(f, table), table


def of_an_attribute() -> Made:
    model = SimpleNamespace(weights=np.arange(6.0))

    def f(x: Any) -> Any:
        x[0] = -1
        return model.weights[:2].sum()

    return f, model.weights


def of_a_list() -> Made:
    tables = [np.arange(3.0), np.arange(6.0)]

    def f(x: Any) -> Any:
        x += 1
        return [table.sum() for table in tables]

    return f, tables[1]


def of_no_axes() -> Made:
    number = np.array(3.0)

    def f(x: Any) -> Any:
        x[()] += 1
        return number.copy()

    return f, number


SHARED = (of_a_closure, of_a_view, of_a_default, of_bound_arguments, of_an_attribute, of_a_list, of_no_axes)


@pytest.mark.parametrize("made", SHARED)
def test_a_write_to_an_argument_is_seen_in_what_numpy_reads_of_the_same_memory(
    made: Callable[[], Made],
) -> None:
    (function, theirs), (other, ours) = made(), made()
    compiled = tm.compile(other, backend="numpy")
    arguments: tuple[Callable[[Array], Array], ...] = (lambda x: x, np.ones_like, lambda x: x)
    for argument in arguments:
        np.testing.assert_equal(compiled(argument(ours)), function(argument(theirs)))
        np.testing.assert_array_equal(ours, theirs)


TABLE = np.arange(6.0).reshape(2, 3)

READ_BY_NUMPY: dict[str, Callable[[Any], Any]] = {
    "a method": lambda x: TABLE.sum() + x,
    "a function": lambda x: x * np.max(TABLE),
    "an operator": lambda x: x + TABLE * 2,
    "beside the program": lambda x: np.dot(TABLE, x) + 0.1 * np.sum(TABLE**2),
    "an operator beside the program": lambda x: np.dot(TABLE * 2, x) + np.dot(TABLE, x),
    "an entry": lambda x: TABLE[1, 2] * x,
    "a copy of a part": lambda x: TABLE[[1, 0]][:, 0] + np.dot(TABLE, x),
}


@pytest.mark.parametrize("function", READ_BY_NUMPY.values(), ids=READ_BY_NUMPY)
def test_what_numpy_computes_from_an_array_is_computed_again_after_a_write_to_it(function: Any) -> None:
    compiled: Any = tm.compile(function, backend="numpy")
    for _ in range(3):
        np.testing.assert_allclose(compiled(np.ones(3)), function(np.ones(3)))
        TABLE[...] -= 1


READ_BY_PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "the array": lambda x: np.dot(TABLE, x) / np.sqrt(TABLE.shape[0]),
    "views": lambda x: TABLE.T[:, 1] * x + TABLE[0] + np.reshape(TABLE, 6)[:3],
    "its type": lambda x: np.dot(TABLE, x) * np.size(TABLE) + np.zeros_like(TABLE)[:, 0],
}


@pytest.mark.parametrize("function", READ_BY_PROGRAMS.values(), ids=READ_BY_PROGRAMS)
def test_what_a_program_reads_of_an_array_needs_no_other_program_after_a_write_to_it(function: Any) -> None:
    compiled: Any = tm.compile(function, backend="numpy")
    for _ in range(3):
        np.testing.assert_allclose(compiled(np.ones(3)), function(np.ones(3)))
        TABLE[...] -= 1
    assert "compiled again" not in compiled.explain_recompile()


def test_an_array_from_outside_is_shared_where_no_copy_is_asked_for() -> None:
    tables = [np.arange(6.0), np.arange(6.0)]

    def with_table(table: Array) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            np.array(table, copy=None)[1:] += x
            np.array(table, copy=False, ndmin=2)[0, 0] = 9
            return table.copy()

        return f

    theirs, ours = with_table(tables[0]), tm.compile(with_table(tables[1]), backend="numpy")
    for _ in range(2):
        np.testing.assert_array_equal(ours(np.ones(5)), theirs(np.ones(5)))
    np.testing.assert_array_equal(tables[0], tables[1])


def test_what_is_read_only_outside_is_copied_by_require() -> None:
    table = np.arange(6.0)
    table.flags.writeable = False

    def f(x: Any) -> Any:
        copy = np.require(table, requirements="W")
        copy += x
        return copy

    np.testing.assert_array_equal(tm.compile(f, backend="numpy")(np.ones(6)), np.arange(6.0) + 1)
    np.testing.assert_array_equal(table, np.arange(6.0))


def test_windows_from_outside_stay_read_only_after_a_write_to_what_they_show() -> None:
    table = np.arange(12.0).reshape(3, 4)
    windows = np.lib.stride_tricks.sliding_window_view(table, 2, axis=1)

    def f(x: Any) -> Any:
        table[1] += x
        return windows.flags.writeable, windows.strides, windows.sum()

    compiled = tm.compile(f, backend="numpy")
    assert compiled(np.zeros(4)) == f(np.zeros(4))


# ---- views of another dtype --------------------------------------------------------------------------


def as_parts(z: Any) -> Any:
    parts = z.view(np.float32 if z.dtype == np.complex64 else np.float64)
    parts[..., 1::2] *= 3
    parts[0] += 1
    return parts, z.copy(), parts.strides, parts.flags.c_contiguous, parts[..., ::2].strides


def as_pairs(x: Any) -> Any:
    pairs = x.view(np.complex128)
    pairs *= 1j
    pairs[..., :1] = 3
    return pairs, x.copy(), pairs.strides, pairs.shape


COMPLEX = np.arange(24.0).reshape(4, 6) * (1 - 2j)
REAL = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    ("use", "x"),
    [
        (as_parts, COMPLEX), (as_parts, COMPLEX.astype("c8")), (as_parts, COMPLEX[::-2]), (as_parts, COMPLEX[:, 2:3]),
        (as_parts, COMPLEX[0]), (as_parts, COMPLEX.T[:, :1]), (as_parts, COMPLEX[:, :0]),
        (as_pairs, REAL), (as_pairs, REAL[::2]), (as_pairs, REAL[:, 2:]), (as_pairs, REAL[0]), (as_pairs, REAL[:, :0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("compiled", [False, True])
def test_complex_numbers_and_their_parts_are_views_of_each_other(use: Any, x: Array, compiled: bool) -> None:
    def relaid() -> Array:
        """The same in the same layout, with memory of its own."""
        memory = x.base.copy() if x.base is not None else x.copy()
        return np.ndarray(x.shape, x.dtype, memory, _start(x), x.strides)

    theirs, ours = relaid(), relaid()
    function: Any = tm.compile(use, backend="numpy") if compiled else lambda x: tm.vmap(use)(x[None])
    if not compiled:
        theirs, ours = np.ascontiguousarray(theirs), np.ascontiguousarray(ours)
    expected, found = use(theirs), function(ours)
    for ours_, theirs_ in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(ours_ if compiled else ours_[0], theirs_)
    np.testing.assert_array_equal(ours, theirs)
    if compiled:
        assert found[2:] == expected[2:]


def _start(x: Array) -> int:
    base: Any = x if x.base is None else x.base
    start: int = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return start


@pytest.mark.parametrize("x", [COMPLEX.T, COMPLEX[:, ::2], np.array(1j)])
def test_parts_are_not_seen_where_the_last_axis_is_not_contiguous(x: Array) -> None:
    with pytest.raises(ValueError, match=r"contiguous|0d"):
        x.view(np.float64)
    with pytest.raises(tm.errors.ShapeError):
        tm.compile(lambda x: x.view(np.float64))(x)


def test_an_odd_number_of_entries_makes_no_pairs() -> None:
    with pytest.raises(tm.errors.ShapeError, match="even"):
        tm.compile(lambda x: x.view(np.complex128))(np.zeros(3))


# ---- x.shape = … -------------------------------------------------------------------------------------


def exchanged(x: Any) -> Any:
    x.shape = x.shape[1], x.shape[0]
    x[0] += 1
    return x.sum(axis=0)


def flattened(x: Any) -> Any:
    x.shape = (-1,)
    return x * 2


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [exchanged, flattened])
def test_the_callers_array_has_the_shape_that_a_function_gives_it(function: Any, dynamic: bool) -> None:
    compiled: Any = tm.compile(function, backend="numpy", dynamic=dynamic)
    for shape in ((3, 4), (5, 2), (3, 4)):
        ours, theirs = (np.arange(float(np.prod(shape))).reshape(shape) for _ in range(2))
        np.testing.assert_array_equal(compiled(ours), function(theirs))
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours, theirs)
