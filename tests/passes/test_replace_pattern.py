"""Replacing occurrences of a small graph: what matches, what does not, what takes its place."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.recording import ops
from tracemill.compiler.builder import Builder, bind_all, recording
from tracemill.compiler.errors import TransformArgumentError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Location, Value
from tracemill.compiler.value_ops import add, constant, cos, exp, log, multiply, negative, reshape, sin, sum_
from tracemill.passes.replace_pattern import replace_pattern

F64 = np.dtype("f8")


def graph_of(
    function: Callable[..., Any], count: int = 1, shape: tuple[int, ...] = (3,), name: str = "f"
) -> Graph:
    """The graph of a function of `count` float64 values."""
    inputs = tuple(Value(ArrayType(F64, shape)) for _ in range(count))
    with recording(Builder()) as builder:
        builder.location = Location("model.py", 5, name)
        outputs = function(*inputs)
    return Graph(name, inputs, tuple(builder.calls), outputs if isinstance(outputs, tuple) else (outputs,))


LOG_OF_EXP = graph_of(lambda x: log(exp(x)), name="pattern")
IDENTITY = graph_of(lambda x: x, name="replacement")


def test_a_match_is_replaced_and_the_rest_stays() -> None:
    graph = graph_of(lambda x: sin(log(exp(cos(x)))))
    result = replace_pattern(graph, LOG_OF_EXP, IDENTITY)
    result.lint()
    assert ops(result) == ["cos", "sin"]
    assert result == graph_of(lambda x: sin(cos(x)))


def test_every_match_is_replaced_also_one_after_another() -> None:
    graph = graph_of(lambda x: log(exp(log(exp(log(exp(x)))))))
    assert replace_pattern(graph, LOG_OF_EXP, IDENTITY) == graph_of(lambda x: x)


def test_without_a_match_the_graph_is_returned_itself() -> None:
    graph = graph_of(lambda x: exp(log(x)))
    assert replace_pattern(graph, LOG_OF_EXP, IDENTITY) is graph


def test_the_replacement_may_hold_the_pattern() -> None:
    pattern, replacement = graph_of(sin), graph_of(lambda x: negative(sin(negative(x))))
    graph = graph_of(lambda x: sin(sin(x)))
    assert ops(replace_pattern(graph, pattern, replacement)) == ["negative", "sin", "negative"] * 2


def test_new_calls_come_from_the_line_of_what_they_replace() -> None:
    result = replace_pattern(graph_of(sin), graph_of(sin), Graph("r", *_without_lines(graph_of(cos))))
    assert [call.location for call in result] == [Location("model.py", 5, "f")]


def _without_lines(graph: Graph) -> tuple[Any, ...]:
    inputs = tuple(Value(v.type) for v in graph.inputs)
    with recording(Builder()) as builder:
        outputs = tuple(bind_all(graph.calls[0].op, *inputs))
    return inputs, tuple(builder.calls), outputs


def test_a_value_inside_that_is_used_outside_prevents_a_match() -> None:
    def with_exp(x: Value) -> tuple[Value, Value]:
        inside = exp(x)
        return log(inside), inside

    returned = graph_of(with_exp)
    used = graph_of(lambda x: add(*with_exp(x)))
    assert replace_pattern(used, LOG_OF_EXP, IDENTITY) is used
    assert replace_pattern(returned, LOG_OF_EXP, IDENTITY) is returned


def test_matches_do_not_overlap() -> None:
    three = graph_of(lambda a, b, c: add(add(a, b), c), 3)
    product = graph_of(lambda a, b, c: multiply(multiply(a, b), c), 3)
    graph = graph_of(lambda a: add(add(add(a, a), a), a))
    assert ops(replace_pattern(graph, three, product)) == ["multiply", "multiply", "add"]


def test_one_input_of_the_pattern_is_one_value() -> None:
    square, double = graph_of(lambda x: multiply(x, x)), graph_of(lambda x: add(x, x))
    graph = graph_of(lambda x, y: (multiply(x, y), multiply(y, y)), 2)
    assert replace_pattern(graph, square, double) == graph_of(lambda x, y: (multiply(x, y), add(y, y)), 2)


def test_two_inputs_of_the_pattern_may_be_one_value() -> None:
    pattern, replacement = graph_of(multiply, 2), graph_of(add, 2)
    graph = graph_of(lambda x: multiply(x, x))
    assert replace_pattern(graph, pattern, replacement) == graph_of(lambda x: add(x, x))


def test_an_input_of_the_pattern_may_be_a_constant() -> None:
    pattern, replacement = graph_of(multiply, 2), graph_of(add, 2)
    graph = graph_of(lambda x: multiply(x, constant([1.0, 2.0, 3.0])))
    assert ops(replace_pattern(graph, pattern, replacement)) == ["add"]


def test_a_constant_of_the_pattern_is_an_equal_constant() -> None:
    pattern, replacement = graph_of(lambda x: add(x, 0.0)), IDENTITY
    assert replace_pattern(graph_of(lambda x: add(x, 0.0)), pattern, replacement) == graph_of(lambda x: x)
    for graph in (
        graph_of(lambda x: add(x, -0.0)),
        graph_of(lambda x: add(x, x)),
        graph_of(lambda x: add(0.0, x)),
    ):
        assert replace_pattern(graph, pattern, replacement) is graph


def test_parameters_must_be_equal() -> None:
    pattern, replacement = (graph_of(lambda x, a=a: sum_(x, (a,)), shape=(3, 3)) for a in (0, 1))
    graph = graph_of(lambda x: (sum_(x, (0,)), sum_(x, (0, 1))), shape=(3, 3))
    expected = graph_of(lambda x: (sum_(x, (1,)), sum_(x, (0, 1))), shape=(3, 3))
    assert replace_pattern(graph, pattern, replacement) == expected


def test_types_must_be_equal_unless_any_shape_will_do() -> None:
    graph = graph_of(lambda x: (log(exp(x)), log(exp(sum_(x, (0,))))))
    assert ops(replace_pattern(graph, LOG_OF_EXP, IDENTITY)) == ["sum", "exp", "log"]
    assert ops(replace_pattern(graph, LOG_OF_EXP, IDENTITY, any_shape=True)) == ["sum"]


def test_a_replacement_that_changes_the_shape_is_refused() -> None:
    flat = graph_of(lambda x: reshape(x, (3, 1)))
    same = graph_of(lambda x: x)
    with pytest.raises(TransformArgumentError, match=r"gives f64\[3\] for f64\[3, 1\]") as info:
        replace_pattern(flat, flat, same, any_shape=True)
    assert info.value.location == Location("model.py", 5, "f")


def test_several_outputs_are_replaced_together() -> None:
    pattern = graph_of(lambda x: (sin(x), cos(x)))
    replacement = graph_of(lambda x: (exp(x), exp(negative(x))))
    graph = graph_of(lambda a, b: add(multiply(sin(a), cos(b)), multiply(sin(b), cos(a))), 2)
    result = replace_pattern(graph, pattern, replacement)
    assert ops(result).count("exp") == 0  # the first product needs sin(a) before cos(a) is made
    together = graph_of(lambda a: multiply(sin(a), cos(a)))
    result = replace_pattern(together, pattern, replacement)
    assert ops(result) == ["exp", "negative", "exp", "multiply"]
    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(evaluate(result, x)[0], 1)


def test_the_search_tries_other_candidates_for_a_later_call() -> None:
    pattern = graph_of(lambda x: (sin(x), cos(negative(x))))
    replacement = graph_of(lambda x: (x, x))
    graph = graph_of(lambda x: (exp(negative(x)), sin(x), cos(negative(x))))
    result = replace_pattern(graph, pattern, replacement)
    assert ops(result) == ["negative", "exp"]


def test_unconnected_parts_of_a_pattern_are_found_anywhere() -> None:
    pattern = graph_of(lambda x, y: (sin(x), cos(y)), 2)
    replacement = graph_of(lambda x, y: (y, x), 2)
    graph = graph_of(lambda x, y: (cos(y), sin(x)), 2)
    assert replace_pattern(graph, pattern, replacement) == graph_of(lambda x, y: (x, y), 2)


def test_a_call_with_several_outputs_matches_as_a_whole() -> None:
    def top(x: Value) -> Value:
        return bind_all("top_k", x, k=3, axis=0)[0]

    graph = graph_of(lambda x: sin(top(x)))
    assert ops(replace_pattern(graph, graph_of(top), graph_of(exp))) == ["exp", "sin"]
    indices = graph_of(lambda x: bind_all("top_k", x, k=3, axis=0))
    assert replace_pattern(indices, graph_of(top), graph_of(exp)) is indices


@pytest.mark.parametrize(
    ("pattern", "replacement", "error"),
    [
        (graph_of(sin), graph_of(add, 2), r"inputs of the pattern are f64\[3\], those .* f64\[3\], f64\[3\]; they"),
        (graph_of(sin), graph_of(lambda x: (x, x)), "the outputs of the pattern are"),
        (graph_of(sin), graph_of(sin, shape=()), "inputs of the pattern are"),
        (graph_of(lambda x: x), graph_of(sin), "every output of the pattern must be made"),
        (graph_of(lambda x, y: sin(x), 2), graph_of(add, 2), "every input of the pattern must be used"),
        (graph_of(lambda x: [cos(x), sin(x)][1]), graph_of(sin), "every call of the pattern must be needed"),
        (graph_of(lambda: (), 0), graph_of(lambda: (), 0), "there must be an output"),
    ],
)  # fmt: skip
def test_graphs_that_do_not_fit_each_other_are_refused(
    pattern: Graph, replacement: Graph, error: str
) -> None:
    with pytest.raises(TransformArgumentError, match=error):
        replace_pattern(graph_of(sin), pattern, replacement)
