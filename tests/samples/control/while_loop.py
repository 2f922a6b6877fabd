"""Loops that end by a condition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as functions
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value
from tracemill.compiler.ops.nested_graphs import graph_of

F64, I64 = dtype_named("f64"), dtype_named("i64")
TYPES = (ArrayType(F64, ()), ArrayType(F64, (2,)), ArrayType(I64, ()))


def halve(w: Value, x: Value, n: Value) -> tuple[Value, ...]:
    """Carries f64[2] and i64[] with the constant f64[]."""
    scaled = functions.multiply(functions.sin(x), functions.cos(w))
    return scaled, functions.subtract(n, 1)


def pair(w: Value, x: Value, n: Value) -> tuple[Value, ...]:
    """No constants: f64[] comes to depend on f64[2]."""
    return functions.sum_(functions.sin(x), (0,)), functions.multiply(x, w), functions.subtract(n, 1)


HALVE = graph_of("halve", TYPES, halve, ("w", "x", "n"))
PAIR = graph_of("pair", TYPES, pair, ("w", "x", "n"))
POSITIVE = graph_of("positive", TYPES, lambda w, x, n: [functions.greater(n, 0)], ("w", "x", "n"))
GIVES_NUMBER = graph_of("gives_number", TYPES, lambda w, x, n: [n])
SWAPPED = graph_of("swapped", TYPES, lambda w, x, n: [n, x])
STEPS: dict[str, Any] = {
    "halve": lambda w, x, n: (np.sin(x) * np.cos(w), n - 1),
    "pair": lambda w, x, n: (np.sum(np.sin(x)), x * w, n - 1),
}


def _loop(*inputs: Any, cond: Graph, body: Graph, consts: int, max_steps: int | None = None) -> Sequence[Any]:
    given, carry = inputs[:consts], inputs[consts:]
    steps = 0
    while carry[-1] > 0 and steps != max_steps:
        carry = STEPS[body.name](*given, *carry)
        steps += 1
    return carry


SHAPES: tuple[Shape, ...] = tuple(type.shape for type in TYPES)
DTYPES = ("f64", "f64", "i64")


def _sample(body: Graph, consts: int, **limit: Any) -> Sample:
    params = {"cond": POSITIVE, "body": body, "consts": consts, **limit}
    return Sample(
        "while_loop",
        SHAPES,
        DTYPES,
        params,
        domain=("real", "real", "integers"),
        reference=_loop,
        ulps=64,
    )


SAMPLES: tuple[Sample, ...] = (
    _sample(HALVE, 1),
    _sample(PAIR, 0),
    _sample(HALVE, 1, max_steps=9),
    _sample(HALVE, 1, max_steps=2),
    _sample(HALVE, 1, max_steps=0),
    _sample(PAIR, 0, max_steps=7),
)
LOOP = {"cond": POSITIVE, "body": HALVE, "consts": 1}
FAILURES: tuple[Failure, ...] = (
    Failure("while_loop", SHAPES, DTYPES, ShapeError, "cannot be", {**LOOP, "max_steps": -1}),
    Failure("while_loop", SHAPES, ("f32", "f64", "i64"), ShapeError, r"positive\(f64\[\]", LOOP),
    Failure("while_loop", SHAPES, DTYPES, ShapeError, r"swapped carries", {**LOOP, "body": SWAPPED}),
    Failure("while_loop", SHAPES, DTYPES, DTypeError, "must give a bool", {**LOOP, "cond": GIVES_NUMBER}),
)
