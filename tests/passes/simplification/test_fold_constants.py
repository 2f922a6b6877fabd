"""What depends on constants alone is computed before the program runs, exactly as it would have been."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from graphs.random_graphs import graphs
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.dtypes import FLOAT64
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Constant, Graph, Value
from tracemill.passes.simplification.fold_constants import LARGEST, fold_constants


def test_a_chain_of_constants_becomes_one() -> None:
    graph = recorded(lambda x: fn.multiply(x, fn.log(fn.add(fn.constant(9.0), 1.0))), "f64[3]")
    folded = fold_constants(graph)
    assert ops(folded) == ["multiply"]
    constant = folded.calls[0].inputs[1]
    assert isinstance(constant, Constant)
    assert constant.array == np.log(10.0)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -0.0, 5e-324])
def test_special_numbers_fold_to_the_same_bits_without_a_warning(number: float) -> None:
    graph = recorded(
        lambda: tuple(bind(op, fn.constant(number)) for op in ("log", "sqrt", "negative", "exp"))
    )
    folded = fold_constants(graph)
    assert not folded.calls
    assert_same(evaluate(folded), evaluate(graph))


def test_dtypes_stay() -> None:
    graph = recorded(lambda: (fn.add(fn.constant(np.int8(127)), 1), fn.square(fn.constant(np.float16(300)))))
    assert_same(evaluate(fold_constants(graph)), [np.int8(-128), np.float16(np.inf)])


def test_ops_with_several_outputs_fold() -> None:
    graph = recorded(lambda: bind_all("top_k", fn.constant([3.0, 1.0, 2.0]), k=2, axis=0))
    folded = fold_constants(graph)
    assert not folded.calls
    assert_same(evaluate(folded), [np.array([3.0, 2.0]), np.array([0, 2])])


def large(length: int) -> Value:
    return fn.constant(np.arange(length, dtype=np.float64))


def test_a_large_result_stays_a_call_unless_its_inputs_are_as_large() -> None:
    outer = recorded(lambda: fn.multiply(fn.reshape(large(300), (300, 1)), large(300)))
    assert ops(fold_constants(outer)) == ["multiply"]
    same = recorded(lambda: fn.sin(large(LARGEST)))
    assert not fold_constants(same).calls


def test_what_says_much_in_a_word_stays() -> None:
    def f() -> Any:
        one = fn.constant(1.0)
        return fn.broadcast_to(one, (2,)), fn.iota(3, FLOAT64), fn.pad(fn.reshape(one, (1,)), (1,), (1,))

    assert ops(fold_constants(recorded(f))) == ["broadcast_to", "iota", "pad"]


def test_a_call_with_an_effect_stays() -> None:
    def count(x: Any) -> Any:
        raise AssertionError("it must not be run while compiling")

    def f() -> Value:
        return bind("callback", fn.constant(1.0), function=count, types=((FLOAT64, ()),))

    graph = recorded(f)
    assert fold_constants(graph) is graph
    nested = recorded(lambda: bind("call", graph=graph))
    assert fold_constants(nested) is nested


def test_a_call_that_fails_is_left_to_fail_when_it_runs() -> None:
    graph = recorded(lambda: fn.power(fn.constant(2), -1))
    assert fold_constants(graph) is graph


def test_nested_graphs_are_folded_too() -> None:
    inner = recorded(lambda x: fn.add(x, fn.exp(fn.constant(1.0))), "f64[]")
    (call,) = fold_constants(recorded(lambda x: bind("call", x, graph=inner), "f64[]")).calls
    assert isinstance(call.params["graph"], Graph)
    assert ops(call.params["graph"]) == ["add"]


@given(graph=graphs())
def test_random_graphs_keep_their_values_and_fold_once(graph: Graph) -> None:
    folded = fold_constants(graph)
    folded.lint()
    assert fold_constants(folded) is folded
    arrays = drawn(graph, "special")
    assert_same(evaluate(folded, *arrays), evaluate(graph, *arrays))
