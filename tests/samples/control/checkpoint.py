"""Calls that are computed again, and names for what need not be."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as functions
from tracemill.compiler.builder import Builder, bind, bind_all, recording
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import ShapeError, TransformTypeError
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value


def layer() -> Graph:
    """``x, w, n -> tanh(sin(x) · w), n, x`` for f64[2], f64[2, 3], i64[]: also outputs that pass through."""
    types = (("f64", (2,)), ("f64", (2, 3)), ("i64", ()))
    x, w, n = (Value(ArrayType(dtype_named(name), shape)) for name, shape in types)
    with recording(Builder()) as builder:
        product = functions.dot(functions.sin(x), w, ((0,), (0,)))
        named = bind("checkpoint_name", product, name="product")
        outputs = (bind("tanh", named), n, x)
    return Graph("layer", (x, w, n), tuple(builder.calls), outputs, ("x", "w", "n"))


def nested() -> Graph:
    """The layer within a checkpoint of its own, and squared."""
    inputs = tuple(Value(v.type) for v in layer().inputs)
    with recording(Builder()) as builder:
        first, n, x = bind_all("checkpoint", *inputs, graph=layer())
        outputs = (functions.square(first), n, x)
    return Graph("nested", inputs, tuple(builder.calls), outputs, ("x", "w", "n"))


def _layer(x: Any, w: Any, n: Any, graph: Graph, **saves: Any) -> Any:
    return np.tanh(np.sin(x) @ w), n, x


def _nested(x: Any, w: Any, n: Any, graph: Graph, **saves: Any) -> Any:
    return np.tanh(np.sin(x) @ w) ** 2, n, x


SHAPES: tuple[Shape, ...] = ((2,), (2, 3), ())
DTYPES = ("f64", "f64", "i64")
SAMPLES: tuple[Sample, ...] = (
    *(
        Sample("checkpoint", SHAPES, DTYPES, {"graph": layer(), **saves}, reference=_layer, ulps=4)
        for saves in ({}, {"save_ops": ("dot",)}, {"save_names": ("product", "other")})
    ),
    Sample("checkpoint", SHAPES, DTYPES, {"graph": nested()}, reference=_nested, ulps=8),
    *(
        Sample("checkpoint_name", (shape,), dtype, {"name": "h"}, reference=lambda x, name: x)
        for shape, dtype in (((), "f64"), ((2, 3), "f64"), ((2, 3), "c128"), ((3,), "f32"), ((3,), "i64"))
    ),
)
FAILURES: tuple[Failure, ...] = (
    Failure("checkpoint", ((2,),), "f64", ShapeError, "checkpoint of layer", {"graph": layer()}),
    Failure("checkpoint_name", ((2,),), "f64", TransformTypeError, "must be a string", {"name": ""}),
)
