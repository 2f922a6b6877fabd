"""`custom_rule`: which rule is used when, what is derived from it, and what rules may not do."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from support.recording import ops
from tracemill.compiler.errors import (
    CustomRuleError,
    NotDifferentiableError,
    RuleCheckError,
    TransformArgumentError,
    TransformTypeError,
)
from tracemill.runtime.programs.built import statistics

# A function f(x, y) = sin(x) * y with rules for three times its derivative, so that one sees that they are used.


def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y


def with_jvp() -> Any:
    f = tm.custom_rule(wave)

    @f.jvp
    def _(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), 3 * (np.cos(x) * y * dx + np.sin(x) * dy)

    return f


def with_vjp() -> Any:
    def forward(x: Any, y: Any) -> Any:
        return np.sin(x) * y, {
            "slope": np.cos(x) * y,
            "sine": np.sin(x),
            "none": None,
            "ndims": (np.ndim(x), np.ndim(y)),
        }

    def backward(residuals: Any, ct: Any) -> Any:
        assert residuals["none"] is None
        pulled = (3 * residuals["slope"] * ct, 3 * residuals["sine"] * ct)
        return tuple(x if ndim else np.sum(x) for x, ndim in zip(pulled, residuals["ndims"], strict=True))

    return tm.custom_rule(wave).vjp(forward, backward)


def with_both() -> Any:
    return with_vjp().jvp(lambda p, t: (wave(*p), 3 * (np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1])))


def stated(x: Any, y: Any) -> Any:
    """The same derivatives without a rule."""
    f = np.sin(x) * y
    return tm.stop_gradient(f - 3 * f) + 3 * f


MAKERS: dict[str, Callable[[], Any]] = {"jvp": with_jvp, "vjp": with_vjp, "both": with_both}
each_rule = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X, Y = np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.5, -2.0])

TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "grad": lambda f: tm.grad(lambda x, y: np.sum(f(x, y)), (0, 1)),
    "grad of y": lambda f: tm.grad(lambda x, y: np.sum(f(x, y) * y), 1),
    "vjp": lambda f: lambda x, y: tm.vjp(f, x, y)[1](x),
    "jvp": lambda f: lambda x, y: tm.jvp(f, (x, y), (y, x)),
    "linearize": lambda f: lambda x, y: tm.linearize(f, x, y)[1](y, x),
    "jacfwd": tm.jacfwd,
    "jacrev": lambda f: tm.jacrev(f, argnums=1),
    "vmap": tm.vmap,
    "vmap, one mapped": lambda f: tm.vmap(f, (0, None)),
    "vmap of grad": lambda f: tm.vmap(tm.grad(f, (0, 1))),
    "vmap of jvp": lambda f: tm.vmap(lambda a, b: tm.jvp(f, (a, b), (b, a))),
    "vmap of jvp, one mapped": lambda f: (
        lambda x, y: tm.vmap(lambda a: tm.jvp(lambda b: f(a, b), (y,), (x,)))(x)
    ),
    "grad of vmap": lambda f: tm.grad(lambda x, y: np.sum(tm.vmap(f)(x, y) ** 2), (0, 1)),
    "grad of vmap, one mapped": lambda f: tm.grad(
        lambda x, y: np.sum(tm.vmap(f, (None, 0))(x, y) ** 2), (0, 1)
    ),
    "grad of vmap of vmap": lambda f: tm.grad(
        lambda x, y: np.sum(tm.vmap(tm.vmap(f, (None, 0)), (0, None))(x, y) ** 2), (0, 1)
    ),
    "jvp of vmap": lambda f: lambda x, y: tm.jvp(tm.vmap(f, (None, 0)), (x, y), (y, x)),
    "jacfwd of vmap": lambda f: tm.jacfwd(tm.vmap(f)),
    "checkpoint": lambda f: tm.grad(lambda x, y: np.sum(tm.checkpoint(lambda a: f(f(a, y), y))(x))),
    "inside compile": lambda f: tm.grad(lambda x, y: np.sum(tm.compile(lambda a: f(a, y))(x))),
}


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


@tm.custom_rule(nondiff=("matrix",))
def solve(matrix: Any, b: Any) -> Any:
    """By Jacobi's method: nothing that one would differentiate step by step."""
    diagonal = np.diagonal(matrix)
    x = b * 0
    for _ in range(60):
        x = (b - matrix @ x + diagonal * x) / diagonal
    return x


@solve.transpose
def _(ct: Any, matrix: Any) -> Any:
    return (solve(matrix.T, ct),)


MATRIX = np.array([[4.0, 1.0, 0.0], [2.0, 5.0, 1.0], [0.0, 0.5, 3.0]])


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


# ---- misuse ----------------------------------------------------------------------------------------------------


def ruled(**rules: Any) -> Any:
    f = tm.custom_rule(wave)
    for kind, rule in rules.items():
        getattr(f, kind)(*rule) if kind == "vjp" else getattr(f, kind)(rule)
    return f


def good(x: Any, y: Any) -> Any:
    return wave(x, y), None


OUTSIDE = np.zeros(3)


def writes(primals: Any, tangents: Any) -> Any:
    np.asarray(OUTSIDE)[0] = 1
    return wave(*primals), tangents[0]


BROKEN: dict[str, tuple[Any, str, str]] = {
    "jvp, no pair": (
        ruled(jvp=lambda p, t: t[0]),
        "grad",
        r"the jvp rule of wave must return a pair \(output, tangent\)",
    ),
    "jvp, tree": (
        ruled(jvp=lambda p, t: ((t[0], t[0]), t[0])),
        "grad",
        r"an output of the structure \*, not \(\*, \*\)",
    ),
    "jvp, shape": (
        ruled(jvp=lambda p, t: (wave(*p), np.sum(t[0]))),
        "grad",
        r"returns tangent of type f64\[\], where f64\[3\] is",
    ),
    "jvp, dtype": (
        ruled(jvp=lambda p, t: (wave(*p), t[0].astype(np.float32))),
        "grad",
        r"tangent of type f32\[3\], where f64",
    ),
    "jvp, output": (
        ruled(jvp=lambda p, t: (p[0][:2], t[0])),
        "jvp",
        r"returns output of type f64\[2\], where f64\[3\] is",
    ),
    "jvp, text": (ruled(jvp=lambda p, t: (wave(*p), "dx")), "jvp", "returns tangent = 'dx', where"),
    "jvp, tangents' tree": (
        ruled(jvp=lambda p, t: (wave(*p), t)),
        "jvp",
        r"a tangent of the structure \*, not a tuple of 2",
    ),
    "jvp, square": (
        ruled(jvp=lambda p, t: (wave(*p), t[0] * t[0])),
        "grad",
        r"not linear in the tangents: they go through multiply at .*py",
    ),
    "jvp, plus one": (
        ruled(jvp=lambda p, t: (wave(*p), t[0] + 1.0)),
        "jvp",
        r"not linear in the tangents: they go through add at .*py",
    ),
    "jvp, tangent forgotten": (
        ruled(jvp=lambda p, t: (wave(*p), np.cos(p[0]))),
        "grad",
        "a tangent that does not depend on the tangents: return None where it is 0",
    ),
    "jvp, one": (ruled(jvp=lambda p, t: (wave(*p), np.ones(3))), "jvp", "does not depend on the tangents"),
    "jvp, sign": (ruled(jvp=lambda p, t: (wave(*p), np.sign(t[0]))), "jvp", "they go through sign at"),
    "jvp, tangent in output": (
        ruled(jvp=lambda p, t: (t[0], t[0])),
        "jvp",
        "an output that depends on the tangents",
    ),
    "vjp, no pair": (
        ruled(vjp=(wave, lambda r, ct: (ct, ct))),
        "grad",
        r"the forward rule of wave must return a pair",
    ),
    "vjp, number": (
        ruled(vjp=(good, lambda r, ct: (ct,))),
        "grad",
        "the backward rule of wave must return a tuple with a cotangent for each of 2",
    ),
    "vjp, bare": (ruled(vjp=(good, lambda r, ct: ct)), "grad", "for each of 2 arguments, not ndarray"),
    "vjp, shape": (
        ruled(vjp=(good, lambda r, ct: (ct, np.sum(ct)))),
        "grad",
        r"returns cotangents\[1\] of type f64\[\], where",
    ),
    "batch, shape": (
        ruled(batch=lambda size, mapped, x, y: wave(x, y)[0]),
        "vmap",
        r"the batch rule of wave returns output of type f64\[\]",
    ),
    "transpose, number": (
        ruled(transpose=lambda ct: ()),
        "grad",
        "the transpose rule of wave must return a tuple",
    ),
    "rule writes outside": (ruled(jvp=writes), "jvp", "writes to an array from"),
}


@pytest.mark.parametrize(("function", "transform", "message"), BROKEN.values(), ids=BROKEN)
def test_a_rule_that_returns_something_else_is_named(function: Any, transform: str, message: str) -> None:
    with pytest.raises(CustomRuleError, match=message) as caught:
        TRANSFORMS[transform](function)(X, Y)
    assert "test_custom_rule.py" in str(caught.value)


def test_a_function_with_rules_must_not_write_to_its_arguments() -> None:
    @tm.custom_rule
    def f(x: Any) -> Any:
        x[0] = 1
        return x

    f.jvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(CustomRuleError, match=r"custom_rule\(f\): the function writes to its arguments"):
        tm.grad(lambda x: np.sum(f(x * 1)))(X)


def test_a_rule_cannot_give_derivatives_of_what_the_function_closes_over() -> None:
    def loss(w: Any) -> Any:
        f = tm.custom_rule(lambda x: x * w).jvp(lambda p, t: (p[0], t[0]))
        return f(2.0) if w is None else f(w * 1)

    with pytest.raises(NotDifferentiableError, match="closes over an array whose derivative is wanted"):
        tm.grad(loss)(3.0)


def test_misuse_of_custom_rule_is_named() -> None:
    with pytest.raises(
        TransformArgumentError, match=r"custom_rule\(wave\): nondiff names 'axis', which is no"
    ):
        tm.custom_rule(wave, nondiff="axis")
    wrong: Any
    for wrong in (3, (wave,)):
        with pytest.raises(TransformTypeError, match="nondiff must be names of parameters, not"):
            tm.custom_rule(wave, nondiff=wrong)
    with pytest.raises(TypeError, match="needs a function"):
        tm.custom_rule(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"custom_rule\(wave\).jvp needs a function"):
        tm.custom_rule(wave).jvp(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"custom_rule\(wave\).vjp needs a function"):
        tm.custom_rule(wave).vjp(wave, None)  # type: ignore[arg-type]


# ---- check_rule ------------------------------------------------------------------------------------------------


def right(**parts: Any) -> Any:
    """Right rules of sin(x) * y, but for the parts given."""
    rules: dict[str, Any] = {
        "jvp": lambda p, t: (wave(*p), np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1]),
        "forward": lambda x, y: (wave(x, y), (x, y)),
        "backward": lambda r, ct: (np.cos(r[0]) * r[1] * ct, np.sin(r[0]) * ct),
        "batch": lambda size, mapped, x, y: wave(x, y),
        **parts,
    }
    f = tm.custom_rule(wave).jvp(rules["jvp"]).batch(rules["batch"])
    return f.vjp(rules["forward"], rules["backward"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_check_rule_accepts_right_rules(dtype: Any) -> None:
    def backward(residuals: Any, ct: Any) -> Any:
        x, y = residuals
        return np.conj(np.cos(x) * y) * ct, np.conj(np.sin(x)) * ct

    tm.check_rule(right(backward=backward), X.astype(dtype), Y.astype(dtype))
    tm.check_rule(
        tm.custom_rule(wave).vjp(lambda x, y: (wave(x, y), (x, y)), backward),
        X.astype(dtype),
        Y.astype(dtype),
    )


def test_check_rule_accepts_functions_without_rules_and_numbers() -> None:
    tm.check_rule(lambda b: {"x": solve(MATRIX, b["b"]), "n": 3}, {"b": X, "name": "b"})
    tm.check_rule(wave, 0.5, 2.0)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "jvp": (
        {"jvp": lambda p, t: (wave(*p), t[0] + t[1])},
        r"derivative of output by the rule is\n.*\nand by diff",
    ),
    "vjp": (
        {"backward": lambda r, ct: (ct, ct)},
        r"for output by reverse mode is\n.*\nand ⟨ct, J t⟩ by forward",
    ),
    "other values": (
        {"forward": lambda x, y: (2 * wave(x, y), (x, y))},
        r"output in forward mode is\n.*\nand of the function",
    ),
    "value": ({"forward": lambda x, y: (wave(x, y).astype(np.float32), None)}, "returns output of type f32"),
    "batch": (
        {"batch": lambda size, mapped, x, y: x + y},
        r"output of a batch is\n[^§]*\nand by the loop",
    ),
}


@pytest.mark.parametrize(("parts", "message"), WRONG.values(), ids=WRONG)
def test_check_rule_names_what_fails_and_shows_both_sides(parts: Any, message: str) -> None:
    with pytest.raises((RuleCheckError, CustomRuleError), match=message):
        tm.check_rule(right(**parts), X, Y)


def test_check_rule_compares_reverse_mode_with_differences_where_there_is_no_other() -> None:
    f = tm.custom_rule(lambda x: x * 2)
    f.vjp(lambda x: (x * 2, None), lambda r, ct: (2 * abs(ct) * np.sign(ct),))
    tm.check_rule(f, X)
    f.vjp(lambda x: (x * 3, None), lambda r, ct: (2 * abs(ct) * np.sign(ct),))
    with pytest.raises(RuleCheckError, match=r"output in reverse mode is\n.*\nand of the function"):
        tm.check_rule(f, X)
    f.vjp(lambda x: (x * 2, None), lambda r, ct: (abs(ct),))
    with pytest.raises(RuleCheckError, match=r"reverse mode is\n.*\nand ⟨ct, J t⟩ by differences"):
        tm.check_rule(f, X)


def test_check_rule_needs_a_floating_argument() -> None:
    with pytest.raises(TransformTypeError, match=r"check_rule\(wave\): no argument is a floating"):
        tm.check_rule(wave, 1, np.array([1, 2]))
