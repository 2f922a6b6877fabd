"""Random graphs on arrays of symbolic sizes, as a Hypothesis strategy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tracemill as tm
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.symbolic_size import is_known, same_shape
from tracemill.compiler.value_ops import (
    add,
    broadcast_to,
    concatenate,
    constant,
    dot,
    exp,
    flip,
    gather,
    iota,
    maximum,
    multiply,
    negative,
    pad,
    reshape,
    sin,
    slice_axis,
    subtract,
    transpose,
)

B: Any = tm.Dim("B", min=2)
N: Any = tm.Dim("N", min=2)
SHAPES: tuple[Any, ...] = ((), (B,), (N,), (B, N), (N, B), (B, 3), (1, N), (B, N, 2), (2 * N + 1,), (B, B))
UNARY: tuple[Callable[[Value], Value], ...] = (sin, exp, negative)
BINARY: tuple[Callable[[Value, Value], Value], ...] = (add, multiply, subtract, maximum)
MOST_AXES = 3


@st.composite
def symbolic_graphs(draw: st.DrawFn) -> Graph:
    """A well formed graph of f64 for all B and N from 2 on: elementwise calls, reductions, moves, products."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    inputs = tuple(Value(ArrayType(np.dtype("f8"), shape)) for shape in shapes)
    values = list(inputs)
    with recording(Builder()) as builder:
        for _ in range(draw(st.integers(1, 10))):
            x = draw(st.sampled_from(values))
            axis = draw(st.integers(0, max(x.ndim - 1, 0)))
            values.append(draw(st.sampled_from(STEPS if x.ndim else STEPS[:4]))(draw, x, axis, values))
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    return Graph("f", inputs, tuple(builder.calls), (values[-1], *outputs))


def _unary(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    return draw(st.sampled_from(UNARY))(x)


def _binary(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    partners = [y for y in values if same_shape(y.shape, x.shape)]
    return draw(st.sampled_from(BINARY))(x, draw(st.sampled_from(partners)))


def _with_number(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    return draw(st.sampled_from(BINARY))(x, constant(draw(st.sampled_from((0.0, 1.0, -0.5, 2.0)))))


def _broadcast(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    return broadcast_to(x, (draw(st.sampled_from((1, 2, B, N))), *x.shape)) if x.ndim < MOST_AXES else x


def _reduced(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    axes = draw(st.sampled_from(((axis,), tuple(range(x.ndim)))))
    return bind(draw(st.sampled_from(("sum", "max", "min"))), x, axes=axes)


def _reshaped(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    if x.ndim == MOST_AXES or draw(st.booleans()):
        return reshape(x, (x.type.size,))
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def _moved(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    return flip(x, (axis,)) if draw(st.booleans()) else transpose(x, draw(st.permutations(range(x.ndim))))


def _sliced(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    length = x.shape[axis]
    parts = [(0, 1), (length - 1, length)]
    if is_known(length >= 2):
        parts += [(0, length - 1), (1, length)]
    first, last = draw(st.sampled_from(parts))
    return slice_axis(x, first, last, axis)


def _joined(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    if draw(st.booleans()):
        return concatenate([x, sin(x)], axis)
    low = [0] * x.ndim
    low[axis] = draw(st.sampled_from((1, B)))
    return pad(x, low, [0] * x.ndim, 1.5)


def _indexed(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    if draw(st.booleans()):
        return gather(x, [constant(np.array([0, 0, 0]))], (axis,))
    return add(x, reshape(iota(x.shape[axis], x.dtype), (x.shape[axis], *(1,) * (x.ndim - 1 - axis))))


def _product(draw: st.DrawFn, x: Value, axis: int, values: list[Value]) -> Value:
    return dot(x, sin(x), ((axis,), (axis,))) if x.ndim <= 2 else x


STEPS: tuple[Callable[[st.DrawFn, Value, int, list[Value]], Value], ...] = (
    _unary,
    _binary,
    _with_number,
    _broadcast,
    _reduced,
    _reshaped,
    _moved,
    _sliced,
    _joined,
    _indexed,
    _product,
)
"""What gives a value of one and, by an axis of it, of others. The first few need no axis."""
