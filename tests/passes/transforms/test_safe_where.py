"""What a `where` does not choose has no derivative, whatever its slope is: forward, in reverse, nested."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from samples.grouping import of_each_sample
from samples.table import SAMPLES
from support.recording import ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.errors import MaskedNaNWarning
from tracemill.compiler.interpreter import evaluate
from tracemill.passes.transforms.linearize import linearize
from tracemill.passes.transforms.safe_where import safe_where


def root(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(x), 0.0)


# ---- the pass ----------------------------------------------------------------------------------------------


def test_the_mask_moves_to_the_coefficient() -> None:
    graph = recorded(lambda dx, r, c: fn.where(c, fn.multiply(dx, r), 0), "f64[3]", "f64[3]", "bool[3]")
    safe = safe_where(graph, linear=[True, False, False])
    assert ops(safe) == ["where", "multiply", "where"]
    dx, r, c = np.ones(3), np.array([np.inf, 2.0, np.nan]), np.array([False, True, False])
    np.testing.assert_array_equal(evaluate(safe, dx, r, c)[0], [0.0, 2.0, 0.0])


def test_a_value_that_is_also_used_elsewhere_keeps_its_coefficient() -> None:
    def both(dx: Any, r: Any, c: Any) -> Any:
        product = fn.multiply(dx, r)
        return fn.where(c, product, 0), product

    graph = recorded(both, "f64[3]", "f64[3]", "bool[3]")
    assert ops(safe_where(graph, linear=[True, False, False])) == ops(graph)


def test_two_choices_mask_where_neither_holds() -> None:
    def twice(dx: Any, r: Any, c: Any) -> Any:
        product = fn.divide(dx, r)
        return fn.where(c, product, 0), fn.where(c, 0, fn.negative(product))

    graph = recorded(twice, "f64[2]", "f64[2]", "bool[2]")
    first, second = evaluate(
        safe_where(graph, linear=[True, False, False]),
        np.ones(2),
        np.array([4.0, 2.0]),
        np.array([True, False]),
    )
    np.testing.assert_array_equal(first, [0.25, 0.0])
    np.testing.assert_array_equal(second, [0.0, -0.5])


def test_a_mask_for_a_part_moves_to_where_the_part_is() -> None:
    graph = recorded(
        lambda dx, r, c: fn.where(c, fn.slice_(fn.multiply(dx, r), (1,), (3,)), 0),
        "f64[4]",
        "f64[4]",
        "bool[2]",
    )
    dx, r, c = np.ones(4), np.array([np.inf, np.inf, 2.0, np.nan]), np.array([False, True])
    assert ops(safe_where(graph, linear=[True, False, False])) == [
        "pad",
        "where",
        "multiply",
        "slice",
        "where",
    ]
    np.testing.assert_array_equal(
        evaluate(safe_where(graph, linear=[True, False, False]), dx, r, c)[0], [0, 2]
    )


def test_a_graph_without_a_choice_stays_the_same_object() -> None:
    graph = recorded(lambda dx, r: fn.multiply(dx, r), "f64[3]", "f64[3]")  # noqa: PLW0108
    assert safe_where(graph, linear=[True, False]) is graph


@pytest.mark.sampled("checkpoint", "polar", every=8)
@of_each_sample(SAMPLES.where(lambda sample: sample.smooth and any(sample.differentiated))[::9])
def test_no_derivative_changes_where_all_is_finite(sample: Any) -> None:
    graph, arrays = sample.graph(), sample.arrays()
    forward, linear = linearize(graph, wrt=sample.differentiated)
    residuals = evaluate(forward, *arrays)[len(graph.outputs) :]
    tangents = [x for x, mark in zip(sample.arrays(1), sample.differentiated, strict=True) if mark]
    marks = [place >= len(residuals) for place in range(len(linear.inputs))]
    got = evaluate(safe_where(linear, linear=marks), *residuals, *tangents)
    for ours, theirs in zip(got, evaluate(linear, *residuals, *tangents), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# ---- the transforms ----------------------------------------------------------------------------------------

X = np.array([0.0, 4.0])
SLOPE = np.array([0.0, 0.25])
SAFE: dict[str, tuple[Callable[..., Any], Any]] = {
    "grad": (tm.grad(lambda x: np.sum(root(x)), safe_where=True), SLOPE),
    "value_and_grad": (tm.value_and_grad(lambda x: np.sum(root(x)), safe_where=True), (2.0, SLOPE)),
    "grad_and_value": (tm.grad_and_value(lambda x: np.sum(root(x)), safe_where=True), (SLOPE, 2.0)),
    "vjp": (lambda x: tm.vjp(root, x, safe_where=True)[1](np.ones(2)), (SLOPE,)),
    "vjp, batched": (
        lambda x: tm.vjp(root, x, safe_where=True)[1](np.ones((3, 2)), batched=True), (np.stack([SLOPE] * 3),)),
    "jvp": (lambda x: tm.jvp(root, (x,), (np.ones(2),), safe_where=True)[1], SLOPE),
    "linearize": (lambda x: tm.linearize(root, x, safe_where=True)[1](np.ones(2)), SLOPE),
    "jacrev": (tm.jacrev(root, safe_where=True), np.diag(SLOPE)),
    "jacfwd": (tm.jacfwd(root, safe_where=True), np.diag(SLOPE)),
    "jacobian": (tm.jacobian(root, safe_where=True), np.diag(SLOPE)),
    "hessian": (tm.hessian(lambda x: np.sum(root(x)), safe_where=True), np.diag([0.0, -1 / 32])),
    "grad of grad": (
        tm.grad(lambda x: np.sum(tm.grad(lambda x: np.sum(root(x)), safe_where=True)(x)), safe_where=True),
        np.array([0.0, -1 / 32])),
    "vmap of grad": (tm.vmap(tm.grad(root, safe_where=True)), SLOPE),
    "grad of vmap": (tm.grad(lambda x: np.sum(tm.vmap(root)(x)), safe_where=True), SLOPE),
}  # fmt: skip


def assert_equal(got: Any, expected: Any) -> None:
    for ours, theirs in zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("function", "expected"), SAFE.values(), ids=SAFE)
def test_special_point_safe_where_gives_zero_under_every_transform(function: Any, expected: Any) -> None:
    assert_equal(function(X), expected)
    compiled: Any = tm.compile(function)
    assert_equal(compiled(X), expected)


def norm(x: Any) -> Any:
    square = np.sum(x**2, axis=-1)
    return np.where(square > 0, np.sqrt(square), 0.0)


def nested_choice(x: Any) -> Any:
    inner = np.where(x > -1, np.log(x + 1), 0.0)
    return np.where(x > 0, inner * np.sqrt(x), np.where(x < -2, x / (x + 1), 0.0))


def scanned(x: Any) -> Any:
    return tm.scan(lambda total, y: (total + root(y), None), x[0] * 0, x)[0]


HIDING: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "norm": (lambda x: np.sum(norm(x)), np.array([[0.0, 0.0], [3.0, 4.0]]), [[0.0, 0.0], [0.6, 0.8]]),
    "power": (lambda x: np.sum(np.where(x > 0, x**0.5, x)), X, [1.0, 0.25]),
    "logarithm": (lambda x: np.sum(np.where(x > 0, x * np.log(x), 0)), np.array([0.0, 1.0]), [0.0, 1.0]),
    "quotient": (lambda x: np.sum(np.where(x != 0, 1 / x, 0)), np.array([0.0, 2.0]), [0.0, -0.25]),
    "chain": (lambda x: np.sum(np.where(x > 0, np.exp(np.sqrt(x) * 2) - 1, 0)), X, [0.0, np.exp(4) / 2]),
    "other branch": (lambda x: np.sum(np.where(x <= 0, -x, np.sqrt(x))), X, [-1.0, 0.25]),
    "broadcast": (lambda x: np.sum(np.where(x[:, None] > 0, np.sqrt(x)[:, None] * np.ones(3), 0)), X, [0, 0.75]),
    "transposed": (lambda x: np.sum(np.where(x.T > 0, np.sqrt(x).T, 0)), X.reshape(1, 2), [[0.0, 0.25]]),
    "assigned": (lambda x: np.sum(np.where(x > 0, -np.sqrt(x.reshape(2, 1)).ravel(), 0)), X, [0.0, -0.25]),
    "nested": (lambda x: np.sum(nested_choice(x)), np.array([-1.0, 0.0, -3.0]), [0.0, 0.0, 0.25]),
    "scan": (scanned, X, SLOPE),
    "cond": (lambda x: tm.cond(x[1] > 0, lambda x: np.sum(root(x)), np.sum, x), X, SLOPE),
    "checkpoint": (lambda x: np.sum(tm.checkpoint(root)(x)), X, SLOPE),
}  # fmt: skip


@pytest.mark.parametrize(("function", "x", "expected"), HIDING.values(), ids=HIDING)
def test_safe_where_reaches_through_what_is_elementwise(function: Any, x: Any, expected: Any) -> None:
    np.testing.assert_allclose(tm.grad(function, safe_where=True)(x), expected, 1e-12)
    np.testing.assert_allclose(tm.jacfwd(function, safe_where=True)(x), expected, 1e-12)
    compiled: Any = tm.compile(tm.grad(function, safe_where=True))
    np.testing.assert_allclose(compiled(x), expected, 1e-12)


def test_safe_where_keeps_float32() -> None:
    gradient = tm.grad(lambda x: np.sum(root(x)), safe_where=True)(X.astype(np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, SLOPE)


def test_safe_where_keeps_a_nan_that_is_chosen() -> None:
    assert np.isnan(tm.grad(lambda x: np.where(x < 0, np.sqrt(x), x), safe_where=True)(-1.0))


# ---- the warning ---------------------------------------------------------------------------------------------

UNSAFE: dict[str, Callable[..., Any]] = {
    "grad": tm.grad(lambda x: np.sum(root(x))),
    "vjp": lambda x: tm.vjp(root, x)[1](np.ones(2)),
    "vjp, batched": lambda x: tm.vjp(root, x)[1](np.ones((3, 2)), batched=True),
    "jacrev": tm.jacrev(root),
    "checkpoint": tm.grad(lambda x: np.sum(tm.checkpoint(root)(x))),
    "scan": tm.grad(scanned),
}


@pytest.mark.parametrize("function", UNSAFE.values(), ids=UNSAFE)
def test_special_point_without_safe_where_is_nan_with_a_warning_that_names_the_line(function: Any) -> None:
    with pytest.warns(
        MaskedNaNWarning, match=r"at test_safe_where\.py:\d+  .*np\.where.*Pass safe_where=True"
    ) as caught:
        result = function(X)
    assert any(np.isnan(leaf).any() for leaf in optree.tree_leaves(result))
    assert caught[0].filename == __file__


def test_a_nan_that_safe_where_would_not_mend_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(tm.grad(lambda x: np.where(x < 0, np.sqrt(x), x))(-1.0))
        assert np.isnan(tm.grad(lambda x: np.sqrt(x) * np.where(x > 0, x, 0.0))(-1.0))
        compiled: Any = tm.compile(tm.grad(root))
        assert np.isnan(compiled(0.0))


def test_the_look_for_a_cause_prints_and_writes_nothing_twice(capsys: Any) -> None:
    total = np.zeros(2)

    def f(x: Any) -> Any:
        tm.debug_print("once")
        np.asarray(total)[...] += x
        return np.sum(root(x))

    with pytest.warns(MaskedNaNWarning):
        tm.grad(f)(X)
    assert capsys.readouterr().out == "once\n"
    np.testing.assert_array_equal(total, X)


def test_forward_mode_chooses_by_itself() -> None:
    np.testing.assert_array_equal(tm.jvp(root, (X,), (np.ones(2),))[1], SLOPE)
    np.testing.assert_array_equal(tm.jacfwd(root)(X), np.diag(SLOPE))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(1 / x, where=x > 0),
        lambda x: np.mean(1 / x, where=x > 0),
        lambda x: np.add.reduce(1 / x, where=x > 0),
        lambda x: (1 / x).sum(where=x > 0),
        lambda x: np.max(1 / x, where=x > 0, initial=0.0),
    ],
)
def test_masks_of_reductions_are_choices_too(function: Any) -> None:
    x = np.array([0.0, 2.0, 0.0, 4.0])
    with np.errstate(divide="ignore"):
        with pytest.warns(MaskedNaNWarning, match=r"a mask where=, does not choose, at test_safe_where\.py"):
            assert np.isnan(tm.grad(function)(x)[0])
        safe = tm.grad(function, safe_where=True)(x)
        np.testing.assert_allclose(safe, tm.jacfwd(function)(x))
