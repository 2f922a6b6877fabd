"""The axis along which a graph can be split into tiles, so that one part after another is computed in the cache."""

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from ..ir import Call, Extent, Graph, Param, Shape, Value
from ..op import is_view, lookup
from ..ops.arrays.index_arrays import other_axes
from ..params import ints_param
from ..symbolic_size import is_known, same_shape, typical
from .fusible_ops import REDUCTIONS, is_elementwise, reduced_axes
from .source_axes import axes_in_operands

Axes: TypeAlias = tuple[int | None, ...]
"""For each input of a call, the axis that is split together with the output's; None for an input that every tile
needs completely."""

FOLDED = REDUCTIONS - {"argmax", "argmin"}
"""Reductions whose results over the parts of an axis are combined in the same way."""

MOST_PIECES = 64
"""A tile that is a strip of columns consists of one piece of memory per row. If there are more than this, they are so
short that NumPy spends more time on starting a piece than on its contents."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """One axis of a graph of loop calls, as it appears in each value."""

    length: Extent
    """Of the axis."""
    axes: Mapping[Value, int]
    """What the tiles compute, a part each, and along which of its axes."""
    folded: Mapping[Value, int]
    """Reductions over the axis, and the axis of their operand: each tile reduces its own part."""
    late: frozenset[Value]
    """The calls that need these results: they run after all tiles. All other calls run before."""
    row_bytes: int
    """The memory of one element of the axis, in the largest value."""
    pieces: int
    """The number of pieces of memory of a tile of that value."""
    outside_bytes: int
    """The memory of the results that are computed before and after the tiles."""


def tiling_of(graph: Graph, *, most_row_bytes: int) -> Tiling | None:
    """The outermost axis along which tiles compute most of the results of a graph of loop calls.

    A tile of one row needs at most `most_row_bytes` per value, in at most `MOST_PIECES` pieces; less than a quarter
    of the memory of all results, or of what is reduced to them, may be outside the tiles. None if no axis satisfies
    this.
    """
    made = [call.outputs[0] for call in graph.calls if not is_view(call)]
    if not made:
        return None
    largest = max((*made, *graph.inputs), key=_typical_bytes)
    total = sum(map(_bytes_handled, graph.calls))
    along = (
        _along(graph, largest, axis) for axis, length in enumerate(largest.shape) if typical(length) >= 2
    )
    tilings = [tiling for tiling in along if tiling is not None]
    fitting = [
        tiling
        for tiling in tilings
        if 0 < tiling.row_bytes <= most_row_bytes
        and tiling.pieces <= MOST_PIECES
        and 4 * tiling.outside_bytes < total
    ]
    return min(fitting, key=lambda t: 16 * t.outside_bytes // total, default=None)


# ---- one axis of one value decides for all others --------------------------------------------------


@dataclass(slots=True)
class _Cut:
    """What must be split so that some values can be computed in tiles."""

    axes: dict[Value, int] = field(default_factory=dict[Value, int])
    """Results of calls, and the axis along which all need them."""
    row_bytes: int = 0
    """The largest split value in memory, per element of the axis."""
    pieces: int = 0
    """The number of pieces of its memory that contain elements of one part of the axis."""
    operands: set[Value] = field(default_factory=set[Value])
    """What these calls take a part of."""
    inputs: dict[Value, int] = field(default_factory=dict[Value, int])
    """Inputs of the graph of which each tile needs a part only, and the axis."""
    before: set[Value] = field(default_factory=set[Value])
    """What the tiles need completely, and what that is computed from."""


def _along(graph: Graph, largest: Value, axis: int) -> Tiling | None:
    """The tiling along an axis of the largest value, if its tiles differ."""
    length = largest.shape[axis]
    around = _cut(graph, [(largest, axis)])
    known = {**around.inputs, **around.axes, largest: axis}
    folded: dict[Value, int] = {}
    late: set[Value] = set()
    roots: list[tuple[Value, int]] = []
    for call in graph.calls:
        (output,) = call.outputs
        if output in known or output in around.before:
            continue
        parts = [x for x in call.inputs if x in known]
        made = [x for x in parts if x not in graph.inputs]
        if any(x in late or x in folded for x in call.inputs):
            late.add(output)
        elif (found := _axis_of_output(call, known) if parts else _like(largest, axis, output)) is not None:
            known[output] = found
        elif parts and (reduced := _reduced_axis(call, known)) is not None:
            folded[output] = reduced
            roots.append((call.inputs[0], reduced))
        elif made:
            late.add(output)
        if output in late:
            roots += [(x, known[x]) for x in made]
    for value in graph.outputs:
        if value in known and value not in graph.inputs:
            roots.append((value, known[value]))
        elif value not in late and value not in folded:
            roots += [(value, at) for at, dim in enumerate(value.shape) if is_known(dim == length)][:1]
    cut = _cut(graph, roots)
    operands = {*cut.operands, *(call.inputs[0] for call in graph.calls if call.outputs[0] in folded)}
    if operands <= cut.axes.keys():
        return None  # no input of the tiles is split: all would compute the same
    inside = {*cut.axes, *folded}
    outside = sum(
        _typical_bytes(call.outputs[0])
        for call in graph.calls
        if call.outputs[0] not in inside and not is_view(call)
    )
    return Tiling(length, cut.axes, folded, _after(graph, inside), cut.row_bytes, cut.pieces, outside)


def _after(graph: Graph, inside: Set[Value]) -> frozenset[Value]:
    """What is computed after the tiles, from their results."""
    after: set[Value] = set()
    for call in graph.calls:
        (output,) = call.outputs
        if output not in inside and any(value in inside or value in after for value in call.inputs):
            after.add(output)
    return frozenset(after)


def _cut(graph: Graph, roots: Iterable[tuple[Value, int]]) -> _Cut:
    """What tiles compute so that each computes a part of `roots`; each value is split along one axis only.

    Values that they need completely, or along two axes, are computed before.
    """
    wanted: dict[Value, set[int | None]] = {}
    for value, axis in roots:
        wanted.setdefault(value, set()).add(axis)
    cut = _Cut()
    for call in reversed(graph.calls):
        axes = wanted.get(call.outputs[0])
        if axes is None:
            continue
        inputs: Axes = (None,) * len(call.inputs)
        if (only := _only(axes)) is not None and (found := input_axes(call, only)) is not None:
            cut.axes[call.outputs[0]] = only
            inputs = found
            cut.operands.update(x for x, at in zip(call.inputs, found, strict=True) if at is not None)
        for value, at in zip(call.inputs, inputs, strict=True):
            wanted.setdefault(value, set()).add(at)
    for value, axes in wanted.items():
        if (only := _only(axes)) is None:
            cut.before.add(value)
        elif value in graph.inputs:
            cut.inputs[value] = only
    views = {call.outputs[0] for call in graph.calls if is_view(call)}
    for value, axes in wanted.items():
        for at in axes:
            if at is not None and value not in views:
                row_bytes = _typical_bytes(value) // max(1, typical(value.shape[at]))
                pieces = math.prod(map(typical, value.shape[:at]))
                cut.row_bytes, cut.pieces = max((cut.row_bytes, cut.pieces), (row_bytes, pieces))
    return cut


def _only(axes: Set[int | None]) -> int | None:
    """The axis along which all need a part of a value; None if some need it completely, or along another axis."""
    return next(iter(axes)) if len(axes) == 1 else None


def _axis_of_output(call: Call, known: Mapping[Value, int]) -> int | None:
    """The axis of the result that corresponds to those of the operands."""
    for axis in range(call.outputs[0].ndim):
        inputs = input_axes(call, axis)
        if inputs is not None and all(
            known.get(value, at) == at for value, at in zip(call.inputs, inputs, strict=True)
        ):
            return axis
    return None


def _like(largest: Value, axis: int, output: Value) -> int | None:
    """The same axis of a result that other operands make, if it is as large."""
    return axis if same_shape(output.shape, largest.shape) else None


def _reduced_axis(call: Call, known: Mapping[Value, int]) -> int | None:
    """The corresponding axis of the operand, if the call reduces over it part by part."""
    axis = known.get(call.inputs[0])
    return axis if call.op in FOLDED and axis in ints_param(call, "axes") else None


def _bytes_handled(call: Call) -> int:
    """The memory of the result of a call, or of what it reduces."""
    values = call.inputs if call.op in REDUCTIONS else call.outputs
    return 0 if is_view(call) else max(map(_typical_bytes, values))


def _typical_bytes(value: Value) -> int:
    return typical(value.type.nbytes)


# ---- per op: how an axis of the result lies in the operands ----------------------------------------


def input_axes(call: Call, axis: int) -> Axes | None:
    """What an axis of the result of a loop call corresponds to; None if parts of it cannot be computed from parts."""
    if typical(call.outputs[0].shape[axis]) < 2:
        return None
    if is_elementwise(call):
        return _aligned(call, axis)
    if call.op in REDUCTIONS:
        return (other_axes(call.inputs[0].ndim, reduced_axes(call))[axis],)
    return axes_in_operands(call, axis)


def _aligned(call: Call, axis: int) -> Axes:
    """By broadcasting."""
    output = call.outputs[0]

    def aligned(value: Value) -> int | None:
        at = axis - (output.ndim - value.ndim)
        return at if at >= 0 and is_known(value.shape[at] == output.shape[axis]) else None

    return tuple(map(aligned, call.inputs))


# ---- calls on a part of the axis -------------------------------------------------------------------


def with_rows(shape: Shape, axis: int, rows: Extent) -> Shape:
    """A shape with an axis of another length."""
    return (*shape[:axis], rows, *shape[axis + 1 :])


def params_of_part(call: Call, axis: int, rows: Extent) -> Mapping[str, Param]:
    """The parameters with which a call computes `rows` of the axis of its result."""
    name = lookup(call.op).shape_param
    if name is None:
        return call.params
    return {**call.params, name: with_rows(ints_param(call, name), axis, rows)}
