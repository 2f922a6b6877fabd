"""Express operations of NumPy's libraries, and arithmetic that C lacks, as calls that C loops can compute."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...compiler.builder import bind, bind_all
from ...compiler.dtypes import FLOAT32, FLOAT64, DType, is_half
from ...compiler.ir import ArrayType, Graph, Param, Shape, Value, graphs_in
from ...compiler.op import Aliasing, lookup
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.symbolic_size import is_known, is_one, typical
from ...compiler.value_ops import (
    concatenate,
    convert,
    dot,
    expand_dims,
    full,
    iota,
    pad,
    real,
    reshape,
    slice_,
    transpose,
)
from ..rewrite import rewrite
from .half_precision import narrowed, widened

U16: Final = np.dtype(np.uint16)

UNCHANGED: Final = frozenset({"bitcast", "checkpoint_name", "sort", "stop_gradient", "top_k"})
"""Ops that the C backend also computes with two-byte numbers."""

OF_BITS: Final = frozenset({"nextafter", "spacing"})
"""Ops whose results in a wider dtype would be meaningless."""

MOST_WINDOWS: Final = 1 << 24
"""If all windows of a convolution have more bytes than this, it processes one example after another."""


def without_numpy(graph: Graph) -> Graph:
    """Replace calls that only NumPy can compute, if there are other calls for them.

    Two-byte floating-point numbers are computed in f32, as in NumPy. Convolutions become products with all windows.

    Before ``add_1: f16[3] = add(x, y)``, after::

        bitcast_1: u16[3] = bitcast(x, dtype=u16)
        …
        add_1: f32[3] = add(bitcast_3, bitcast_6)
        …
        bitcast_7: f16[3] = bitcast(convert_9, dtype=f16)
    """
    return rewrite(graph, _replacement)


def _replacement(op: str, inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    if op == "conv" and not is_half(inputs[0].dtype):
        x, w = inputs
        return (_conv(x, w, **params),)
    if op == "convert" and (is_half(inputs[0].dtype) or is_half(params["dtype"])):
        return (_converted(inputs[0], params["dtype"]),)
    if op == "iota" and is_half(params["dtype"]):
        return (narrowed(iota(params["length"], FLOAT32), params["dtype"]),)
    dtype = next((value.dtype for value in inputs if is_half(value.dtype)), None)
    if dtype is None or op in UNCHANGED or op in OF_BITS or lookup(op).aliasing == Aliasing.SAME:
        return None
    if any(True for param in params.values() for _ in graphs_in(param)):
        return None
    if lookup(op).moves or (op == "scatter" and params["mode"] == "set") or op == "where":
        return _of_bits(op, inputs, params, dtype)
    return _in_f32(op, inputs, params)


def _of_bits(
    op: str, inputs: tuple[Value, ...], params: Mapping[str, Param], dtype: DType
) -> tuple[Value, ...]:
    """A call that moves elements, applied to their bits."""
    given = [bind("bitcast", x, dtype=U16) if is_half(x.dtype) else x for x in inputs]
    return tuple(bind("bitcast", out, dtype=dtype) for out in bind_all(op, *given, **params))


def _in_f32(op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
    """A call in a wider dtype, and its results rounded."""
    types = lookup(op).type(*[value.type for value in inputs], **params)
    expected = (types,) if isinstance(types, ArrayType) else types
    outputs = bind_all(op, *[widened(x) if is_half(x.dtype) else x for x in inputs], **params)
    return tuple(
        narrowed(out, type.dtype) if is_half(type.dtype) else out
        for out, type in zip(outputs, expected, strict=True)
    )


def _converted(x: Value, dtype: DType) -> Value:
    if is_half(x.dtype):
        return convert(widened(x), dtype)
    if x.dtype.kind == "c":
        x = real(x)
    return narrowed(
        x if x.dtype == FLOAT64 else convert(x, FLOAT64 if x.dtype.itemsize == 8 else FLOAT32), dtype
    )


def _conv(
    x: Value,
    w: Value,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    input_dilation: Sequence[int],
    kernel_dilation: Sequence[int],
) -> Value:
    """A convolution: the product of the kernels and of all windows of the signal."""
    types: Any = lookup("conv").type(
        x.type, w.type, strides=strides, padding=padding, input_dilation=input_dilation,
        kernel_dilation=kernel_dilation,
    )  # fmt: skip
    if any(is_known(size == 0) for size in (x.type.size, w.type.size, types.size)):
        return full(types.shape, 0, x.dtype)
    groups, count, channels = x.shape[:3]
    kernels, taps = w.shape[1], w.shape[3:]
    sizes = types.shape[3:]
    reach, places = math.prod(taps), math.prod(sizes)
    signal = _padded(x, padding, input_dilation)
    left = reshape(w, (groups, kernels, channels * reach))

    def convolved(left: Value, signal: Value) -> Value:
        """[groups, examples, channels, …] to [groups, kernels, examples × places]."""
        taken = signal.shape[1]
        windows = [
            reshape(window, (groups, taken, channels, 1, places))
            for window in _windows(signal, taps, sizes, strides, kernel_dilation)
        ]
        columns = transpose(concatenate(windows, axis=3), (0, 2, 3, 1, 4))
        return dot(
            left, reshape(columns, (groups, channels * reach, taken * places)), ((2,), (1,)), ((0,), (0,))
        )

    window_bytes = x.dtype.itemsize * groups * count * channels * reach * places
    if typical(window_bytes) < MOST_WINDOWS or is_one(count):
        whole = reshape(convolved(left, signal), (groups, kernels, count, *sizes))
        return transpose(whole, (0, 2, 1, *range(3, whole.ndim)))
    examples = transpose(signal, (1, 0, *range(2, signal.ndim)))
    step = graph_of(
        "example",
        [left.type, ArrayType(x.dtype, examples.shape[1:])],
        lambda left, example: (convolved(left, expand_dims(example, 1)),),
    )
    (found,) = bind_all("scan", left, examples, graph=step, counts=(1, 0), length=count)
    return reshape(transpose(found, (1, 0, 2, 3)), types.shape)


def _padded(x: Value, padding: Sequence[tuple[int, int]], dilation: Sequence[int]) -> Value:
    """The signal with zeros around it and between its entries; negative padding removes entries."""
    around = [(0, 0)] * 3 + list(padding)
    low, high = ([max(0, side) for side in sides] for sides in zip(*around, strict=True))
    interior = [0, 0, 0, *(apart - 1 for apart in dilation)]
    found = pad(x, low, high, interior=interior) if any((*low, *high, *interior)) else x
    cut = [(max(0, -first), n - max(0, -last)) for (first, last), n in zip(around, found.shape, strict=True)]
    return slice_(found, [start for start, _ in cut], [stop for _, stop in cut])


def _windows(
    signal: Value, taps: Shape, sizes: Shape, strides: Sequence[int], dilation: Sequence[int]
) -> Iterator[Value]:
    """For every entry of a kernel: the entries of the signal that it multiplies."""
    lead = signal.shape[:3]
    for at in np.ndindex(*taps):
        start = [k * apart for k, apart in zip(at, dilation, strict=True)]
        stop = [
            first + (size - 1) * stride + 1 for first, size, stride in zip(start, sizes, strides, strict=True)
        ]
        yield slice_(signal, (0, 0, 0, *start), (*lead, *stop), (1, 1, 1, *strides))
