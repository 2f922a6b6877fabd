"""A derivative inside of a function that is evaluated is computed as it goes, too, and gives what the compiled one
gives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracemill as tm
from samples.composition import case_of
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from symbolic.random_programs import Program, programs
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.errors import (
    ConcretizationError,
    EscapedTracerError,
    NotDifferentiableError,
)
from tracemill.runtime.eager.transform_log import seen_transforms

X = np.array([0.5, -1.5, 2.0])


def cubes(x: Any) -> Any:
    return np.sum(x**3)


# ---- values and exceptions -------------------------------------------------------------------------------

NESTED: dict[str, Callable[[Any], Any]] = {
    "grad of grad": lambda f: tm.grad(lambda x: np.sum(tm.grad(f)(x)))(X),
    "hvp": lambda f: tm.hvp(f, (X,), (X,)),
    "hessian": lambda f: tm.hessian(f)(X),
    "jvp of grad": lambda f: tm.jvp(tm.grad(f), (X,), (X,)),
    "grad of jvp": lambda f: tm.grad(lambda x: tm.jvp(f, (x,), (X,))[1])(X),
    "grad of vjp": lambda f: tm.grad(lambda x: np.sum(tm.vjp(f, x)[1](1.0)[0]))(X),
    "jacrev of jacfwd": lambda f: tm.jacrev(tm.jacfwd(f))(X),
    "grad of linearize": lambda f: tm.grad(lambda x: tm.linearize(f, x)[1](X))(X),
}


@pytest.mark.parametrize("name", NESTED)
def test_the_inner_function_shows_its_values(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def loss(x: Any) -> Any:
        print(x * 2)
        return np.sum(x**3)

    NESTED[name](loss)
    assert capsys.readouterr().out == "[ 1. -3.  4.]\n"


def test_numpys_exceptions_reach_a_try_in_the_inner_function() -> None:
    def loss(a: Any) -> Any:
        try:
            return np.sum(np.linalg.cholesky(a))
        except np.linalg.LinAlgError:
            return np.sum(a**3)

    direction = np.ones((2, 2))
    np.testing.assert_allclose(tm.hvp(loss, (-np.eye(2),), (direction,)), -6 * np.eye(2) * direction)


def test_a_derivative_that_depends_on_constants_alone_is_a_number() -> None:
    def loss(x: Any) -> Any:
        slope = float(tm.grad(lambda y: y**2)(3.0))
        return slope * np.sum(x)

    np.testing.assert_array_equal(tm.grad(loss, convert=False)(X), [6.0, 6.0, 6.0])
    with pytest.raises(ConcretizationError, match="float"):
        tm.grad(lambda x: np.sum(x) * float(tm.grad(cubes)(x)[0]), convert=False)(X)


def test_strict_forward_mode_asks_about_the_inner_arguments_alone() -> None:
    with pytest.raises(NotDifferentiableError, match="does not depend on the primals"):
        tm.grad(lambda x: tm.jvp(lambda y: np.sum(x), (1.0,), (1.0,), strict=True)[0])(X)


def test_an_inner_pullback_cannot_be_used_after_the_outer_function() -> None:
    kept: list[Any] = []

    def loss(x: Any) -> Any:
        value, pull = tm.vjp(cubes, x)
        kept.append(pull)
        return value

    tm.grad(loss)(X)
    with pytest.raises(EscapedTracerError):
        kept[0](1.0)


# ---- the same as compiled --------------------------------------------------------------------------------


def perturbed(x: Any) -> Any:
    """The inner derivative must not see the outer variable move: d/dx (x · d/dy (x + y)) is 1."""
    return np.sum(x * tm.grad(lambda y: np.sum(x) + y)(1.0))


def writes(x: Any) -> Any:
    def inner(y: Any) -> Any:
        z = np.zeros(4)
        for i in range(3):
            z[i] = y[i] * x[i]
        z[1:] *= z[0]
        y[0] = z[3] + z[1]
        y += z[:3]
        return np.sum(y**2 * np.sin(z[1:]))

    return np.sum(tm.grad(inner)(x) ** 2) + x[0]


def reads_parts(x: Any) -> Any:
    def inner(y: Any) -> Any:
        total = y[0] * y[1] + np.sum(y[[2, 2, 0]] ** 3) + np.sum(np.sort(y) * X)
        return total + np.sum(np.concatenate([y[1:], x[:1]]) ** 3)

    return np.sum(tm.grad(inner)(x) * x)


def chooses(x: Any) -> Any:
    return np.sum(tm.grad(lambda y: np.sum(np.where(y > 0, y**3, np.exp(y)) * x))(x) ** 2)


def several_outputs(x: Any) -> Any:
    def inner(y: Any) -> Any:
        values, vectors = np.linalg.eigh(np.diag(y) + np.outer(x, x) + np.diag([3.0, 2.0, 1.0]))
        return np.sum(values**2) * np.sum(np.abs(vectors[0]))

    return np.sum(tm.grad(inner)(x) ** 2)


def loops(x: Any) -> Any:
    def inner(y: Any) -> Any:
        found, _ = tm.scan(lambda z, _: (np.sin(z) * y * x, None), y, length=3)
        return np.sum(found)

    return np.sum(tm.grad(inner)(x) ** 2)


def squares_of_lengths(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return np.linalg.norm(y - x) ** 2 + np.sum(np.abs((y - x)[::-1] * 2) ** 2) + np.linalg.norm(y) ** 2

    return np.sum(tm.grad(inner)(x + 0 * x) * x) + np.sum(tm.jvp(inner, (x,), (x,))[1])


def three_levels(x: Any) -> Any:
    return np.sum(
        tm.grad(lambda y: np.sum(tm.grad(lambda z: np.sum(np.sin(z) * y * x))(y) * np.exp(y)))(x) ** 2
    )


def complex_numbers(x: Any) -> Any:
    return np.sum(tm.grad(lambda y: np.sum(np.abs(np.exp(1j * y) + x) ** 2))(x) ** 2)


def aux_and_value(x: Any) -> Any:
    (value, aux), slope = tm.value_and_grad(lambda y: (np.sum(y**3), y * x), has_aux=True)(x)
    return value * np.sum(aux) + np.sum(slope**2)


def float32(x: Any) -> Any:
    return np.sum(tm.grad(lambda y: np.sum(np.float32(2) * y**3))(x.astype(np.float32)).astype(float) * x)


FUNCTIONS = [
    perturbed, writes, reads_parts, chooses, several_outputs, loops, squares_of_lengths, three_levels,
    complex_numbers, aux_and_value, float32,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_nested_derivatives_are_those_of_the_compiled_function(function: Callable[..., Any]) -> None:
    for transform in (tm.value_and_grad, tm.jacfwd):
        found, wanted = transform(function)(X), tm.compile(transform(function), backend="numpy")(X)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7 if function is float32 else 1e-10, atol=1e-10)


def test_branches_that_are_not_chosen_are_masked_in_both_derivatives() -> None:
    def inner(y: Any, x: Any) -> Any:
        return np.sum(np.where(y > 0, np.log(y) * x, y**2 * x))

    def loss(x: Any) -> Any:
        return np.sum(tm.grad(inner, safe_where=True)(x * np.array([1.0, 0.0, 1.0]), x) * x)

    slope = tm.grad(loss, safe_where=True)
    np.testing.assert_allclose(slope(X), tm.compile(slope, backend="numpy")(X))


# ---- every op, and random programs -----------------------------------------------------------------------


def loss_of(sample: Sample) -> tuple[Callable[..., Any], list[Any]]:
    """A number that depends on all floating outputs, as a function of the differentiated arguments."""
    case = case_of(sample)
    args = sample.arrays()
    function = case.of_differentiated(args)

    def loss(*moving: Any) -> Any:
        return sum(np.sum(np.abs(np.cos(out)) ** 2) for out in function(*moving))

    return loss, case.differentiated(args)


SMOOTH = SAMPLES.where(
    lambda sample: (
        any(sample.differentiated)
        and sample.smooth
        and sample.generic
        and not sample.coupled
        and any(is_inexact(out.dtype) for out in sample.measured().outputs)
    )
)
"""The samples at points where the second derivatives exist."""


FIRST = some_of(SMOOTH, 0)
"""One of each op."""


def traced(call: Callable[[], Any]) -> Any:
    """The result of a call whose functions are traced: their derivatives are graphs."""
    with seen_transforms():
        return call()


def check_second_order(loss: Callable[..., Any], moving: Sequence[Any]) -> None:
    """The gradient of a function of the gradient, and the Hessian times the arguments."""
    places = tuple(range(len(moving)))

    def slopes(*args: Any) -> Any:
        return sum(np.sum(np.abs(one) ** 2) for one in tm.grad(loss, places)(*args))

    agree(tm.grad(slopes, places)(*moving), traced(lambda: tm.grad(slopes, places)(*moving)))
    agree(
        tm.jvp(tm.grad(loss, places), moving, moving)[1],
        traced(lambda: tm.jvp(tm.grad(loss, places), moving, moving)[1]),
    )


def agree(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-8 if np.finfo(one.dtype).bits == 64 else 1e-3
        scale = np.abs(other[np.isfinite(other)]).max(initial=1.0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


@of_each_sample(SMOOTH, FIRST[::15], FIRST[::4])
def test_second_derivatives_of_every_op_are_those_of_its_graph(sample: Sample) -> None:
    check_second_order(*loss_of(sample))


def check_program(program: Program) -> None:
    function = program.function

    def loss(*arguments: Any) -> Any:
        results = function(*arguments)
        return sum(np.sum(np.cos(x)) for x in (results if isinstance(results, tuple) else (results,)))

    check_second_order(loss, program.arguments(program.sizes[0]))


@settings(max_examples=8, deadline=None, derandomize=True)
@given(programs(steps=3))
def test_second_derivatives_of_random_programs_are_those_of_their_graphs(program: Program) -> None:
    check_program(program)


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None)
@given(programs())
def test_second_derivatives_of_many_random_programs_are_those_of_their_graphs(program: Program) -> None:
    check_program(program)
