"""What is scattered into rows that a loop has computed is chosen there, element by element."""

from typing import Any

import numpy as np
import pytest

from support.recording import assert_same, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import INT64
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.passes.optimizations.select_scattered import select_scattered

MODES = ("set", "add", "multiply", "minimum", "maximum")


def labelled(mode: str, base: str, updates: str, labels: str) -> Graph:
    """A scatter to the label of each row of what is computed."""

    def function(x: Any, y: Any, places: Any) -> Any:
        rows = fn.reshape(fn.iota(x.shape[0], INT64), places.shape)
        return fn.scatter(fn.multiply(x, x), y, [rows, places], (0, 1), mode)

    return recorded(function, base, updates, labels)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("base", "updates", "labels"),
    [
        ("f32[7, 5]", "f32[7]", "i64[7]"),
        ("i16[7, 5]", "i16[7, 1]", "i64[7, 1]"),
        ("f64[4, 5, 3]", "f64[4, 3]", "u8[4]"),
        ("f32[7, 1]", "f32[7]", "i64[7]"),
    ],
)
def test_choices_give_the_same_bits_also_for_labels_that_are_none(
    mode: str, base: str, updates: str, labels: str
) -> None:
    graph = labelled(mode, base, updates, labels)
    selected = select_scattered(graph)
    selected.lint()
    assert "scatter" not in ops(selected)
    rng = np.random.default_rng(0)
    x, y, places = graph.inputs
    numbers = [np.asarray(rng.standard_normal(v.shape) * 4, v.dtype) for v in (x, y)]
    numbers[1].reshape(-1)[:1] = -0.0 if x.dtype.kind == "f" else 0
    at = np.resize(np.array([0, 4, 2, 9, -1 if places.dtype.kind == "i" else 200, 3, 1]), places.shape)
    arrays = (*numbers, at.astype(places.dtype))
    assert_same(evaluate(selected, *arrays), evaluate(graph, *arrays))


def given(x: Any, y: Any, places: Any) -> Any:
    return fn.scatter(x, y, [fn.iota(x.shape[0], INT64), places], (0, 1), "add")


def some_rows(x: Any, y: Any, places: Any) -> Any:
    return fn.scatter(
        fn.exp(x),
        y,
        [bind("clip", places, fn.constant(0, INT64), fn.constant(1, INT64)), places],
        (0, 1),
        "add",
    )


@pytest.mark.parametrize("function", [given, some_rows])
def test_what_is_not_computed_there_or_goes_to_other_rows_stays(function: Any) -> None:
    graph = recorded(function, "f32[7, 5]", "f32[7]", "i64[7]")
    assert select_scattered(graph) is graph
