"""Calls with nested graphs drop unused results, carries and operands."""

from typing import Any

import numpy as np
import pytest

from samples.sample import Sample
from samples.table import SAMPLES
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind_all
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Call, Graph, Value, called
from tracemill.passes.simplification.fold_constants import fold_constants
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.passes.simplification.simplify import simplify

HOLDING = SAMPLES.where(lambda sample: any(called(sample.graph().calls)) and len(sample.graph().outputs) > 1)


def narrowed(graph: Graph) -> Call:
    """The one call that is left."""
    kept = remove_dead_code(graph)
    kept.lint()
    (call,) = kept.calls
    assert remove_dead_code(kept) is kept
    return call


def assert_same_values(left: Graph, right: Graph) -> None:
    arrays = drawn(left, "real")
    assert_same(evaluate(left, *arrays), evaluate(right, *arrays))


@pytest.mark.parametrize("sample", HOLDING, ids=lambda sample: sample.id)
def test_each_result_alone_keeps_its_value(sample: Sample) -> None:
    graph, arrays = sample.graph(), sample.arrays()
    expected = evaluate(graph, *arrays)
    for place, output in enumerate(graph.outputs):
        kept = remove_dead_code(Graph(graph.name, graph.inputs, graph.calls, (output,), graph.input_names))
        kept.lint()
        assert_same(evaluate(kept, *arrays), expected[place : place + 1])


def test_a_call_loses_results_and_operands() -> None:
    inner = recorded(lambda x, y: (fn.sin(x), fn.cos(y)), "f64[]", "f64[]")
    call = narrowed(recorded(lambda x, y: bind_all("call", x, y, graph=inner)[0], "f64[]", "f64[]"))
    assert len(call.inputs) == len(call.outputs) == 1
    assert [ops(graph) for graph in called((call,))] == [["sin"]]


def test_a_choice_keeps_the_operands_of_all_its_branches() -> None:
    first = recorded(lambda x, y, z: (fn.sin(x), z), "f64[]", "f64[]", "f64[]")
    second = recorded(lambda x, y, z: (y, z), "f64[]", "f64[]", "f64[]")

    def choose(p: Any, *operands: Any) -> Any:
        return bind_all("switch", p, *operands, branches=(first, second))[0]

    call = narrowed(recorded(choose, "bool[]", "f64[]", "f64[]", "f64[]"))
    assert len(call.inputs) == 3
    assert [len(graph.inputs) for graph in called((call,))] == [2, 2]


def test_a_scan_loses_what_it_carries_for_nobody() -> None:
    """The second carry feeds itself alone; the third feeds the first."""
    step = recorded(
        lambda w, v, a, b, c, x: (fn.add(a, c), fn.multiply(b, v), fn.multiply(c, w), x, b), *["f64[]"] * 6
    )

    def loop(*inputs: Any) -> Any:
        return bind_all("scan", *inputs, graph=step, counts=(2, 3), length=4)[0]

    graph = recorded(loop, *["f64[]"] * 5, "f64[4]")
    call = narrowed(graph)
    assert call.params["counts"] == (1, 2)
    assert (len(call.inputs), len(call.outputs)) == (3, 2)
    assert_same_values(graph, remove_dead_code(graph))


def test_a_while_loop_keeps_what_its_condition_needs() -> None:
    types = ["f64[]", "f64[]", "i64[]", "f64[]"]
    cond = recorded(lambda w, a, n, b: fn.greater(n, 0), *types)
    body = recorded(lambda w, a, n, b: (fn.sin(a), fn.subtract(n, 1), fn.multiply(b, w)), *types)
    graph = recorded(lambda *v: bind_all("while_loop", *v, cond=cond, body=body, consts=1)[0], *types)
    call = narrowed(graph)
    assert call.params["consts"] == 0
    assert (len(call.inputs), len(call.outputs)) == (2, 2)


def test_a_carry_that_no_step_changes_becomes_a_constant_of_the_loop() -> None:
    step = recorded(lambda a, b, x: (fn.multiply(a, b), b, fn.add(x, a)), "f64[]", "f64[]", "f64[]")
    graph = recorded(
        lambda a, b, x: bind_all("scan", a, b, x, graph=step, counts=(0, 2), length=3),
        "f64[]",
        "f64[]",
        "f64[3]",
    )
    fired: list[str] = []
    simple = simplify(graph, fired=fired)
    assert "a carry that no step changes → a constant of the loop" in fired
    (call,) = simple.calls
    assert call.params["counts"] == (1, 1)
    assert simple.outputs[1] is simple.inputs[1]
    assert_same_values(graph, simple)


@pytest.mark.parametrize(("index", "op"), [(-4, "sin"), (0, "sin"), (1, "cos"), (9, "cos")])
def test_a_choice_that_is_known_is_its_branch(index: int, op: str) -> None:
    branches = (recorded(fn.sin, "f64[]"), recorded(fn.cos, "f64[]"))
    graph = recorded(lambda x: bind_all("switch", fn.constant(index), x, branches=branches), "f64[]")
    assert ops(simplify(graph)) == [op]
    one = recorded(lambda i, x: bind_all("switch", i, x, branches=branches[:1]), "i64[]", "f64[]")
    assert ops(simplify(one)) == ["sin"]


def test_a_loop_of_constants_is_not_run_before_it_is_asked_for() -> None:
    cond = recorded(lambda x: fn.equal(x, x), "f64[]")
    body = recorded(fn.sin, "f64[]")
    loop = recorded(lambda x: bind_all("while_loop", x, cond=cond, body=body, consts=0), "f64[]")
    one = fn.constant(np.float64(1))
    for graph in (
        recorded(lambda: bind_all("while_loop", one, cond=cond, body=body, consts=0)),
        recorded(lambda: bind_all("call", one, graph=loop)),
    ):
        assert fold_constants(graph) is graph


def test_a_constant_of_a_loop_that_is_known_becomes_one_of_its_step() -> None:
    def f(x: Value) -> Value:
        step = recorded(lambda rate, carry: fn.multiply(carry, rate), "f64[]", "f64[]")
        return bind_all("scan", fn.constant(1.5), x, graph=step, counts=(1, 1), length=3)[0]

    graph = recorded(f, "f64[]")
    fired: list[str] = []
    simple = simplify(graph, fired=fired)
    assert "a constant of a loop that is known → one of its step" in fired
    (call,) = simple.calls
    assert (len(call.inputs), call.params["counts"]) == (1, (0, 1))
    assert_same(evaluate(simple, np.array(2.0)), evaluate(graph, np.array(2.0)))
