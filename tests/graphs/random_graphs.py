"""Random graphs of a handful of ops, as a Hypothesis strategy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tracemill.compiler.analysis.fusible_ops import is_loop_call
from tracemill.compiler.builder import Builder, bind, bind_all, recording
from tracemill.compiler.dtypes import dtype_named, is_inexact
from tracemill.compiler.ir import ArrayType, Graph, Location, Value
from tracemill.compiler.value_ops import add, conjugate, constant, exp, multiply, negative, sin, subtract

SHAPES = ((), (2,), (3, 2), (1, 2), (0, 2), (20,))
DTYPES = ("f16", "bf16", "f32", "f64", "c64", "c128")
UNARY: tuple[Callable[[Value], Value], ...] = (sin, exp, negative, conjugate)
BINARY: tuple[Callable[[Value, Value], Value], ...] = (add, multiply, subtract)


KINDS = ("unary", "binary", "number", "array", "sum", "reshape", "sort", "call")


@st.composite
def graphs(
    draw: st.DrawFn, depth: int = 1, dtypes: Sequence[str] = DTYPES, kinds: Sequence[str] = KINDS
) -> Graph:
    """A well formed graph: elementwise ops, reductions, layout, all kinds of constants, outputs, nesting."""
    chosen = st.sampled_from(dtypes).map(dtype_named)
    types = draw(st.lists(st.builds(ArrayType, chosen, st.sampled_from(SHAPES)), min_size=1, max_size=3))
    inputs = tuple(map(Value, types))
    values = list(inputs)
    with recording(Builder()) as builder:
        for line in range(draw(st.integers(0, 8))):
            builder.location = draw(st.none() | st.just(Location("model.py", line, "y = f(x)  # it's")))
            made = _step(draw, draw(st.sampled_from(values)), values, kinds, depth)
            values += [value for value in made if is_inexact(value.dtype)]
    outputs = draw(st.lists(st.sampled_from(values), max_size=3))
    names = draw(st.lists(st.text(max_size=4) | st.sampled_from(["x", "sin_1", "f32", "if", "nan"]),
                          min_size=len(inputs), max_size=len(inputs)))  # fmt: skip
    return Graph(draw(st.text(max_size=6)), inputs, tuple(builder.calls), tuple(outputs), tuple(names))


def loop_graphs() -> st.SearchStrategy[Graph]:
    """Graphs that can be lowered to loops: without sorting, and without numbers of two bytes."""
    return graphs(depth=0, dtypes=DTYPES[2:], kinds=[kind for kind in KINDS if kind != "sort"])


def is_for_loops(graph: Graph) -> bool:
    """Whether a graph can be lowered to loops as it is."""
    halves = any(v.dtype.name in ("float16", "bfloat16") for v in (*graph.inputs, *graph.outputs))
    return not halves and all(map(is_loop_call, graph.calls))


def _step(draw: st.DrawFn, x: Value, values: list[Value], kinds: Sequence[str], depth: int) -> list[Value]:
    """What one or two random calls on `x` give."""
    kind = draw(st.sampled_from(kinds))
    if kind == "binary":
        partners = [y for y in values if y.type == x.type]
        return [draw(st.sampled_from(BINARY))(x, draw(st.sampled_from(partners)))]
    if kind in ("number", "array"):
        return [draw(st.sampled_from(BINARY))(x, _constant(draw, x, kind == "array"))]
    if kind == "sum" and x.ndim:
        return [bind("sum", x, axes=draw(st.sampled_from(((), (0,), tuple(range(x.ndim))))))]
    if kind == "reshape":
        return [bind("reshape", x, shape=(x.type.size, 1))]
    if kind == "sort" and x.ndim and x.type.size and x.dtype.kind == "f":
        return list(bind_all("top_k", x, k=1, axis=0))
    if kind == "call" and depth:
        inner = draw(graphs(depth - 1, kinds=kinds))
        chosen: list[Any] = [next((y for y in values if y.type == v.type), None) for v in inner.inputs]
        return [] if None in chosen else list(bind_all("call", *chosen, graph=inner))
    return [draw(st.sampled_from(UNARY))(x)]


def _constant(draw: st.DrawFn, like: Value, whole: bool) -> Value:
    """A constant number, or an array of random bits, that goes with `like`."""
    shape = like.shape if whole else ()
    count = int(np.prod(shape, dtype=int)) * like.dtype.itemsize
    content = draw(st.binary(min_size=count, max_size=count))
    return constant(np.frombuffer(content, like.dtype).reshape(shape))
