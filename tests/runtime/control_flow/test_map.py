"""`map` and `associative_scan`: what they compute, their derivatives and batches, and what is refused."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.comparing import ANY, assert_close, assert_compiled_same, both_dtypes
from tracemill.compiler.errors import CarryMismatchError, TransformArgumentError, TransformTypeError


def scores(x: Any) -> Any:
    return {"norm": np.sqrt(np.sum(x["a"] * x["a"])), "both": x["a"] * x["b"]}


@both_dtypes
@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 5, 9])
def test_map_equals_the_loop(batch_size: int | None, dtype: Any) -> None:
    xs = {"a": np.arange(1, 11, dtype=dtype).reshape(5, 2), "b": np.arange(5, dtype=dtype)}

    def mapped(xs: Any) -> Any:
        return tm.map(scores, xs, batch_size)

    for found in (mapped(xs), tm.compile(mapped)(xs)):
        assert_close(found["norm"], np.sqrt(np.sum(xs["a"] ** 2, 1)))
        assert_close(found["both"], xs["a"] * xs["b"][:, None])
    none = mapped({"a": xs["a"][:0], "b": xs["b"][:0]})
    assert [none["norm"].shape, none["both"].shape] == [(0,), (0, 2)]


@pytest.mark.sampled(every=2)
@both_dtypes
@pytest.mark.parametrize("batch_size", [None, 2])
def test_the_transforms_of_map(batch_size: int | None, dtype: Any) -> None:
    def total(x: Any) -> Any:
        return np.sum(tm.map(lambda row: np.sum(row * row * row), x, batch_size))

    x = np.arange(6, dtype=dtype).reshape(3, 2)
    assert_close(assert_compiled_same(tm.grad(total), x), 3 * x * x)
    assert_close(tm.jvp(total, (x,), (x,))[1], np.sum(3 * x * x * x))
    assert_close(assert_compiled_same(tm.hessian(total), x).reshape(6, 6), np.diag(6 * x.ravel()))
    xs = np.stack([x, -x])
    assert_close(assert_compiled_same(tm.vmap(tm.grad(total)), xs), 3 * xs * xs)
    assert_close(tm.grad(lambda xs: np.sum(tm.vmap(total)(xs)))(xs), 3 * xs * xs)


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 9])
def test_map_stacks_numbers_and_keeps_writes_to_slices_inside(batch_size: int | None) -> None:
    def function(x: Any) -> Any:
        x[0] = 9
        return 3, np.ones(2), x, None

    xs = np.zeros((3, 2))
    for mapped in (tm.map, tm.compile(tm.map, static_argnames=("f", "batch_size"))):
        numbers, ones, written, none = mapped(function, xs, batch_size=batch_size)
        assert_close(numbers, np.array([3, 3, 3]))
        assert_close(ones, np.ones((3, 2)))
        assert_close(written, np.array([[9.0, 0.0]] * 3))
        assert none is None
        assert_close(xs, np.zeros((3, 2)))


@pytest.mark.slow
@both_dtypes
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_gives_running_sums_and_products(length: int, reverse: bool, dtype: Any) -> None:
    x = np.linspace(0.5, 1.5, 2 * length * 3, dtype=dtype).reshape(2, length, 3)
    for axis in (1, -2):
        turned = np.flip(x, axis) if reverse else x
        for f, running in ((np.add, np.cumsum), (np.multiply, np.cumprod)):
            expected = running(turned, axis)
            expected = np.flip(expected, axis) if reverse else expected

            def scanned(x: Any, f: Any = f, axis: int = axis) -> Any:
                return tm.associative_scan(f, x, reverse, axis)

            assert_close(scanned(x), expected)
            assert_close(tm.compile(scanned)(x), expected)


@pytest.mark.slow
@both_dtypes
def test_associative_scan_of_matrix_products_and_of_recurrences(dtype: Any) -> None:
    a = np.random.default_rng(0).normal(size=(5, 2, 2)).astype(dtype)
    expected = [a[0]]
    for matrix in a[1:]:
        expected.append(expected[-1] @ matrix)
    assert_close(
        assert_compiled_same(lambda a: tm.associative_scan(np.matmul, a), a), np.stack(expected), 1e-4
    )

    def recurrence(decay: Any, x: Any) -> Any:  # c = decay c + x
        return tm.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (decay, x))[1]

    def loop(decay: Any, x: Any) -> Any:
        return tm.scan(lambda c, p: (p[0] * c + p[1],) * 2, dtype(0), (decay, x))[1]

    decay, x = a[:, 0, 0], a[:, 0, 1]
    assert_close(assert_compiled_same(recurrence, decay, x), loop(decay, x))
    sums = [tm.grad(lambda d, x, f=f: np.sum(np.sin(f(d, x))))(decay, x) for f in (recurrence, loop)]
    assert_close(sums[0], sums[1], 1e-5)
    curved = [tm.hessian(lambda x, f=f: np.sum(np.sin(f(decay, x))))(x) for f in (recurrence, loop)]
    assert_close(curved[0], curved[1], 1e-4)
    pushed = [tm.jvp(lambda x, f=f: f(decay, x), (x,), (x,))[1] for f in (recurrence, loop)]
    assert_close(pushed[0], pushed[1])
    both = (np.stack([decay, x]), np.stack([x, x]))
    assert_close(assert_compiled_same(tm.vmap(recurrence), *both), np.stack([loop(decay, x), loop(x, x)]))
    slopes = tm.vmap(tm.grad(lambda d, x: np.sum(recurrence(d, x))))(*both)
    assert_close(tm.grad(lambda d, x: np.sum(tm.vmap(recurrence)(d, x)))(*both), slopes)


def test_the_result_of_associative_scan_is_memory_of_its_own() -> None:
    x = np.ones(1)
    tm.associative_scan(np.add, x)[0] = 5
    assert x[0] == 1


BAD_MAPS: Sequence[tuple[Callable[[], Any], type[Exception], str]] = (
    (lambda: tm.map(ANY, np.ones(2)), TransformTypeError, "map needs a function"),
    (lambda: tm.map(np.sin, 1.0), TransformArgumentError, "xs has no axes"),
    (lambda: tm.map(np.sin, "abc"), TransformTypeError, "xs is str"),
    (lambda: tm.map(lambda x: x, (np.ones(2), np.ones(3))), TransformArgumentError, r"xs\[0\] has 2, xs\[1\] has 3"),
    (lambda: tm.map(np.sin, np.ones(2), 0), TransformArgumentError, "batch_size must be at least 1"),
    (lambda: tm.map(np.sin, np.ones(2), ANY), TransformTypeError, "batch_size must be an int"),
    (lambda: tm.map(lambda x: "no", np.ones(2)), TransformTypeError, "map.*: the function returns str"),
    (lambda: tm.map(lambda x: "no", np.ones(2), 2), TransformTypeError, "map.*: the function returns str"),
    (lambda: tm.associative_scan(np.add, np.ones(2), axis=ANY), TransformTypeError, "axis must be an int"),
    (lambda: tm.associative_scan(lambda a, b: "no", np.ones(2)), CarryMismatchError, "returns str"),
    (lambda: tm.associative_scan(ANY, np.ones(2)), TransformTypeError, "associative_scan needs a function"),
    (lambda: tm.associative_scan(np.add, 1.0), TransformArgumentError, "has no axis 0"),
    (lambda: tm.associative_scan(np.add, np.ones(2), axis=1), TransformArgumentError, "has no axis 1"),
    (lambda: tm.associative_scan(np.add, "ab"), TransformTypeError, "xs is str"),
    (
        lambda: tm.associative_scan(lambda a, b: a, (np.ones(2), np.ones(3))),
        TransformArgumentError,
        r"xs\[0\] has 2, xs\[1\] has 3",
    ),
    (lambda: tm.associative_scan(lambda a, b: (a, b), np.ones(2)), CarryMismatchError, r"returns \(\*, \*\)"),
    (lambda: tm.associative_scan(lambda a, b: a > b, np.ones(2)), CarryMismatchError, r"f64\[1\] and returns bool"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD_MAPS, ids=range(len(BAD_MAPS)))
def test_a_wrong_map_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
