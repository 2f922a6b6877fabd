"""`custom_rule`: which rule is used when, and what is derived from it."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from support.custom_rules import MATRIX, TRANSFORMS, X, Y, each_rule, solve, stated, wave, with_jvp, with_vjp
from support.recording import ops
from tracemill.compiler.errors import (
    CustomRuleError,
    NotDifferentiableError,
)
from tracemill.runtime.programs.built import statistics


@pytest.mark.sampled(every=8)
@each_rule
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_rule_is_the_derivative_under_every_transform(transform: Any, make: Any) -> None:
    expected = transform(stated)(X, Y)
    ruled: Callable[..., Any] = transform(make())
    for function in (ruled, tm.compile(ruled)):
        got = function(X, Y)
        for ours, theirs in zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, 1e-12, 1e-12)


SECOND: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "hessian": lambda f: tm.hessian(lambda x, y: np.sum(f(x, y))),
    "grad of grad": lambda f: tm.grad(lambda x, y: np.sum(tm.grad(lambda a: np.sum(f(a, y)))(x) ** 2)),
    "jvp of grad": lambda f: lambda x, y: tm.jvp(tm.grad(lambda a: np.sum(f(a, y))), (x,), (y,)),
    "jvp of jvp": lambda f: (
        lambda x, y: tm.jvp(lambda a: tm.jvp(lambda b: f(b, y), (a,), (y,))[1], (x,), (y,))
    ),
    "grad of jvp": lambda f: tm.grad(lambda x, y: np.sum(tm.jvp(lambda b: f(b, y), (x,), (y,))[1])),
    "vmap of hessian": lambda f: tm.vmap(tm.hessian(f)),
    "jacfwd of jacfwd": lambda f: tm.jacfwd(tm.jacfwd(f)),
}


@pytest.mark.slow
@each_rule
@pytest.mark.parametrize("transform", SECOND.values(), ids=SECOND)
def test_a_second_derivative_is_that_of_the_rule(transform: Any, make: Any) -> None:
    """The rules are written with plain functions: their derivatives have the factor 3 once."""
    f = make()
    if f._rules.keys() == {
        "jvp"
    }:  # its primal output is the function itself, and its derivative is tripled again
        f = tm.custom_rule(wave).jvp(
            lambda p, t: (wave(*p), 3 * (np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1]))
        )
    expected = transform(lambda x, y: 3 * wave(x, y))(X, Y)
    ruled: Callable[..., Any] = transform(f)
    if transform in (SECOND["hessian"], SECOND["vmap of hessian"]):
        np.testing.assert_allclose(tm.compile(ruled)(X, Y), expected, 1e-12, 1e-12)
    for ours, theirs in zip(
        optree.tree_leaves(ruled(X, Y))[-1:], optree.tree_leaves(expected)[-1:], strict=True
    ):
        np.testing.assert_allclose(ours, theirs, 1e-12, 1e-12)


@each_rule
def test_rules_keep_float32(make: Any) -> None:
    x, y = X.astype(np.float32), Y.astype(np.float32)
    for transform in (TRANSFORMS["grad"], TRANSFORMS["jvp"], TRANSFORMS["jacfwd"]):
        ruled: Callable[..., Any] = transform(make())
        for function in (ruled, tm.compile(ruled)):
            got, expected = optree.tree_leaves(function(x, y)), optree.tree_leaves(transform(stated)(x, y))
            for ours, theirs in zip(got, expected, strict=True):
                assert ours.dtype == np.float32
                np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)


# ---- reverse mode alone ------------------------------------------------------------------------------------


@tm.custom_rule(nondiff="limit")
def clipped(x: Any, limit: float = 1.0) -> Any:
    """The identity, with a clipped gradient."""
    return x


clipped.vjp(lambda x, limit: (x, None), lambda residuals, ct, limit: (np.clip(ct, -limit, limit),))


def test_a_backward_rule_need_not_be_linear_in_reverse_mode() -> None:
    gradient = tm.grad(lambda x: np.sum(np.array([5.0, 0.5]) * clipped(x)))
    for function in (gradient, tm.compile(gradient)):
        np.testing.assert_array_equal(function(np.ones(2)), [1.0, 0.5])
    mapped = tm.vmap(tm.grad(lambda x, scale: scale * clipped(x, limit=2.0)), (None, 0))
    np.testing.assert_array_equal(mapped(1.0, np.array([1.0, 5.0])), [1.0, 2.0])


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: tm.jvp(f, (1.0,), (1.0,)),
        lambda f: tm.linearize(f, 1.0)[1](1.0),
        lambda f: tm.jacfwd(f)(1.0),
        lambda f: tm.compile(lambda x: tm.jvp(f, (x,), (x,)))(1.0),
        lambda f: tm.jvp(lambda x: tm.jvp(f, (x,), (x,))[1], (1.0,), (1.0,)),
    ],
)
def test_forward_mode_through_a_backward_rule_that_is_not_linear_is_named(transform: Any) -> None:
    with pytest.raises(
        NotDifferentiableError, match=r"clipped_backward.*, a backward rule, is not linear in its"
    ):
        transform(lambda x: clipped(x) * 2)


def test_complex_cotangents_of_a_backward_rule_point_uphill() -> None:
    f = tm.custom_rule(lambda z: z * (2 + 1j))
    f.vjp(lambda z: (z * (2 + 1j), None), lambda residuals, ct: (ct * (2 - 1j),))

    def loss(function: Any) -> Any:
        return lambda z: np.abs(function(z)) ** 2

    z = 1.0 + 2.0j
    np.testing.assert_allclose(tm.grad(loss(f))(z), tm.grad(loss(lambda z: z * (2 + 1j)))(z))
    np.testing.assert_allclose(tm.jvp(f, (z,), (1j,))[1], 1j * (2 + 1j))


# ---- batch and transpose -----------------------------------------------------------------------------------


def test_a_batch_rule_is_what_vmap_runs() -> None:
    seen: list[Any] = []
    f = tm.custom_rule(lambda x, y: {"sum": x + y["b"], "n": 3})

    @f.batch
    def _(size: int, mapped: Any, x: Any, y: Any) -> Any:
        seen.append((size, mapped))
        return {"sum": np.broadcast_to(x + y["b"], (size, *np.shape(x)[mapped[0] :])) * 10, "n": 3}

    x, b = np.ones((4, 2)), np.ones(2)
    out = tm.vmap(f, (0, None))(x, {"b": b, "name": "b"})
    np.testing.assert_array_equal(out["sum"], np.full((4, 2), 20.0))
    assert out["n"] == 3
    assert seen == [(4, (True, {"b": False, "name": False}))]
    np.testing.assert_array_equal(
        tm.vmap(tm.vmap(f, (0, None)), (0, None))(np.ones((3, 4, 2)), {"b": b})["sum"],
        np.full((3, 4, 2), 20.0),
    )
    compiled = tm.compile(tm.vmap(lambda x, y: f(x, {"b": y})["sum"]))
    np.testing.assert_array_equal(compiled(x, x), np.full((4, 2), 20.0))


def test_a_function_can_have_a_batch_rule_and_a_derivative() -> None:
    f = with_jvp().batch(lambda size, mapped, x, y: wave(x, y))
    for transform in (TRANSFORMS["grad of vmap"], TRANSFORMS["vmap of grad"], TRANSFORMS["vmap"]):
        got, expected = optree.tree_leaves(transform(f)(X, Y)), optree.tree_leaves(transform(stated)(X, Y))
        for ours, theirs in zip(got, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-12)
    only = tm.custom_rule(wave).batch(lambda size, mapped, x, y: wave(x, y))
    np.testing.assert_allclose(tm.grad(only)(0.5, 2.0), 2 * np.cos(0.5))


def test_a_transpose_rule_makes_a_function_linear() -> None:
    inverse = np.linalg.inv(MATRIX)
    np.testing.assert_allclose(tm.jacfwd(lambda b: solve(MATRIX, b))(X), inverse, 1e-10, 1e-12)
    np.testing.assert_allclose(tm.compile(tm.jacrev(lambda b: solve(MATRIX, b)))(X), inverse, 1e-10, 1e-12)
    np.testing.assert_allclose(
        tm.jvp(lambda b: solve(MATRIX, b) ** 2, (X,), (Y,))[1], 2 * (inverse @ X) * (inverse @ Y), 1e-10
    )
    gradients = tm.vmap(tm.grad(lambda b: np.sum(solve(MATRIX, b) ** 2)))(np.stack([X, Y]))
    np.testing.assert_allclose(gradients[1], 2 * inverse.T @ inverse @ Y, 1e-10)
    mapped = tm.grad(lambda b: np.sum(tm.vmap(solve, (0, None))(np.stack([MATRIX, 2 * MATRIX]), b)))
    np.testing.assert_allclose(mapped(X), 1.5 * inverse.T @ np.ones(3), 1e-10)
    np.testing.assert_allclose(
        tm.hessian(lambda b: np.sum(solve(MATRIX, b) ** 2))(X), 2 * inverse.T @ inverse, 1e-9
    )


def test_a_transpose_rule_serves_the_jvp_rule_of_another_function() -> None:
    f = tm.custom_rule(lambda b: solve(MATRIX, b) ** 2)
    f.jvp(lambda p, t: (f(*p), 2 * solve(MATRIX, p[0]) * solve(MATRIX, t[0])))
    inverse = np.linalg.inv(MATRIX)
    np.testing.assert_allclose(tm.grad(lambda b: np.sum(f(b)))(X), 2 * inverse.T @ inverse @ X, 1e-10)


# ---- arguments and results -----------------------------------------------------------------------------------


def test_rules_take_trees_integers_settings_and_none() -> None:
    @tm.custom_rule(nondiff=("axis", "mode"))
    def f(params: Any, index: Any, *rest: Any, axis: int, mode: str = "sum") -> Any:
        total = params["w"] * 2 + sum(rest)
        return (np.sum(total, axis), index + 1, mode)

    @f.jvp
    def _(primals: Any, tangents: Any, *, axis: int, mode: str) -> Any:
        params, index, rest = primals
        dparams, dindex, drest = tangents
        assert dindex is None
        assert (axis, mode) == (0, "mean")
        rate = np.sum(dparams["w"] * 20 + sum(drest), axis)
        return f(params, index, *rest, axis=axis, mode=mode), (rate, None, None)

    def loss(w: Any) -> Any:
        total, index, mode = f({"w": w, "b": None}, np.array([1, 2]), w, 1.0, axis=0, mode="mean")
        assert mode == "mean"
        return total * np.sum(index)

    np.testing.assert_array_equal(tm.grad(loss)(np.ones(2)), [105.0, 105.0])
    np.testing.assert_array_equal(tm.compile(tm.grad(loss))(np.ones(2)), [105.0, 105.0])


def test_no_derivative_flows_into_nondiff_arguments() -> None:
    assert tm.grad(lambda x: clipped(2.0, limit=x) * x)(3.0) == 2.0


def test_a_function_without_rules_and_one_outside_of_a_trace_are_themselves() -> None:
    bare = tm.custom_rule(wave)
    assert tm.grad(bare)(0.0, 2.0) == 2.0
    assert type(with_jvp()(0.5, 2.0)) is np.float64
    assert "custom_rule(wave) with backward, vjp" in repr(with_vjp())
    assert pickle.loads(pickle.dumps(clipped)) is clipped


def test_methods_may_have_rules() -> None:
    class Model:
        scale = 2.0

        @tm.custom_rule
        def f(self, x: Any) -> Any:
            return self.scale * x

    Model.f.jvp(lambda p, t: (p[0].f(p[1]), 7 * t[1]))
    assert tm.grad(Model().f)(1.0) == 7


def test_python_numbers_in_a_rule_take_the_dtype() -> None:
    f = tm.custom_rule(lambda x: x).jvp(lambda p, t: (p[0], 2.0 * t[0]))
    assert tm.grad(f)(np.float32(1)).dtype == np.float32
    constant = tm.custom_rule(lambda x: x).vjp(lambda x: (x, 3), lambda r, ct: (r,))
    np.testing.assert_array_equal(tm.grad(constant)(np.float32(1)), np.float32(3))


def scaled_sine() -> Any:
    """sin(x) scale with the jvp rule that one writes down for arrays."""

    @tm.custom_rule
    def scaled(x: Any, scale: Any) -> Any:
        return np.sin(x) * scale

    return scaled.jvp(
        lambda p, t: (scaled(*p), np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1]),
    )


@pytest.mark.parametrize("scale", [2.0, np.float64(2.0), np.float32(2.0), 2j, np.array(2.0)])
def test_numbers_that_are_passed_have_a_tangent_of_zero(scale: Any) -> None:
    scaled, x = scaled_sine(), np.array([0.3, -1.2, 0.8])
    np.testing.assert_allclose(tm.jvp(lambda x: scaled(x, scale), (x,), (x,))[1], np.cos(x) * x * scale)
    loss = lambda x: np.sum(np.abs(scaled(x, scale)) ** 2)  # noqa: E731
    np.testing.assert_allclose(tm.compile(tm.grad(loss))(x), 4 * np.sin(2 * x))
    np.testing.assert_allclose(tm.vmap(tm.hessian(loss))(x[:, None]), (8 * np.cos(2 * x))[:, None, None])


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_a_python_number_beside_an_array_of_float32_may_be_differentiated(kind: str) -> None:
    scaled, x = scaled_sine(), np.array([0.3, -1.2, 0.8], np.float32)
    if kind == "vjp":
        scaled = tm.custom_rule(lambda x, scale: np.sin(x) * scale).vjp(
            lambda x, scale: (np.sin(x) * scale, (x, scale)),
            lambda r, ct: (np.cos(r[0]) * r[1] * ct, np.sum(np.sin(r[0]) * ct)),
        )
    output, tangent = tm.jvp(scaled, (x, 2.0), (x, 1.0))
    assert output.dtype == tangent.dtype == np.float32
    np.testing.assert_allclose(tangent, np.cos(x) * x * 2 + np.sin(x), rtol=1e-6)
    for grad in (tm.grad, lambda f, argnums: tm.compile(tm.grad(f, argnums))):
        dx, dscale = grad(lambda x, scale: np.sum(scaled(x, scale)), (0, 1))(x, 2.0)
        assert dx.dtype == np.float32
        np.testing.assert_allclose(dscale, np.sum(np.sin(x)), rtol=1e-6)


def test_a_rule_that_closes_over_a_traced_array_is_named() -> None:
    def loss(x: Any, w: Any) -> Any:
        square = tm.custom_rule(lambda x: w * x**2)
        return square.jvp(lambda p, t: (square(*p), 2 * w * p[0] * t[0]))(x)

    with pytest.raises(CustomRuleError, match=r"uses a traced array from outside.*make it an argument"):
        tm.compile(tm.grad(loss))(1.0, 3.0)


def test_rules_are_not_run_when_nothing_needs_them() -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("not needed")

    f = tm.custom_rule(np.sin).jvp(never).vjp(never, never).batch(never).transpose(never)
    assert tm.compile(f)(0.0) == 0
    assert tm.grad(lambda x: f(np.array(1.0)) * x)(2.0) == np.sin(1.0)


def test_values_steer_the_function_and_its_rules() -> None:
    f = tm.custom_rule(lambda x: x if x > 0 else -x).jvp(lambda p, t: (abs(p[0]), t[0] * np.sign(p[0])))
    assert tm.grad(f)(-2.0) == -1
    g = tm.custom_rule(np.abs).jvp(lambda p, t: (np.abs(p[0]), t[0] if p[0] > 0 else -t[0]))
    assert [tm.grad(g)(x) for x in (-2.0, 3.0)] == [-1, 1]
    assert tm.vmap(tm.grad(g))(np.array([-2.0, 3.0])).tolist() == [-1, 1]


# ---- compiled --------------------------------------------------------------------------------------------------


def test_compiled_programs_with_rules_hold_no_rule_and_are_cached_on_disk() -> None:
    compiled: Any = tm.compile(with_jvp())
    lowered = compiled.lower(X, Y)
    assert ops(lowered.graph) == ["custom_rule"]
    assert set(ops(lowered.optimised)) == {"sin", "multiply"}

    def pushed(x: Any, y: Any) -> Any:
        return tm.jvp(with_vjp(), (x, y), (y, x))

    first = tm.compile(pushed)(X, Y)
    before = statistics.from_disk
    np.testing.assert_array_equal(tm.compile(pushed)(X, Y)[1], first[1])
    assert statistics.from_disk == before + 1
