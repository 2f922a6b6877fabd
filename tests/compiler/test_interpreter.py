"""Running a graph call by call and rebuilding it: `Interpreter` and `Transformer`, with `call` overridden."""

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tracemill.compiler.builder import Builder, bind_all, current_builder, recording
from tracemill.compiler.errors import ArgumentTypeError, TransformArgumentError, TransformTypeError
from tracemill.compiler.interpreter import Interpreter, Transformer, evaluate
from tracemill.compiler.ir import ArrayType, Call, Graph, Location, Value
from tracemill.compiler.value_ops import add, cos, sin

F64 = np.dtype("f8")
LINE = Location("model.py", 3, "return np.sin(x) + 1")


def sine_plus_one() -> Graph:
    x = Value(ArrayType(F64, (3,)))
    with recording(Builder()) as builder:
        builder.location = LINE
        out = add(sin(x), 1)
    return Graph("f", (x,), tuple(builder.calls), (out, x), ("angle",))


X = np.array([0.1, 0.2, 0.3])


def test_a_graph_runs_by_the_numpy_meaning_of_its_ops() -> None:
    out, same = Interpreter(sine_plus_one()).run(X)
    np.testing.assert_array_equal(out, np.sin(X) + 1)
    assert same is X


def test_an_overridden_call_sees_every_call_with_its_arrays() -> None:
    seen: list[tuple[str, int]] = []

    class Watcher(Interpreter):
        def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
            seen.append((call.op, len(inputs)))
            return super().call(call, inputs)

    Watcher(sine_plus_one()).run(X)
    assert seen == [("sin", 1), ("add", 2)]


def test_an_overridden_call_changes_what_runs_and_may_give_one_array_bare() -> None:
    class Doubled(Interpreter):
        def call(self, call: Call, inputs: Sequence[Any]) -> Any:
            return 2 * inputs[0] if call.op == "sin" else super().call(call, inputs)

    np.testing.assert_array_equal(Doubled(sine_plus_one()).run(X)[0], 2 * X + 1)


def test_a_wrong_number_of_results_names_the_op_and_its_line() -> None:
    class Both(Interpreter):
        def call(self, call: Call, inputs: Sequence[Any]) -> Any:
            return (inputs[0], inputs[0])

    with pytest.raises(TransformArgumentError, match="sin has 1 outputs, but `call` gave 2 for it") as info:
        Both(sine_plus_one()).run(X)
    assert info.value.location == LINE


def test_a_wrong_number_of_inputs_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match="f takes 1 inputs, not 2"):
        evaluate(sine_plus_one(), X, X)


def test_arrays_are_released_after_their_last_use() -> None:
    x = Value(ArrayType(F64, (3,)))
    with recording(Builder()) as builder:
        out = sin(cos(sin(x)))
    graph = Graph("f", (x,), tuple(builder.calls), (out,))
    alive: list[int] = []
    made: list[weakref.ref[Any]] = []

    class Counter(Interpreter):
        def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
            alive.append(sum(ref() is not None for ref in made))
            outputs = super().call(call, inputs)
            made.append(weakref.ref(outputs[0]))
            return outputs

    Counter(graph).run(X)
    assert alive == [0, 1, 1]


def test_a_transformer_that_overrides_nothing_rebuilds_the_graph() -> None:
    graph = sine_plus_one()
    again = Transformer(graph).transform()
    assert again == graph
    assert again.inputs[0] is not graph.inputs[0]
    assert [call.location for call in again.calls] == [LINE, LINE]


def test_a_transformer_replaces_calls() -> None:
    class SineToCosine(Transformer):
        def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
            return super().call(replace(call, op="cos") if call.op == "sin" else call, inputs)

    graph = SineToCosine(sine_plus_one()).transform()
    graph.lint()
    assert "cos_1: f64[3] = cos(angle)" in graph.code
    np.testing.assert_array_equal(evaluate(graph, X)[0], np.cos(X) + 1)


def test_a_transformer_drops_and_adds_calls() -> None:
    class Changed(Transformer):
        def call(self, call: Call, inputs: Sequence[Any]) -> Any:
            if call.op == "sin":
                return inputs[0]
            (total,) = bind_all(call.op, *inputs, **call.params)
            return cos(total)

    graph = Changed(sine_plus_one()).transform()
    graph.lint()
    assert [call.op for call in graph.calls] == ["add", "cos"]


def test_a_transformer_must_give_values_and_stops_recording_when_it_fails() -> None:
    class Wrong(Transformer):
        def call(self, call: Call, inputs: Sequence[Any]) -> Any:
            return X

    with pytest.raises(TransformTypeError, match="`call` gave a ndarray for sin, not a Value"):
        Wrong(sine_plus_one()).transform()
    assert current_builder() is None
