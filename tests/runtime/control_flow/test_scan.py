"""`scan`: the loop, its derivatives and their memory, its batches, compiled and not, and what is refused."""

import tracemalloc
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


def recurrent(w: Any, x: Any, **options: Any) -> Any:
    """A recurrent net: what it ends with, and what it gave out on the way."""

    def step(c: Any, row: Any) -> Any:
        c = np.tanh(w @ c + row)
        return c, np.sum(c * c)

    return tm.scan(step, x[0], x, **options)


def unrolled(w: Any, x: Any, reverse: bool = False) -> Any:
    c, ys = x[0], [None] * len(x)
    for i in reversed(range(len(x))) if reverse else range(len(x)):
        c = np.tanh(w @ c + x[i])
        ys[i] = np.sum(c * c)
    return c, np.stack(ys)  # type: ignore[arg-type]


def loss(net: Callable[..., Any], **options: Any) -> Callable[[Any, Any], Any]:
    def total(w: Any, x: Any) -> Any:
        c, ys = net(w, x, **options)
        return np.sum(c) + np.sum(ys * ys)

    return total


def net_inputs(dtype: Any, steps: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(3, 3)).astype(dtype), rng.normal(size=(steps, 3)).astype(dtype)


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"reverse": True},
    {"unroll": 2},
    {"unroll": 7, "reverse": True},
    {"checkpoint_every": 2},
    {"checkpoint_every": 2, "reverse": True},
    {"checkpoint_every": "sqrt"},
    {"checkpoint_every": 99},
)
each_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


@both_dtypes
@each_option
def test_scan_equals_the_loop(options: dict[str, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype)
    expected = unrolled(w, x, options.get("reverse", False))
    for run in (recurrent, tm.compile(recurrent, static_argnames=tuple(options))):
        for ours, theirs in zip(run(w, x, **options), expected, strict=True):
            assert_close(ours, theirs)


@pytest.mark.slow
@both_dtypes
@each_option
def test_reverse_of_scan_equals_that_of_the_loop(options: dict[str, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype)
    expected = tm.grad(loss(unrolled, reverse=options.get("reverse", False)), (0, 1))(w, x)
    for ours, theirs in zip(tm.grad(loss(recurrent, **options), (0, 1))(w, x), expected, strict=True):
        assert_close(ours, theirs)
    for ours, theirs in zip(
        tm.compile(tm.grad(loss(recurrent, **options), (0, 1)))(w, x), expected, strict=True
    ):
        assert_close(ours, theirs)


@pytest.mark.slow
@both_dtypes
@each_option
def test_jvp_of_scan_equals_that_of_the_loop(options: dict[str, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype)
    f, g = loss(recurrent, **options), loss(unrolled, reverse=options.get("reverse", False))
    expected = tm.jvp(g, (w, x), (x[:3], x))[1]
    assert_close(tm.jvp(f, (w, x), (x[:3], x))[1], expected)
    assert_close(tm.compile(lambda w, x: tm.jvp(f, (w, x), (x[:3], x))[1])(w, x), expected)


@pytest.mark.slow
@both_dtypes
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 1), (None, 2)])
def test_vmap_of_scan_equals_the_loop(dims: tuple[Any, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype)
    ws, xs = np.stack([w, 2 * w], dims[0] or 0), np.stack([x, -x], dims[1] or 0)
    given = (ws if dims[0] is not None else w, xs if dims[1] is not None else x)
    pairs = [
        ((w, 2 * w)[i] if dims[0] is not None else w, (x, -x)[i] if dims[1] is not None else x)
        for i in (0, 1)
    ]
    expected = [np.stack(parts) for parts in zip(*(unrolled(*pair) for pair in pairs), strict=True)]
    for run in (tm.vmap(recurrent, dims), tm.compile(tm.vmap(recurrent, dims))):
        for ours, theirs in zip(run(*given), expected, strict=True):
            assert_close(ours, theirs)
    slopes = np.stack([tm.grad(loss(unrolled))(*pair) for pair in pairs])
    for f in (loss(recurrent), loss(recurrent, checkpoint_every=2)):
        assert_close(assert_compiled_same(tm.vmap(tm.grad(f), dims), *given), slopes)
        total = tm.grad(lambda w, x, f=f: np.sum(tm.vmap(f, dims)(w, x)))(*given)
        assert_close(total, np.moveaxis(slopes, 0, dims[0]) if dims[0] is not None else slopes.sum(0))


@pytest.mark.slow
@both_dtypes
@pytest.mark.parametrize("options", [{}, {"checkpoint_every": 2}], ids=str)
def test_hessian_of_scan_equals_that_of_the_loop(options: dict[str, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype, steps=3)
    expected = tm.hessian(loss(unrolled))(w, x)
    tolerance = 1e-4 if dtype == np.float32 else 1e-9  # entries are up to 20, and sums of others that cancel
    assert_close(tm.hessian(loss(recurrent, **options))(w, x), expected, tolerance)
    assert_close(tm.compile(tm.hessian(loss(recurrent, **options)))(w, x), expected, tolerance)


@each_option
def test_scans_of_no_and_of_one_step(options: dict[str, Any]) -> None:
    w, x = net_inputs(np.float64, 1)
    c, ys = tm.compile(lambda w, x: recurrent(w, x, **options))(w, x)
    assert_close(ys, np.sum(c * c, keepdims=True))
    none, empty = tm.compile(lambda c, x: tm.scan(lambda c, x: (2 * c, c), c, x, **options))(x[0], x[:0])
    assert_close(none, x[0])
    assert empty.shape == (0, 3)
    slope = tm.grad(lambda c: np.sum(tm.scan(lambda c, x: (2 * c, c), c, x[:0], **options)[0]))(x[0])
    assert_close(slope, np.ones(3))


def test_a_number_in_the_first_carry_takes_the_dtype_of_the_step() -> None:
    def total(init: Any, xs: Any) -> Any:
        return tm.scan(lambda c, x: (c + x, None), init, xs)[0]

    xs = np.arange(4, dtype=F32)
    for init in (0, 0.0):
        assert_close(total(init, xs), F32(6))
        assert_close(tm.compile(lambda xs, init=init: total(init, xs))(xs), F32(6))
        assert_close(total(init, xs.astype(float)), np.float64(6))
    assert_close(total(0, np.arange(4)), np.int64(6))
    assert_close(total(0.5, np.arange(4)), np.float64(6.5))
    assert tm.scan(lambda c, _: (c * 2, None), 1.5, length=2)[0] == 6.0
    assert (
        tm.compile(lambda x: x * tm.scan(lambda c, _: (c * 2, None), 1.5, length=2)[0])(F32(1)).dtype == F32
    )


def test_a_step_may_use_and_write_to_arrays_from_outside() -> None:
    def powers(x: Any) -> Any:
        buffer, count = np.zeros(4), np.zeros(2, int)

        def step(c: Any, i: Any) -> Any:
            buffer[i] = c * x
            count[...] += 1
            return c * x, count[0]

        _, seen = tm.scan(step, 1.0, np.arange(4))
        return buffer, count, seen

    for buffer, count, seen in (
        tm.compile(powers)(2.0),
        tm.grad(lambda x: (x, powers(x)), has_aux=True)(2.0)[1],
    ):
        assert_close(buffer, np.array([2.0, 4, 8, 16]))
        assert_close(count, np.array([4, 4]))
        assert_close(seen, np.arange(1, 5))
    slope = tm.grad(lambda x: np.sum(powers(x)[0]))
    assert_close(assert_compiled_same(slope, 2.0), np.float64(1 + 4 + 12 + 32))
    batch = tm.compile(tm.vmap(lambda x: powers(x)[0]))(np.array([1.0, 2.0]))
    assert_close(batch, np.array([[1.0, 1, 1, 1], [2, 4, 8, 16]]))


def test_without_a_trace_a_step_writes_to_an_array_from_outside_through_asarray() -> None:
    buffer = np.zeros(3)

    def step(i: Any, x: Any) -> Any:
        np.asarray(buffer)[i] = x
        return i + 1, None

    tm.scan(step, 0, np.array([5.0, 6.0, 7.0]))
    assert_close(buffer, np.array([5.0, 6.0, 7.0]))


def test_a_step_writes_to_copies_of_what_it_gets() -> None:
    def step(c: Any, x: Any) -> Any:
        c[0] += x
        return c, None

    init = np.zeros(2)
    assert_close(tm.scan(step, init, np.ones(3))[0], np.array([3.0, 0]))
    assert_close(init, np.zeros(2))


def test_scans_nest_and_carry_trees() -> None:
    def table(x: Any) -> Any:
        def row(c: Any, a: Any) -> Any:
            inner, products = tm.scan(lambda s, b: ({"s": s["s"] + a * b}, a * b), {"s": c[0]}, x)
            return (inner["s"], c[1] + 1), products

        return tm.scan(row, (x[0], 0), x)

    x = np.array([1.0, 2.0, 3.0])
    for run in (table, tm.compile(table)):
        (total, count), products = run(x)
        assert_close(total, np.float64(37))
        assert count == 3
        assert_close(products, np.outer(x, x))
    assert_close(
        assert_compiled_same(tm.grad(lambda x: table(x)[0][0]), x), 2 * x.sum() + np.array([1.0, 0, 0])
    )


def test_what_depends_on_constants_alone_is_computed_once() -> None:
    def f(w: Any, x: Any) -> Any:
        return tm.scan(lambda c, a: (c * np.exp(np.sin(w)) + a, None), 0.0, x)[0]

    graph = tm.compile(tm.grad(f)).lower(0.5, np.ones(100)).graph
    (back,) = (call for call in graph if call.op == "scan" and call.params.get("reverse"))
    assert [value.shape for value in back.inputs].count((100,)) <= 1


def peak(function: Callable[..., Any], *args: Any) -> int:
    tracemalloc.start()
    try:
        function(*args)  # the workspace that it keeps counts, too
        tracemalloc.reset_peak()
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_checkpoint_every_keeps_the_root_of_the_memory() -> None:
    def f(every: Any) -> Callable[[Any], Any]:
        def total(x: Any) -> Any:
            return np.sum(
                tm.scan(lambda c, _: (np.sin(np.cos(c)), None), x, length=400, checkpoint_every=every)[0]
            )

        return tm.grad(total)

    x = np.linspace(0, 1, 1000)
    assert_close(f("sqrt")(x), f(None)(x))
    for transform in (tm.compile, lambda function: function):
        assert peak(transform(f("sqrt")), x) < 0.2 * peak(transform(f(None)), x)


@pytest.mark.slow
def test_the_gradient_of_ten_thousand_steps() -> None:
    def f(x: Any, every: Any = None) -> Any:
        return tm.scan(lambda c, a: (np.sin(c) + a, None), 0.0, x, checkpoint_every=every)[0]

    x = np.linspace(0, 1, 10_000)
    compiled = tm.compile(tm.grad(f))(x)
    assert_close(compiled, tm.grad(lambda x: f(x, "sqrt"))(x))
    values = tm.scan(lambda c, a: (np.sin(c) + a, c), 0.0, x)[1]
    slopes = np.cumprod(np.cos(values[:0:-1]))[::-1]
    assert_close(compiled, np.append(slopes, 1.0))


def test_a_compiled_scan_is_a_loop_in_the_source() -> None:
    def f(x: Any, unroll: int) -> Any:
        return tm.scan(lambda c, a: (c + a, c), 0.0, x, unroll=unroll)

    lower = tm.compile(f, static_argnames="unroll").lower
    assert "for i in range(100):" in lower(np.ones(100), unroll=1).source
    assert "for i in range(0, 100, 4):" in lower(np.ones(100), unroll=4).source
    assert (
        "for " not in lower(np.ones(3), unroll=3).source.split("def statements")[1].split("def reference")[0]
    )


BAD_SCANS: Sequence[tuple[Callable[[], Any], type[Exception], str]] = (
    (lambda: tm.scan(lambda c, x: (c, x), 0.0), TransformArgumentError, "how many steps"),
    (lambda: tm.scan(lambda c, x: (c, x), 0.0, np.ones(3), 4), TransformArgumentError, "xs has 3, length=4"),
    (
        lambda: tm.scan(lambda c, x: (c, x), 0.0, {"a": np.ones(3), "b": np.ones(2)}),
        TransformArgumentError,
        r"xs\['a'\] has 3, xs\['b'\] has 2",
    ),
    (
        lambda: tm.scan(lambda c, x: (c, x), 0.0, length=-1),
        TransformArgumentError,
        "length must not be negative",
    ),
    (lambda: tm.scan(lambda c, x: (c, x), 0.0, length=1.5), TransformTypeError, "length must be an int"),  # type: ignore[arg-type]
    (lambda: tm.scan(lambda c, x: (c, x), 0.0, 1.0), TransformArgumentError, "xs has no axes"),
    (lambda: tm.scan(lambda c, x: (c, x), 0.0, "abc"), TransformTypeError, "xs is str"),
    (lambda: tm.scan(lambda c, x: (c, x), "a", length=1), TransformTypeError, "init is str"),
    (lambda: tm.scan(ANY, 0.0, length=1), TransformTypeError, "scan needs a function"),
    (lambda: tm.scan(lambda c, x: (c, x), 0.0, length=1, unroll=0), TransformArgumentError, "unroll"),
    (
        lambda: tm.scan(lambda c, x: (c, x), 0.0, length=1, checkpoint_every="log"),
        TransformArgumentError,
        'checkpoint_every must be an int or "sqrt"',
    ),
    (lambda: tm.scan(lambda c, x: c, 0.0, length=1), CarryMismatchError, "must return a pair"),
    (
        lambda: tm.scan(lambda c, x: ((c, c), x), 0.0, length=1),
        CarryMismatchError,
        r"receives \* and returns \(\*, \*\)",
    ),
    (
        lambda: tm.scan(lambda c, x: (np.append(c, 1), x), np.ones(1), length=1),
        CarryMismatchError,
        r".py:\d+\).*receives init as f64\[1\] and returns f64\[2\]",
    ),
    (
        lambda: tm.scan(lambda c, x: (c + x, x), F32(0), np.ones(3)),
        CarryMismatchError,
        r"receives init as f32\[\] and returns f64\[\]",
    ),
    (
        lambda: tm.scan(lambda c, x: (np.int64(c), x), 0.5, length=1),
        CarryMismatchError,
        r"receives init as float and returns i64",
    ),
    (
        lambda: tm.scan(lambda c, x: ({"k": np.round(c["k"]).astype(int)}, x), {"k": 0.5}, length=1),
        CarryMismatchError,
        r"receives init\['k'\] as float and returns i64",
    ),
    (
        lambda: tm.scan(lambda c, x: (c, "y"), 0.0, length=1),
        TransformTypeError,
        r"returns str as result\[1\]",
    ),
)


@pytest.mark.parametrize(("call", "error", "message"), BAD_SCANS, ids=[row[2] for row in BAD_SCANS])
def test_a_wrong_scan_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, tm.TracemillError)
    if caught.value.location is not None:
        assert "test_scan.py" in str(caught.value.location)
