"""Sums of products in Triton."""

from typing import Any

from ....dtypes import FLOAT32, kind
from ....functions import convert, multiply, reshape, sum_, transpose
from ....ir import Call, Graph, Value
from ....trace import Builder, recording
from ..kernel import TritonKernel, triton_kernel
from ..types import has_type


def dot(call: Call, name: str) -> TritonKernel | None:
    """The Triton functions of a call of ``dot``; None for complex numbers, which Triton lacks."""
    if not has_type(call.inputs[0].dtype):
        return None
    return triton_kernel(as_sum(call), name)


def as_sum(call: Call) -> Graph:
    """The graph of a product as what it means: products of elements, added up. Numbers of two bytes are widened."""
    axes: Any = call.params
    x, y = (Value(value.type) for value in call.inputs)
    batch_x, batch_y = axes.get("batch_x", ()), axes.get("batch_y", ())
    free_x = [axis for axis in range(x.ndim) if axis not in (*batch_x, *axes["contract_x"])]
    free_y = [axis for axis in range(y.ndim) if axis not in (*batch_y, *axes["contract_y"])]
    batch = [x.shape[axis] for axis in batch_x]
    rows, columns = [x.shape[axis] for axis in free_x], [y.shape[axis] for axis in free_y]
    length = [x.shape[axis] for axis in axes["contract_x"]]
    out = len(batch) + len(rows) + len(columns)
    with recording(Builder()) as builder:
        left = transpose(x, (*batch_x, *free_x, *axes["contract_x"]))
        right = transpose(y, (*batch_y, *free_y, *axes["contract_y"]))
        left = reshape(left, (*batch, *rows, *(1 for _ in columns), *length))
        right = reshape(right, (*batch, *(1 for _ in rows), *columns, *length))
        is_half = kind(x.dtype) == "f" and x.dtype.itemsize == 2
        if is_half:
            left, right = convert(left, FLOAT32), convert(right, FLOAT32)
        total = multiply(left, right)
        if length:
            total = sum_(total, tuple(range(out, out + len(length))))
        if is_half:
            total = convert(total, x.dtype)
    return Graph("product", (x, y), tuple(builder.calls), (total,))
