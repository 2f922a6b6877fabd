"""`checkpoint`: the same numbers, computed again in the backward pass, for less memory."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from support.recording import inner_ops
from tracemill.compiler.errors import TransformTypeError
from tracemill.compiler.ir import called

POLICIES = {
    "nothing": tm.checkpoint_policies.nothing,
    "everything": tm.checkpoint_policies.everything,
    "matmuls": tm.checkpoint_policies.matmuls,
    "named": tm.checkpoint_policies.named("activation"),
}
each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def layer(x: Any, w: Any) -> Any:
    return np.sin(tm.checkpoint_name(np.tanh(x @ w), "activation")) * 2


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def same(got: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, tolerance, tolerance)


# ---- values ----------------------------------------------------------------------------------------------

TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "grad": lambda f: tm.grad(lambda x, w: np.sum(f(x, w)), (0, 1)),
    "vjp": lambda f: lambda x, w: tm.vjp(f, x, w)[1](np.ones(3, x.dtype)),
    "jvp": lambda f: lambda x, w: tm.jvp(f, (x, w), (x, w)),
    "linearize": lambda f: lambda x, w: tm.linearize(f, x, w)[1](x, w),
    "vmap": lambda f: lambda x, w: tm.vmap(f, (None, -1), 1)(x, np.stack([w, w * 2], -1)),
    "vmap of grad": lambda f: (
        lambda x, w: tm.vmap(tm.grad(lambda x, w: np.sum(f(x, w))), (0, None))(np.stack([x, x * 2]), w)
    ),
    "grad of vmap": lambda f: tm.grad(
        lambda x, w: np.sum(tm.vmap(f, (0, None))(np.stack([x, x * 2]), w) ** 2)
    ),
    "jacfwd": tm.jacfwd,
    "jacrev": lambda f: tm.jacrev(f, argnums=1),
    "hessian": tm.hessian,
    "grad of grad": lambda f: tm.grad(
        lambda x, w: np.sum(tm.grad(lambda x, w: np.sum(f(x, w)), 1)(x, w) ** 2)
    ),
    "jvp of grad": lambda f: lambda x, w: tm.jvp(tm.grad(lambda x: np.sum(f(x, w))), (x,), (x,)),
    "nested": lambda f: tm.grad(lambda x, w: np.sum(tm.checkpoint(lambda y: f(f(y, w)[:2], w))(x))),
}


@pytest.mark.sampled(slow=3)
@each_policy
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_checkpoint_changes_no_value_or_derivative(transform: Any, policy: Any) -> None:
    x, w = numbers(2), numbers(2, 3)
    expected = transform(layer)(x, w)
    checkpointed: Callable[..., Any] = transform(tm.checkpoint(layer, policy=policy))
    for function in (checkpointed, tm.compile(checkpointed)):
        got = function(x, w)
        for ours, theirs in zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True):
            same(ours, theirs)


@each_policy
def test_checkpoint_keeps_float32(policy: Any) -> None:
    x, w = numbers(2, dtype=np.float32), numbers(2, 3, dtype=np.float32)
    expected = TRANSFORMS["grad"](layer)(x, w)
    gradient = TRANSFORMS["grad"](tm.checkpoint(layer, policy=policy))
    for function in (gradient, tm.compile(gradient)):
        for ours, theirs in zip(function(x, w), expected, strict=True):
            same(ours, theirs, 1e-6)


def test_checkpoint_takes_and_gives_trees_keywords_and_settings() -> None:
    @tm.checkpoint
    def f(parts: Any, *, scale: float, name: str) -> Any:
        return {name: parts["a"] * parts["b"] * scale, "none": None, "size": 3}

    parts = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    gradient = tm.grad(lambda p: np.sum(f(p, scale=2.0, name="product")["product"]))(parts)
    same(gradient["a"], 2 * parts["b"])
    assert f(parts, scale=1.0, name="x")["size"] == 3


def test_checkpoint_passes_on_what_is_not_a_float() -> None:
    @tm.checkpoint
    def f(x: Any, n: Any) -> Any:
        return x**2 * n, n + 1

    (value, count), tangent = tm.jvp(lambda x: f(x, np.array([1, 2])), (np.ones(2),), (np.ones(2),))
    same(value, np.array([1.0, 2.0]))
    same(count, np.array([2, 3]))
    same(tangent[0], np.array([2.0, 4.0]))
    same(tangent[1], np.array([0, 0]))


def test_checkpoint_lets_known_values_steer_python() -> None:
    @tm.checkpoint
    def f(x: Any) -> Any:
        return x**2 if x > 0 else -x

    assert tm.grad(f)(3.0) == 6
    assert tm.grad(f)(-3.0) == -1
    compiled = tm.compile(tm.grad(f))
    assert (compiled(3.0), compiled(-3.0)) == (6.0, -1.0)


def test_checkpoint_writes_to_its_arguments_and_to_arrays_from_outside() -> None:
    total = np.zeros(2)

    @tm.checkpoint
    def f(x: Any) -> Any:
        x[0] = x[1] ** 2
        np.asarray(total)[...] += x
        return np.sin(x)

    def loss(x: Any) -> Any:
        y = x * 1
        out = f(y)
        return np.sum(out + y)

    x = np.array([1.0, 2.0])
    expected = np.array([0.0, (np.cos(4) + 1) * 4 + np.cos(2) + 1])
    same(tm.grad(loss)(x), expected)
    same(total, np.array([4.0, 2.0]))
    same(tm.compile(tm.grad(loss))(x), expected)
    same(total, np.array([8.0, 4.0]))


def test_checkpoint_differentiates_what_the_function_closes_over() -> None:
    def loss(w: Any) -> Any:
        return np.sum(tm.checkpoint(lambda x: np.sin(x * w))(np.arange(3.0)))

    same(tm.grad(loss)(2.0), np.sum(np.arange(3) * np.cos(2 * np.arange(3.0))))
    same(tm.vmap(tm.grad(loss))(np.array([2.0, 2.0]))[1], tm.grad(loss)(2.0))


# ---- what is computed again, and what is kept --------------------------------------------------------------


def backward_ops(policy: Any) -> list[str]:
    """What runs in the backward pass of two layers."""
    f = tm.checkpoint(layer, policy=policy)

    def loss(x: Any, w: Any) -> Any:
        return np.sum(f(f(x, w), w))

    graph = tm.compile(tm.grad(loss, 1)).lower(numbers(3), numbers(3, 3)).graph
    nested = called([call for call in graph.calls if call.op == "checkpoint"])
    return [op for inner in nested if inner.name.endswith("transposed") for op in inner_ops(inner)]


def test_checkpoint_computes_again_what_its_policy_does_not_save() -> None:
    nothing = backward_ops(tm.checkpoint_policies.nothing)
    assert nothing.count("tanh") == 2
    assert nothing.count("dot") == 5  # each layer again, and the transposed products that are needed
    matmuls = backward_ops(tm.checkpoint_policies.matmuls)
    assert matmuls.count("tanh") == 2
    assert matmuls.count("dot") == 3
    named = backward_ops(tm.checkpoint_policies.named("activation"))
    assert named.count("tanh") == 0
    assert named.count("dot") == 3
    assert backward_ops(tm.checkpoint_policies.named("another")).count("tanh") == 2
    assert backward_ops(tm.checkpoint_policies.everything) == []


DEPTH, WIDTH, LENGTH = 8, 8, 1 << 14


def peak(policy: Any) -> float:
    """The memory of one call of the compiled gradient of a deep chain, in arrays of its input's size."""

    def block(x: Any, w: Any) -> Any:
        for _ in range(WIDTH):
            x = np.sin(tm.checkpoint_name(w @ x, "product"))
        return x

    def loss(x: Any, w: Any) -> Any:
        for _ in range(DEPTH):
            x = block(x, w) if policy is None else tm.checkpoint(block, policy=policy)(x, w)
        return np.sum(x)

    x, w = numbers(4, LENGTH), numbers(4, 4)
    gradient = tm.compile(tm.grad(loss))
    tracemalloc.start()
    try:
        gradient(x, w)  # the workspace that it keeps counts, too
        tracemalloc.reset_peak()
        gradient(x, w)
        return tracemalloc.get_traced_memory()[1] / int(x.nbytes)
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_checkpoint_bounds_the_peak_memory_of_a_deep_chain() -> None:
    """64 steps in 8 blocks keep 8 inputs and the steps of one block, not all 64."""
    plain = peak(None)
    assert plain > DEPTH * WIDTH
    assert peak(tm.checkpoint_policies.nothing) < 2 * (DEPTH + WIDTH) + 4
    assert peak(tm.checkpoint_policies.everything) > DEPTH * WIDTH
    assert DEPTH * WIDTH < peak(tm.checkpoint_policies.matmuls) < plain + WIDTH + 4
    assert DEPTH * WIDTH < peak(tm.checkpoint_policies.named("product")) < plain + WIDTH + 4


def test_checkpoint_keeps_only_its_arguments_for_the_backward_pass() -> None:
    """Interpreted: what a pullback holds on to."""

    def chain(x: Any) -> Any:
        for _ in range(16):
            x = np.sin(x)
        return x

    def held(f: Any) -> float:
        x = numbers(LENGTH)
        tracemalloc.start()
        try:
            pullback = tm.vjp(f, x)[1]
            return (tracemalloc.get_traced_memory()[0], pullback)[0] / int(x.nbytes)
        finally:
            tracemalloc.stop()

    assert held(chain) > 16
    assert held(tm.checkpoint(chain)) < 4


# ---- text, misuse ------------------------------------------------------------------------------------------


def test_checkpoint_prints_reads_back_and_is_cached() -> None:
    policy = tm.checkpoint_policies.Policy(ops=("dot",), names=("activation",))
    gradient = tm.compile(TRANSFORMS["grad"](tm.checkpoint(layer, policy=policy)))
    graph = gradient.lower(numbers(2), numbers(2, 3)).graph
    assert 'save_ops=("dot",), save_names=("activation",)' in str(graph)
    assert tm.parse(str(graph)) == graph


def test_checkpoint_refuses_what_is_not_a_policy_or_name() -> None:
    with pytest.raises(TransformTypeError, match=r"checkpoint\(layer\): policy must be one of"):
        tm.checkpoint(layer, policy="matmuls")  # type: ignore[arg-type]
    with pytest.raises(TransformTypeError, match="needs a function"):
        tm.checkpoint(3)  # type: ignore[arg-type]
    with pytest.raises(TransformTypeError, match="must be a string"):
        tm.checkpoint_name(1.0, 3)  # type: ignore[arg-type]
    with pytest.raises(TransformTypeError, match="must be a string"):
        tm.checkpoint_policies.named("a", 3)  # type: ignore[arg-type]
