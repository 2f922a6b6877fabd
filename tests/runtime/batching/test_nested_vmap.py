"""Nested `vmap`, what a mapped function sees, and what it writes to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.random_arrays import loop, numbers, same
from tracemill.compiler.errors import (
    CallbackLoopWarning,
    DataDependentShapeError,
    ShapeError,
    TransformArgumentError,
)


def test_two_levels_of_vmap_take_the_dot_of_every_row() -> None:
    x, y = numbers(2, 3, 5), numbers(2, 3, 5, seed=1)
    same(tm.vmap(tm.vmap(np.dot))(x, y), np.sum(x * y, -1))


def test_inner_in_dims_index_the_logical_array() -> None:
    x = numbers(2, 3, 4)
    got = tm.vmap(tm.vmap(np.sum, in_dims=-1), in_dims=1)(x)
    assert got.shape == (3, 4)
    same(got, x.sum(0))


def test_inner_out_dims_and_outer_in_dims_combine() -> None:
    x = numbers(2, 3, 4)
    got = tm.vmap(tm.vmap(lambda row: row, out_dims=1), in_dims=2)(x)
    assert got.shape == (4, 3, 2)
    same(got, x.transpose(2, 1, 0))


def test_shapes_inside_are_logical() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append((x.ndim, x.shape, x.size, len(x)))
        return x.sum(axis=-1)

    x = numbers(5, 2, 3)
    same(tm.vmap(f, 1)(x), x.sum(2).T)
    assert seen == [(2, (5, 3), 15, 5)]


def test_range_errors_speak_of_the_logical_array() -> None:
    with pytest.raises(IndexError, match="axis 2 is out of bounds for array of dimension 2"):
        tm.vmap(lambda x: x.sum(axis=2))(np.ones((4, 2, 3)))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        tm.vmap(lambda x: x[0, 3])(np.ones((4, 2, 3)))
    with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)|f64\[2\].*f64\[3\]"):
        tm.vmap(np.add)(np.ones((4, 2)), np.ones((4, 3)))


def test_reducing_a_logical_number_follows_numpy() -> None:
    x = numbers(3)
    same(tm.vmap(lambda x: x.sum(0))(x), loop(lambda x: x.sum(0), x))
    same(tm.vmap(lambda x: x.sum())(x), x)


PROMOTIONS: list[Callable[..., Any]] = [
    lambda x: x * 2,
    lambda x: x * 2.5,
    lambda x: x + np.float64(1),
    lambda x: x + np.ones(2),
    lambda x: x * np.ones(2, np.float32),
    lambda x: np.where(x > 0, x, 0),
    np.mean,
    lambda x: x / 3,
    lambda x: x // 2,
    lambda x: x == 1,
    lambda x: np.maximum(x, 0.5),
]


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
@pytest.mark.parametrize("which", range(len(PROMOTIONS)))
def test_vmap_promotes_as_the_loop_does(dtype: str, shape: Any, which: int) -> None:
    f = PROMOTIONS[which]
    x = np.arange(6)[: int(np.prod(shape))].reshape(shape).astype(dtype)
    try:
        expected = loop(f, x)
    except (TypeError, OverflowError):
        with pytest.raises((TypeError, OverflowError)):
            tm.vmap(f)(x)
        return
    got = tm.vmap(f)(x)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-2 if expected.dtype == np.float16 else 1e-6)


def test_arrays_are_aligned_by_their_logical_rank() -> None:
    x, m = numbers(4, 2), numbers(4, 3, 2)
    same(tm.vmap(np.add)(x, m), loop(np.add, x, m))
    same(tm.vmap(lambda a, b: a * b, (0, None))(x, numbers(3, 2)), x[:, None] * numbers(3, 2))


@pytest.mark.parametrize(
    ("ask", "error", "fix"),
    [
        (np.nonzero, DataDependentShapeError, "another length"),
        (lambda x: x[x > 0], DataDependentShapeError, r"np\.where"),
    ],
)
def test_questions_about_values_are_named_errors_at_the_users_line(ask: Any, error: Any, fix: str) -> None:
    with pytest.raises(error, match=fix) as caught:
        tm.vmap(ask)(np.ones((2, 3)))
    assert "test_nested_vmap.py" in str(caught.value)


def test_values_of_what_is_not_mapped_are_known() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * 2 if y.sum() > 0 else x

    same(tm.vmap(f, (0, None))(np.ones(3), np.ones(2)), np.full(3, 2.0))


def test_a_callback_runs_as_a_loop_and_a_warning_names_it() -> None:
    calls = []

    def largest(row: Any) -> Any:
        calls.append(row.shape)
        return np.sort(row)[-1]

    def f(x: Any) -> Any:
        return tm.pure_callback(largest, np.float64, x) * 2

    x = numbers(3, 4)
    with pytest.warns(
        CallbackLoopWarning, match=r"vmap\(f\): largest at test_nested_vmap\.py:\d+.* will run 3 times"
    ):
        got = tm.vmap(f)(x)
    same(got, x.max(1) * 2)
    assert calls == [(4,)] * 3


def test_a_callback_of_unmapped_values_runs_once_and_silently() -> None:
    calls = []

    def count(x: Any) -> Any:
        calls.append(1)
        return x

    y = numbers(2)
    same(tm.vmap(lambda x: x + tm.pure_callback(count, y, y))(np.ones(3)), 1 + np.stack([y] * 3))
    assert calls == [1]


def test_the_printed_graph_shows_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path))
    mapped = tm.compile(tm.vmap(lambda x: tm.pure_callback(lambda v: v + 1, np.float64, x)))
    with pytest.warns(CallbackLoopWarning):
        text = str(mapped.lower(numbers(3)).graph)
    assert "loops=((3, (True,)),)" in text


def test_nested_loops_of_a_callback_have_one_result_per_example() -> None:
    x = numbers(2, 3)
    with pytest.warns(CallbackLoopWarning):
        got = tm.vmap(tm.vmap(lambda x: tm.pure_callback(lambda v: v + 1, np.float64, x)))(x)
    same(got, x + 1)


@pytest.mark.parametrize("depth", [3, 12, 30])
def test_vmap_nests_to_any_depth(depth: int) -> None:
    f: Callable[..., Any] = np.sin
    for _ in range(depth):
        f = tm.vmap(f)
    x = numbers(2, *(1,) * (depth - 1))
    same(f(x), np.sin(x))


def test_transposes_between_nested_batches_cancel() -> None:
    inner = tm.vmap(lambda x: np.tanh(x) * 2, in_dims=1, out_dims=1)
    nested = tm.compile(tm.vmap(inner, in_dims=1, out_dims=1))
    calls = nested.lower(numbers(2, 3, 4)).after("remove_dead_code").calls
    assert [call.op for call in calls] == ["tanh", "multiply"]


def test_updates_of_a_mapped_argument_reach_the_callers_array() -> None:
    def f(x: Any) -> Any:
        x[0] += 10
        x *= 2
        return x.sum()

    for axis in (0, 1):
        x, y = numbers(3, 3), numbers(3, 3)
        expected = np.stack([f(np.moveaxis(y, axis, 0)[i]) for i in range(3)])
        same(tm.vmap(f, axis)(x), expected)
        same(x, y)


def test_in_place_ufuncs_and_views_update_the_callers_array_too() -> None:
    def f(x: Any) -> None:
        np.exp(x[::2], out=x[::2])
        x.T[-1] = 7.0

    x, y = numbers(2, 4), numbers(2, 4)
    tm.vmap(f)(x)
    for row in y:
        f(row)
    same(x, y)


def test_a_callers_array_that_is_only_read_is_unchanged() -> None:
    x = numbers(3, 2)
    before = x.copy()
    tm.vmap(lambda x: (x + 1) * 2)(x)
    same(x, before)


def test_the_same_array_twice_is_the_same_memory_inside() -> None:
    def f(a: Any, b: Any) -> Any:
        a += 1
        return b.sum()

    x, y = numbers(3, 2), numbers(3, 2)
    got = tm.vmap(f)(x, x)
    same(got, np.array([f(row, row) for row in y]))
    same(x, y)


def test_the_same_array_may_be_mapped_along_two_axes_where_nothing_is_written() -> None:
    x = numbers(3, 3)
    same(tm.vmap(lambda a, b: a - b, (0, 1))(x, x), x - x.T)

    def f(a: Any, b: Any) -> Any:
        a += 1
        return b

    with pytest.raises(TransformArgumentError, match=r"writes to args\[0\].*along another axis"):
        tm.vmap(f, (0, 1))(x, x)
    with pytest.raises(TransformArgumentError, match=r"writes to args\[0\].*through another view"):
        tm.vmap(f)(x[:2], x[1:])
    tm.vmap(f)(x[:, 0], x[:, 1])  # interleaved, but apart


def test_updates_inside_a_gradient_of_the_map_are_differentiated() -> None:
    def f(w: Any) -> Any:
        z = np.zeros((3, 2)) + w
        tm.vmap(double_first)(z)
        return np.sum(z)

    same(tm.grad(f)(np.ones(2)), np.array([6.0, 3.0]))


def double_first(row: Any) -> None:
    row[0] *= 2


def test_updates_of_a_numpy_array_from_inside_another_trace_reach_it() -> None:
    outer = np.ones((3, 2))

    def f(w: Any) -> Any:
        tm.vmap(double_first)(outer)
        return np.sum(outer * w)

    same(tm.grad(f)(np.ones(2)), np.array([6.0, 3.0]))
    same(outer, np.array([[2.0, 1.0]] * 3))


def test_writing_a_mapped_value_into_a_new_array_makes_it_mapped() -> None:
    def f(x: Any) -> Any:
        z = np.zeros(4)
        z[0] = x
        z[1:3] += x * 2
        return z

    x = numbers(3)
    same(tm.vmap(f)(x), loop(f, x))


def test_writing_to_an_unmapped_array_from_outside_is_an_error() -> None:
    z = np.zeros(3)

    def f(x: Any, z: Any) -> Any:
        z += x
        return x

    with pytest.raises(TransformArgumentError, match=r"writes to args\[1\], which is not mapped"):
        tm.vmap(f, (0, None))(np.ones(3), z)
    with pytest.raises(TransformArgumentError, match=r"writes to an array float64\[3\] from outside"):
        tm.vmap(lambda x: np.add(z, x, out=z))(np.ones(3))
    same(z, np.zeros(3))
