"""`MappedGraph`: the graph of one example, with the batch axes of its inputs and outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ...compiler.ir import Graph
from ...passes.transforms.vmap import vmap
from .run import transformed

BatchAxis: TypeAlias = int | None


@dataclass(frozen=True, slots=True)
class MappedGraph:
    """Input i has a batch of `size` examples along ``in_axes[i]``, output i along ``out_axes[i]``; None: no batch."""

    graph: Graph
    in_axes: Sequence[BatchAxis]
    out_axes: Sequence[BatchAxis]
    size: int

    def batched(self, size: int | None = None, *, in_loop: bool = False) -> Graph:
        """The graph of the whole batch, or of a part of that size; `in_loop` if it is used for several parts."""
        count = self.size if size is None else size
        step = partial(vmap, in_axes=self.in_axes, size=count, out_axes=self.out_axes, is_part=in_loop)
        return transformed(step, self.graph)
