"""How many examples of a batch run at once: all, a given number, or as many as fit into a memory limit."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

from ...compiler.analysis.peak_memory import peak_memory
from ...compiler.arguments.byte_counts import parse_bytes
from ...compiler.builder import bind_all
from ...compiler.errors import TransformArgumentError
from ...compiler.ir import Graph
from ...compiler.symbolic_size import is_known
from ...compiler.text.units import show_bytes
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import wrap
from ..eager.mapped_graph import MappedGraph
from ..eager.run import run
from ..int_options import positive_int
from .chunked_batch import Chunks


@dataclass(frozen=True, slots=True)
class Chunking:
    """The choice made when wrapping a function. At most one option is given."""

    length: int | None = None
    """The number of examples in a chunk."""
    count: int | None = None
    """The number of chunks."""
    limit: int | None = None
    """The bytes that a call may allocate."""

    def run(
        self, where: str, mapped: MappedGraph, inputs: Sequence[Any], *, held: int = 0, named: bool = False
    ) -> list[Any]:
        """The outputs of a mapped graph on a batch.

        Args:
            where: the transform, in messages.
            mapped: the graph.
            inputs: its inputs, the mapped ones with the batch.
            held: bytes that count against the limit because the caller's call has allocated them.
            named: a trace shows the graph by its name, as a call.
        """
        if self.limit is not None:
            return self._run_within(self.limit - held, where, mapped, inputs, named=named)
        length = self.length
        if self.count is not None:
            length = -(-mapped.size // self.count)
        if length is None or is_known(length >= mapped.size):
            return _run_whole(mapped.batched(), inputs, named=named)
        return Chunks(mapped).run(inputs, length)

    def _run_within(
        self, limit: int, where: str, mapped: MappedGraph, inputs: Sequence[Any], *, named: bool
    ) -> list[Any]:
        """The largest chunk whose peak fits. The peak grows with the chunk, so bisection finds it."""
        whole = mapped.batched()
        mapped = replace(
            mapped, size=index(mapped.size)
        )  # what fits is only known for the sizes of this call
        if mapped.size == 0 or peak_memory(whole) <= limit:
            return _run_whole(whole, inputs, named=named)
        chunks = Chunks(mapped)
        length = bisect_right(range(1, mapped.size), limit, key=chunks.peak)
        if length == 0:
            least = chunks.peak(1)
            raise TransformArgumentError(
                f"{where}: memory_limit leaves {show_bytes(max(limit, 0))}, but one at a time, with the result of "
                f"all {mapped.size}, needs {least} bytes ({show_bytes(least)}): raise the limit, or map a part"
            )
        return chunks.run(inputs, length)


def _run_whole(graph: Graph, inputs: Sequence[Any], *, named: bool) -> list[Any]:
    if named and current_trace() is not None:
        return [wrap(value) for value in bind_all("call", *map(as_value, inputs), graph=graph)]
    return run(graph, inputs)


def chunking(where: str, chunk_size: Any = None, memory_limit: Any = None) -> Chunking:
    """The choice of these two options of a transform; raises `TransformArgumentError` for wrong ones."""
    if chunk_size is not None and memory_limit is not None:
        raise TransformArgumentError(f"{where}: chunk_size and memory_limit exclude each other: give one")
    if memory_limit is not None:
        return Chunking(limit=parse_bytes(where, memory_limit))
    if chunk_size is None:
        return Chunking()
    return Chunking(length=positive_int(f"{where}: chunk_size", chunk_size, TransformArgumentError))
