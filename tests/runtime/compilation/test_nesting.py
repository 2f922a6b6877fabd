"""Transforms of transforms, closures over outer variables, threads, and what is left behind."""

import dataclasses
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import EscapedTracerError, RandomStateError
from tracemill.compiler.ir import Value
from tracemill.compiler.op import all_ops, lookup
from tracemill.compiler.tracing.trace import current_trace

Transform = Callable[[Callable[..., Any]], Callable[..., Any]]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def same(got: Any, expected: Any) -> None:
    """Equal in value, shape and dtype."""
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


# ---- every order -----------------------------------------------------------------------------------------
# Of one elementwise function sin of an array x, which has a known k-th derivative. A derivative of an elementwise
# function by any transform is elementwise again, and so is a map over its leading axis.

DERIVATIVES: dict[str, Transform] = {
    "grad": lambda f: tm.grad(lambda x: np.sum(f(x))),
    "jvp": lambda f: lambda x: tm.jvp(f, (x,), (np.ones_like(x),))[1],
    "vjp": lambda f: lambda x: tm.vjp(f, x)[1](np.ones_like(x))[0],
    "linearize": lambda f: lambda x: tm.linearize(f, x)[1](np.ones_like(x)),
    "jacfwd": lambda f: lambda x: np.sum(tm.jacfwd(f)(x), axis=tuple(range(np.ndim(x)))),
    "jacrev": lambda f: lambda x: np.sum(tm.jacrev(f)(x), axis=tuple(range(np.ndim(x)))),
}
MAPS: dict[str, Transform] = {
    "vmap": tm.vmap,
    "vmap along the last axis": lambda f: tm.vmap(f, -1, -1),
    "vmap of vjp_fn": lambda f: tm.vmap(lambda row: tm.vjp(f, row)[0]),
}
KINDS = {**DERIVATIVES, **MAPS}
SINES: list[Callable[..., Any]] = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]


@pytest.mark.parametrize("names", list(itertools.product(KINDS, repeat=2)), ids=" of ".join)
def test_two_transforms_nest_in_every_order(names: tuple[str, ...]) -> None:
    check_nesting(names)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [*itertools.product(("grad", "jvp", "jacfwd", "linearize", "vmap"), repeat=3)], ids=" of ".join
)
def test_three_transforms_nest_in_every_order(names: tuple[str, ...]) -> None:
    check_nesting(names)


def check_nesting(names: tuple[str, ...]) -> None:
    f: Callable[..., Any] = np.sin
    for name in reversed(names):
        f = KINDS[name](f)
    x = numbers(2, 1, 3)
    same(f(x), SINES[sum(name in DERIVATIVES for name in names)](x))


def test_vjp_functions_map_over_points_and_cotangents() -> None:
    x, ct = numbers(4, 3), numbers(4, 3, seed=1)
    same(tm.vmap(lambda x, ct: tm.vjp(np.sin, x)[1](ct)[0])(x, ct), np.cos(x) * ct)
    same(
        tm.vmap(lambda x: tm.vmap(tm.vjp(np.sin, x)[1])(np.eye(3))[0])(x),
        np.stack([np.diag(np.cos(row)) for row in x]),
    )


def test_jacobians_of_maps_and_maps_of_jacobians() -> None:
    x, w = numbers(4, 3), numbers(2, 3)

    def f(x: Any) -> Any:
        return np.tanh(w @ x)

    expected = np.stack([(1 - f(row) ** 2)[:, None] * w for row in x])
    same(tm.vmap(tm.jacfwd(f))(x), expected)
    same(tm.vmap(tm.jacrev(f))(x), expected)
    whole = tm.jacfwd(tm.vmap(f))(x)
    for i, j in itertools.product(range(4), repeat=2):
        same(whole[i, :, j], expected[i] if i == j else np.zeros((2, 3)))


def test_hessians_of_each_example() -> None:
    x = numbers(4, 3)
    same(
        tm.vmap(tm.hessian(lambda x: np.sum(x) ** 3))(x),
        np.stack([6 * np.sum(row) * np.ones((3, 3)) for row in x]),
    )


def test_per_example_gradients_equal_the_loop() -> None:
    w, x, y = {"w": numbers(3), "b": 0.5}, numbers(5, 3), numbers(5)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return (np.tanh(np.dot(p["w"], x) + p["b"]) - y) ** 2

    got = tm.vmap(tm.grad(loss), (None, 0, 0))(w, x, y)
    each = [tm.grad(loss)(w, a, b) for a, b in zip(x, y, strict=True)]
    same(got["w"], np.stack([g["w"] for g in each]))
    same(got["b"], np.stack([g["b"] for g in each]))
    total = tm.grad(lambda p: np.sum(tm.vmap(loss, (None, 0, 0))(p, x, y)))(w)
    same(total["w"], np.sum(got["w"], 0))
    same(total["b"], np.sum(got["b"]))


COMPILED: dict[str, Transform] = {
    "compile of grad": lambda f: tm.compile(tm.grad(f)),
    "grad of compile": lambda f: tm.grad(tm.compile(f)),
    "compile of grad of compile": lambda f: tm.compile(tm.grad(tm.compile(f))),
    "compile of vjp": lambda f: tm.compile(lambda x: tm.vjp(f, x)[1](1.0)[0]),
    "compile of linearize": lambda f: tm.compile(lambda x: tm.vmap(tm.linearize(f, x)[1])(np.eye(3))),
    "vmap of compile of grad": lambda f: lambda x: tm.vmap(tm.compile(tm.grad(f)))(np.stack([x, x]))[1],
    "compile of vmap of grad": lambda f: lambda x: tm.compile(tm.vmap(tm.grad(f)))(np.stack([x, x]))[1],
    "compile of jacfwd": lambda f: tm.compile(tm.jacfwd(f)),
    "compile of jacrev": lambda f: tm.compile(tm.jacrev(f)),
}


@pytest.mark.parametrize("transform", COMPILED.values(), ids=COMPILED)
def test_transforms_nest_with_compile(
    transform: Transform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path))
    x = numbers(3)
    same(transform(lambda x: np.sum(np.sin(x) ** 2))(x), np.sin(2 * x))


def test_zeros_that_a_transform_adds_are_part_of_a_compiled_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path))
    x = numbers(3)

    def f(x: Any) -> Any:
        cotangent = tm.vjp(lambda x: (x, x * 2), x)[1]((None, x))[0]
        unused = tm.grad(lambda y: np.float64(1.0))(x)
        unused[0] = x[0]
        return cotangent, unused

    compiled = tm.compile(f)
    assert len(compiled.lower(x).graph.inputs) == 1
    for got, expected in zip(compiled(x), f(x), strict=True):
        same(got, expected)


# ---- closures --------------------------------------------------------------------------------------------


def test_inner_transforms_see_variables_of_outer_ones() -> None:
    same(tm.grad(lambda x: tm.grad(lambda y: x * y**2)(3.0))(2.0), np.float64(6.0))
    same(tm.grad(lambda x: x * tm.grad(lambda y: x + y)(1.0))(2.0), np.float64(1.0))
    ys = numbers(4)
    same(tm.grad(lambda x: np.sum(tm.vmap(lambda y: x * y)(ys)))(2.0), np.sum(ys))
    same(tm.vmap(lambda x: tm.vmap(lambda y: x * y)(ys))(ys), np.outer(ys, ys))
    same(tm.vmap(lambda x: tm.grad(lambda y: x * y)(1.0))(ys), ys)
    same(tm.jvp(lambda x: tm.jvp(lambda y: x * y**2, (x,), (1.0,))[1], (3.0,), (1.0,))[1], np.float64(12.0))


def test_three_levels_of_closures() -> None:
    def f(x: Any) -> Any:
        return tm.grad(lambda y: np.sum(tm.vmap(lambda z: x * y * z)(np.arange(3.0))))(x)

    same(tm.grad(f)(2.0), np.float64(3.0))
    same(tm.vmap(tm.grad(f))(np.ones(2)), np.full(2, 3.0))


def test_outer_variables_may_meet_as_both_tangent_and_point() -> None:
    same(tm.grad(lambda x: tm.vjp(lambda y: x * y, x)[1](x)[0])(3.0), np.float64(6.0))
    same(tm.grad(lambda x: tm.linearize(lambda y: y**2 * x, x)[1](1.0))(3.0), np.float64(12.0))


def test_an_inner_function_may_update_an_array_of_an_outer_one() -> None:
    def f(x: Any) -> Any:
        total = np.zeros(2)

        def inner(y: Any) -> Any:
            np.add(total, y * x, out=total)
            return np.sum(total * y)

        gradient = tm.grad(inner)(np.array([1.0, 2.0]))
        return np.sum(gradient) + np.sum(total)

    # total = yx, inner = Σ y²x, its gradient 2yx: f = 2·3x + 3x
    same(tm.grad(f)(5.0), np.float64(9.0))


def test_python_control_flow_follows_values_of_an_outer_gradient() -> None:
    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            if x > 0 and y > 0:
                return x * y**2
            return y

        return tm.grad(inner)(x)

    same(tm.grad(f)(3.0), np.float64(12.0))
    same(tm.grad(f)(-3.0), np.float64(0.0))


# ---- what is left behind ---------------------------------------------------------------------------------


class PlannedError(Exception):
    """Raised inside of traced functions."""


def fail(x: Any) -> Any:
    np.zeros(2)[0] = x
    raise PlannedError


CALLS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "vmap": lambda f: tm.vmap(f)(np.ones(3)),
    "grad": lambda f: tm.grad(f)(1.0),
    "jvp": lambda f: tm.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: tm.vjp(f, 1.0),
    "linearize": lambda f: tm.linearize(f, 1.0),
    "jacfwd": lambda f: tm.jacfwd(f)(1.0),
    "jacrev": lambda f: tm.jacrev(f)(1.0),
    "grad of vmap": lambda f: tm.grad(lambda x: np.sum(tm.vmap(f)(np.ones(3) * x)))(1.0),
}
ZEROS, NORMAL = np.zeros, np.random.normal


def assert_nothing_is_left() -> None:
    assert current_trace() is None
    assert np.zeros is ZEROS
    assert np.random.normal is NORMAL
    assert type(np.zeros(2)) is np.ndarray
    same(tm.grad(np.sin)(0.0), np.float64(1.0))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_exception_inside_leaves_no_trace(call: Any) -> None:
    with pytest.raises(PlannedError):
        call(fail)
    assert_nothing_is_left()


def test_an_exception_in_another_thread_leaves_no_trace() -> None:
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(call, fail) for call in CALLS.values()]:
            assert isinstance(future.exception(), PlannedError)
        assert pool.submit(current_trace).result() is None
    assert_nothing_is_left()


def test_an_exception_that_is_caught_inside_leaves_the_outer_trace_working() -> None:
    def f(x: Any) -> Any:
        calls: list[Callable[..., Any]] = [tm.vmap(fail), lambda x: tm.grad(fail)(x[0])]
        for call in calls:
            with pytest.raises(PlannedError):
                call(x)
        z = np.zeros(2)
        z[0] = x[0] * 3
        return np.sum(z)

    same(tm.grad(f)(np.ones(2)), np.array([3.0, 0.0]))
    assert_nothing_is_left()


def test_numpys_random_state_is_refused_inside_and_free_again_outside() -> None:
    with pytest.raises(RandomStateError, match=r"np\.random\.normal") as caught:
        tm.compile(tm.grad(lambda x: x * np.random.normal()))(1.0)
    assert "test_nesting.py" in str(caught.value)
    assert np.random.normal(size=2).shape == (2,)


# ---- escaped arrays --------------------------------------------------------------------------------------

USES: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: x + 1,
    "a function": np.sin,
    "bool": lambda x: bool(x > 0),
    "float": float,
    "an index": lambda x: x[...],
    "asarray": np.asarray,
    "vmap": tm.vmap(np.sin, None, axis_size=2),
    "grad": tm.grad(np.sin),
    "another trace": lambda x: tm.grad(lambda y: y * x)(1.0),
    "a map in another trace": lambda x: tm.grad(lambda y: np.sum(tm.vmap(lambda z: z * x)(y)))(np.ones(2)),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("call", [CALLS["vmap"], CALLS["grad of vmap"]], ids=["vmap", "both"])
def test_an_escaped_array_of_a_batch_raises_where_it_is_used(call: Any, use: Any) -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    call(f)
    with pytest.raises(EscapedTracerError, match="outside of the trace"):
        use(kept[0])
    assert_nothing_is_left()


def test_an_array_handed_to_another_thread_raises_there() -> None:
    def f(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            error = pool.submit(lambda: x + 1).exception()
            traced = pool.submit(lambda: tm.grad(lambda y: x * y)(1.0)).exception()
        assert isinstance(error, EscapedTracerError)
        assert isinstance(traced, EscapedTracerError)
        return x * 2

    same(tm.grad(f)(1.0), np.float64(2.0))


def test_a_vjp_function_of_an_inner_trace_raises_outside() -> None:
    kept = []

    def f(x: Any) -> Any:
        out, vjp_fn = tm.vjp(np.sin, x)
        kept.append(vjp_fn)
        return out

    tm.grad(f)(1.0)
    with pytest.raises(EscapedTracerError):
        kept[0](1.0)


# ---- threads ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_eight_threads_trace_different_functions_at_once() -> None:
    start = threading.Barrier(8)

    def work(k: int) -> list[Any]:
        start.wait()
        results = []
        for i in range(20):

            def f(x: Any, i: int = i) -> Any:
                z = np.zeros(k + 1)
                z[k] = x * (i + 1)
                return np.sum(z**2) * k

            results.append(tm.vmap(tm.grad(f))(np.arange(float(k + 1))))
            results.append(np.zeros(k + 1))
        return results

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for k, results in enumerate(found):
        for i in range(20):
            same(results[2 * i], 2.0 * np.arange(k + 1) * (i + 1) ** 2 * k)
            assert type(results[2 * i + 1]) is np.ndarray
    assert_nothing_is_left()


def test_a_thread_without_a_trace_gets_numpys_own_constructors_meanwhile() -> None:
    def f(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(lambda: (np.zeros(2), np.random.normal(size=3))).result()
        assert type(other[0]) is np.ndarray
        assert other[1].shape == (3,)
        return x * np.sum(np.zeros(2) + x)

    same(tm.grad(f)(3.0), np.float64(12.0))


# ---- callbacks and containers ----------------------------------------------------------------------------


def test_callbacks_take_and_give_trees_and_run_transforms_of_their_own() -> None:
    def f(p: Any) -> Any:
        assert type(p["x"]) is np.ndarray
        return {"gradient": tm.grad(lambda x: np.sum(x**2))(p["x"]), "n": len(p["pair"])}

    x = numbers(3)
    spec = {"gradient": x, "n": np.int64}
    direct = tm.pure_callback(f, spec, {"x": x, "pair": (1.0, 2.0)})
    same(direct["gradient"], 2 * x)
    same(direct["n"], np.int64(2))
    inside = tm.grad(
        lambda y: np.sum(tm.pure_callback(f, spec, {"x": x, "pair": (1.0, 2.0)})["gradient"] * y)
    )(x)
    same(inside, 2 * x)


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all"])
def test_a_callback_that_takes_batches_is_called_once_for_all_examples(method: str) -> None:
    shapes: list[Any] = []

    def add(x: Any, y: Any) -> Any:
        shapes.append((x.shape, y.shape))
        return np.add(x, y)

    def called(x: Any, y: Any) -> Any:
        return tm.pure_callback(add, x, x, y, vmap_method=method)

    x, y = np.arange(6.0).reshape(2, 3), np.float64(10)
    one = {"expand_dims": (1,), "broadcast_all": (3,)}[method]
    both = {"expand_dims": (1, 1), "broadcast_all": (2, 3)}[method]
    np.testing.assert_array_equal(called(x[0, 0], y), 10)
    np.testing.assert_array_equal(tm.vmap(called, in_dims=(0, None))(x[0], y), x[0] + 10)
    twice = tm.vmap(tm.vmap(called, in_dims=(0, None)), in_dims=(0, None))
    np.testing.assert_array_equal(tm.compile(twice)(x, y), x + 10)
    chunked = tm.vmap(called, in_dims=(0, None), chunk_size=2)
    np.testing.assert_array_equal(chunked(x[0], y), x[0] + 10)
    looped = tm.scan(lambda c, row: (c, tm.vmap(called, in_dims=(0, None))(row, y)), (), x)[1]
    np.testing.assert_array_equal(looped, x + 10)
    assert shapes[:3] == [((), ()), ((3,), one), ((2, 3), both)]


def test_an_unknown_vmap_method_is_named() -> None:
    with pytest.raises(ValueError, match="vmap_method must be one of 'sequential'"):
        tm.pure_callback(np.sin, np.float64, 1.0, vmap_method="loop")


def test_callbacks_are_held_to_their_promise() -> None:
    with pytest.raises(ValueError, match=r"the result: expected the structure \(\*, \*\), found \*"):
        tm.pure_callback(lambda x: x, (np.float64, np.float64), 1.0)
    with pytest.raises(ValueError, match="callback of wrong: output 0"):
        tm.pure_callback(wrong, np.empty(3), 1.0)
    with pytest.raises(TypeError, match=r"result_spec\[0\] must have a shape and a dtype, .* str is neither"):
        tm.pure_callback(wrong, ("f8",), 1.0)
    with pytest.raises(TypeError, match=r"args\[0\]\['a'\] is str, not an array"):
        tm.pure_callback(wrong, np.float64, {"a": "text"})
    with pytest.raises(TypeError, match="wrong has no derivative"):
        tm.grad(lambda x: tm.pure_callback(wrong, np.float64, x))(1.0)


def wrong(x: Any) -> Any:
    return np.ones(2)


def test_own_containers_are_registered_once_and_only_classes_are() -> None:
    class Interval:
        def __init__(self, low: Any, high: Any) -> None:
            self.low, self.high = low, high

    assert (
        tm.register_pytree(Interval, lambda i: ((i.low, i.high), None), lambda _, ends: Interval(*ends))
        is Interval
    )
    gradient = tm.grad(lambda i: i.high * i.low)(Interval(2.0, 3.0))
    assert type(gradient) is Interval
    assert (gradient.low, gradient.high) == (3.0, 2.0)
    with pytest.raises(ValueError, match=r"Interval cannot be registered.*already registered"):
        tm.register_pytree(Interval, lambda i: ((), None), lambda _, ends: Interval(0, 0))
    with pytest.raises(TypeError, match="register_pytree: expected a class, not int"):
        tm.register_pytree(3, lambda i: ((), None), lambda _, ends: 3)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match="Interval is neither a dataclass nor a class of attrs: use register_pytree"
    ):
        tm.register_dataclass(Interval)


def test_static_fields_of_a_dataclass_are_settings() -> None:
    @dataclass(frozen=True, slots=True)
    class Layer:
        weights: Any
        activation: str = "tanh"

        def __post_init__(self) -> None:
            assert self.activation in ("tanh", "sin")

    tm.register_dataclass(Layer, static=["activation"])

    def apply(layer: Layer) -> Any:
        return np.sum(getattr(np, layer.activation)(layer.weights))

    gradient = tm.grad(apply)(Layer(np.zeros(2), "sin"))
    assert gradient.activation == "sin"
    same(gradient.weights, np.ones(2))
    with pytest.raises(ValueError, match=r"Layer has no fields \['bias'\]"):
        tm.register_dataclass(Layer, static=["bias"])
    with pytest.raises(TypeError, match=r"args\[0\]\.weights has dtype"):
        tm.grad(apply)(Layer(np.arange(2)))


def test_a_transform_goes_through_the_door_of_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that breaks the graph is found at once when checking is on, and the error names the transform."""
    broken = dataclasses.replace(lookup("sin"), jvp=lambda inputs, tangents, outputs: Value(outputs[0].type))
    ops: Any = all_ops()
    monkeypatch.setitem(ops, "sin", broken)
    monkeypatch.setenv("TRACEMILL_CHECK", "1")
    x = np.ones((2, 1, 3, 1))  # prepared derivatives of usual types are kept
    with pytest.raises(tm.errors.InvalidGraphError, match="after the pass linearize"):
        tm.jvp(np.sin, (x,), (x,))


def test_a_function_that_asks_for_an_ndarray_takes_the_same_branch() -> None:
    def f(x: Any) -> Any:
        y = x * 2 if isinstance(x, np.ndarray) else x * 3
        return y.sum() * (1 if isinstance(y[0], np.ndarray) else 10)

    x = numbers(3)
    same(tm.compile(f)(x), f(x))
    same(tm.grad(f)(x), np.full(3, 20.0))
    same(tm.vmap(f)(numbers(2, 3)), np.array([f(row) for row in numbers(2, 3)]))
