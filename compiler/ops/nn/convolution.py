"""`conv`: windows of a signal times kernels, summed over channels; its derivatives are convolutions, too.

``x: [G, N, C, *S]`` and ``w: [G, O, C, *K]`` give ``[G, N, O, *T]``: G independent groups, N examples, C input
channels and O output channels. Like the batch axes of `dot`, the group axis makes the set of rules closed: feature
groups, batch groups, and a batch over both operands are all groups here.

Along each spatial axis, x gets ``input_dilation − 1`` zeros between its entries, then ``padding`` (low, high) zeros
around them; negative padding removes entries. The kernel's entries are ``kernel_dilation`` apart, and its windows
``strides`` apart. The kernel is not flipped: this is a correlation, as in all networks.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...errors import ArgumentValueError, DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import Linear, Op, register
from ...value_ops import add, flip, moveaxis, reshape, transpose
from ..batch_axes import in_front

FAMILY = "convolution"
Padding = tuple[tuple[int, int], ...]
LEAD = 3
"""Axes before the spatial ones."""


def dilated(length: int, dilation: int) -> int:
    """The extent of `length` entries that are `dilation` apart."""
    if dilation == 1:
        return length
    return (length - 1) * dilation + 1 if length else 0


def _conv_type(
    x: ArrayType,
    w: ArrayType,
    strides: Shape,
    padding: Padding,
    input_dilation: Shape,
    kernel_dilation: Shape,
) -> ArrayType:
    if x.dtype != w.dtype or x.dtype.kind == "b":
        raise DTypeError(f"conv is not defined for ({x}, {w})")
    if x.ndim < LEAD or x.ndim != w.ndim:
        raise ShapeError(
            f"conv of {x} and {w}: both need groups, examples or kernels, channels, and the same axes"
        )
    if (x.shape[0], x.shape[2]) != (w.shape[0], w.shape[2]):
        raise ShapeError(
            f"conv of {x} and {w}: x has {x.shape[0]} groups of {x.shape[2]} channels, w {w.shape[0]} of {w.shape[2]}"
        )
    rank = x.ndim - LEAD
    if not rank == len(strides) == len(padding) == len(input_dilation) == len(kernel_dilation):
        raise ShapeError(
            f"conv of {x} and {w}: strides, padding and dilations need one entry per spatial axis"
        )
    if min((*strides, *input_dilation, *kernel_dilation), default=1) < 1:
        raise ArgumentValueError(f"conv of {x} and {w}: strides and dilations must be at least 1")
    spatial = [
        _windows(dilated(n, between) + low + high, dilated(k, apart), stride)
        for n, k, stride, (low, high), between, apart in zip(
            x.shape[LEAD:], w.shape[LEAD:], strides, padding, input_dilation, kernel_dilation, strict=True
        )
    ]
    return ArrayType(x.dtype, (x.shape[0], x.shape[1], w.shape[1], *spatial))


def _windows(length: int, reach: int, stride: int) -> int:
    """The number of windows of this extent."""
    return (length - reach) // stride + 1 if reach <= length else 0


def _conv_numpy(x: Any, w: Any, strides: Any, padding: Any, input_dilation: Any, kernel_dilation: Any) -> Any:
    dtype, rank = x.dtype, x.ndim - 3
    if dtype.itemsize == 2 and dtype.kind in "fV":  # f16 and bf16 are summed in f32, which BLAS supports
        x, w = x.astype(np.float32), w.astype(np.float32)
    groups, count, channels, *lengths = x.shape
    _, kernels, _, *taps = w.shape
    axes = list(zip(lengths, taps, strides, padding, input_dilation, kernel_dilation))
    padded = [low + high + ((n - 1) * d + 1 if n else 0) for n, _, _, (low, high), d, _ in axes]
    sizes = [
        max(0, (length - ((k - 1) * e + 1 if k else 0)) // s + 1)
        for length, (_, k, s, _, _, e) in zip(padded, axes)
    ]
    out = np.zeros((groups, count, kernels, *sizes), x.dtype)
    if not (x.size and w.size and out.size):
        return out.astype(dtype, copy=False)
    entries, places, reach = int(np.prod(lengths)), int(np.prod(sizes)), int(np.prod(taps))
    if all(s == 1 for s in strides) and kernels * entries < channels * places:
        # Multiply every entry by every kernel, then add each product at its position: there are fewer products than
        # window entries here, and zeros between the entries of x cost nothing. A cache's worth of examples at a time.
        left = np.moveaxis(w, (1, 2), (-2, -1)).reshape(groups, 1, reach * kernels, channels)
        chunk = max(1, 2**20 // (reach * kernels * entries))
        for start in range(0, count, chunk):
            part = x[:, start : start + chunk]
            taken = part.shape[1]
            products = np.matmul(left, part.reshape(groups, taken, channels, entries))
            products = products.reshape(groups, taken, reach, kernels, *lengths)
            for number, at in enumerate(np.ndindex(*taps)):
                source, target = [slice(None)] * 3, [slice(None)] * 3
                for k, size, (n, _, _, (low, _), d, e) in zip(at, sizes, axes):
                    first = max(0, -((low - k * e) // d))  # the first entry whose product has a position
                    stop = max(first, min(n, -((low - k * e - size) // d)))
                    source.append(slice(first, stop))
                    target.append(
                        slice(low - k * e + first * d, low - k * e + stop * d, d)
                        if stop > first
                        else slice(0)
                    )
                target[1] = slice(start, start + taken)
                out[tuple(target)] += products[:, :, number][tuple(source)]
        return out.astype(dtype, copy=False)
    # The signal with its zeros: the entries are `input_dilation` apart, starting at `low`.
    signal = np.zeros((groups, count, channels, *(max(0, length) for length in padded)), x.dtype)
    source, target = [slice(None)] * 3, [slice(None)] * 3
    for length, (n, _, _, (low, _), d, _) in zip(padded, axes):
        first = max(0, -(low // d))  # the first entry that is not cut off
        stop = max(first, min(n, -((low - length) // d)))
        source.append(slice(first, stop))
        target.append(slice(low + first * d, low + stop * d, d) if stop > first else slice(0))
    signal[tuple(target)] = x[tuple(source)]
    # All windows as a view [groups, channels, *taps, count, *sizes]; then one matrix product per group.
    steps = signal.strides
    windows = np.lib.stride_tricks.as_strided(
        signal,
        (groups, channels, *taps, count, *sizes),
        (
            *(steps[0], steps[2], *(step * e for step, e in zip(steps[3:], kernel_dilation))),
            *(steps[1], *(step * s for step, s in zip(steps[3:], strides))),
        ),
        writeable=False,
    )
    left = w.reshape(groups, kernels, channels * reach)
    chunk = max(1, 2**20 // (channels * reach * places))
    for start in range(0, count, chunk):
        part = windows[(slice(None),) * (2 + rank) + (slice(start, start + chunk),)]
        taken = part.shape[2 + rank]
        product = np.matmul(left, part.reshape(groups, channels * reach, taken * places))
        product = product.reshape(groups, kernels, taken, *sizes)
        out[:, start : start + taken] = np.moveaxis(product, 2, 1)
    return out.astype(dtype, copy=False)


def _conv_jvp(
    inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: Any, **params: Any
) -> Value:
    (x, w), (dx, dw) = inputs, tangents
    terms = [bind("conv", a, b, **params) for a, b in ((dx, w), (x, dw)) if a is not None and b is not None]
    return terms[0] if len(terms) == 1 else add(*terms)


def swapped(x: Value) -> Value:
    """The second and the third axis swapped: examples, kernels and channels exchange roles."""
    return transpose(x, (0, 2, 1, *range(LEAD, x.ndim)))


def _conv_transpose(
    cotangents: tuple[Value],
    inputs: Any,
    strides: Shape,
    padding: Padding,
    input_dilation: Shape,
    kernel_dilation: Shape,
) -> tuple[Value | None, Value | None]:
    """In Σ ct[n, o, t] x[n, c, i] w[o, c, k] the positions satisfy stride t = low + input_dilation i −
    kernel_dilation k.

    Solved for i, this is a convolution of ct with the flipped kernel; solved for k, one of x with ct. Strides and
    dilations are exchanged, and the padding makes the first and the last position fit.
    """
    (ct,), (x, w) = cotangents, inputs
    lengths = [
        (dilated(n, between), dilated(k, apart), dilated(t, stride), low)
        for n, k, t, stride, (low, _), between, apart in zip(
            x.shape[LEAD:], w.shape[LEAD:], ct.shape[LEAD:], strides, padding, input_dilation, kernel_dilation,
            strict=True,
        )
    ]  # fmt: skip
    if isinstance(x, Linear):
        around = tuple((k - low - 1, n + low - t) for n, k, t, low in lengths)
        kernel = flip(swapped(w), range(LEAD, w.ndim))
        return _conv(ct, kernel, input_dilation, around, strides, kernel_dilation), None
    around = tuple((low, t + k - n - low - 1) for n, k, t, low in lengths)
    return None, swapped(_conv(swapped(x), swapped(ct), kernel_dilation, around, input_dilation, strides))


def _conv(
    x: Value, w: Value, strides: Shape, padding: Padding, input_dilation: Shape, kernel_dilation: Shape
) -> Value:
    return bind(
        "conv",
        x,
        w,
        strides=strides,
        padding=padding,
        input_dilation=input_dilation,
        kernel_dilation=kernel_dilation,
    )


@in_front
def _conv_batch(inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, **params: Any) -> Value:
    """Both mapped: more groups. One mapped: more examples, or more kernels."""
    x, w = inputs
    if all(mapped):
        groups = x.shape[1]
        merged = [reshape(operand, (size * groups, *operand.shape[2:])) for operand in (x, w)]
        out = bind("conv", *merged, **params)
        return reshape(out, (size, groups, *out.shape[1:]))
    place = 1 if mapped[0] else 2  # of the examples, or of the kernels, in the result
    operand = moveaxis(x if mapped[0] else w, 0, 1)
    groups, _, count, *rest = operand.shape
    many = reshape(operand, (groups, size * count, *rest))
    out = bind("conv", *((many, w) if mapped[0] else (x, many)), **params)
    split = reshape(out, (*out.shape[:place], size, count, *out.shape[place + 1 :]))
    return moveaxis(split, place, 0)


register(
    Op(
        "conv",
        FAMILY,
        _conv_type,
        _conv_numpy,
        _conv_jvp,
        _conv_transpose,
        _conv_batch,
        spelling=None,
        effect=None,
        doc="The products of each window of x[g, n, c, …] with each kernel w[g, o, c, …], summed over both.",
    )
)
