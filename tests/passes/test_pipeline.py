"""The one door to passes: order, verification, records, and the name of the pass that failed."""

from dataclasses import replace

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import InvalidGraphError, ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.value_ops import cos, sin
from tracemill.passes.pipeline import Pass, run
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.runtime.programs.optimize import PASSES

X = Value(ArrayType(np.dtype("f4"), (3,)))


def sample() -> Graph:
    with recording(Builder()) as builder:
        out = sin(X)
        cos(X)
    return Graph("f", (X,), tuple(builder.calls), (out,))


def lose_the_calls(graph: Graph) -> Graph:
    return replace(graph, calls=())


def refuse(graph: Graph) -> Graph:
    raise ShapeError("not this shape")


def divide_by_zero(graph: Graph) -> Graph:
    raise ZeroDivisionError("never")


def test_passes_run_in_order_and_are_recorded_by_name() -> None:
    record: list[tuple[str, Graph]] = []
    graph = sample()
    renamed = Pass("renamed", lambda graph: replace(graph, name="g"))
    result = run(graph, [remove_dead_code, renamed], check=True, record=record)
    assert [name for name, _ in record] == ["remove_dead_code", "renamed"]
    assert [call.op for call in record[0][1]] == ["sin"]
    assert result is record[1][1]
    assert result.name == "g"


def test_a_record_may_be_a_function() -> None:
    seen: list[str] = []
    run(sample(), [remove_dead_code], record=lambda name, graph: seen.append(f"{name} {len(graph.calls)}"))
    assert seen == ["remove_dead_code 1"]


def test_no_passes_give_the_graph_itself() -> None:
    graph = sample()
    assert run(graph, []) is graph


def test_the_verifier_names_the_pass_that_broke_the_graph() -> None:
    with pytest.raises(InvalidGraphError, match=r"^after the pass lose_the_calls: graph f, return: "):
        run(sample(), [remove_dead_code, lose_the_calls], check=True)
    assert run(sample(), [lose_the_calls]).calls == ()


def test_an_error_inside_a_pass_keeps_its_type_and_notes_the_pass() -> None:
    with pytest.raises(ShapeError, match="this shape") as refused:
        run(sample(), [refuse])
    assert refused.value.__notes__ == ["in the pass refuse"]
    with pytest.raises(ZeroDivisionError) as failed:
        run(sample(), [Pass("the last one", divide_by_zero)])
    assert failed.value.__notes__ == ["in the pass the last one"]


def test_a_pass_that_is_added_as_contributing_says_runs_in_every_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: list[str] = []

    def note(graph: Graph) -> Graph:
        added.append(graph.name)
        return graph

    monkeypatch.setattr("tracemill.runtime.programs.optimize.PASSES", (*PASSES, note))
    monkeypatch.setenv("TRACEMILL_CACHE", "0")

    def function(x: Array) -> Array:
        return np.cos(x) + 1

    assert tm.compile(function, backend="numpy")(np.zeros(3)).tolist() == [2, 2, 2]
    assert added == ["function"]
    assert "note" in tm.compile(function, backend="numpy").lower(np.zeros(3)).passes
