"""`while_loop` and `fori_loop`: the loops, their derivatives and batches, compiled and not, and what is refused."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.comparing import ANY, F32, assert_close, assert_compiled_same, both_dtypes
from tracemill.compiler.errors import (
    CarryMismatchError,
    TransformArgumentError,
    TransformTypeError,
)


def newton(a: Any, max_steps: int | None = None) -> Any:
    """The root of a by Newton's method."""
    tolerance = 1e-5 if a.dtype == F32 else 1e-12
    return tm.while_loop(lambda x: abs(x * x - a) > tolerance * a, lambda x: (x + a / x) / 2, a, max_steps)


def limited(a: Any) -> Any:
    return newton(a, 40)


mostly_doubles = pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)]
)
both_loops = pytest.mark.parametrize("root", [newton, limited])


@both_dtypes
@both_loops
def test_while_loop_runs_until_its_condition_fails(root: Callable[..., Any], dtype: Any) -> None:
    assert_close(assert_compiled_same(root, dtype(2)), np.sqrt(dtype(2)))
    assert_close(assert_compiled_same(root, dtype(1)), dtype(1))
    assert tm.while_loop(lambda c: c < 100, lambda c: 2 * c, 3) == 192


def test_while_loop_stops_after_max_steps() -> None:
    for most in (0, 1, 5):
        assert tm.while_loop(lambda c: True, lambda c: c + 1, 0, max_steps=most) == most
        counted = tm.compile(
            lambda c, most=most: tm.while_loop(lambda c: c >= 0, lambda c: c + 1, c, max_steps=most)
        )
        assert counted(0) == most


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_fori_loop_counts_in_python_numbers_whatever_the_dtype_of_its_traced_bounds(dtype: Any) -> None:
    def total(lo: Any, hi: Any) -> Any:
        return tm.fori_loop(lo, hi, lambda i, c: c + i, np.float32(0))

    for lo, hi in ((dtype(100), 130), (100, np.int64(130)), (dtype(1), dtype(4)), (np.int64(5), dtype(3))):
        assert_close(
            tm.compile(total)(np.asarray(lo), np.asarray(hi)), np.float32(sum(range(int(lo), int(hi))))
        )


def test_fori_loop_reads_a_bound_from_outside_at_each_call() -> None:
    lo = np.array(1, np.int32)
    total = tm.compile(lambda n: tm.fori_loop(lo, n, lambda i, c: c + i, 0))
    assert total(np.array(4)) == 6
    lo[...] = 3
    assert total(np.array(4)) == 3


@mostly_doubles
@both_loops
def test_jvp_of_while_loop(root: Callable[..., Any], dtype: Any) -> None:
    expected = dtype(0.5) / np.sqrt(dtype(2))
    one = dtype(1)
    assert_close(assert_compiled_same(lambda a: tm.jvp(root, (a,), (one,))[1], dtype(2)), expected, 1e-4)
    assert_close(assert_compiled_same(tm.jacfwd(root), dtype(2)), expected, 1e-4)
    assert_close(tm.linearize(root, dtype(2))[1](one), expected, 1e-4)
    curvature = tm.jacfwd(tm.jacfwd(root))(dtype(2))
    assert_close(curvature, dtype(-0.25 * 2**-1.5), 1e-3)


@mostly_doubles
def test_reverse_and_hessian_of_while_loop_with_max_steps(dtype: Any) -> None:
    assert_close(assert_compiled_same(tm.grad(limited), dtype(2)), dtype(0.5 / np.sqrt(2)), 1e-4)
    assert_close(assert_compiled_same(tm.grad(limited), dtype(1)), dtype(1))  # no step: the value is a
    assert_close(assert_compiled_same(tm.hessian(limited), dtype(2)), dtype(-0.25 * 2**-1.5), 1e-3)
    three = tm.grad(lambda a: tm.while_loop(lambda x: True, lambda x: x * a, a, max_steps=3))
    assert_close(three(dtype(2)), dtype(4 * 8))


@both_dtypes
def test_reverse_and_hessian_of_while_loop_without_a_limit(dtype: Any) -> None:
    assert_close(assert_compiled_same(tm.grad(newton), dtype(2)), dtype(0.5 / np.sqrt(2)), 1e-4)
    assert_close(assert_compiled_same(tm.grad(newton), dtype(1)), dtype(1))  # no step: the value is a
    assert_close(assert_compiled_same(tm.hessian(newton), dtype(2)), dtype(-0.25 * 2**-1.5), 1e-3)
    third = tm.compile(tm.grad(lambda x, n: tm.fori_loop(0, n, lambda i, c: c * x, x)))
    assert [third(2.0, n) for n in (0, 3, 5)] == [1.0, 32.0, 192.0]


@pytest.mark.sampled(every=8, slow=2)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7, 64, 65, 100])
@pytest.mark.usefixtures("c_compiler")
def test_reverse_of_loops_of_any_number_of_steps(steps: int) -> None:
    """Places that are kept halve the way again and again: each number of steps has its own."""

    def run(x: Any, w: Any, rows: Any) -> Any:
        def step(c: Any) -> Any:
            i, y = c
            return i + 1, np.tanh(rows[i % 3] * y * w[i % 2] + x)

        return np.sum(tm.while_loop(lambda c: c[0] < steps, step, (0, x))[1])

    def written_out(x: Any, w: Any, rows: Any) -> Any:
        y = x
        for i in range(steps):
            y = np.tanh(rows[i % 3] * y * w[i % 2] + x)
        return np.sum(y)

    args = np.array([0.5, -0.25]), np.array([1.5, 0.75]), np.array([1.0, 1.25, -0.5])
    expected = tm.grad(written_out, argnums=(0, 1, 2))(*args)
    for backend in ("numpy", "c"):
        found = tm.compile(tm.grad(run, argnums=(0, 1, 2)), backend=backend)(*args)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_reverse_of_while_loops_has_batches_and_loops_in_loops() -> None:
    a = np.array([1.0, 2.0, 400.0])
    assert_close(
        assert_compiled_same(tm.vmap(tm.grad(newton)), a), 0.5 / np.sqrt(a) + np.array([0.5, 0, 0]), 1e-6
    )

    def nested(x: Any) -> Any:
        def outer(c: Any) -> Any:
            n, y = c
            return n + 1, tm.while_loop(lambda y: y < 10 * n, lambda y: y * x, y + 1)

        return tm.while_loop(lambda c: c[0] < 4, outer, (1, x))[1]

    slope = (nested(1.5 + 1e-6) - nested(1.5 - 1e-6)) / 2e-6
    assert_close(assert_compiled_same(tm.grad(nested), 1.5), slope, 1e-6)


@pytest.mark.sampled("limited-float32")
@both_dtypes
@both_loops
def test_vmap_of_while_loop_runs_until_all_are_done(root: Callable[..., Any], dtype: Any) -> None:
    a = np.array([1.0, 2.0, 400.0], dtype)
    expected = np.stack([root(x) for x in a])
    assert_close(assert_compiled_same(tm.vmap(root), a), expected)
    text = str(tm.compile(tm.vmap(root)).lower(a).graph)
    assert "until_all_are_done" in text
    forward = tm.vmap(lambda a: tm.jvp(root, (a,), (dtype(1),))[1])
    assert_close(assert_compiled_same(forward, a), np.stack([tm.jvp(root, (x,), (dtype(1),))[1] for x in a]))


@pytest.mark.slow
@both_dtypes
def test_vmap_of_grad_and_grad_of_vmap_of_while_loop(dtype: Any) -> None:
    a = np.array([1.0, 2.0, 400.0], dtype)
    expected = np.stack([tm.grad(limited)(x) for x in a])
    assert_close(assert_compiled_same(tm.vmap(tm.grad(limited)), a), expected)
    assert_close(assert_compiled_same(tm.grad(lambda a: np.sum(tm.vmap(limited)(a))), a), expected)


def test_finished_examples_are_not_run_where_they_have_no_derivative() -> None:
    def countdown(x: Any) -> Any:
        return tm.while_loop(lambda c: c > 0.5, lambda c: np.sqrt(c - 0.5), x, max_steps=3)

    x = np.array([0.5, 1.0, 0.2])
    expected = np.array([1.0, tm.grad(countdown)(1.0), 1.0])
    assert_close(tm.grad(lambda x: np.sum(tm.vmap(countdown)(x)))(x), expected)
    assert_close(tm.vmap(tm.grad(countdown))(x), expected)


def test_an_unmapped_condition_stays_one_number() -> None:
    def f(n: Any, x: Any) -> Any:
        return tm.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * 2), (n, x))[1]

    text = str(tm.compile(tm.vmap(f, (None, 0))).lower(3, np.ones(2)).graph)
    assert "until_all_are_done" not in text
    assert_close(tm.vmap(f, (None, 0))(3, np.ones(2)), np.full(2, 8.0))
    assert_close(tm.vmap(f, (0, None))(np.array([0, 2]), 1.0), np.array([1.0, 4.0]))


def power(n: Any, x: Any) -> Any:
    return tm.fori_loop(0, n, lambda i, c: c * x + i, x * 0 + 1)


@both_dtypes
def test_fori_loop_with_known_bounds_has_all_derivatives(dtype: Any) -> None:
    def f(x: Any) -> Any:
        return power(3, x)  # ((1 x + 0) x + 1) x + 2

    x = dtype(2)
    assert_close(assert_compiled_same(f, x), x**3 + x + 2)
    assert_close(assert_compiled_same(tm.grad(f), x), 3 * x * x + 1)
    assert_close(assert_compiled_same(tm.hessian(f), x), 6 * x)
    assert_close(tm.jvp(f, (x,), (x,))[1], 26 + 0 * x)
    xs = np.array([1.0, 2.0], dtype)
    assert_close(assert_compiled_same(tm.vmap(tm.grad(f)), xs), 3 * xs * xs + 1)
    assert_close(assert_compiled_same(tm.grad(lambda x: np.sum(tm.vmap(f)(x))), xs), 3 * xs * xs + 1)


@both_dtypes
def test_fori_loop_with_traced_bounds_goes_forward(dtype: Any) -> None:
    x = dtype(2)
    assert_close(tm.compile(power)(3, x), x**3 + x + 2)
    assert_close(tm.compile(power)(np.int32(3), x), x**3 + x + 2)
    assert_close(tm.compile(lambda n, x: tm.jvp(lambda x: power(n, x), (x,), (x,))[1])(3, x), 26 + 0 * x)
    assert_close(tm.vmap(power, (0, None))(np.array([0, 3]), x), np.array([1, x**3 + x + 2], dtype))
    assert tm.fori_loop(2, np.array(5), lambda i, c: c + i, 0) == 9
    assert tm.fori_loop(5, 2, lambda i, c: c + i, 7) == 7


def test_the_bodies_of_loops_may_write_to_arrays_from_outside() -> None:
    def squares(n: Any) -> Any:
        table = np.zeros(4)

        def body(i: Any, c: Any) -> Any:
            table[i] = i * i
            return c + 1

        count = tm.fori_loop(0, n, body, 0)
        last = tm.while_loop(lambda c: c + table[0] < 10, lambda c: body(0, c) * 2, count)
        return table, last

    for function, n in ((tm.compile(squares), 4), (tm.compile(squares, static_argnums=0), 4)):
        table, last = function(n)
        assert_close(table, np.array([0.0, 1, 4, 9]))
        assert last == 10


BAD_LOOPS: Sequence[tuple[Callable[[], Any], type[Exception], str]] = (
    (lambda: tm.while_loop(lambda c: c, lambda c: (c, c), 1), CarryMismatchError, r"receives \* and returns \(\*,"),
    (lambda: tm.while_loop(lambda c: c, lambda c: c * 1j, np.ones(())), CarryMismatchError, r"and returns c128"),
    (lambda: tm.while_loop(lambda c: c > 0, lambda c: c, np.ones(2)), TransformTypeError, r"not bool\[2\]: use .any"),
    (lambda: tm.while_loop(lambda c: (c, c), lambda c: c, 1), TransformTypeError, r"bool or number, not \(\*, \*\)"),
    (lambda: tm.while_loop(lambda c: c, lambda c: c, 1, max_steps=-1), TransformArgumentError, "must not be negative"),
    (lambda: tm.while_loop(lambda c: c, lambda c: c, 1, max_steps=ANY), TransformTypeError, "max_steps must be an int"),
    (lambda: tm.while_loop(ANY, lambda c: c, 1), TransformTypeError, "cond needs a function"),
    (lambda: tm.while_loop(lambda c: c, ANY, 1), TransformTypeError, "body needs a function"),
    (lambda: tm.fori_loop(0, 1.5, lambda i, c: c, 1), TransformTypeError, r"hi must be one integer, not f64"),
    (lambda: tm.fori_loop("0", 1, lambda i, c: c, 1), TransformTypeError, r"lo must be one integer, not str"),
    (lambda: tm.fori_loop(0, 1, ANY, 1), TransformTypeError, "fori_loop needs a function"),
    (lambda: tm.fori_loop(0, 1, lambda i, c: (c, c), 1), CarryMismatchError, r".py:\d+\) must return a carry"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD_LOOPS, ids=[row[2] for row in BAD_LOOPS])
def test_a_wrong_loop_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_condition_that_writes_is_refused() -> None:
    def f(x: Any) -> Any:
        seen = np.zeros(1)

        def cond(c: Any) -> Any:
            seen[0] = c
            return c < 3

        return tm.while_loop(cond, lambda c: c + 1, x)

    with pytest.raises(TransformArgumentError, match="only the body of a loop may"):
        tm.compile(f)(1.0)


def test_a_compiled_while_loop_is_a_loop_in_the_source() -> None:
    unbounded, bounded = (tm.compile(f, backend="numpy").lower(2.0 * np.ones(())) for f in (newton, limited))
    assert "    while function(" in unbounded.source
    assert "for _ in range(40):" in bounded.source


def relaxed(x: Any, target: Any, start: int, end: int) -> Any:
    """Each step reads and writes the same places."""
    while start < end:
        x = x + 0.25 * (target - x)
        start = start + 1
    return x, start


def turned(x: Any, target: Any, start: int, end: int) -> Any:
    """Each step reads other places than it writes."""
    while start < end:
        x = np.roll(x, 1) + 0.25 * target
        start = start + 1
    return x, start


@pytest.mark.parametrize("function", [relaxed, turned])
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_counter_that_nothing_else_reads(function: Any, backend: str) -> None:
    x, target = np.arange(100.0), np.ones(100)
    compiled = tm.compile(function, backend=backend)
    lowest = np.iinfo(np.int64).min
    for start, end in ((0, 40), (0, 0), (5, 3), (-2, 3), (0, 1), (7, 9), (lowest, lowest + 3), (3, lowest)):
        got, expected = compiled(x, target, start, end), function(x, target, start, end)
        np.testing.assert_array_equal(got[0], expected[0])
        assert got[1] == expected[1]
    np.testing.assert_array_equal(x, np.arange(100.0))
