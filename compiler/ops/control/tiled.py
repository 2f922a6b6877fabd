"""Tiles: a call whose graph computes one part, and runs for one part of the inputs after another.

An axis of symbolic length is also split into tiles of a fixed number of rows. There are as many tiles as leave a
remainder for ``rest``: at least one row and at most the rows of a tile. Their count is an expression, 0 for short
arrays::

    def f(x: f32[B]) -> f32[]:  # B in 1..
        def part(x: f32[64]) -> f32[1]: ...
        def part_2(x: f32[-64*((B + 63) // 64) + B + 64]) -> f32[1]: ...
        tiled_1: f32[(B + 63) // 64] = tiled(x, graph=part, rest=part_2, …, count=(B + 63) // 64 - 1)
        sum_1: f32[] = sum(tiled_1, axes=(0,))

A graph called ``whole`` computes everything at once: for arrays that are too small for tiles.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import inline
from ...errors import ShapeError
from ...interpreter import evaluate
from ...ir import ArrayType, Extent, Graph, Shape, Value
from ...op import Op, by_decomposition, register
from ...symbolic_size import is_known
from ...value_ops import concatenate, slice_axis
from ..decompositions import register_decomposition

FAMILY = "tiled"

Cuts = tuple[int | None, ...]


def rows_of(graph: Graph, cuts: Cuts) -> Extent:
    """The length of the split axis within one tile."""
    return next(value.shape[cut] for value, cut in zip(graph.inputs, cuts, strict=True) if cut is not None)


def _part(length: Extent, shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _check(inputs: Sequence[ArrayType], graph: Graph, cuts: Cuts, length: Extent, rows: Extent) -> None:
    """Checks that all inputs are those of `graph`, except for the split axis, which has this length."""
    fits = len(inputs) == len(cuts) == len(graph.inputs)
    for given, value, cut in zip(inputs, graph.inputs, cuts, strict=False):
        wanted = value.type
        if cut is not None:
            fits = fits and cut < value.ndim and value.shape[cut] == rows
            wanted = ArrayType(value.dtype, _part(length, value.shape, cut))
        fits = fits and given == wanted
    if not fits:
        tile = ", ".join(str(value.type) for value in graph.inputs)
        raise ShapeError(f"tiled: parts of ({', '.join(map(str, inputs))}) along {cuts} are no ({tile})")


def _type(
    *inputs: ArrayType,
    graph: Graph,
    cuts: Cuts,
    joins: Shape,
    count: Extent,
    rest: Graph | None = None,
    whole: Graph | None = None,
) -> tuple[ArrayType, ...]:
    is_some = rest is not None or is_known(count >= 1)
    if not is_some or not any(cut is not None for cut in cuts) or len(joins) != len(graph.outputs):
        raise ShapeError(f"tiled: {count} tiles of {len(inputs)} inputs along {cuts}, joined along {joins}")
    rows = rows_of(graph, cuts)
    left = 0 if rest is None else rows_of(rest, cuts)
    length = count * rows + left
    _check(inputs, graph, cuts, length, rows)
    lengths = [count * value.shape[axis] for value, axis in zip(graph.outputs, joins, strict=True)]
    if rest is not None:
        _check(inputs, rest, cuts, length, left)
        lengths = [n + v.shape[axis] for n, v, axis in zip(lengths, rest.outputs, joins, strict=True)]
    if whole is not None:
        _check(inputs, whole, cuts, length, length)
    return tuple(
        ArrayType(value.dtype, _part(length, value.shape, axis))
        for value, axis, length in zip(graph.outputs, joins, lengths, strict=True)
    )


def _numpy(
    *inputs: Any,
    graph: Graph,
    cuts: Cuts,
    joins: Shape,
    count: Extent,
    rest: Graph | None = None,
    whole: Graph | None = None,
) -> tuple[Any, ...]:
    rows = rows_of(graph, cuts)

    def parts(first: int, last: int) -> list[Any]:
        return [
            x if cut is None else x[(slice(None),) * cut + (slice(first, last),)]
            for x, cut in zip(inputs, cuts, strict=True)
        ]

    tiles = [evaluate(graph, *parts(i * rows, (i + 1) * rows)) for i in range(count)]
    if rest is not None:
        tiles.append(evaluate(rest, *parts(count * rows, count * rows + rows_of(rest, cuts))))
    return tuple(np.concatenate(pieces, axis) for pieces, axis in zip(zip(*tiles), joins, strict=True))


@register_decomposition("tiled")
def _decomposed(
    *inputs: Value,
    graph: Graph,
    cuts: Cuts,
    joins: Shape,
    count: Extent,
    rest: Graph | None = None,
    whole: Graph | None = None,
) -> tuple[Value, ...]:
    rows = rows_of(graph, cuts)

    def parts(first: int, last: int) -> list[Value]:
        return [
            x if cut is None else slice_axis(x, first, last, cut) for x, cut in zip(inputs, cuts, strict=True)
        ]

    tiles = [inline(graph, parts(i * rows, (i + 1) * rows)) for i in range(count)]
    if rest is not None:
        tiles.append(inline(rest, parts(count * rows, count * rows + rows_of(rest, cuts))))
    return tuple(concatenate(pieces, axis) for pieces, axis in zip(zip(*tiles), joins, strict=True))


register(
    Op(
        "tiled",
        FAMILY,
        _type,
        _numpy,
        by_decomposition,
        by_decomposition,
        by_decomposition,
        spelling=None,
        effect=None,
        doc="The outputs of a graph for one part of the inputs after the other, joined; made by passes.",
    )
)
