"""`jvp` and `linearize`: forward derivatives at a point."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.random_arrays import numbers, same
from tracemill.compiler.errors import (
    DTypeError,
    NotDifferentiableError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)


def pushed(transform: str, f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """Output and tangent by `jvp` or `linearize`, which must agree in everything."""
    if transform == "jvp":
        return tm.jvp(f, primals, tangents)
    out, jvp_fn = tm.linearize(f, *primals)
    return out, jvp_fn(*tangents)


both = pytest.mark.parametrize("transform", ["jvp", "linearize"])


@both
def test_jvp_gives_value_and_tangent(transform: str) -> None:
    x, dx = numbers(3), numbers(3, seed=1)
    out, tangent = pushed(transform, np.sin, (x,), (dx,))
    same(out, np.sin(x))
    same(tangent, np.cos(x) * dx)


@both
def test_python_floats_are_accepted(transform: str) -> None:
    out, tangent = pushed(transform, lambda x, y: x * y, (3.0, 2.0), (1.0, 10.0))
    same(out, np.float64(6.0))
    same(tangent, np.float64(32.0))


def test_primals_and_tangents_are_tuples_or_lists() -> None:
    accepted: list[tuple[Any, Any]] = [([3.0], [1.0]), ([3.0], (1.0,)), ((3.0,), [1.0])]
    for primals, tangents in accepted:
        same(tm.jvp(np.square, primals, tangents)[1], np.float64(6.0))
    others: list[tuple[Any, Any]] = [(3.0, (1.0,)), ((3.0,), 1.0), (np.ones(1), np.ones(1))]
    for primals, tangents in others:
        with pytest.raises(
            TransformTypeError, match=r"jvp\(square\): \w+ must be a tuple with an entry per argument"
        ):
            tm.jvp(np.square, primals, tangents)


def test_without_primals_there_is_nothing_to_differentiate() -> None:
    with pytest.raises(TransformArgumentError, match=r"jvp\(<lambda>\): no primals"):
        tm.jvp(lambda: 1.0, (), ())
    with pytest.raises(TransformArgumentError, match=r"linearize\(<lambda>\): no primals"):
        tm.linearize(lambda: 1.0)


def test_jvp_takes_and_gives_trees() -> None:
    out, tangent = tm.jvp(
        lambda p: {"s": p["a"] * p["b"][0], "n": None}, ({"a": 2.0, "b": [3.0]},), ({"a": 1.0, "b": [1.0]},)
    )
    assert out == {"s": 6.0, "n": None}
    assert tangent == {"s": 5.0, "n": None}


@both
@pytest.mark.parametrize("tangents", [([1.0],), (1.0, 1.0), ({"a": 1.0},), ({"b": 1.0, "a": 1.0},), (None,)])
def test_trees_that_differ_are_both_shown(transform: str, tangents: Any) -> None:
    with pytest.raises(TreeMismatchError, match=r"tangents: expected the structure \(\{'b': \*\},\), found"):
        pushed(transform, lambda p: p["b"] * 2, ({"b": 1.0},), tangents)
    assert issubclass(TreeMismatchError, ValueError)


@both
def test_a_tangent_of_another_shape_is_named_by_its_path(transform: str) -> None:
    with pytest.raises(ShapeError, match=r"tangents\[0\]\['w'\] has shape \(\), expected \(3,\)"):
        pushed(transform, lambda p: p["w"], ({"w": np.ones(3)},), ({"w": 1.0},))
    with pytest.raises(ShapeError, match=r"tangents\[1\] has shape \(1,\), expected \(3,\)"):
        pushed(transform, np.add, (np.ones(3), np.ones(3)), (np.ones(3), np.ones(1)))


@both
@pytest.mark.parametrize(
    ("primal", "tangent"),
    [
        (np.ones(2), np.ones(2, np.float32)),
        (np.ones(2, np.float32), np.ones(2)),
        (np.ones(2), np.ones(2, int)),
        (np.ones(2), np.ones(2, complex)),
        (1.0, 1j),
        (1.0, np.float32(1)),
    ],
)
def test_a_tangent_of_another_dtype_is_an_error(transform: str, primal: Any, tangent: Any) -> None:
    with pytest.raises(DTypeError, match=r"tangents\[0\] has dtype \w+, expected (f32|f64|float32|float64)"):
        pushed(transform, np.sin, (primal,), (tangent,))
    assert issubclass(DTypeError, TypeError)


@both
def test_python_numbers_take_the_dtype_of_the_primal(transform: str) -> None:
    for number in (2, 2.0):
        out, tangent = pushed(transform, np.square, (np.float32(3.0),), (number,))
        same(out, np.float32(9))
        same(tangent, np.float32(12))


@both
def test_single_precision_stays_single(transform: str) -> None:
    x = numbers(3, dtype=np.float32)
    out, tangent = pushed(transform, lambda x: np.exp(x) * 2.5 + 1, (x,), (np.ones_like(x),))
    same(out, np.exp(x) * 2.5 + 1)
    same(tangent, np.exp(x) * np.float32(2.5))


@both
@pytest.mark.parametrize("primal", [1, True, np.ones(2, int), np.ones(2, bool)])
def test_an_integer_primal_is_an_error_with_its_path(transform: str, primal: Any) -> None:
    with pytest.raises(TransformTypeError, match=r"args\[0\]\['w'\] has dtype \w+, which has no derivative"):
        pushed(transform, lambda p: p["w"] * 2.0, ({"w": primal},), ({"w": primal},))
    assert issubclass(TransformTypeError, TypeError)


@both
def test_an_integer_output_has_a_zero_tangent(transform: str) -> None:
    x = numbers(3)
    (value, where), (tangent, zero) = pushed(transform, lambda x: (x * 2, x > 0), (x,), (np.ones(3),))
    same(where, x > 0)
    same(zero, np.zeros(3, bool))
    same(tangent, np.full(3, 2.0))
    same(value, x * 2)
    same(pushed(transform, np.argmax, (x,), (x,))[1], np.intp(0))


@both
def test_outputs_that_do_not_depend_on_the_primals_have_zero_tangents(transform: str) -> None:
    y = numbers(2)
    out, tangent = pushed(transform, lambda x: (y * 2, np.ones(3, np.float32), 2.5, x), (1.0,), (1.0,))
    same(out[0], y * 2)
    same(tangent[0], np.zeros(2))
    same(tangent[1], np.zeros(3, np.float32))
    assert out[2] == 2.5
    assert tangent[2] == 0.0
    same(tangent[3], np.float64(1.0))


@pytest.mark.parametrize("output", [lambda x: np.ones(2), lambda x: 2.5, lambda x: x > 0])
def test_strict_makes_independence_an_error(output: Any) -> None:
    with pytest.raises(
        NotDifferentiableError, match=r"output\[1\] does not depend on the primals \(strict=True\)"
    ):
        tm.jvp(lambda x: (x, output(x)), (1.0,), (1.0,), strict=True)


def test_jvp_strict_lets_dependent_outputs_pass() -> None:
    same(tm.jvp(np.sin, (0.0,), (1.0,), strict=True)[1], np.float64(1.0))


@both
@pytest.mark.parametrize("output", ["text", object()])
def test_jvp_an_output_that_is_not_a_number_is_named(transform: str, output: Any) -> None:
    with pytest.raises(NotDifferentiableError, match=r"output\[1\] is \w+, not an array.*has_aux"):
        pushed(transform, lambda x: (x, output), (1.0,), (1.0,))


def test_every_composition_agrees_with_the_formula() -> None:
    x, dx, ddx = numbers(3), numbers(3, seed=1), numbers(3, seed=2)

    def f(x: Any, v: Any) -> Any:
        return tm.jvp(np.sin, (x,), (v,))[1]

    same(tm.jvp(lambda x: f(x, dx), (x,), (ddx,))[1], -np.sin(x) * dx * ddx)
    same(tm.vmap(f)(x, dx), np.cos(x) * dx)
    same(tm.jvp(tm.vmap(np.sin), (x,), (dx,))[1], np.cos(x) * dx)
    same(tm.jvp(tm.grad(lambda x: np.sum(x**3)), (x,), (dx,))[1], 6 * x * dx)
    same(tm.grad(lambda x: np.sum(f(x, dx)))(x), -np.sin(x) * dx)
    same(tm.grad(lambda v: np.sum(f(x, v)))(dx), np.cos(x))


def test_the_tangent_may_depend_on_an_outer_variable() -> None:
    same(tm.grad(lambda x: tm.jvp(np.square, (x,), (x,))[1])(3.0), np.float64(12.0))


def test_linearize_evaluates_the_function_once() -> None:
    calls = []
    ran = []

    def seen(x: Any) -> Any:
        ran.append(float(x))
        return x

    def f(x: Any) -> Any:
        calls.append(1)
        return x**2 * tm.pure_callback(seen, np.float64, tm.stop_gradient(x))

    out, jvp_fn = tm.linearize(f, 3.0)
    same(out, np.float64(27.0))
    for tangent in (1.0, 2.0, -1.0):
        same(jvp_fn(tangent), np.float64(18.0 * tangent))
    assert calls == [1]
    assert ran == [3.0]


def test_the_linear_function_checks_its_tangents() -> None:
    _, jvp_fn = tm.linearize(lambda x, p: x * p["w"], np.ones(2), {"w": 2.0})
    with pytest.raises(
        TreeMismatchError,
        match=r"linearize\(<lambda>\): tangents: expected the structure \(\*, \{'w': \*\}\)",
    ):
        jvp_fn(np.ones(2))
    with pytest.raises(ShapeError, match=r"tangents\[0\] has shape \(3,\), expected \(2,\)"):
        jvp_fn(np.ones(3), {"w": 1.0})
    with pytest.raises(DTypeError, match=r"tangents\[1\]\['w'\]"):
        jvp_fn(np.ones(2), {"w": 1j})


def test_the_linear_function_may_be_mapped_and_differentiated() -> None:
    x = numbers(3)
    _, jvp_fn = tm.linearize(np.sin, x)
    same(tm.vmap(jvp_fn)(np.eye(3)), np.diag(np.cos(x)))
    same(tm.grad(lambda v: np.sum(jvp_fn(v)))(x), np.cos(x))


def test_the_point_of_linearization_does_not_move_with_the_callers_arrays() -> None:
    x = numbers(3)
    expected = np.exp(x) * 2
    out, jvp_fn = tm.linearize(lambda x: np.exp(x) * x / x, x)
    _, square = tm.linearize(np.square, x)
    before = x.copy()
    x += 1
    out[:] = 0
    np.testing.assert_allclose(jvp_fn(np.full(3, 2.0)), expected)
    same(square(np.ones(3)), 2 * before)


@both
def test_results_share_no_memory_with_what_was_given(transform: str) -> None:
    x, dx = numbers(3), numbers(3)
    out, tangent = pushed(transform, lambda x: x, (x,), (dx,))
    assert not np.shares_memory(out, x)
    assert not np.shares_memory(tangent, dx)


def test_jvp_aux_is_anything_and_has_no_tangent() -> None:
    marker = object()
    out, tangent, aux = tm.jvp(lambda x: (x * 2, (marker, x)), (3.0,), (1.0,), has_aux=True)
    same(out, np.float64(6))
    same(tangent, np.float64(2))
    assert aux[0] is marker
    same(aux[1], np.float64(3))
    out, jvp_fn, aux = tm.linearize(lambda x: (x * 2, marker), 3.0, has_aux=True)
    same(jvp_fn(1.0), np.float64(2))
    assert aux is marker


@pytest.mark.parametrize("result", [lambda x: x, lambda x: (x,), lambda x: (x, 1, 2), lambda x: [x, 1]])
def test_jvp_aux_needs_a_pair(result: Any) -> None:
    with pytest.raises(TreeMismatchError, match=r"must return a pair \(output, aux\), not"):
        tm.jvp(result, (1.0,), (1.0,), has_aux=True)


def test_an_argument_passed_twice_is_two_variables() -> None:
    x = numbers(2)
    same(tm.jvp(np.multiply, (x, x), (np.ones(2), np.zeros(2)))[1], x)
    same(tm.jvp(np.multiply, (x, x), (np.zeros(2), np.ones(2)))[1], x)


@both
def test_complex_tangents_are_pushed_as_they_are(transform: str) -> None:
    z = np.array([1 + 2j, -1j])
    same(pushed(transform, np.square, (z,), (np.full(2, 1j),))[1], 2 * z * 1j)
