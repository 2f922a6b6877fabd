"""Transforms of functions that use variables run these as they are, and record their results and derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optree import tree_leaves

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, ReleasedGraphError, UnusedInputError
from tracemill.runtime.eager.transform_log import is_seen, seen_transforms

X = np.array([0.5, -1.5, 2.0])
W = np.array([1.25, 0.5, -0.75])


def traced(call: Callable[[], Any]) -> Any:
    """The result of a call whose functions are traced: their derivatives are graphs."""
    with seen_transforms():
        return call()


def numbers(x: Any) -> Any:
    return x.detach() if isinstance(x, tm.autograd.Variable) else x


def agree(found: Any, wanted: Any) -> None:
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        assert isinstance(one, tm.autograd.Variable) == isinstance(other, tm.autograd.Variable)
        one, other = numbers(one), numbers(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def writes(x: Any, w: Any) -> Any:
    z = np.zeros(4)
    for i in range(3):
        z[i] = w[i] * x[i]
    z[1:] *= z[0]
    x[0] = z[3] + w[1]
    return np.sum(x * np.sin(z[:3]))


def several_outputs(x: Any, w: Any) -> Any:
    values, vectors = np.linalg.eigh(np.diag(x) + np.outer(w, w) + np.diag([3.0, 2.0, 1.0]))
    return np.sum(values**2) * np.sum(np.abs(vectors[0]))


def loops(x: Any, w: Any) -> Any:
    found, _ = tm.scan(lambda z, _: (np.sin(z) * w * x, None), x, length=3)
    return np.sum(found)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, w: np.sum(np.sin(x) ** 2 * w**3),
    "parts": lambda x, w: x[0] * w[1] + np.sum(x[[2, 2, 0]] ** 2 * w[::-1]) + np.sum(np.sort(x * w) * X),
    "writes": writes,
    "several outputs": several_outputs,
    "loops": loops,
    "norms": lambda x, w: np.linalg.norm(x - w) ** 2 + np.linalg.norm(w) ** 2,
    "complex": lambda x, w: np.sum(np.abs(np.exp(1j * x * w) + w) ** 2),
    "inner gradient": lambda x, w: np.sum(tm.grad(lambda y: np.sum(y**3 * w * x))(x * w)),
    "inner batch": lambda x, w: np.sum(tm.vmap(lambda y, v: np.sin(y) * v + w[0])(x, w)),
    "constants": lambda x, w: np.sum(x**2) + np.sum(np.floor(w)),
}
TRANSFORMS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "value_and_grad": lambda f, x: tm.value_and_grad(f)(x),
    "grad of grad": lambda f, x: tm.grad(lambda y: np.sum(tm.grad(f)(y) ** 2))(x),
    "vjp": lambda f, x: tm.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: tm.jvp(f, (x,), (X * 2,)),
    "linearize": lambda f, x: tm.linearize(f, x)[1](X * 2),
    "jacfwd": lambda f, x: tm.jacfwd(f)(x),
    "jacrev": lambda f, x: tm.jacrev(f)(x),
    "hessian": lambda f, x: tm.hessian(f)(x),
    "safe_where": lambda f, x: tm.grad(f, safe_where=True)(x),
    "aux": lambda f, x: tm.grad(lambda y: (f(y), y * 2), has_aux=True)(x),
}


def of_variables(transform: str, function: str, *, is_argument: bool, is_closure: bool) -> list[Any]:
    """The result of a transform, and its derivative by the variables."""
    x, w = tm.autograd.variable(X), tm.autograd.variable(W)
    start = x * 1.0 if is_argument else X
    used = w * 1.0 if is_closure else W
    found = TRANSFORMS[transform](lambda y: FUNCTIONS[function](y, used), start)
    total = sum(np.sum(np.sin(leaf)) for leaf in tree_leaves(found)) + 0 * np.sum(x + w)
    wrt = [one for one, is_used in ((x, is_argument), (w, is_closure)) if is_used]
    slopes = tm.autograd.grad(total, wrt, create_graph=True, materialize_grads=True)
    again = tm.autograd.grad(
        sum(np.sum(one**2) for one in slopes) + 0 * np.sum(x + w), wrt, materialize_grads=True
    )
    return [found, slopes, again]


@pytest.mark.sampled(every=5, slow=4)
@pytest.mark.parametrize(("is_argument", "is_closure"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_results_and_their_derivatives_are_those_of_the_traced_function(
    transform: str, function: str, is_argument: bool, is_closure: bool
) -> None:
    def called() -> list[Any]:
        return of_variables(transform, function, is_argument=is_argument, is_closure=is_closure)

    agree(called(), traced(called))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_function_runs_as_it_is_and_once(transform: str) -> None:
    seen: list[str] = []

    def function(x: Any) -> Any:
        if not is_seen():
            seen.append(f"{x * 2}")
        return np.sum(x**3 * w)

    w = W
    TRANSFORMS[transform](function, tm.autograd.variable(X))
    w = tm.autograd.variable(W)
    if transform not in ("jvp", "jacfwd", "hessian"):  # they find a variable only while the function runs
        TRANSFORMS[transform](function, X)
    assert set(seen) == {"[ 1. -3.  4.]"}
    assert len(seen) <= 2


# ---- batches -----------------------------------------------------------------------------------------------

BATCH = np.stack([X, W, X * W])

BATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "of an argument": lambda x, w: tm.vmap(lambda y: np.sin(y) * y[0])(x),
    "of two arguments": tm.vmap(lambda y, v: np.sum(y**2) * v, (0, None)),
    "of a variable outside": lambda x, w: tm.vmap(lambda y: np.sort(y) * w)(BATCH) + np.sum(x),
    "of both": lambda x, w: tm.vmap(lambda y: y * w + np.sum(w[1:] * y[0]), 1, 1)(x),
    "in chunks": lambda x, w: tm.vmap(lambda y: np.cumsum(y) * w, chunk_size=2)(x),
    "of a gradient": lambda x, w: tm.vmap(tm.grad(lambda y: np.sum(y**3 * w)))(x),
    "of a Jacobian": lambda x, w: tm.vmap(tm.jacrev(lambda y: np.sin(y) * np.sum(w * y)))(x),
    "of a loop": lambda x, w: tm.vmap(lambda y: tm.fori_loop(0, 3, lambda i, z: np.sin(z) * w, y))(x),
    "of branches": lambda x, w: tm.vmap(lambda y: y**2 if y[0] > 0.3 else y * w)(x),
    "of a selection": lambda x, w: tm.vmap(lambda y: np.sum(y[y > 0] ** 2) * w)(x),
    "of a batch": lambda x, w: tm.vmap(lambda y: tm.vmap(lambda a, b: a * b)(y, w))(x),
    "in a gradient": lambda x, w: tm.grad(lambda y: np.sum(tm.vmap(lambda a: np.sin(a) * w)(y)))(x),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_variables_are_those_of_the_traced_function(name: str) -> None:
    def called() -> Any:
        x, w = tm.autograd.variable(BATCH), tm.autograd.variable(W)
        found = BATCHES[name](x * 1.0, w * 1.0)
        total = np.sum(np.sin(found)) + 0 * np.sum(w)
        return found, tm.autograd.grad(total, [x, w], allow_unused=True, materialize_grads=True)

    agree(called(), traced(called))


def test_batches_of_variables_show_the_values_of_all_examples() -> None:
    shown = eval("lambda x: repr(x)", {"__name__": "bdb"})
    seen: list[str] = []

    def function(x: Any) -> Any:
        seen.append(shown(x[0] * 2))
        return np.sum(x**2)

    found = tm.vmap(function)(tm.autograd.variable(BATCH[:2]))
    assert seen == ["f64[] for each of 2: [1.  2.5]"]
    np.testing.assert_allclose(found.detach(), np.sum(BATCH[:2] ** 2, axis=1))


def test_writes_to_mapped_variables_are_recorded() -> None:
    def called() -> Any:
        x = tm.autograd.variable(BATCH)
        state = x * 1.0

        def update(y: Any) -> Any:
            y[0] = y[1] * 2
            return np.sum(y)

        sums = tm.vmap(update)(state)
        return sums, state, tm.autograd.grad(np.sum(sums**2) + np.sum(state**3), x)

    agree(called(), traced(called))


# ---- values and exceptions ---------------------------------------------------------------------------------


def test_numpys_exceptions_reach_the_users_try() -> None:
    a = tm.autograd.variable(-np.eye(2))

    def loss(x: Any) -> Any:
        try:
            return np.sum(np.linalg.cholesky(x * a))
        except np.linalg.LinAlgError:
            return np.sum(x**2 * a)

    slope = tm.grad(loss)(np.ones((2, 2)))
    np.testing.assert_array_equal(slope.detach(), -2 * np.eye(2))
    np.sum(slope * 3).backward()
    np.testing.assert_array_equal(a.grad, np.full((2, 2), 6.0))


def test_a_number_that_a_derivative_needs_cannot_be_taken() -> None:
    w = tm.autograd.variable(2.0)
    with pytest.raises(ConcretizationError, match="float"):
        tm.grad(lambda x: x * float(x), convert=False)(w)
    with pytest.raises(ConcretizationError, match="float"):
        tm.grad(lambda x: x * float(w * 2), convert=False)(3.0)


def test_branches_on_values_are_those_of_python() -> None:
    w = tm.autograd.variable(X)
    slope = tm.grad(lambda x: np.sum(x * w if np.sum(w) > 0 else x))(W)
    np.testing.assert_array_equal(slope.detach(), X)


def test_without_recording_the_results_record_nothing() -> None:
    w = tm.autograd.variable(W)
    with tm.autograd.no_grad():
        for slope in (tm.grad(lambda x: np.sum(x * w))(X), tm.grad(lambda x: np.sum(x * W))(w)):
            assert not slope.requires_grad
            np.testing.assert_array_equal(numbers(slope), W)


def test_variables_that_need_no_gradient_are_constants() -> None:
    w = tm.autograd.variable(W, requires_grad=False)
    slope = tm.grad(lambda x: np.sum(x**2 * w))(X)
    assert not slope.requires_grad
    np.testing.assert_array_equal(numbers(slope), 2 * X * W)


def test_writes_to_a_variable_are_recorded() -> None:
    def called() -> Any:
        w = tm.autograd.variable(W)
        state = w * 1.0

        def loss(x: Any) -> Any:
            state[0] = x[1] * state[2]
            return np.sum(state * x)

        slope = tm.grad(loss)(X)
        return slope, state, tm.autograd.grad(np.sum(slope * X) + np.sum(state**2), w)

    agree(called(), traced(called))


def test_writes_to_an_argument_stay_inside() -> None:
    w = tm.autograd.variable(W)

    def loss(x: Any) -> Any:
        x *= 2
        return np.sum(x**2)

    np.testing.assert_array_equal(tm.grad(loss)(w).detach(), 8 * W)
    np.testing.assert_array_equal(w.detach(), W)


def test_a_view_of_a_variable_is_seen_as_it_is_now() -> None:
    w = tm.autograd.variable(np.concatenate([W, W]))
    part = w[::2]
    w[2] = 5.0
    slope = tm.grad(lambda x: np.sum(x * part))(X)
    np.testing.assert_array_equal(slope.detach(), [W[0], 5.0, W[1]])


def test_the_recorded_calls_are_released_by_a_backward_pass() -> None:
    w = tm.autograd.variable(W)
    value, slope = tm.value_and_grad(lambda x: np.sum(np.sin(x * w)))(X)
    value.backward()
    np.testing.assert_allclose(w.grad, np.cos(X * W) * X)
    with pytest.raises(ReleasedGraphError):
        value.backward()
    with pytest.raises(ReleasedGraphError):
        np.sum(slope).backward()


@pytest.mark.parametrize("is_variable_first", [True, False])
def test_later_writes_to_large_arrays_from_outside_do_not_count(is_variable_first: bool) -> None:
    large, w = np.full(100_000, 2.0), tm.autograd.variable(3.0)

    def loss(x: Any) -> Any:
        if is_variable_first:
            return np.sum(np.sin(x * w) * large)
        return np.sum(np.sin(x * large) * w)

    slope = tm.grad(loss)(np.full(100_000, 0.25))
    of_argument = tm.grad(lambda x: np.sum(x**2 * large))(tm.autograd.variable(np.ones(100_000)) * w)
    large[:] = 7.0
    (found,) = tm.autograd.grad(slope[0], w)
    y = 0.75
    wanted = 2 * (np.cos(y) - y * np.sin(y)) if is_variable_first else 2 * np.cos(0.5)
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(tm.autograd.grad(of_argument[0], w)[0], 4.0)


def test_gradients_of_what_the_result_does_not_use_are_refused() -> None:
    w, other = tm.autograd.variable(W), tm.autograd.variable(W)
    slope = tm.grad(lambda x: np.sum(x**2 * w) + np.sum(other))(X)
    with pytest.raises(UnusedInputError, match=r"inputs\[1\]"):
        tm.autograd.grad(np.sum(slope), [w, other])


def test_a_pullback_is_used_later_and_again() -> None:
    w = tm.autograd.variable(W)
    _, pull = tm.vjp(lambda x: np.sin(x) * w, X)
    for cotangent in (np.ones(3), X):
        (found,) = pull(cotangent)
        np.testing.assert_allclose(found.detach(), np.cos(X) * W * cotangent)
        (slope,) = tm.autograd.grad(np.sum(found), w, retain_graph=True)
        np.testing.assert_allclose(slope, np.cos(X) * cotangent)
    (batch,) = pull(np.eye(3), batched=True)
    np.testing.assert_allclose(batch.detach(), np.diag(np.cos(X) * W))


def test_cotangents_and_directions_may_be_variables() -> None:
    direction = tm.autograd.variable(W)
    (pulled,) = tm.vjp(np.sin, tm.autograd.variable(X))[1](direction)
    _, pushed = tm.jvp(np.sin, (tm.autograd.variable(X),), (direction,))
    for found in (pulled, pushed):
        (slope,) = tm.autograd.grad(np.sum(found), direction)
        np.testing.assert_allclose(slope, np.cos(X))
