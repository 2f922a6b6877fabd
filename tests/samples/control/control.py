"""Calls of nested graphs and of Python, and a stop for derivatives."""

from dataclasses import replace
from typing import Any

import numpy as np

from samples.elementwise_samples import elementwise, misuse
from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as functions
from tracemill.compiler.builder import Builder, bind_all, recording
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import NotDifferentiableError, ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value

F64, I64 = dtype_named("f64"), dtype_named("i64")


def wave() -> Graph:
    """``x, y, n -> sin(x) * y, n, x`` for f64[3], f64[], i64[2]: also outputs that only pass through."""
    x, y, n = (Value(ArrayType(*spec)) for spec in ((F64, (3,)), (F64, ()), (I64, (2,))))
    with recording(Builder()) as builder:
        product = functions.multiply(functions.sin(x), y)
    return Graph("wave", (x, y, n), tuple(builder.calls), (product, n, x), ("x", "y", "n"))


def twice(graph: Graph) -> Graph:
    """A graph that calls another one on its own first result."""
    inputs = tuple(Value(v.type) for v in graph.inputs)
    with recording(Builder()) as builder:
        first, *_ = bind_all("call", *inputs, graph=graph)
        outputs = bind_all("call", first, *inputs[1:], graph=graph)
    return Graph("twice", inputs, tuple(builder.calls), outputs)


def _wave(x: Any, y: Any, n: Any, graph: Graph) -> Any:
    return np.sin(x) * y, n, x


def _twice(x: Any, y: Any, n: Any, graph: Graph) -> Any:
    return _wave(np.sin(x) * y, y, n, graph)


def row_sums(x: Any, y: Any) -> Any:
    """What the samples call: f64[2, 3] and i64[] give f64[2] and i64[]."""
    return x.sum(1) + y, y + 1


def row_sums_of_batches(x: Any, y: Any) -> Any:
    """The same of batches with their axes in front, which may be 1 where the other has more."""
    shape = np.broadcast_shapes(x.shape[:-2], y.shape)
    return np.sum(x, -1) + y[..., None], np.broadcast_to(y + 1, shape)


def _row_sums_of_batches(x: Any, y: Any, **params: Any) -> Any:
    return row_sums_of_batches(x, y)


def _row_sums(x: Any, y: Any, function: Any, types: Any, loops: Any = ()) -> Any:
    lengths = tuple(length for length, _ in loops)
    outs = tuple(np.empty((*lengths, *shape), dtype) for dtype, shape in types)
    for at in np.ndindex(*lengths):
        own = [
            tuple(i for i, (_, mapped) in zip(at, loops, strict=True) if mapped[place]) for place in (0, 1)
        ]
        for out, result in zip(outs, row_sums(x[own[0]], y[own[1]]), strict=True):
            out[at] = result
    return outs


SUMS = {"function": row_sums, "types": ((F64, (2,)), (I64, ()))}


def _callback(x: Shape, y: Shape, **params: Any) -> Sample:
    return Sample(
        "callback",
        (x, y),
        ("f64", "i64"),
        {**SUMS, **params},
        reference=_row_sums,
        widened=False,
        wrt=(False, False),
    )


SHAPES: tuple[Shape, ...] = ((3,), (), (2,))
SAMPLES: tuple[Sample, ...] = (
    *(
        Sample("call", SHAPES, ("f64", "f64", "i64"), {"graph": graph}, reference=reference)
        for graph, reference in ((wave(), _wave), (twice(wave()), _twice))
    ),
    _callback((2, 3), ()),
    _callback((4, 2, 3), (), loops=((4, (True, False)),)),
    _callback((2, 3), (3, 2), loops=((3, (False, True)), (2, (False, True)))),
    _callback((4, 2, 3), (3,), loops=((4, (True, False)), (3, (False, True)))),
    *(
        replace(
            _callback((2, 3), (), function=row_sums_of_batches, method=method),
            reference=_row_sums_of_batches,
        )
        for method in ("expand_dims", "broadcast_all")
    ),
    _callback((0, 2, 3), (), loops=((0, (True, False)),)),
    # Differences do not see that the derivative is stopped: "integers" are left out where they are taken.
    *elementwise("stop_gradient", 1, "biufc", "integers", reference=lambda x: x),
)
FAILURES: tuple[Failure, ...] = (
    Failure("call", SHAPES, ("f32", "f64", "i64"), ShapeError, r"call of wave\(f64\[3\]", {"graph": wave()}),
    Failure("call", ((3,),), "f64", ShapeError, "call of wave", {"graph": wave()}),
    Failure(
        "callback",
        ((2, 3), ()),
        ("f64", "i64"),
        NotDifferentiableError,
        "row_sums has no derivative",
        SUMS,
        "jvp",
    ),
    Failure(
        "callback",
        ((2, 3), ()),
        ("f64", "i64"),
        ShapeError,
        "the loops run over",
        {**SUMS, "loops": ((4, (True, False)),)},
    ),
    *misuse("stop_gradient", 1, "biufc"),
)
