"""Kernels that compute rows and accumulate over all of them, split in two: the part over the rows, and the part after
it.

An example is the gradient of a layer norm: every row needs sums over itself, and the gradients of gain and bias are
sums over all rows of values that are available there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from ....analysis.fusible_ops import REDUCTIONS, reduced_axes
from ....builder import Builder, bind, bind_all, recording
from ....ir import ArrayType, Call, Graph, Value
from ....symbolic_size import is_known, quotient, typical
from ....value_ops import convert, reshape
from .assumed import block_of
from .reductions import SEARCHES, gathered_dtype

RESIDENT: Final = 1 << 17
"""Bytes of a row, and of the accumulators beside it, that fit into the registers of one program."""


@dataclass(frozen=True, slots=True)
class OverRows:
    """The two parts of a kernel's graph."""

    graph: Graph
    count: int
    """The number of rows."""
    rows: Graph
    """The part computed row by row: results, then for each reduction over all rows the contribution of one row."""
    gathered: tuple[Call, ...]
    """These reductions."""

    @property
    def early(self) -> tuple[Value, ...]:
        """The results that are computed row by row."""
        return self.rows.outputs[: len(self.rows.outputs) - len(self.gathered)]

    @property
    def has_sums_of_rows(self) -> bool:
        """Whether something is accumulated over each row."""
        return any(call.op in REDUCTIONS and _is_long(call) for call in self.rows.calls)

    @property
    def given(self) -> tuple[Value, ...]:
        """The contributions to reductions, one row after another."""
        return self.rows.outputs[len(self.rows.outputs) - len(self.gathered) :]

    def columns(self, value: Value) -> int:
        """How many numbers of a row are accumulated side by side."""
        return quotient(value.type.size, self.count)  # type: ignore[no-any-return]

    def parts(self, programs: int) -> list[ArrayType]:
        """The sums of this many programs, each of which accumulates some of the rows."""
        return [ArrayType(gathered_dtype(v.dtype), (programs, self.columns(v))) for v in self.given]

    def rest(self, parts: Sequence[ArrayType]) -> Graph:
        """The results that need the accumulated values, from the sums of programs or rows."""
        graph = self.graph
        left = [Value(type) for type in parts]
        now: dict[Value, Value] = {}
        with recording(Builder()) as builder:
            for call, part in zip(self.gathered, left, strict=True):
                (output,) = call.outputs
                total = bind(call.op, part, axes=(0,))
                now[output] = reshape(convert(total, output.dtype), output.shape)
            behind = [value for value in graph.outputs if value not in self.early]
            for call in _needed(graph.calls, behind, set(now)):
                inputs = [now.get(value, value) for value in call.inputs]
                now.update(zip(call.outputs, bind_all(call.op, *inputs, **call.params), strict=True))
        names = (*graph.input_names, *(f"{call.op}_parts" for call in self.gathered))
        outputs = tuple(now.get(value, value) for value in behind)
        return Graph(graph.name, (*graph.inputs, *left), tuple(builder.calls), outputs, names)

    def is_resident(self) -> bool:
        """Whether registers can hold a row, and the accumulators over all rows with the same number of columns."""
        given = [v for v in self.given if not is_known(self.columns(v) <= 1)]
        if not given:
            return True
        wide = typical(given[0].type.size)
        arrays = [*given, *(v for v in self.graph.inputs if typical(v.type.size) >= wide)]
        width = sum(gathered_dtype(v.dtype).itemsize for v in arrays)
        blocks = [block_of(self.columns(v)) for v in given]
        return all(block is not None and block * width <= RESIDENT for block in blocks)


def over_rows(graph: Graph) -> OverRows | None:
    """The parts of a graph that computes rows and accumulates over all of them; None for others."""
    outer = [call for call in graph.calls if call.op in REDUCTIONS - SEARCHES and _goes_over_first(call)]
    if not outer:
        return None
    inner = [call for call in graph.calls if call.op in REDUCTIONS and call not in outer and _is_long(call)]
    count = _rows(inner, outer)
    if count is None or is_known(count < 2) or not all(_fits(call, count) for call in (*inner, *outer)):
        return None
    late = _late(graph, outer)
    if any(call.inputs[0] in late for call in (*inner, *outer)):
        return None
    early = [value for value in graph.outputs if value not in late]
    behind = [value for value in graph.outputs if value in late]
    outputs = {call.outputs[0] for call in outer}
    follows = _needed(graph.calls, behind, outputs)
    largest = max(typical(call.outputs[0].type.size) for call in outer)
    if any(call in inner or typical(call.outputs[0].type.size) > largest for call in follows):
        return None
    if not inner and not any(typical(value.type.size) >= typical(count) for value in early):
        return None
    return _cut(graph, count, tuple(outer), early)


def _cut(graph: Graph, count: int, gathered: tuple[Call, ...], early: Sequence[Value]) -> OverRows:
    """The part over the rows: a reduction over all elements becomes one over each row, and one over their results."""
    with recording(Builder()) as builder:
        given: list[Value] = []
        for call in gathered:
            (x,) = call.inputs
            inside = tuple(axis for axis in _axes(call) if axis >= _leading(x.shape, count))
            given.append(bind(call.op, x, axes=inside) if inside else x)
    outputs = (*early, *given)
    calls = _needed((*graph.calls, *builder.calls), outputs, set())
    rows = Graph(graph.name, graph.inputs, tuple(calls), outputs, graph.input_names)
    return OverRows(graph, count, rows, gathered)


def _rows(inner: Sequence[Call], outer: Sequence[Call]) -> int | None:
    """The number of rows; None if it cannot be determined."""
    if inner:
        return min((call.outputs[0].type.size for call in inner), key=typical)
    several = [c for c in outer if not is_known(c.outputs[0].type.size <= 1)]
    counts = {prod(c.inputs[0].shape[a] for a in _axes(c)) for c in several}
    return counts.pop() if len(counts) == 1 else None


def _goes_over_first(call: Call) -> bool:
    """Whether a reduction goes over the first axes, or over all."""
    (x,) = call.inputs
    axes = _axes(call)
    long = [axis in axes for axis, dim in enumerate(x.shape) if not is_known(dim == 1)]
    has_none = any(is_known(dim == 0) for dim in x.shape)
    return bool(long) and long[0] and long == sorted(long, reverse=True) and not has_none


def _is_long(call: Call) -> bool:
    """Whether a reduction combines more than one element."""
    given, left = call.inputs[0].type.size, call.outputs[0].type.size
    return not is_known(given <= left) and not is_known(left <= 0)


def _fits(call: Call, count: int) -> bool:
    """Whether a reduction goes over all rows, and over whole rows if over more, or within single rows."""
    (x,) = call.inputs
    axes, rows = _axes(call), _leading(x.shape, count)
    if not rows:
        return False
    long = {axis for axis, dim in enumerate(x.shape) if not is_known(dim == 1)}
    first = {axis for axis in long if axis < rows}
    behind, gone = long - first, long.intersection(axes)
    if not gone & first:
        return True
    return first <= gone and (not gone & behind or behind <= gone)


def _leading(shape: Sequence[int], count: int) -> int:
    """How many axes the rows are; 0 if no first axes have this size."""
    return next((n for n in range(1, len(shape) + 1) if is_known(prod(shape[:n]) == count)), 0)


def _late(graph: Graph, outer: Iterable[Call]) -> set[Value]:
    """Everything that needs the results of reductions over all rows."""
    late = {value for call in outer for value in call.outputs}
    for call in graph.calls:
        if any(value in late for value in call.inputs):
            late.update(call.outputs)
    return late


def _needed(calls: Sequence[Call], outputs: Iterable[Value], known: set[Value]) -> list[Call]:
    """The calls that compute outputs from known values, in order."""
    needed = set(outputs) - known
    found: list[Call] = []
    for call in reversed(calls):
        if any(value in needed for value in call.outputs):
            found.append(call)
            needed.update(value for value in call.inputs if value not in known)
    return found[::-1]


def _axes(call: Call) -> tuple[int, ...]:
    return tuple(sorted(reduced_axes(call)))
