"""`detect_anomaly` and `nan_report` name the operation, the line and the example that make NaN."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import tracemill as tm
from tracemill.compiler.errors import AnomalyError, TransformTypeError

each_precision = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def root(x: Any) -> Any:
    y = np.sqrt(x)
    z = y * 0.0
    return np.sum(z)


def caught(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(AnomalyError) as error, tm.detect_anomaly():
        function(*args)
    return str(error.value)


@each_precision
@pytest.mark.parametrize("wrap", [lambda f: f, tm.compile])
def test_a_derivative_that_becomes_nan_names_op_and_line(wrap: Any, dtype: Any) -> None:
    message = caught(wrap(tm.grad(root)), np.array([1.0, 0.0], dtype))
    assert (
        "multiply(0.0, inf) is NaN: the derivative of this line, in 1 of 2 elements, first at (1,)" in message
    )
    assert "  y = np.sqrt(x)\n" in message
    assert "test_anomaly.py:" in message


@each_precision
@pytest.mark.parametrize("wrap", [tm.compile, tm.grad, tm.jacfwd, lambda f: lambda x: tm.vjp(f, x)])
def test_a_value_that_becomes_nan_names_op_and_line(wrap: Any, dtype: Any) -> None:
    message = caught(wrap(root), np.array([1.0, -4.0], dtype))
    assert "sqrt(-4.0) is NaN: the value of this line, in 1 of 2 elements, first at (1,)" in message
    assert "  y = np.sqrt(x)\n" in message


@pytest.mark.parametrize("wrap", [lambda f: f, tm.compile])
def test_a_mapped_line_names_the_example(wrap: Any) -> None:
    points = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -1.0]])
    assert "first at (2, 1), for example 2 of the batch" in caught(wrap(tm.vmap(root)), points)
    points[2, 1] = 0.0
    message = caught(wrap(tm.vmap(tm.grad(root))), points)
    assert "derivative" in message
    assert "for example 2 of the batch" in message


def test_nested_batches_name_the_example_by_both() -> None:
    points = np.ones((2, 3, 4))
    points[1, 2, 3] = -1.0
    assert "for example (1, 2) of the batch" in caught(tm.vmap(tm.vmap(root)), points)
    assert "for example (2, 1) of the batch" in caught(tm.vmap(tm.vmap(root), in_dims=1), points)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_example_is_named_wherever_its_axis_lies(axis: int) -> None:
    points = np.ones((2, 3, 4))
    points[1, 2, 3] = -1.0
    examples = {0: "1", 1: "2", 2: "3"}
    assert f"for example {examples[axis]} of the batch" in caught(tm.vmap(root, axis), points)
    nested = {0: "(1, 3)", 1: "(2, 3)", 2: "(3, 2)"}
    assert f"for example {nested[axis]} of" in caught(tm.vmap(tm.vmap(root, in_dims=1), axis), points)
    points[1, 2, 3] = 0.0
    assert f"for example {examples[axis]} of the batch" in caught(tm.vmap(tm.grad(root), axis), points)


def test_a_derivative_names_no_example_if_inputs_have_the_batch_along_different_axes() -> None:
    """The array is square, so that the batch could be taken for its other axis."""
    bases, exponents = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.5])

    def total(bases: Any) -> Any:
        powers = tm.vmap(lambda row, exponent: row**exponent, (1, 0))(bases, exponents)
        return np.sum(powers * 0.0)

    message = caught(tm.grad(total), bases)
    assert "the derivative of this line" in message
    assert "of the batch" not in message


@pytest.mark.parametrize("chunk_size", [1, 2, 3])
def test_a_chunk_names_the_example_by_its_number_in_the_batch(chunk_size: int) -> None:
    points = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -1.0], [7.0, 8.0]])
    assert "for example 2 of the batch" in caught(tm.vmap(root, chunk_size=chunk_size), points)
    nested = tm.vmap(tm.vmap(root), chunk_size=chunk_size)
    assert "for example (2, 1) of the batch" in caught(nested, points)
    assert "for example 2 of the batch" in caught(tm.vmap(root), points)


@pytest.mark.parametrize("chunk_size", [1, 3])
def test_a_loop_over_chunks_names_the_outer_example_only(chunk_size: int) -> None:
    points = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, -1.0, 8.0]])
    chunked = tm.vmap(root, chunk_size=chunk_size)
    assert "the batch" not in caught(tm.compile(chunked), points[1])
    assert "for example 1 of the batch" in caught(tm.vmap(chunked), points)


def test_what_is_not_mapped_names_no_example() -> None:
    message = caught(tm.vmap(lambda x, w: x + np.sqrt(w), in_dims=(0, None)), np.ones(3), np.array([-1.0]))
    assert "the batch" not in message


def test_an_operation_that_is_not_elementwise_shows_types() -> None:
    message = caught(tm.compile(np.sum), np.array([np.inf, -np.inf]))
    assert "sum(f64[2]) is NaN: the value of this line, in 1 of 1 elements" in message


def test_a_line_in_a_loop_is_named() -> None:
    def f(x: Any) -> Any:
        return tm.scan(lambda carry, u: (np.log(carry) + u, carry), x, np.ones(3))[0]

    message = caught(f, -1.0)
    assert "log(-1.0) is NaN: the value" in message
    assert "tm.scan" in message


def test_variables_are_looked_at_forward_and_backward() -> None:
    x = tm.autograd.variable(np.array([1.0, 0.0]))
    assert "log(-1.0) is NaN: the value" in caught(lambda: np.log(x - 1.0))
    y = root(x)
    for create_graph in (False, True):
        message = caught(lambda create=create_graph: y.backward(create_graph=create))
        assert "multiply(0.0, inf) is NaN: the derivative of this line" in message
        assert "  y = np.sqrt(x)\n" in message


def test_nan_in_an_argument_is_not_reported() -> None:
    with tm.detect_anomaly():
        assert np.isnan(tm.compile(root)(np.array([np.nan, 1.0])))
    assert "sqrt(-1.0)" in caught(tm.compile(root), np.array([np.nan, -1.0]))


@each_precision
def test_without_nan_results_are_as_ever(dtype: Any) -> None:
    x = np.array([[1.0, 2.0], [3.0, 0.5]], dtype)
    f = tm.compile(tm.vmap(tm.grad(lambda x: np.sum(np.exp(x) / x))))
    expected = f(x)
    with tm.detect_anomaly():
        found = f(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_infinity_is_no_anomaly() -> None:
    with tm.detect_anomaly():
        assert tm.grad(np.sqrt)(0.0) == np.inf


def test_it_ends_with_the_block_also_after_an_exception() -> None:
    caught(tm.compile(root), np.array([-1.0]))
    assert np.isnan(tm.compile(root)(np.array([-1.0])))


def test_it_nests_and_decorates() -> None:
    anomaly = tm.detect_anomaly()
    with anomaly, anomaly:
        pass
    with pytest.raises(AnomalyError):
        anomaly(tm.compile(root))(np.array([-1.0]))
    assert np.isnan(tm.compile(root)(np.array([-1.0])))


def test_it_belongs_to_its_thread() -> None:
    found: list[Any] = []
    with tm.detect_anomaly():
        thread = threading.Thread(target=lambda: found.append(tm.compile(root)(np.array([-1.0]))))
        thread.start()
        thread.join()
    assert np.isnan(found[0])


# ---- nan_report --------------------------------------------------------------------------------------


def test_a_report_names_the_first_operation_of_each_line() -> None:
    points = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    report = tm.nan_report(tm.vmap(tm.grad(root)), points)
    shown = [(f.kind, f.op, f.what, f.count, f.size, f.index, f.examples) for f in report.findings]
    assert shown == [
        ("NaN", "sqrt", "value", 1, 8, (2, 1), ((2,),)),
        ("inf", "divide", "derivative", 3, 8, (1, 0), ((1,), (3,))),
        ("NaN", "multiply", "derivative", 3, 8, (1, 0), ((1,), (3,))),
    ]
    text = str(report)
    assert text.startswith("root:\nline")
    assert "y = np.sqrt(x)" in text
    assert "divide(0.5, 0.0)" in text


def test_a_report_of_a_plain_function_and_of_a_compiled_one_agree() -> None:
    x = np.array([0.0, -1.0])
    assert str(tm.nan_report(root, x)) == str(tm.nan_report(tm.compile(root), x))


def test_a_report_prints_with_rich() -> None:
    console = Console(width=160)
    with console.capture() as capture:
        console.print(tm.nan_report(root, np.array([-1.0])))
    assert "sqrt(-1.0)" in capture.get()


def test_a_report_without_findings_says_so() -> None:
    report = tm.nan_report(root, np.array([1.0]))
    assert not report.findings
    assert str(report) == "root: neither NaN nor inf"
    assert report.__rich__() == str(report)


def test_a_report_leaves_arguments_alone_and_follows_control_flow() -> None:
    def f(x: Any) -> Any:
        x[0] = -1.0
        return np.log(x) if x[1] > 0 else np.sqrt(x)

    x = np.array([1.0, 2.0])
    assert [found.op for found in tm.nan_report(f, x).findings] == ["log"]
    assert [found.op for found in tm.nan_report(f, tm.autograd.variable(-x)).findings] == ["sqrt"]
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_a_report_needs_a_function() -> None:
    with pytest.raises(TransformTypeError, match="nan_report needs a function"):
        tm.nan_report(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_report_inside_of_a_traced_function_is_an_error() -> None:
    with pytest.raises(
        TransformTypeError, match=r"nan_report: a traced function has no numbers(.|\n)*test_anomaly.py"
    ):
        tm.grad(lambda x: (tm.nan_report(np.log, x), x)[1])(0.0)
