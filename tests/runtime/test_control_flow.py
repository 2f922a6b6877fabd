"""Control flow on traced values: what runs, its derivatives, its batches, compiled and not, and what is refused."""

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    BranchMismatchError,
    CarryMismatchError,
    ConcretizationError,
    NotDifferentiableError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
)

F32 = np.float32
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Equal in dtype and shape, and but for rounding."""
    ours, theirs = np.asarray(actual), np.asarray(expected)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    wide = max(tolerance, 1e-5 if ours.dtype == F32 else 0)
    np.testing.assert_allclose(ours, theirs, wide, wide)


def assert_compiled_same(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function, which is the same compiled."""
    plain = function(*args)
    compiled = tm.compile(function)(*args)
    for ours, theirs in zip(np.atleast_1d(compiled), np.atleast_1d(plain), strict=True):
        assert_close(ours, theirs)
    return plain


# ---- cond and switch -------------------------------------------------------------------------------


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


ANY: Any = np.ones(2)  # what is no function
MISMATCHES: Sequence[tuple[Callable[[Any], Any], type[Exception], str]] = (
    (lambda x: tm.cond(x > 0, lambda: (x, x), lambda: x), BranchMismatchError, r"same structure.*\(\*, \*\)"),
    (lambda x: tm.cond(x > 0, lambda: np.ones(2), lambda: x), BranchMismatchError, r"f64\[\], .* f64\[2\]"),
    (lambda x: tm.cond(x > 0, lambda: np.ones(2), lambda: 0.0), BranchMismatchError, r"f64\[2\], .* float"),
    (lambda x: tm.cond(x > 0, lambda: F32(1), lambda: x), BranchMismatchError, r"flow.py:\d+\) returns f32"),
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
    assert "test_control_flow.py" in str(caught.value.location)


# ---- scan ------------------------------------------------------------------------------------------


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


@both_dtypes
@each_option
def test_jvp_of_scan_equals_that_of_the_loop(options: dict[str, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype)
    f, g = loss(recurrent, **options), loss(unrolled, reverse=options.get("reverse", False))
    expected = tm.jvp(g, (w, x), (x[:3], x))[1]
    assert_close(tm.jvp(f, (w, x), (x[:3], x))[1], expected)
    assert_close(tm.compile(lambda w, x: tm.jvp(f, (w, x), (x[:3], x))[1])(w, x), expected)


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


@both_dtypes
@pytest.mark.parametrize("options", [{}, {"checkpoint_every": 2}], ids=str)
def test_hessian_of_scan_equals_that_of_the_loop(options: dict[str, Any], dtype: Any) -> None:
    w, x = net_inputs(dtype, steps=3)
    expected = tm.hessian(loss(unrolled))(w, x)
    assert_close(tm.hessian(loss(recurrent, **options))(w, x), expected)
    assert_close(tm.compile(tm.hessian(loss(recurrent, **options)))(w, x), expected)


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
    function(*args)
    tracemalloc.start()
    function(*args)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


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
        r"gets \* and returns \(\*, \*\)",
    ),
    (
        lambda: tm.scan(lambda c, x: (np.append(c, 1), x), np.ones(1), length=1),
        CarryMismatchError,
        r"flow.py:\d+\).*gets init as f64\[1\] and returns f64\[2\]",
    ),
    (
        lambda: tm.scan(lambda c, x: (c + x, x), F32(0), np.ones(3)),
        CarryMismatchError,
        r"gets init as f32\[\] and returns f64\[\]",
    ),
    (
        lambda: tm.scan(lambda c, x: (np.int64(c), x), 0.5, length=1),
        ConcretizationError,
        "int",
    ),
    (
        lambda: tm.scan(lambda c, x: ({"k": np.round(c["k"]).astype(int)}, x), {"k": 0.5}, length=1),
        CarryMismatchError,
        r"gets init\['k'\] as float and returns i64",
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
        assert "test_control_flow.py" in str(caught.value.location)


# ---- while_loop and fori_loop ----------------------------------------------------------------------


def newton(a: Any, max_steps: int | None = None) -> Any:
    """The root of a by Newton's method."""
    tolerance = 1e-5 if a.dtype == F32 else 1e-12
    return tm.while_loop(lambda x: abs(x * x - a) > tolerance * a, lambda x: (x + a / x) / 2, a, max_steps)


def limited(a: Any) -> Any:
    return newton(a, 40)


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


@both_dtypes
@both_loops
def test_jvp_of_while_loop(root: Callable[..., Any], dtype: Any) -> None:
    expected = dtype(0.5) / np.sqrt(dtype(2))
    one = dtype(1)
    assert_close(assert_compiled_same(lambda a: tm.jvp(root, (a,), (one,))[1], dtype(2)), expected, 1e-4)
    assert_close(assert_compiled_same(tm.jacfwd(root), dtype(2)), expected, 1e-4)
    assert_close(tm.linearize(root, dtype(2))[1](one), expected, 1e-4)
    curvature = tm.jacfwd(tm.jacfwd(root))(dtype(2))
    assert_close(curvature, dtype(-0.25 * 2**-1.5), 1e-3)


@both_dtypes
def test_reverse_and_hessian_of_while_loop_with_max_steps(dtype: Any) -> None:
    assert_close(assert_compiled_same(tm.grad(limited), dtype(2)), dtype(0.5 / np.sqrt(2)), 1e-4)
    assert_close(assert_compiled_same(tm.grad(limited), dtype(1)), dtype(1))  # no step: the value is a
    assert_close(assert_compiled_same(tm.hessian(limited), dtype(2)), dtype(-0.25 * 2**-1.5), 1e-3)
    three = tm.grad(lambda a: tm.while_loop(lambda x: True, lambda x: x * a, a, max_steps=3))
    assert_close(three(dtype(2)), dtype(4 * 8))


def test_reverse_of_an_unlimited_while_loop_is_refused_at_the_users_line() -> None:
    for transform in (tm.grad, tm.jacrev, tm.hessian):
        with pytest.raises(NotDifferentiableError, match="max_steps=n") as caught:
            transform(newton)(np.float64(2))
        assert "tm.while_loop" in str(caught.value.location)
    with pytest.raises(NotDifferentiableError, match="bounds that are known"):
        tm.compile(tm.grad(lambda x, n: tm.fori_loop(0, n, lambda i, c: c * x, x)))(2.0, 3)


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
    (lambda: tm.while_loop(lambda c: c, lambda c: (c, c), 0), CarryMismatchError, r"gets \* and returns \(\*, \*\)"),
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
    (lambda: tm.fori_loop(0, 1, lambda i, c: (c, c), 1), CarryMismatchError, r"flow.py:\d+\) must return as carry"),
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
    assert "    while function(" in tm.compile(newton).lower(2.0 * np.ones(())).source
    assert "for _ in range(40):" in tm.compile(limited).lower(2.0 * np.ones(())).source
