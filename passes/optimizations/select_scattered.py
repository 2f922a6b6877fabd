"""Turn a write to one element of each row into a selection for every element, which runs in the surrounding loops."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...compiler.analysis.fusible_ops import is_elementwise
from ...compiler.builder import bind
from ...compiler.ir import Graph, Param, Value
from ...compiler.op import Aliasing, lookup
from ...compiler.ops.elementwise.broadcasting import broadcast_shapes
from ...compiler.symbolic_size import is_known, same_shape
from ...compiler.value_ops import equal, iota, reshape, where
from ..rewrite import Rewriter
from ..rewrite_rules.ranges import is_position
from ..rewrite_rules.rule import Site


def select_scattered(graph: Graph) -> Graph:
    """Replace scatters of one update into each row of an array that a loop has computed.

    Before, for the gradient of a loss by labels::

        multiply_1: f32[100, 10] = multiply(scale, exponentials)
        iota_1: i64[100] = iota(length=100, dtype=i64)
        scatter_1: f32[100, 10] = scatter(multiply_1, updates, iota_1, labels, axes=(0, 1), mode="add")

    after::

        equal_1: bool[100, 10] = equal(iota_2, reshape_1)  # the columns, and the labels
        add_1: f32[100, 10] = add(multiply_1, reshape_2)
        where_1: f32[100, 10] = where(equal_1, add_1, multiply_1)

    A GPU then writes the array once, instead of writing it and then updating single elements. Nested graphs do not
    change: a carried array is better updated in place.
    """
    return _Selector(graph).run()


class _Selector(Rewriter):
    def nested(self, graph: Graph) -> Graph:
        return graph

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op != "scatter":
            return None
        found = self.selected(inputs, params)
        return None if found is None else (found,)

    def selected(self, inputs: Sequence[Value], params: Mapping[str, Any]) -> Value | None:
        base, updates, *indices = inputs
        maker = self.producer.get(base)
        if maker is None or not (is_elementwise(maker) or lookup(maker.op).aliasing == Aliasing.PART):
            return None
        if params["axes"] != (0, 1):
            return None
        rows, columns, *rest = base.shape
        of_rows, of_columns = indices
        site = Site("scatter", tuple(inputs), params, self.producer, {})
        if not is_position(site, of_rows):
            return None
        if not all(is_known(index.type.size == rows) for index in indices):
            return None
        if not same_shape(broadcast_shapes("scatter", [index.type for index in indices]), of_columns.shape):
            return None
        ones = (1,) * len(rest)
        places = reshape(of_columns, (rows, 1, *ones))
        is_there = equal(reshape(iota(columns, places.dtype), (1, columns, *ones)), places)
        update = reshape(updates, (rows, 1, *rest))
        if params["mode"] == "set":
            return where(is_there, update, base)
        return where(is_there, bind(params["mode"], base, update), base)
