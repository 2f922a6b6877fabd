"""Jacobians of functions that `vmap` maps without `compile` are computed as the functions run, for the whole batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optree import tree_leaves

import tracemill as tm
from samples.composition import case_of
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.errors import EscapedTracerError, NotDifferentiableError
from tracemill.runtime.eager.transform_log import seen_transforms

shown: Callable[[Any], str] = eval("lambda x: repr(x)", {"__name__": "bdb"})
"""Shows a value as a debugger does, outside of the program."""
X = np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.25]])


def agree(found: Any, wanted: Any) -> None:
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-9 if np.finfo(one.dtype).bits == 64 else 1e-3
        scale = np.abs(other[np.isfinite(other)]).max(initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


JACOBIANS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "jacfwd": tm.jacfwd,
    "jacrev": tm.jacrev,
    "jacobian": tm.jacobian,
    "jacobian in reverse": lambda f: tm.jacobian(f, mode="reverse"),
    "rows in chunks": lambda f: tm.jacrev(f, chunk_size=2),
    "columns in chunks": lambda f: tm.jacfwd(f, chunk_size=1),
    "hessian": tm.hessian,
    "jacrev of jacfwd": lambda f: tm.jacrev(tm.jacfwd(f)),
    "jacfwd of grad": lambda f: tm.jacfwd(tm.grad(lambda x: np.sum(f(x)))),
    "grad of jacrev": lambda f: tm.grad(lambda x: np.sum(tm.jacrev(f)(x) ** 2)),
    "jvp of jacrev": lambda f: lambda x: tm.jvp(tm.jacrev(f), (x,), (x,)),
    "jacrev of a product": lambda f: lambda x: tm.jacrev(lambda y: f(y * x))(x),
}
AROUND: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "vmap": lambda f: tm.vmap(f)(X),
    "along another axis": lambda f: tm.vmap(f, in_dims=1, out_dims=-1)(X.T),
    "vmap of vmap": lambda f: tm.vmap(tm.vmap(f))(np.stack([X, X * 2])),
    "grad of vmap": lambda f: tm.grad(
        lambda x: sum(np.sum(np.sin(leaf)) for leaf in tree_leaves(tm.vmap(f)(x)))
    )(X),
    "jvp of vmap": lambda f: tm.jvp(lambda x: tree_leaves(tm.vmap(f)(x)), (X,), (X,)),
}


def program(x: Any) -> Any:
    z = np.zeros(3)
    z[:2] = np.sin(x) * x[0]
    z[2] = np.sum(x**3)
    return np.concatenate([z, x[[1, 1]] * z[2]])


@pytest.mark.sampled(every=6, slow=4)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_jacobians_in_batches_are_those_of_the_compiled_function(jacobian: str, around: str) -> None:
    def called() -> Any:
        return AROUND[around](JACOBIANS[jacobian](program))

    agree(called(), tm.compile(called, backend="numpy")())


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_the_function_runs_once_and_shows_the_values_of_all_examples(jacobian: str) -> None:
    seen: list[str] = []

    def function(x: Any) -> Any:
        seen.append(shown(x[0] * 2))
        return program(x)

    tm.vmap(JACOBIANS[jacobian](function))(X[:, ::-1])
    if "product" not in jacobian:
        assert seen == ["f64[] for each of 3: [-4.   6.   0.5]"]
    else:
        assert seen == ["f64[] for each of 3: [ 8.    18.     0.125]"]


def test_numpys_exceptions_reach_the_users_try() -> None:
    def function(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return a**2

    batch = -np.stack([np.eye(2), 2 * np.eye(2)])
    for jacobian in (tm.jacfwd, tm.jacrev):
        found = tm.vmap(jacobian(function))(batch)
        np.testing.assert_array_equal(found, tm.vmap(tm.jacrev(np.square))(batch))


def test_arguments_results_and_aux_keep_their_structure() -> None:
    def function(tree: Any, scale: float, *, shift: Any) -> Any:
        return {"y": tree["x"] * scale, "n": np.sum(tree["w"]) * shift}, np.sum(shift)

    def both(x: Any, w: Any) -> Any:
        tree = {"x": x, "w": w}
        return [
            jacobian(function, argnums=(0, 1), has_aux=True)(tree, 2.0, shift=x)
            for jacobian in (tm.jacfwd, tm.jacrev)
        ]

    found = tm.vmap(both, in_dims=(0, None))(X, np.ones(4))
    agree(found, tm.compile(tm.vmap(both, in_dims=(0, None)), backend="numpy")(X, np.ones(4)))
    (rows, aux), _ = found
    np.testing.assert_array_equal(aux, np.sum(X, axis=1))
    np.testing.assert_array_equal(rows["y"][0]["x"], [2 * np.eye(2)] * 3)
    np.testing.assert_array_equal(rows["y"][0]["w"], np.zeros((3, 2, 4)))


def test_jacobians_of_what_is_not_mapped_and_of_constants() -> None:
    w = np.array([0.5, 1.5])
    found = tm.vmap(lambda x: (tm.jacrev(np.sin)(w), tm.jacfwd(lambda y: (y * x, w))(w)))(X)
    np.testing.assert_allclose(found[0], [np.diag(np.cos(w))] * 3)
    np.testing.assert_array_equal(found[1][0], [np.diag(x) for x in X])
    np.testing.assert_array_equal(found[1][1], np.zeros((3, 2, 2)))


def test_jacobians_of_complex_numbers() -> None:
    def function(z: Any) -> Any:
        return z[1:] * np.exp(z[:-1])

    for jacobian in (tm.jacfwd, tm.jacrev):
        mapped = tm.vmap(jacobian(function, holomorphic=True))
        agree(mapped(X + 1j), tm.compile(mapped, backend="numpy")(X + 1j))


def test_results_without_a_derivative_are_refused() -> None:
    for jacobian in (tm.jacfwd, tm.jacrev):
        with pytest.raises(NotDifferentiableError, match="which has no derivative"):
            tm.vmap(jacobian(np.argmax))(X)


def test_a_batch_without_examples_has_a_jacobian() -> None:
    for jacobian in (tm.jacfwd, tm.jacrev):
        assert tm.vmap(jacobian(program))(np.ones((0, 2))).shape == (0, 5, 2)


def test_functions_whose_calls_have_no_batch_are_traced() -> None:
    def selects(x: Any) -> Any:
        return np.array([np.sum(x[x > 0] ** 2)])

    for jacobian in (tm.jacfwd, tm.jacrev):
        np.testing.assert_array_equal(tm.vmap(jacobian(selects))(X), 2 * np.maximum(X, 0)[:, None])


# ---- pullbacks and pushforwards --------------------------------------------------------------------------


def rows_of_pullback(x: Any) -> Any:
    _, pull = tm.vjp(program, x)
    return tm.vmap(pull)(np.eye(5))


LINEAR: dict[str, Callable[[Any], Any]] = {
    "vjp": lambda x: tm.vjp(program, x)[1](program(x)),
    "vjp with None": lambda x: tm.vjp(lambda y: (y * x, y**2), x)[1]((None, x)),
    "vjp of a batch": lambda x: tm.vjp(program, x)[1](np.eye(5), batched=True),
    "vmap of vjp": rows_of_pullback,
    "vmap of vjp of what is mapped": lambda x: tm.vmap(tm.vjp(program, x)[1])(np.outer(x, program(x))),
    "vmap of vjp along another axis": lambda x: tm.vmap(tm.vjp(program, x)[1], 1)(np.outer(program(x), x)),
    "linearize": lambda x: tm.linearize(program, x)[1](x),
    "vmap of linearize": lambda x: tm.vmap(tm.linearize(program, x)[1])(np.outer(x, x)),
    "hvp of a batch": lambda x: tm.hvp(lambda y: np.sum(program(y) ** 2), (x,), (np.eye(2),), batched=True),
    "aux": lambda x: tm.vjp(lambda y: (y**2, y * x), x, has_aux=True)[2],
    "grad of a pullback": lambda x: tm.grad(lambda y: np.sum(tm.vjp(program, x)[1](program(y))[0]))(x),
}


def pulls_later(x: Any) -> Any:
    """The function is linearized outside of the one whose gradient is taken."""
    _, pull = tm.vjp(program, x)
    _, push = tm.linearize(program, x)
    return tm.grad(lambda y: np.sum(pull(program(y) * x[0])[0] ** 2) + np.sum(push(y * x) ** 3))(x)


LINEAR["a pullback in a later gradient"] = pulls_later


@pytest.mark.sampled(every=6, slow=4)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("linear", LINEAR)
def test_linear_maps_in_batches_are_those_of_the_compiled_function(linear: str, around: str) -> None:
    def called() -> Any:
        return AROUND[around](LINEAR[linear])

    agree(called(), tm.compile(called, backend="numpy")())


@pytest.mark.parametrize("transform", [tm.vjp, tm.linearize])
def test_the_function_of_a_linear_map_runs_once(transform: Callable[..., Any]) -> None:
    seen: list[str] = []

    def function(x: Any) -> Any:
        seen.append(shown(x * 2))
        return np.sin(x)

    def mapped(x: Any) -> Any:
        _, linear = transform(function, x)
        first = linear(x)
        several = tm.vmap(linear)(np.outer(x, x))
        seen.append(shown((first[0] if transform is tm.vjp else first)[0] * 0))
        return several

    tm.vmap(mapped)(np.ones((2, 1)))
    assert seen == ["f64[1] for each of 2:\n[[2.]\n [2.]]", "f64[] for each of 2: [0. 0.]"]


@pytest.mark.parametrize("transform", [tm.vjp, tm.linearize])
def test_a_linear_map_cannot_be_used_after_the_batch(transform: Callable[..., Any]) -> None:
    kept: list[Any] = []

    def mapped(x: Any) -> Any:
        value, linear = transform(np.sin, x)
        kept.append(linear)
        return value

    tm.vmap(mapped)(X)
    with pytest.raises(EscapedTracerError):
        kept[0](np.ones(2))


# ---- every op --------------------------------------------------------------------------------------------

SMOOTH = SAMPLES.where(
    lambda sample: (
        any(sample.differentiated)
        and sample.smooth
        and sample.generic
        and not sample.coupled
        and any(is_inexact(out.dtype) for out in sample.measured().outputs)
    )
)
FIRST = some_of(SMOOTH, 0)
"""One of each op."""


@of_each_sample(SMOOTH, FIRST[::12], FIRST[::3])
def test_jacobians_of_every_op_are_those_of_its_graph(sample: Sample) -> None:
    case = case_of(sample)
    args = sample.arrays()
    function, moving = case.of_differentiated(args), tuple(case.differentiated(args))
    if any(np.iscomplexobj(x) for x in moving) or sum(x.size for x in moving) >= 50:
        return

    def results(given: Any) -> tuple[Any, ...]:
        return tuple(out.real for out in function(*given) if is_inexact(out.dtype))

    batch = tuple(np.stack([x, x]) for x in moving)
    for jacobian in (tm.jacfwd, tm.jacrev):
        mapped = tm.vmap(jacobian(results))
        found = mapped(batch)
        with seen_transforms():
            agree(found, mapped(batch))
