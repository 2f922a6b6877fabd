"""`grad`, `grad_and_value`, `value_and_grad`, `stop_gradient`."""

import functools
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from support.random_arrays import numbers, same
from tracemill.compiler.errors import (
    ArgumentTypeError,
    NonScalarOutputError,
    NotDifferentiableError,
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)


class Layer(NamedTuple):
    w: Any
    b: Any


@tm.register_dataclass
@dataclass(frozen=True)
class Model:
    layers: Any
    scale: Any


def product(x: Any, y: Any, z: Any = 1.0) -> Any:
    return np.sum(x * y * z)


# ---- outputs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 0)])
def test_the_error_of_an_array_output_gives_its_shape_and_points_at_vjp_and_jacrev(shape: Any) -> None:
    with pytest.raises(
        NonScalarOutputError, match=rf"^grad\(sin\): .* array of shape \({shape[0]}.*vjp or jacrev"
    ):
        tm.grad(np.sin)(np.ones(shape))
    assert issubclass(NonScalarOutputError, TypeError)


def test_a_python_float_as_output_is_accepted() -> None:
    same(tm.grad(lambda x: 2.5)(np.ones(3)), np.zeros(3))
    assert tm.value_and_grad(lambda x: 2.5)(1.0) == (2.5, 0.0)


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        (lambda x: (x, x), r"\(\*, \*\)"),
        (lambda x: (x,), r"\(\*,\)"),
        (lambda x: None, "None"),
        (lambda x: {"a": x}, "'a'"),
    ],
)
def test_a_container_as_output_is_an_error(output: Any, shown: str) -> None:
    with pytest.raises(NonScalarOutputError, match=rf"must return one number, not .*{shown}.*has_aux=True"):
        tm.grad(output)(1.0)


@pytest.mark.parametrize("output", [3, True, "text", 1j])
def test_an_output_that_is_not_a_float_is_an_error(output: Any) -> None:
    with pytest.raises(NonScalarOutputError, match=f"must return a float, not {type(output).__name__}"):
        tm.grad(lambda x: output)(1.0)


@pytest.mark.parametrize("output", [lambda x: x, lambda x: (x,), lambda x: (x, 1, 2), lambda x: [x, 1]])
def test_aux_needs_a_pair(output: Any) -> None:
    with pytest.raises(
        TreeMismatchError, match=r"with has_aux=True the function must return a pair \(output, aux\), not"
    ):
        tm.grad(output, has_aux=True)(1.0)


@pytest.mark.parametrize("aux", [None, 3, "text", object(), [1, {"a": None}], np.float32(2)])
def test_aux_is_returned_unchanged(aux: Any) -> None:
    gradient, returned = tm.grad(lambda x: (x * x, aux), has_aux=True)(3.0)
    same(gradient, np.float64(6.0))
    assert returned == aux
    assert type(returned) is type(aux)


def test_aux_may_hold_what_was_computed() -> None:
    gradient, aux = tm.grad(lambda x: (np.sum(x), {"twice": x * 2, "largest": np.argmax(x)}), has_aux=True)(
        np.array([1.0, 3.0])
    )
    same(gradient, np.ones(2))
    same(aux["twice"], np.array([2.0, 6.0]))
    same(aux["largest"], np.intp(1))


def test_grad_values_beside_gradients_come_in_the_promised_order() -> None:
    def f(x: Any) -> Any:
        return x**3, "aux"

    assert tm.grad(f, has_aux=True)(2.0) == (12.0, "aux")
    assert tm.grad_and_value(f, has_aux=True)(2.0) == (12.0, (8.0, "aux"))
    assert tm.value_and_grad(f, has_aux=True)(2.0) == ((8.0, "aux"), 12.0)
    assert tm.grad_and_value(np.square)(3.0) == (6.0, 9.0)
    assert tm.value_and_grad(np.square)(3.0) == (9.0, 6.0)


# ---- choosing arguments ----------------------------------------------------------------------------------


def test_an_int_gives_a_bare_gradient_and_a_tuple_a_tuple() -> None:
    x, y = numbers(3), numbers(3, seed=1)
    same(tm.grad(product)(x, y), y)
    same(tm.grad(product, 1)(x, y), x)
    same(tm.grad(product, -1)(x, y), x)
    index: Any = np.int64(1)
    same(tm.grad(product, index)(x, y), x)
    both = tm.grad(product, (1, 0))(x, y)
    assert type(both) is tuple
    same(both[0], x)
    same(both[1], y)
    one = tm.grad(product, (0,))(x, y)
    assert type(one) is tuple
    same(one[0], y)
    same(tm.grad(product, [0, -1])(x, y)[1], x)


def test_keyword_arguments_are_chosen_by_name() -> None:
    x, y, z = numbers(3), numbers(3, seed=1), numbers(3, seed=2)
    by_name = tm.grad(product, argnames="z")(x, y, z=z)
    assert set(by_name) == {"z"}
    same(by_name["z"], x * y)
    by_number, by_name = tm.grad(product, 0, argnames=("z", "y"))(x, z=z, y=y)
    same(by_number, y * z)
    same(by_name["y"], x * z)
    same(by_name["z"], x * y)


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_an_argument_out_of_range_is_an_error(argnums: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=r"grad\(product\): argnums=-?\d is out of range: the call has 2"
    ):
        tm.grad(product, argnums)(1.0, 2.0)
    assert issubclass(TransformArgumentError, ValueError)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2), [1, -1]])
def test_an_argument_chosen_twice_is_an_error(argnums: Any) -> None:
    with pytest.raises(TransformArgumentError, match="names an argument twice"):
        tm.grad(product, argnums)(1.0, 2.0)
    with pytest.raises(TransformArgumentError, match="names an argument twice"):
        tm.grad(product, argnames=("z", "z"))(1.0, 2.0, z=1.0)


@pytest.mark.parametrize("argnums", [(), []])
def test_no_argument_is_an_error(argnums: Any) -> None:
    with pytest.raises(TransformArgumentError, match="argnums is empty"):
        tm.grad(product, argnums)
    with pytest.raises(TransformArgumentError, match="argnums is empty"):
        tm.grad(product, argnames=())


@pytest.mark.parametrize("argnums", [0.0, "x", True, (0, 1.0), (True,), {0}])
def test_argnums_of_a_wrong_type_are_an_error(argnums: Any) -> None:
    with pytest.raises(TransformTypeError, match="argnums must be an int or a tuple of ints, not"):
        tm.grad(product, argnums)
    assert issubclass(TransformTypeError, TypeError)


@pytest.mark.parametrize("argnames", [0, (0,), 1.5])
def test_argnames_of_a_wrong_type_are_an_error(argnames: Any) -> None:
    with pytest.raises(TransformTypeError, match="argnames must be a str or a tuple of them"):
        tm.grad(product, argnames=argnames)
    with pytest.raises(
        TransformArgumentError, match="argnames has 'w', which the call does not pass by keyword"
    ):
        tm.grad(product, argnames="w")(1.0, 2.0)


def test_a_tree_has_a_gradient_of_the_same_structure() -> None:
    model = Model([Layer(numbers(2), 1.0), Layer(numbers(2, seed=1), None)], {"s": np.float32(2.0)})

    def f(m: Model) -> Any:
        return np.sum(m.layers[0].w * m.layers[1].w) * m.layers[0].b * m.scale["s"]

    gradient = tm.grad(f)(model)
    assert type(gradient) is Model
    assert type(gradient.layers) is list
    assert gradient.layers[1].b is None
    same(gradient.layers[0].w, model.layers[1].w * 2)
    same(gradient.layers[1].w, model.layers[0].w * 2)
    same(gradient.layers[0].b, np.sum(model.layers[0].w * model.layers[1].w) * 2)
    same(gradient.scale["s"], np.float32(np.sum(model.layers[0].w * model.layers[1].w)))


@pytest.mark.parametrize("leaf", ["text", object()])
def test_a_leaf_that_is_not_an_array_is_an_error_with_its_path(leaf: Any) -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"args\[0\]\.scale\['s'\]\[1\] is \w+, not an array or a number"
    ):
        tm.grad(lambda m: 1.0)(Model([], {"s": [1.0, leaf]}))


@pytest.mark.parametrize("leaf", [3, True, np.arange(3), np.ones(2, bool), np.int8(1)])
def test_an_integer_argument_is_an_error_with_its_path(leaf: Any) -> None:
    with pytest.raises(
        TransformTypeError, match=r"grad\(<lambda>\): args\[0\]\['n'\] has dtype \w+, which has no derivative"
    ):
        tm.grad(lambda p: p["x"])({"x": 1.0, "n": leaf})


def test_arguments_that_are_not_chosen_may_be_anything() -> None:
    seen: list[Any] = []

    def f(x: Any, *others: Any) -> Any:
        seen.extend(others)
        return x * others[0]

    marker = object()
    same(tm.grad(f)(2.0, 3, "text", None, marker, True), np.float64(3.0))
    assert seen == [3, "text", None, marker, True]
    assert type(seen[0]) is int


@pytest.mark.parametrize(
    "output", [np.argmax, lambda x: np.sum(x > 0), lambda x: np.any(x > 0), lambda x: np.int64(3)]
)
def test_an_integer_output_is_an_error(output: Any) -> None:
    with pytest.raises(NotDifferentiableError, match=r"the result has dtype \w+, which has no derivative"):
        tm.grad(output)(np.ones(3))
    assert issubclass(NotDifferentiableError, TypeError)


@pytest.mark.parametrize("z", [1 + 0j, 1j, 3 + 4j, -2 - 1j])
def test_the_gradient_of_a_real_function_of_complex_numbers_points_uphill(z: complex) -> None:
    same(tm.grad(np.abs)(z), np.complex128(z / abs(z)))
    same(tm.grad(lambda z: np.real(z) ** 2 + 3 * np.imag(z))(z), np.complex128(2 * z.real + 3j))


def test_a_complex_output_needs_holomorphic() -> None:
    z = np.complex128(0.5 - 0.3j)
    with pytest.raises(NotDifferentiableError, match=r"the result is complex.*holomorphic=True"):
        tm.grad(np.square)(z)
    same(tm.grad(np.square, holomorphic=True)(z), 2 * z)
    same(tm.grad(lambda z: np.sin(z) * 1j, holomorphic=True)(z), np.cos(z) * 1j)


def test_holomorphic_functions_take_and_give_complex_numbers() -> None:
    with pytest.raises(
        NotDifferentiableError, match=r"holomorphic=True needs complex .* but args\[0\] has dtype f(loat)?64"
    ):
        tm.grad(lambda x: x * 1j, holomorphic=True)(1.0)
    with pytest.raises(
        NotDifferentiableError, match=r"holomorphic=True needs complex .* but output has dtype f(loat)?64"
    ):
        tm.grad(np.abs, holomorphic=True)(1j)


def test_an_argument_without_influence_has_a_zero_gradient() -> None:
    x, y = numbers(3), numbers(2, dtype=np.float32)
    gradients = tm.grad(lambda x, y, z: np.sum(x), (0, 1, 2))(x, y, {"a": 1.0})
    same(gradients[0], np.ones(3))
    same(gradients[1], np.zeros(2, np.float32))
    same(gradients[2]["a"], np.float64(0.0))
    constant = tm.grad(lambda x: np.float64(3.0))(x)
    same(constant, np.zeros(3))
    constant[0] = 1.0  # an array of the caller's own


def test_derivatives_of_derivatives_are_right() -> None:
    def f(x: Any) -> Any:
        return x**4

    same(tm.grad(f)(2.0), np.float64(32.0))
    same(tm.grad(tm.grad(f))(2.0), np.float64(48.0))
    same(tm.grad(tm.grad(tm.grad(f)))(2.0), np.float64(48.0))
    same(tm.grad(tm.grad(tm.grad(tm.grad(f))))(2.0), np.float64(24.0))


# ---- stop_gradient ---------------------------------------------------------------------------------------


def test_stop_gradient_is_respected() -> None:
    same(tm.grad(lambda x: x * tm.stop_gradient(x))(3.0), np.float64(3.0))
    same(tm.grad(lambda x: tm.stop_gradient(x) ** 2)(3.0), np.float64(0.0))
    same(tm.grad(tm.grad(lambda x: x**2 * tm.stop_gradient(x**2)))(3.0), np.float64(18.0))
    same(tm.jvp(lambda x: x + tm.stop_gradient(x), (3.0,), (1.0,))[1], np.float64(1.0))
    same(tm.vmap(tm.grad(lambda x: x * tm.stop_gradient(x)))(np.arange(3.0)), np.arange(3.0))


def test_stop_gradient_takes_trees_arrays_and_numbers() -> None:
    x = numbers(2)
    tree = {"x": x, "n": (3, None), "s": "text"}
    stopped = tm.stop_gradient(tree)
    same(stopped["x"], x)
    assert stopped["n"] == (3, None)
    gradient = tm.grad(lambda p: np.sum(p["x"] * tm.stop_gradient(p)["x"]))({"x": x})
    same(gradient["x"], x)


def test_stopped_numbers_stay_weak() -> None:
    same(
        tm.jvp(lambda x, y: y * tm.stop_gradient(x), (2.0, np.float32(3)), (0.0, np.float32(1)))[0],
        np.float32(6),
    )


# ---- Python inside ---------------------------------------------------------------------------------------


def update_in_place(x: Any) -> Any:
    x *= 2
    x[0] = x[1] * x[2]
    x[1:] += 1
    return np.sum(x**2)


def test_in_place_updates_are_differentiated_and_do_not_reach_the_caller() -> None:
    x = np.array([1.0, 2.0, 3.0])
    a, b = 2.0, 3.0  # (4ab)² + (2a+1)² + (2b+1)²
    same(
        tm.grad(update_in_place)(x),
        np.array([0.0, 32 * a * b**2 + 4 * (2 * a + 1), 32 * a**2 * b + 4 * (2 * b + 1)]),
    )
    same(x, np.array([1.0, 2.0, 3.0]))
    for transform in (tm.jacrev, tm.jacfwd, tm.hessian):
        transform(update_in_place)(x)
    tm.vjp(update_in_place, x)[1](1.0)
    tm.jvp(update_in_place, (x,), (x,))
    tm.linearize(update_in_place, x)[1](x)
    same(x, np.array([1.0, 2.0, 3.0]))


def test_arguments_that_are_not_differentiated_are_not_touched_either() -> None:
    y = np.ones(3)

    def f(x: Any, y: Any) -> Any:
        y[0] = x
        return np.sum(y) * x

    same(tm.grad(f)(2.0, y), np.float64(6.0))
    same(y, np.ones(3))


def test_grad_writes_to_arrays_that_the_function_closes_over_happen_once() -> None:
    total = np.zeros(2)

    def f(x: Any) -> Any:
        np.add(total, x, out=total)
        return np.sum(total * x)

    x = np.array([1.0, 2.0])
    same(tm.grad(f)(x), 2 * x)
    same(total, x)
    same(tm.grad(f)(x), x + 2 * x)
    same(total, 2 * x)


def test_python_control_flow_follows_the_values() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            return x**2
        return -x

    def halve(x: Any) -> Any:
        while x > 1:
            x = x / 2
        return x

    same(tm.grad(f)(3.0), np.float64(6.0))
    same(tm.grad(f)(-3.0), np.float64(-1.0))
    same(tm.grad(halve)(10.0), np.float64(1 / 16))
    same(tm.grad(tm.grad(f))(3.0), np.float64(2.0))
    same(tm.hessian(f)(3.0), np.float64(2.0))
    same(tm.jvp(halve, (10.0,), (1.0,))[1], np.float64(1 / 16))
    same(tm.vjp(halve, 10.0)[1](1.0)[0], np.float64(1 / 16))
    same(tm.linearize(halve, 10.0)[1](1.0), np.float64(1 / 16))


def test_loops_run_over_arrays_and_integer_arguments() -> None:
    def f(x: Any, n: Any, table: Any) -> Any:
        for i in range(n):
            x = x * table[i] if table[i] > 0 else x
        return x

    same(tm.grad(f)(1.0, 3, np.array([2.0, -1.0, 5.0])), np.float64(10.0))


def test_control_flow_on_values_under_vmap_is_each_examples_own() -> None:
    x = np.array([3.0, -2.0, 0.5])
    same(tm.vmap(tm.grad(lambda x: x**2 if x > 0 else -x))(x), np.array([6.0, -1.0, 1.0]))
    total = tm.grad(lambda x: np.sum(tm.vmap(lambda x: x**2 if x > 0 else -x)(x)))
    same(total(x), np.array([6.0, -1.0, 1.0]))


def test_functions_of_all_kinds() -> None:
    class Power:
        """Raises to a power."""

        def __init__(self, n: int) -> None:
            self.n = n

        def __call__(self, x: Any) -> Any:
            return x**self.n

        def method(self, x: Any) -> Any:
            return x**self.n

    for f in (Power(3), Power(3).method, lambda x: x**3):
        same(tm.grad(f)(2.0), np.float64(12.0))
    same(tm.grad(functools.partial(product, 3.0))(2.0), np.float64(3.0))
    same(tm.grad(np.sin)(0.0), np.float64(1.0))
    assert tm.grad(product).__name__ == "product"
    assert tm.value_and_grad(Power(3)).__doc__ == "Raises to a power."


def test_single_precision_stays_single_and_python_numbers_are_weak() -> None:
    x = numbers(3, dtype=np.float32)
    same(
        tm.grad(lambda x: np.sum(np.tanh(x * 2.5) + 1))(x),
        np.float32(2.5) / np.cosh(x * np.float32(2.5)) ** 2,
    )
    value, gradient = tm.value_and_grad(lambda s, x: np.sum(x * s))(2.0, x)
    same(value, np.sum(x * 2.0))
    same(gradient, np.float64(np.sum(x)))


def test_an_argument_passed_twice_is_two_variables() -> None:
    x = numbers(3)
    same(tm.grad(product)(x, x), x)
    same(tm.grad(product, (0, 1))(x, x)[1], x)
    same(tm.grad(lambda a, b: np.sum(a**2 * b))(x, x), 2 * x * x)


@pytest.mark.slow
def test_long_functions_do_not_hit_the_recursion_limit() -> None:
    count = 10_000
    assert count > sys.getrecursionlimit()

    def f(x: Any) -> Any:
        for _ in range(count):
            x = x * 1.0001
        return x

    np.testing.assert_allclose(tm.grad(f)(1.0), 1.0001**count, rtol=1e-9)


@pytest.mark.slow
def test_a_long_loop_that_looks_at_its_values_does_not_either() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(3000):
            y = y + x
        if y > 0:
            return y
        return x

    same(tm.grad(f)(1.0), np.float64(3001.0))


def test_gradients_share_no_memory_with_anything() -> None:
    x, y = numbers(3), numbers(3)
    first, second = tm.grad(lambda x, y: np.sum(x) + np.sum(y), (0, 1))(x, y)
    first[0] = 7.0
    second[1] = 7.0
    same(first, np.array([7.0, 1, 1]))
    gradient = tm.grad(product)(x, y)
    gradient[:] = 0
    same(y, numbers(3))


def test_under_compile_and_vmap_control_flow_on_values_has_derivatives() -> None:
    def bent(x: Any) -> Any:
        return x * 2 if x > 0 else x

    for function in (tm.grad(bent), tm.compile(tm.grad(bent)), tm.grad(tm.compile(bent))):
        assert (function(np.float64(3.0)), function(np.float64(-3.0))) == (2.0, 1.0)
    same(tm.vmap(tm.grad(bent))(np.array([3.0, -3.0])), np.array([2.0, 1.0]))
