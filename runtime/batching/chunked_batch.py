"""A batch in chunks: a few examples at a time, each chunk written into its part of one result."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...compiler.analysis.peak_memory import peak_memory
from ...compiler.builder import bind_all, inline
from ...compiler.dtypes import Array
from ...compiler.errors import CollectiveError
from ...compiler.interpreter import depends_on, evaluate
from ...compiler.ir import Graph, Value, called
from ...compiler.ops.collective_calls import COLLECTIVES, collective_calls
from ...compiler.symbolic_size import is_known
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_array import wrap
from ...compiler.value_ops import concatenate, moveaxis, reshape, slice_axis
from ...passes.optimizations.hoist import hoist
from ..eager.anomaly import part_of_batch
from ..eager.current_tape import is_recording, joined
from ..eager.mapped_graph import MappedGraph
from ..eager.run import as_arrays, run, transformed


class Chunks:
    """A mapped graph split in two: the part shared by all examples, computed once, and the part that runs per chunk."""

    def __init__(self, mapped: MappedGraph) -> None:
        graph = mapped.graph
        varying = [axis is not None for axis in mapped.in_axes]
        reached = depends_on(graph, varying)
        self._refuse_collectives(graph, reached, mapped.size)
        self.size = mapped.size
        self.varies = [value in reached for value in graph.outputs]
        """Which outputs depend on the example."""
        self.varying = varying
        shared, each = transformed(partial(hoist, varying=varying), graph)
        axes = list(zip(mapped.out_axes, self.varies, strict=True))
        fixed = [axis for axis, varies in axes if not varies]
        needed = len(shared.outputs) - len(fixed)
        unmapped = [None] * len(shared.inputs)
        self._fixed = len(fixed)
        self._shared = MappedGraph(shared, unmapped, [*fixed, *[None] * needed], mapped.size).batched()
        self._in_axes = [axis for axis in mapped.in_axes if axis is not None]
        self._out_axes = [axis for axis, varies in axes if varies and axis is not None]
        self._each = MappedGraph(each, [*[None] * needed, *self._in_axes], self._out_axes, mapped.size)

    @staticmethod
    def _refuse_collectives(graph: Graph, reached: set[Value], size: int) -> None:
        """A chunk cannot use the examples of another one."""
        for call in graph.calls:
            nested = (inner for held in called((call,)) for inner in collective_calls(held))
            own = (call,) if call.op in COLLECTIVES and call.inputs[0] in reached else ()
            for found in (*own, *(nested if any(v in reached for v in call.inputs) else ())):
                raise CollectiveError(
                    f"{found.op} over the axis {found.params['axis']!r} needs all {size} examples at once, but they "
                    "run in chunks: map without chunk_size and memory_limit, or compute it in a vmap of its own before",
                    found.location,
                )

    def peak(self, length: int) -> int:
        """The maximum number of bytes that `run` allocates: the result, the shared part, and what one chunk needs."""
        chunk = self._each.batched(length)
        held = sum(value.type.nbytes for value in self._shared.outputs)
        result = sum(value.type.nbytes // max(length, 1) * self.size for value in chunk.outputs)
        return max(peak_memory(self._shared), held + result + peak_memory(chunk))

    def run(self, inputs: Sequence[Any], length: int) -> list[Any]:
        """The outputs of the batched graph, computed for `length` examples at a time."""
        found = run(self._shared, [x for x, varies in zip(inputs, self.varying, strict=True) if not varies])
        fixed, known = iter(found[: self._fixed]), found[self._fixed :]
        mapped = [x for x, varies in zip(inputs, self.varying, strict=True) if varies]
        if is_recording((*known, *mapped)):
            with joined():
                found = self._record(known, mapped, length)
        else:
            found = self._compute(known, mapped, length)
        each = iter(found)
        return [next(each if varies else fixed) for varies in self.varies]

    def _parts(self, length: int) -> Iterator[tuple[Graph, int, int]]:
        """The graph for each chunk and where it begins and ends: one graph for all, and one for a shorter last
        chunk."""
        whole = self._each.batched(length)
        for start in range(0, self.size, length):
            stop = min(start + length, self.size)
            yield (whole if stop - start == length else self._each.batched(stop - start)), start, stop

    def _compute(self, known: Sequence[Any], mapped: Sequence[Any], length: int) -> list[Array]:
        shared, arrays = as_arrays(known), as_arrays(mapped)
        results: list[Array] = []
        for graph, start, stop in self._parts(length):
            if not results:
                results = [self._room(v, axis) for v, axis in zip(graph.outputs, self._out_axes, strict=True)]
            part = [x[_along(axis, start, stop)] for x, axis in zip(arrays, self._in_axes, strict=True)]
            places = [_along(axis, start, stop) for axis in self._out_axes]
            with part_of_batch(start):
                self._compute_part(graph, [*shared, *part], places, results)
        return results

    def _compute_part(
        self, graph: Graph, inputs: Sequence[Array], places: Sequence[Any], results: Sequence[Array]
    ) -> None:
        """Run one chunk and write its result. Its workspace is freed afterwards."""
        for result, place, output in zip(results, places, evaluate(graph, *inputs), strict=True):
            result[place] = output

    def _room(self, value: Value, axis: int) -> Array:
        """Memory for one output of the whole batch."""
        shape = list(value.shape)
        shape[axis] = self.size
        return np.empty(shape, value.dtype)

    def _record(self, known: Sequence[Any], mapped: Sequence[Any], length: int) -> list[Any]:
        """A loop over the whole chunks, which contains one graph for any number of them, and the remainder of the
        batch."""
        shared = list(map(as_value, known))
        xs = [moveaxis(as_value(x), axis, 0) for x, axis in zip(mapped, self._in_axes, strict=True)]
        count, whole = self.size // length, self.size // length * length
        blocks = [reshape(slice_axis(x, 0, whole, 0), (count, length, *x.shape[1:])) for x in xs]
        step = self._leading.batched(length, in_loop=True)
        stacked = bind_all("scan", *shared, *blocks, graph=step, counts=(len(shared), 0), length=count)
        outputs = [reshape(y, (whole, *y.shape[2:])) for y in stacked]
        if not is_known(whole == self.size):
            rest = [slice_axis(x, whole, self.size, 0) for x in xs]
            last = inline(self._leading.batched(self.size - whole, in_loop=True), (*shared, *rest))
            outputs = [concatenate(pair, 0) for pair in zip(outputs, last, strict=True)]
        return [wrap(moveaxis(y, 0, axis)) for y, axis in zip(outputs, self._out_axes, strict=True)]

    @property
    def _leading(self) -> MappedGraph:
        """The part that runs per chunk, with the batch as the first axis everywhere."""
        in_axes = [None if axis is None else 0 for axis in self._each.in_axes]
        return replace(self._each, in_axes=in_axes, out_axes=[0] * len(self._out_axes))


def _along(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop))
