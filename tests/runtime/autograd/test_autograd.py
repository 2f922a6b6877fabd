"""`tracemill.autograd`: `grad` and `backward` of what variables have recorded."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    DTypeError,
    MaskedNaNWarning,
    NonScalarOutputError,
    NotDifferentiableError,
    NotRecordedError,
    ReleasedGraphError,
    ShapeError,
    TransformArgumentError,
    TransformTypeError,
    UnusedInputError,
)
from tracemill.runtime.autograd import backward, grad, gradient_edge, variable

each_precision = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def three(dtype: Any = np.float64) -> Any:
    return variable(np.array([1.0, 2.0, 3.0], dtype))


# ---- grad --------------------------------------------------------------------------------------------


@each_precision
def test_grad_is_that_of_the_function_in_value_and_dtype(dtype: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x**2) / np.max(x)

    x = three(dtype)
    (found,) = grad(f(x), x)
    expected = tm.grad(f)(np.array([1.0, 2.0, 3.0], dtype))
    assert type(found) is np.ndarray
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_inputs_give_a_tuple_and_a_dict_a_dict() -> None:
    x, y = variable(2.0), variable(3.0)
    assert grad(x * y, x, retain_graph=True) == (3.0,)
    assert grad(x * y, [x, y]) == (3.0, 2.0)
    assert grad(x * y, {"x": x, "y": y}) == {"x": 3.0, "y": 2.0}
    assert grad(x * y, {"both": (x, y)}) == {"both": (3.0, 2.0)}


@pytest.mark.parametrize("inputs", [(), [], {}])
def test_no_inputs_are_an_error(inputs: Any) -> None:
    with pytest.raises(TransformArgumentError, match="inputs is empty"):
        grad(variable(1.0) * 2, inputs)


def test_grad_of_no_outputs_is_an_error() -> None:
    with pytest.raises(TransformArgumentError, match="no outputs"):
        grad([], variable(1.0))


def test_the_same_input_twice_gives_its_gradient_twice() -> None:
    x = variable(2.0)
    assert grad(x**2, [x, x]) == (4.0, 4.0)


def test_the_same_input_twice_gives_its_gradient_twice_in_a_traced_function() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return grad(y * x, [y, x, y])

    of_y, of_x, again = tm.compile(f)(2.0)
    assert of_y == again == 2.0
    assert of_x == pytest.approx(np.sin(2.0) + 2.0 * np.cos(2.0))


def test_a_slope_that_is_always_zero_gives_zeros() -> None:
    x = three()
    y = np.sign(x)
    assert y.requires_grad
    np.testing.assert_array_equal(grad(np.sum(y), x, retain_graph=True)[0], np.zeros(3))
    np.testing.assert_array_equal(
        grad(y, [x, y], np.eye(3), is_grads_batched=True, retain_graph=True), [np.zeros((3, 3)), np.eye(3)]
    )
    of_x, of_y = grad(np.sum(y * x), [x, y], create_graph=True)
    np.testing.assert_array_equal(of_x.detach(), np.ones(3))
    np.testing.assert_array_equal(of_y.detach(), x.detach())
    (first,) = grad(np.sum(np.abs(x)), x, create_graph=True)
    np.testing.assert_array_equal(grad(np.sum(first), x)[0], np.zeros(3))


def test_an_op_without_a_derivative_fails_when_it_is_asked_for() -> None:
    x = variable(2.0)
    y = tm.pure_callback(np.sin, np.float64(0), x)
    assert float(y) == np.sin(2.0)
    assert grad(y * x, y, retain_graph=True) == (2.0,)
    with pytest.raises(
        NotDifferentiableError, match=r"callback of sin has no derivative(.|\n)*test_autograd.py"
    ):
        grad(y * x, x)


def test_an_array_needs_grad_outputs() -> None:
    x = three()
    with pytest.raises(NonScalarOutputError, match=r"output 0 has shape \(3,\)"):
        grad(x * 2, x)
    with pytest.raises(NonScalarOutputError, match=r"output 0 has shape \(1,\)"):
        grad(x[:1], x)


def test_a_complex_number_is_no_real_scalar() -> None:
    z = variable(1 + 2j)
    with pytest.raises(NonScalarOutputError, match="real scalar"):
        grad(z * z, z)


def test_an_integer_output_records_nothing() -> None:
    x = three()
    with pytest.raises(NotRecordedError, match=r"outputs\[0\] is a variable i64\[\]"):
        grad(np.argmax(x), x)


def test_grad_outputs_are_the_cotangents() -> None:
    x = three()
    (found,) = grad([x * x, np.sum(x)], x, [np.array([1.0, 0.0, 2.0]), np.float64(10.0)])
    np.testing.assert_array_equal(found, [12.0, 10.0, 22.0])


def test_a_variable_may_be_a_cotangent() -> None:
    x = three()
    (found,) = grad(x * x, x, x)
    np.testing.assert_array_equal(found, [2.0, 8.0, 18.0])


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3, 1), (1, 3)])
def test_the_shape_of_grad_outputs_is_exact(shape: Any) -> None:
    x = three()
    with pytest.raises(ShapeError, match=r"grad_outputs\[0\] has shape .* expected \(3,\)"):
        grad(x * x, x, np.ones(shape))


def test_there_are_as_many_grad_outputs_as_outputs() -> None:
    x = three()
    with pytest.raises(TransformArgumentError, match="1 outputs and 2 entries"):
        grad(np.sum(x), x, [np.float64(1.0), np.float64(1.0)])


@pytest.mark.parametrize("given", ["one", 1.0, {"a": 1}])
def test_grad_outputs_are_arrays_or_none(given: Any) -> None:
    x = variable(1.0)
    with pytest.raises(TransformTypeError, match="must be an array or None"):
        grad(x * x, x, [given])


def test_complex_goes_with_complex_only() -> None:
    x, z = variable(1.0), variable(1 + 0j)
    with pytest.raises(DTypeError, match="has dtype c128, the output f64"):
        grad(x * x, x, np.complex128(1))
    with pytest.raises(DTypeError, match="has dtype f64, the output c128"):
        grad(z * z, z, np.float64(1))
    assert grad(z * z, z, np.complex128(1)) == (2 + 0j,)


def test_a_wider_cotangent_is_an_error() -> None:
    x = variable(np.float32(1.0))
    with pytest.raises(DTypeError, match="expected f32"):
        grad(x * x, x, np.float64(1.0))


def test_none_means_one_for_scalar_outputs() -> None:
    x = three()
    (found,) = grad([np.sum(x), np.sum(x * x)], x, [None, np.float64(2.0)])
    np.testing.assert_array_equal(found, [5.0, 9.0, 13.0])


def test_an_output_that_records_nothing_needs_no_cotangent_but_is_an_error() -> None:
    x = three()
    with pytest.raises(NotRecordedError, match=r"outputs\[1\]"):
        grad([np.sum(x), variable(np.ones(3), requires_grad=False)], x, [None, None])


def test_an_unused_input_is_an_error_that_names_its_index() -> None:
    x, y = three(), three()
    with pytest.raises(UnusedInputError, match=r"do not depend on inputs\[1\]"):
        grad(np.sum(x), [x, y])


def test_allow_unused_gives_none() -> None:
    x, y = three(), three()
    found = grad(np.sum(x), [x, y], allow_unused=True)
    assert found[1] is None
    np.testing.assert_array_equal(found[0], [1.0, 1.0, 1.0])


@each_precision
def test_materialize_grads_gives_zeros(dtype: Any) -> None:
    x, y, z = three(), three(dtype), variable(dtype(1))
    _, of_y, of_z = grad(np.sum(x), [x, y, z], materialize_grads=True)
    np.testing.assert_array_equal(of_y, np.zeros(3))
    assert of_y.dtype == of_z.dtype == dtype
    assert of_z.shape == ()


def test_materialize_grads_excludes_allow_unused_false() -> None:
    x = three()
    with pytest.raises(TransformArgumentError, match="allow_unused=False"):
        grad(np.sum(x), x, materialize_grads=True, allow_unused=False)


def test_what_is_not_recorded_is_an_error() -> None:
    x = three()
    with pytest.raises(NotRecordedError, match=r"inputs\[0\] is ndarray, which records nothing"):
        grad(np.sum(x), np.ones(3))
    with pytest.raises(NotRecordedError, match=r"outputs\[0\] is float64"):
        grad(np.float64(1.0), x)
    with pytest.raises(NotRecordedError, match=r"inputs\[1\] is a variable f64\[3\] that does not require"):
        grad(np.sum(x), [x, variable(np.ones(3), requires_grad=False)])
    with tm.autograd.no_grad():
        y = np.sum(x)
    with pytest.raises(NotRecordedError, match=r"outputs\[0\] is a variable f64\[\] that does not require"):
        grad(y, x)


def test_a_second_call_on_a_released_graph_is_an_error() -> None:
    x = three()
    y = np.sum(x * x)
    grad(y, x)
    with pytest.raises(ReleasedGraphError, match=r"retain_graph=True(.|\n)*test_autograd.py"):
        grad(y, x)


def test_retain_graph_keeps_it() -> None:
    x = three()
    y = np.sum(x * x)
    (first,) = grad(y, x, retain_graph=True)
    (second,) = grad(y, x)
    np.testing.assert_array_equal(first, second)


def test_a_released_part_of_a_larger_graph_is_an_error() -> None:
    x = three()
    part = np.sin(x)
    grad(np.sum(part), x)
    with pytest.raises(ReleasedGraphError, match="behind this sin"):
        grad(np.sum(part * 2), x)
    (found,) = grad(np.sum(part * 2), part)
    np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])


@pytest.mark.parametrize("made_before", [True, False])
def test_a_released_part_that_no_input_is_behind_does_not_matter(made_before: bool) -> None:
    w, x = three(), three()
    part = np.sin(x)
    grad(np.sum(part), x)
    w = w if made_before else three()
    by_part, by_w = grad(np.sum(part * w), [part, w], retain_graph=True)
    np.testing.assert_array_equal(by_part, w.detach())
    np.testing.assert_array_equal(by_w, part.detach())
    np.testing.assert_array_equal(grad(np.sum(part * w), w)[0], by_w)
    backward(np.sum(part * w), inputs=[w])
    np.testing.assert_array_equal(w.grad, by_w)
    with pytest.raises(ReleasedGraphError, match="behind this sin"):
        backward(np.sum(part * w))


def test_the_error_names_a_released_slice() -> None:
    x = three()
    part = x[1:]
    grad(np.sum(part), x)
    with pytest.raises(ReleasedGraphError, match=r"behind this slice(.|\n)*part = x\[1:\]"):
        grad(np.sum(part), x)


def test_an_input_far_before_a_released_part_is_found() -> None:
    x, w = three(), three()
    part = np.cos(np.sin(x * 2) * 3)
    grad(np.sum(part), x)
    with pytest.raises(ReleasedGraphError, match="behind this cos"):
        grad(np.sum(part * w + x), [w, x])


def test_retain_graph_is_create_graph_by_default() -> None:
    x = three()
    y = np.sum(x**3)
    grad(y, x, create_graph=True)
    grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(ReleasedGraphError):
        grad(y, x)


def batch(*rows: list[float]) -> Any:
    return np.array(rows)


@each_precision
def test_batched_grad_outputs_give_a_batch_of_gradients(dtype: Any) -> None:
    x = three(dtype)
    rows = np.eye(3, dtype=dtype)
    (found,) = grad(x**2, x, rows, is_grads_batched=True)
    np.testing.assert_array_equal(found, np.diag([2.0, 4.0, 6.0]))
    assert found.dtype == dtype


def test_a_batch_equals_the_loop_for_several_outputs_and_inputs() -> None:
    rng = np.random.default_rng(0)
    x, y = variable(rng.normal(size=3)), variable(rng.normal(size=(2, 3)))
    outputs = [y @ x, np.sum(np.sin(x) * y)]
    cotangents = [rng.normal(size=(4, 2)), rng.normal(size=4)]
    together = grad(outputs, [x, y], cotangents, is_grads_batched=True, retain_graph=True)
    for row in range(4):
        alone = grad(outputs, [x, y], [ct[row] for ct in cotangents], retain_graph=True)
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[row], part, rtol=1e-14)


def test_a_shape_error_says_which_part_is_the_batch() -> None:
    x = three()
    with pytest.raises(ShapeError, match=r"first axis, of size 2, is the batch.*output, \(3,\), not \(4,\)"):
        grad(x * x, x, np.ones((2, 4)), is_grads_batched=True)


def test_different_sizes_of_batches_are_an_error() -> None:
    x = three()
    with pytest.raises(ShapeError, match=r"different sizes \[2, 5\]"):
        grad([x * x, x], x, [np.ones((2, 3)), np.ones((5, 3))], is_grads_batched=True)


def test_a_cotangent_without_axes_has_no_batch() -> None:
    x = three()
    with pytest.raises(ShapeError, match="0-d: with is_grads_batched=True"):
        grad(np.sum(x), x, np.float64(1.0), is_grads_batched=True)
    with pytest.raises(TransformArgumentError, match="needs grad_outputs"):
        grad(np.sum(x), x, is_grads_batched=True)


def test_an_unused_input_gets_zeros_with_the_batch() -> None:
    x, y = three(), variable(np.ones((2, 2)))
    _, zeros = grad(x * x, [x, y], np.ones((5, 3)), is_grads_batched=True, materialize_grads=True)
    np.testing.assert_array_equal(zeros, np.zeros((5, 2, 2)))


def test_a_batch_of_gradients_can_be_differentiated_again() -> None:
    x = three()
    (rows,) = grad(x**3, x, np.eye(3), is_grads_batched=True, create_graph=True)
    (found,) = grad(np.sum(rows), x)
    np.testing.assert_array_equal(found, [6.0, 12.0, 18.0])


@each_precision
def test_create_graph_allows_another_grad(dtype: Any) -> None:
    x = variable(dtype(2.0))
    y: Any = x**4
    for expected in (32.0, 48.0, 48.0, 24.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.dtype == dtype
        assert float(y) == expected


def test_mixed_second_derivatives_are_right() -> None:
    x, y = variable(2.0), variable(3.0)
    (of_x,) = grad(np.sin(x * y), x, create_graph=True)
    (found,) = grad(of_x, y)
    assert found == pytest.approx(np.cos(6.0) - 6.0 * np.sin(6.0))


def test_a_call_with_several_outputs_can_be_differentiated_twice() -> None:
    def slope(a: Any) -> Any:
        return tm.grad(lambda a: np.sum(np.linalg.eigh(a)[0] ** 3))(a)

    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    a = variable(matrix)
    lengths, vectors = np.linalg.eigh(a)
    (of_a,) = grad(np.sum(lengths**3), a, create_graph=True)
    total = np.sum(of_a**2)
    of_a, of_vectors = grad(total, [a, vectors])
    np.testing.assert_allclose(of_a, tm.grad(lambda a: np.sum(slope(a) ** 2))(matrix))
    assert np.all(of_vectors)  # the first derivative is computed with them


def test_a_derivative_uses_outputs_that_nobody_holds() -> None:
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    a = variable(matrix)
    (of_a,) = grad(np.sum(np.linalg.eigh(a)[0] ** 3), a, create_graph=True)
    (found,) = grad(np.sum(of_a * np.array([[1.0, 0.0], [2.0, 0.0]])), a)
    expected = tm.grad(
        lambda a: np.sum(
            tm.grad(lambda a: np.sum(np.linalg.eigh(a)[0] ** 3))(a) * np.array([[1.0, 0.0], [2.0, 0.0]])
        )
    )(matrix)
    np.testing.assert_allclose(found, expected)


def test_an_edge_names_where_a_value_was_made() -> None:
    x = three()
    y = x * 3
    edge = gradient_edge(y)
    y *= 2
    assert "made by multiply" in repr(edge)
    (found,) = grad(np.sum(y), edge, retain_graph=True)
    np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])
    (found,) = grad(edge, x, np.ones(3))
    np.testing.assert_array_equal(found, [3.0, 3.0, 3.0])


def test_an_edge_and_materialize_grads_exclude_each_other() -> None:
    x = three()
    with pytest.raises(TransformArgumentError, match="gradient edges"):
        grad(np.sum(x), gradient_edge(x), materialize_grads=True)


def test_an_edge_of_what_is_not_recorded_is_an_error() -> None:
    with pytest.raises(NotRecordedError, match="gradient_edge"):
        gradient_edge(np.ones(3))


# ---- what an input stands for ------------------------------------------------------------------------


def test_an_input_that_is_computed_from_another_input_counts_for_both() -> None:
    x = three()
    y = x * x
    z = np.sin(y)
    total = np.sum(x * y + z)
    of_x, of_y, of_z = grad(total, [x, y, z])
    np.testing.assert_allclose(of_z, np.ones(3))
    np.testing.assert_allclose(of_y, x.detach() + np.cos(y.detach()))
    values = x.detach()
    np.testing.assert_allclose(of_x, 3 * values**2 + 2 * values * np.cos(values**2))


def test_an_input_may_be_an_output_too() -> None:
    x = three()
    y = x * 2
    of_x, of_y = grad([y, np.sum(y)], [x, y], [np.ones(3), None])
    np.testing.assert_array_equal(of_y, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(of_x, [4.0, 4.0, 4.0])


def test_the_values_at_the_time_of_recording_count_after_an_overwrite() -> None:
    x = three()
    y = x * 2
    z = np.sum(y * y)
    y[...] = 0.0
    (found,) = grad(z, x)
    np.testing.assert_array_equal(found, [8.0, 16.0, 24.0])


def test_an_array_from_outside_counts_with_what_it_held() -> None:
    x, data = three(), np.array([1.0, 2.0, 3.0])
    y = np.sum(x * data)
    data[...] = 0.0
    (found,) = grad(y, x)
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


def test_an_overwritten_variable_means_its_first_value() -> None:
    def f(x: Any) -> Any:
        x[0] = 5.0
        x *= 2
        return np.sum(x**2)

    x = three()
    (found,) = grad(f(x), x)
    np.testing.assert_array_equal(found, tm.grad(f)(np.array([1.0, 2.0, 3.0])))


# ---- what a where does not choose ------------------------------------------------------------------------


def masked_root(x: Any) -> Any:
    return np.sum(np.where(x > 0, np.sqrt(x), 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_safe_where_masks_an_infinite_slope(dtype: Any) -> None:
    x = variable(np.array([0.0, 4.0], dtype))
    (found,) = grad(masked_root(x), x, safe_where=True)
    np.testing.assert_array_equal(found, [0.0, 0.25])
    assert found.dtype == dtype
    masked_root(x).backward(safe_where=True)
    np.testing.assert_array_equal(x.grad, [0.0, 0.25])
    (again,) = grad(masked_root(x), x, safe_where=True, create_graph=True)
    np.testing.assert_array_equal(again.detach(), [0.0, 0.25])
    inside = tm.compile(lambda x: grad(masked_root(x), x, safe_where=True)[0])
    np.testing.assert_array_equal(inside(x.detach()), [0.0, 0.25])


def test_without_safe_where_a_warning_names_the_line() -> None:
    x = variable(np.array([0.0, 4.0]))
    with pytest.warns(MaskedNaNWarning, match=r"does not choose, at test_autograd.py") as caught:
        (found,) = grad(masked_root(x), x)
    np.testing.assert_array_equal(found, [np.nan, 0.25])
    assert caught[0].filename == __file__
