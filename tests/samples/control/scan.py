"""Loops of known length."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as functions
from tracemill.compiler.builder import bind_all
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value
from tracemill.compiler.ops.nested_graphs import graph_of

F64, I64 = dtype_named("f64"), dtype_named("i64")
NUMBER, PAIR, WHOLE = ArrayType(F64, ()), ArrayType(F64, (2,)), ArrayType(I64, ())


def oscillate(w: Value, n: Value, c: Value, count: Value, x: Value) -> tuple[Value, ...]:
    """Constants f64[2] and i64[], carried f64[2] and i64[], slices f64[]: all kinds of residuals.

    One depends on the constant alone, one is carried, one is a slice, one is a result.
    """
    new = functions.add(functions.multiply(functions.sin(w), functions.sin(c)), functions.multiply(x, x))
    return new, functions.add(count, n), functions.multiply(new, functions.exp(new)), count


def _oscillate(w: Any, n: Any, c: Any, count: Any, x: Any) -> Any:
    new = np.sin(w) * np.sin(c) + x * x
    return new, count + n, new * np.exp(new), count


def fibonacci(a: Value, b: Value) -> tuple[Value, ...]:
    """Carries f64[] and f64[]: the second comes to depend on the first after a step, and the other way round."""
    return b, functions.multiply(functions.sin(a), b)


def _fibonacci(a: Any, b: Any) -> Any:
    return b, np.sin(a) * b


def rows(w: Value, total: Value, row: Value) -> tuple[Value, ...]:
    """A loop in a loop: constant f64[], carried f64[], slices f64[2]; gives out a constant and what it carried."""
    (new,) = bind_all("scan", w, total, row, graph=WEIGHTED, counts=(1, 1), length=2)
    return new, w, total


def _rows(w: Any, total: Any, row: Any) -> Any:
    new = total
    for x in row:
        new = new * np.cos(w) + x
    return new, w, total


OSCILLATE = graph_of(
    "oscillate", (PAIR, WHOLE, PAIR, WHOLE, NUMBER), oscillate, ("w", "n", "c", "count", "x")
)
FIBONACCI = graph_of("fibonacci", (NUMBER, NUMBER), fibonacci, ("a", "b"))
WEIGHTED = graph_of(
    "weighted",
    (NUMBER, NUMBER, NUMBER),
    lambda w, c, x: (functions.add(functions.multiply(c, functions.cos(w)), x),),
    ("w", "c", "x"),
)
GROWS = graph_of("grows", (NUMBER, PAIR), lambda c, x: (x,))
ROWS = graph_of("rows", (NUMBER, NUMBER, PAIR), rows, ("w", "total", "row"))
STEPS: dict[str, Any] = {"oscillate": _oscillate, "fibonacci": _fibonacci, "rows": _rows}


def _loop(
    *inputs: Any, graph: Graph, counts: Any, length: int, reverse: bool = False, unroll: int = 1
) -> Any:
    consts, carried = counts
    given, carry, xs = inputs[:consts], inputs[consts : consts + carried], inputs[consts + carried :]
    stacks: list[Any] = [[None] * length for _ in graph.outputs[carried:]]
    for i in reversed(range(length)) if reverse else range(length):
        results = STEPS[graph.name](*given, *carry, *(x[i] for x in xs))
        carry = results[:carried]
        for stack, result in zip(stacks, results[carried:], strict=True):
            stack[i] = result
    empty = [
        np.empty((0, *v.shape), v.dtype) if not length else np.stack(s)
        for s, v in zip(stacks, graph.outputs[carried:], strict=True)
    ]
    return *carry, *empty


def _sample(graph: Graph, shapes: tuple[Shape, ...], dtypes: tuple[str, ...], **params: Any) -> Sample:
    return Sample("scan", shapes, dtypes, {"graph": graph, **params}, reference=_loop, ulps=32)


def _oscillating(length: int, **loop: Any) -> Sample:
    shapes: tuple[Shape, ...] = ((2,), (), (2,), (), (length,))
    dtypes = ("f64", "i64", "f64", "i64", "f64")
    return _sample(OSCILLATE, shapes, dtypes, counts=(2, 2), length=length, **loop)


SAMPLES: tuple[Sample, ...] = (
    _oscillating(4),
    _oscillating(5, reverse=True, unroll=2),
    _oscillating(1),
    _oscillating(0),
    _sample(FIBONACCI, ((), ()), ("f64", "f64"), counts=(0, 2), length=3, unroll=4),
    _sample(ROWS, ((), (), (3, 2)), ("f64", "f64", "f64"), counts=(1, 1), length=3),
    _sample(ROWS, ((), (), (7, 2)), ("f64", "f64", "f64"), counts=(1, 1), length=7, unroll=3),
)
SHAPES: tuple[Shape, ...] = ((), (), (3, 2))
LOOP = {"graph": ROWS, "counts": (1, 1), "length": 3}
FAILURES: tuple[Failure, ...] = (
    Failure("scan", SHAPES, "f64", ShapeError, r"of length 4 over f64\[3, 2\]", {**LOOP, "length": 4}),
    Failure("scan", SHAPES, "f64", ShapeError, "cannot be", {**LOOP, "length": -1}),
    Failure("scan", SHAPES, "f64", ShapeError, "cannot be", {**LOOP, "unroll": 0}),
    Failure("scan", SHAPES, "f32", ShapeError, r"rows\(f64\[\]", LOOP),
    Failure(
        "scan",
        ((), (3, 2)),
        "f64",
        ShapeError,
        r"carries \(f64\[\]\)",
        {**LOOP, "graph": GROWS, "counts": (0, 1)},
    ),
)
