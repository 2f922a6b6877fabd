"""`cond` and `switch`: what runs, its derivatives, its batches, compiled and not, and what is refused."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.comparing import ANY, F32, assert_close, assert_compiled_same, both_dtypes
from tracemill.compiler.errors import (
    BranchMismatchError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
)


def root_or_square(x: Any) -> Any:
    return tm.cond(np.sum(x) > 0, lambda x: np.sum(np.sqrt(x)), lambda x: np.sum(x * x * x), x)


def third(i: Any, x: Any) -> Any:
    return tm.switch(i, [np.sin, lambda x: x * x, lambda x: 2.0], x)


def test_without_a_trace_cond_calls_the_one_function() -> None:
    def fail() -> int:
        raise AssertionError

    assert tm.cond(True, lambda: 1, fail) == 1
    assert tm.cond(0.0, fail, lambda: 2) == 2
    assert [tm.switch(i, [lambda: "a", lambda: "b"]) for i in (-3, 0, 1, 5)] == ["a", "a", "b", "b"]


@both_dtypes
def test_cond_compiled_takes_one_branch(dtype: Any) -> None:
    for x in (np.array([1.0, 4.0], dtype), np.array([-1.0, -2.0], dtype)):
        expected = np.sum(np.sqrt(x)) if x[0] > 0 else np.sum(x * x * x)
        assert_close(tm.compile(root_or_square)(x), expected)


@pytest.mark.sampled(every=10, slow=2)
@both_dtypes
@pytest.mark.parametrize("index", [-2, 0, 1, 2, 9])
def test_switch_compiled_clamps_its_index(index: int, dtype: Any) -> None:
    x = dtype(0.7)
    expected = [np.sin(x), x * x, dtype(2.0)][min(max(index, 0), 2)]
    for given in (np.int64(index), np.int8(index), np.array(index)):
        assert_close(tm.compile(third)(given, x), expected)
    assert_close(tm.compile(third)(np.uint64(9), x), dtype(2.0))


@both_dtypes
def test_jvp_of_cond_and_switch(dtype: Any) -> None:
    x, dx = np.array([1.0, 4.0], dtype), np.array([1.0, 2.0], dtype)
    for point, slope in ((x, 0.5 / np.sqrt(x)), (-x, 3 * x * x)):
        _, tangent = tm.jvp(root_or_square, (point,), (dx,))
        assert_close(tangent, np.sum(slope * dx))
    for i, slope in ((0, np.cos(dtype(0.7))), (1, dtype(1.4)), (2, dtype(0))):
        assert_close(tm.jvp(lambda x, i=i: third(np.array(i), x), (dtype(0.7),), (dtype(1),))[1], slope)


@both_dtypes
def test_reverse_of_cond_and_switch(dtype: Any) -> None:
    x = np.array([1.0, 4.0], dtype)
    gradient = tm.grad(root_or_square)
    assert_close(assert_compiled_same(gradient, x), 0.5 / np.sqrt(x))
    assert_close(assert_compiled_same(gradient, -x), 3 * x * x)
    for i, slope in ((0, np.cos(dtype(0.7))), (1, dtype(1.4)), (2, dtype(0))):
        assert_close(assert_compiled_same(tm.grad(third, 1), np.int64(i), dtype(0.7)), slope)


@both_dtypes
def test_vmap_of_cond_and_switch_gives_each_example_its_own(dtype: Any) -> None:
    x = np.array([[1.0, 4.0], [-1.0, -2.0], [0.0, 0.0]], dtype)
    expected = np.stack([np.sum(np.sqrt(r)) if np.sum(r) > 0 else np.sum(r * r * r) for r in x])
    assert_close(assert_compiled_same(tm.vmap(root_or_square), x), expected)
    index, y = np.array([0, 1, 2, -5, 7]), np.arange(5, dtype=dtype)
    wanted = [np.sin(y[0]), y[1] ** 2, 2.0, np.sin(y[3]), 2.0]
    assert_close(assert_compiled_same(tm.vmap(third), index, y), np.array(wanted, dtype))


@both_dtypes
def test_vmap_of_grad_and_grad_of_vmap_of_cond_are_exact_where_the_other_branch_has_no_derivative(
    dtype: Any,
) -> None:
    def f(x: Any) -> Any:
        return tm.cond(x > 0, np.sqrt, lambda x: 0.0, x)

    x = np.array([0.0, 4.0, -1.0], dtype)
    expected = np.array([0, 0.25, 0], dtype)
    assert_close(assert_compiled_same(tm.vmap(tm.grad(f)), x), expected)
    assert_close(assert_compiled_same(tm.grad(lambda x: np.sum(tm.vmap(f)(x))), x), expected)
    assert_close(
        assert_compiled_same(tm.grad(lambda x: np.sum(tm.vmap(f)(x))), -x),
        0 * expected + F32(0.5) * (x == -1),
    )


def test_a_branch_that_no_example_takes_does_not_reach_shared_operands() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(tm.vmap(lambda x: tm.cond(x > 0, lambda: w * np.log(x), lambda: w * x))(x))

    assert_close(tm.grad(f)(2.0, np.array([0.0, -3.0])), np.float64(-3.0))


@both_dtypes
def test_hessian_of_cond(dtype: Any) -> None:
    x = np.array([1.0, 4.0], dtype)
    assert_close(assert_compiled_same(tm.hessian(root_or_square), -x), np.diag(-6 * x))
    assert_close(tm.hessian(root_or_square)(x), np.diag(-0.25 * x ** dtype(-1.5)))


def test_an_unmapped_predicate_stays_a_choice_and_a_mapped_one_shows_that_branches_run_for_all() -> None:
    def f(p: Any, x: Any) -> Any:
        return tm.cond(p, np.sin, np.cos, x)

    stays = tm.compile(tm.vmap(f, in_dims=(None, 0))).lower(np.bool_(True), np.ones(3)).graph
    assert [call.op for call in stays] == ["switch"]
    text = str(tm.compile(tm.vmap(f)).lower(np.array([True, False]), np.ones(2)).graph)
    assert "sin_batched_for_all" in text
    assert "cos_batched_for_none" in text


def test_a_branch_may_use_and_write_to_arrays_from_outside() -> None:
    def f(x: Any, p: Any) -> Any:
        buffer = np.zeros(2)

        def write(y: Any) -> Any:
            buffer[0] = y[0]
            return x * y[0]

        def add(y: Any) -> Any:
            buffer[1] += 2 * y[0]
            y[...] = 7
            return x

        y = np.array([x * 3])
        result = tm.cond(p, write, add, y)
        return np.array([result, *buffer, y[0]])

    for p, expected in ((True, [12.0, 6, 0, 6]), (False, [2.0, 0, 12, 7])):
        assert_close(tm.compile(f)(2.0, np.bool_(p)), np.array(expected))


def test_branches_of_cond_return_trees_and_python_numbers_take_the_others_dtype() -> None:
    def f(x: Any) -> Any:
        return tm.cond(x[0] > 0, lambda: {"a": x, "b": (1, True)}, lambda: {"a": -x, "b": (2.5, False)})

    for x in (np.array([1.0, 2.0], F32), np.array([-1.0, 2.0], F32)):
        found = tm.compile(f)(x)
        assert_close(found["a"], x if x[0] > 0 else -x)
        assert found["b"] == ((1.0, True) if x[0] > 0 else (2.5, False))
    scaled = tm.compile(lambda x: x * tm.cond(x[0] > 0, lambda: 1, lambda: 2.5))(np.ones(2, F32))
    assert scaled.dtype == F32


MISMATCHES: Sequence[tuple[Callable[[Any], Any], type[Exception], str]] = (
    (lambda x: tm.cond(x > 0, lambda: (x, x), lambda: x), BranchMismatchError, r"same structure.*\(\*, \*\)"),
    (lambda x: tm.cond(x > 0, lambda: np.ones(2), lambda: x), BranchMismatchError, r"f64\[\], .* f64\[2\]"),
    (lambda x: tm.cond(x > 0, lambda: np.ones(2), lambda: 0.0), BranchMismatchError, r"f64\[2\], .* float"),
    (lambda x: tm.cond(x > 0, lambda: F32(1), lambda: x), BranchMismatchError, r".py:\d+\) returns f32"),
    (lambda x: tm.cond(x > 0, lambda: "a", lambda: x), TransformTypeError, "returns str"),
    (lambda x: tm.cond(np.array([x, x]) > 0, lambda: x, lambda: x), ShapeError, r"one number, not bool\[2\]"),
    (lambda x: tm.cond("yes", lambda: x, lambda: x), TransformTypeError, "must be a number, not str"),
    (lambda x: tm.cond(x > 0, x, lambda: x), TransformTypeError, "true_fun needs a function"),
    (lambda x: tm.switch(x, [lambda: x, lambda: x]), TransformTypeError, "index must be an integer, not f64"),
    (lambda x: tm.switch(0, []), TransformArgumentError, "branches is empty"),
    (lambda x: tm.switch(0, ANY), TransformTypeError, "branches must be a sequence"),
    (lambda x: tm.switch(0, [ANY]), TransformTypeError, r"branches\[0\] needs a function"),
)  # fmt: skip


@pytest.mark.parametrize(("function", "error", "message"), MISMATCHES, ids=[row[2] for row in MISMATCHES])
def test_a_wrong_choice_is_named(
    function: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tm.compile(function)(np.float64(1.0))


def test_a_mismatch_says_the_users_line() -> None:
    with pytest.raises(BranchMismatchError) as caught:
        tm.compile(lambda x: tm.cond(x > 0, lambda: (x, x), lambda: x))(1.0)
    assert "test_cond.py" in str(caught.value.location)


def test_an_if_does_what_cond_does() -> None:
    def bend(x: Any) -> Any:
        return x if x > 0 else 0.1 * x

    x = np.array([1.0, -1.0])
    assert_close(tm.vmap(bend)(x), np.array([1.0, -0.1]))
    assert_close(tm.vmap(lambda x: tm.cond(x > 0, lambda: x, lambda: 0.1 * x))(x), np.array([1.0, -0.1]))
