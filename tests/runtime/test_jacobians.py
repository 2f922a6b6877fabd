"""`jacrev`, `jacfwd`, `hessian`. Each test names the row of the contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    NotDifferentiableError,
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)


def numbers(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def same(got: Any, expected: Any) -> None:
    """Equal in value, shape and dtype."""
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(
        got, expected, rtol=1e-6 if np.asarray(got).dtype == np.float32 else 1e-12, atol=1e-12
    )


both = pytest.mark.parametrize("jacobian", [tm.jacrev, tm.jacfwd])
every = pytest.mark.parametrize("transform", [tm.jacrev, tm.jacfwd, tm.hessian])
Jacobian = Callable[..., Any]


@both
def test_jacobian_h1_a_leaf_has_the_shape_of_output_and_input(jacobian: Jacobian) -> None:
    x, w = numbers(3), numbers(2, 3)
    got = jacobian(lambda w: np.outer(w @ x, np.ones(4)))(w)
    same(got, np.einsum("ik,l,j->ijkl", np.eye(2), x, np.ones(4)))


@both
def test_jacobian_h1_trees_of_outputs_hold_trees_of_inputs(jacobian: Jacobian) -> None:
    x, y = numbers(3), numbers(2)

    def f(p: Any, y: Any) -> Any:
        return {"sum": np.sum(p["x"]) * y, "pair": (p["x"] ** 2, p["s"] * 3.0)}

    got = jacobian(f)({"x": x, "s": 2.0}, y)
    assert set(got) == {"sum", "pair"}
    assert set(got["sum"]) == {"x", "s"}
    same(got["sum"]["x"], np.outer(y, np.ones(3)))
    same(got["pair"][0]["x"], np.diag(2 * x))
    same(got["pair"][0]["s"], np.zeros(3))
    same(got["pair"][1]["s"], np.float64(3.0))
    tuples = jacobian(f, (1, 0))({"x": x, "s": 2.0}, y)
    assert type(tuples["sum"]) is tuple
    same(tuples["sum"][0], np.eye(2) * np.sum(x))
    same(tuples["pair"][1][1]["s"], np.float64(3.0))


def test_hessian_h1_of_a_dict_is_a_dict_of_dicts() -> None:
    got = tm.hessian(lambda p: np.sum(p["a"] ** 2) * p["b"])({"a": np.array([1.0, 2.0]), "b": 3.0})
    same(got["a"]["a"], 6 * np.eye(2))
    same(got["a"]["b"], np.array([2.0, 4.0]))
    same(got["b"]["a"], np.array([2.0, 4.0]))
    same(got["b"]["b"], np.float64(0.0))


def test_hessian_h1_of_two_arguments_is_a_tuple_of_tuples() -> None:
    x, y = numbers(2), numbers(3)
    got = tm.hessian(lambda x, y: np.sum(x**2) * np.sum(y), (0, 1))(x, y)
    assert type(got) is tuple
    assert type(got[0]) is tuple
    same(got[0][0], 2 * np.eye(2) * np.sum(y))
    same(got[0][1], np.outer(2 * x, np.ones(3)))
    same(got[1][0], np.outer(np.ones(3), 2 * x))
    same(got[1][1], np.zeros((3, 3)))


@both
def test_jacobian_h2_a_number_of_a_number_is_0d(jacobian: Jacobian) -> None:
    same(jacobian(np.sin)(0.5), np.cos(0.5))
    same(jacobian(jacobian(np.sin))(0.5), -np.sin(0.5))
    assert isinstance(jacobian(np.sin)(0.5), np.float64)


@both
def test_jacobian_h2_empty_outputs_and_inputs_keep_their_zero_axis(jacobian: Jacobian) -> None:
    x = numbers(3)
    assert jacobian(lambda x: x[:0] * 2)(x).shape == (0, 3)
    assert jacobian(lambda x: np.sum(x) * np.ones(2))(np.ones((0, 4))).shape == (2, 0, 4)


def test_hessian_h2_of_a_vector_function_has_three_axes() -> None:
    x = numbers(3)
    got = tm.hessian(lambda x: x**3)(x)
    assert got.shape == (3, 3, 3)
    same(got, np.einsum("ij,ik->ijk", np.eye(3), np.diag(6 * x)))


@every
def test_jacobian_h3_aux_is_anything(transform: Jacobian) -> None:
    marker = object()
    got, aux = transform(lambda x: (x**2, (marker, x * 2, "text")), has_aux=True)(3.0)
    assert got in (6.0, 2.0)
    assert aux[0] is marker
    same(aux[1], np.float64(6.0))
    assert aux[2] == "text"
    with pytest.raises(TreeMismatchError, match=r"a pair \(output, aux\)"):
        transform(lambda x: x, has_aux=True)(3.0)


@every
def test_jacobian_keyword_arguments_are_passed_on_and_chosen_by_name(transform: Jacobian) -> None:
    def f(x: Any, *, power: int = 1, scale: Any = 1.0) -> Any:
        return scale**2 * x**power

    assert transform(f)(3.0, power=2, scale=1.0) in (6.0, 2.0)
    by_name = transform(f, argnames="scale")(3.0, scale=2.0)
    assert set(by_name) == {"scale"}
    assert by_name["scale"] in (12.0, {"scale": 6.0})


@every
def test_jacobian_h6_complex_numbers_need_holomorphic(transform: Jacobian) -> None:
    z = np.array([1 + 2j, -1j])
    with pytest.raises(NotDifferentiableError, match=r"args\[0\] is complex: pass holomorphic=True"):
        transform(np.square)(z)
    with pytest.raises(NotDifferentiableError, match="output is complex: pass holomorphic=True"):
        transform(lambda x: x * 1j)(np.ones(2))
    expected = {tm.jacrev: np.diag(3 * z**2), tm.jacfwd: np.diag(3 * z**2)}.get(
        transform, np.einsum("ij,ik->ijk", np.eye(2), np.diag(6 * z))
    )
    same(transform(lambda z: z**3, holomorphic=True)(z), expected)


@both
def test_jacobian_h9_an_integer_output_is_an_error(jacobian: Jacobian) -> None:
    with pytest.raises(NotDifferentiableError, match=r"output\['n'\] has dtype \w+, which has no derivative"):
        jacobian(lambda x: {"x": x, "n": np.argmax(x)})(np.ones(3))
    with pytest.raises(NotDifferentiableError, match=r"output\[1\] is float, not an array"):
        jacobian(lambda x: (x, 3.0))(np.ones(3))
    with pytest.raises(NotDifferentiableError, match=r"returns \(\), which holds no array"):
        jacobian(lambda x: ())(np.ones(3))


@every
def test_jacobian_h9_an_integer_input_is_an_error_with_its_path(transform: Jacobian) -> None:
    with pytest.raises(TransformTypeError, match=r"args\[0\]\['n'\] has dtype \w+, which has no derivative"):
        transform(lambda p: p["n"] * 1.0)({"n": np.arange(3)})


@every
def test_jacobian_argnums_are_checked_as_by_grad(transform: Jacobian) -> None:
    with pytest.raises(TransformArgumentError, match=r"\(power\): argnums=2 is out of range"):
        transform(np.power, 2)(1.0, 2.0)
    with pytest.raises(TransformTypeError, match="argnums must be"):
        transform(np.power, 1.5)


def test_both_modes_agree_on_a_function_with_several_parts() -> None:
    w, x = numbers(3, 2), numbers(2)

    def f(w: Any, x: Any) -> Any:
        h = np.tanh(w @ x)
        return h * np.sum(h), np.exp(x)

    for rev, fwd in zip(tm.jacrev(f, (0, 1))(w, x), tm.jacfwd(f, (0, 1))(w, x), strict=True):
        for a, b in zip(rev, fwd, strict=True):
            same(a, b)


@every
def test_single_precision_stays_single(transform: Jacobian) -> None:
    assert transform(lambda x: np.sin(x) * 2.5)(numbers(2, dtype=np.float32)).dtype == np.float32


def test_mixed_precision_follows_the_side_that_is_computed() -> None:
    x = numbers(2, dtype=np.float32)
    assert tm.jacfwd(lambda x: x * np.ones(2))(x).dtype == np.float64  # a tangent of the output
    assert tm.jacrev(lambda x: x * np.ones(2))(x).dtype == np.float32  # a cotangent of the input
