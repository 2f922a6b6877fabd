"""Cut kernels into tiles that stay in the cache; dissolve those that are not worth it."""

from collections.abc import Mapping
from typing import Any

from ..compiler.functions import reshape
from ..compiler.ir import ArrayType, Call, Constant, Graph, Param, Value
from ..compiler.tiling import Tiling, input_axes, params_of_part, tiling_of, with_rows
from ..compiler.trace import Builder, bind, inline, recording
from .remove_dead_code import remove_dead_code
from .rewrite import Rewriter

TILE_BYTES = 1 << 18
"""What the largest value of a tile takes: a few of these lie in the cache of a core, and yet its statements run for
so long that calling them costs little, and that other threads need not wait for Python."""

SMALLEST = 1 << 20
"""Kernels whose largest value has fewer bytes stay in the cache anyway."""


def tile(graph: Graph, *, tile_bytes: int = TILE_BYTES, smallest: int = SMALLEST) -> Graph:
    """Replace each kernel by tiles along its outermost axis, or else by the calls that it holds.

    Before ``kernel_1: f32[4096, 1024] = kernel(x, graph=softmax)``, after::

        tiled_1: f32[4096, 1024] = tiled(x, graph=softmax, cuts=(0,), joins=(0,), count=64)

    where `softmax` now is for f32[64, 1024]. The tiles depend on the shapes alone. What a tile cannot compute, such as
    the end of a sum over the axis, is done by calls before or after.
    """
    return _Tiler(graph, tile_bytes, smallest).run()


class _Tiler(Rewriter):
    def __init__(self, graph: Graph, tile_bytes: int, smallest: int) -> None:
        super().__init__(graph)
        self.tile_bytes = tile_bytes
        self.smallest = smallest

    def nested(self, graph: Graph) -> Graph:
        return _Tiler(graph, self.tile_bytes, self.smallest).run()

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op != "kernel":
            return None
        given: Mapping[str, Any] = params
        graph = remove_dead_code(given["graph"])
        tiling = tiling_of(graph, most_row_bytes=4 * self.tile_bytes)
        if tiling is None or tiling.row_bytes * tiling.length < self.smallest:
            return inline(graph, inputs)
        rows = _rows(tiling.length, max(1, self.tile_bytes // tiling.row_bytes))
        if tiling.length < 2 * rows:
            return inline(graph, inputs)
        return _Tiles(graph, tiling, rows, dict(zip(graph.inputs, inputs, strict=True))).record(self)


def _rows(length: int, most: int) -> int:
    """How long the tiles are: so that none is left at the end, if that does not make them much shorter."""
    divisors = (rows for rows in range(most, most // 2, -1) if length % rows == 0)
    return next(divisors, most)


class _Tiles:
    """Records what stands for a kernel: calls before the tiles, the tiles, and calls after them."""

    def __init__(self, graph: Graph, tiling: Tiling, rows: int, now: dict[Value, Value]) -> None:
        self.graph = graph
        self.tiling = tiling
        self.rows = rows
        self.now = now
        """What stands for the values of the kernel outside of it."""
        self.inside = {
            call.outputs[0]: call
            for call in graph.calls
            if call.outputs[0] in tiling.axes or call.outputs[0] in tiling.folded
        }
        needed = {
            value for call in graph.calls if call.outputs[0] not in self.inside for value in call.inputs
        }
        needed.update(graph.outputs, tiling.folded)
        self.results = [value for value in self.inside if value in needed]
        self.cuts: dict[tuple[Value, int | None], None] = {}
        """What the tiles are given: values of the kernel, and the axis along which they are cut."""

    def record(self, builder: Builder) -> tuple[Value, ...]:
        """The outputs of the kernel."""
        tiling = self.tiling
        outside = [call for call in self.graph.calls if call.outputs[0] not in self.inside]
        self._outside(builder, [call for call in outside if call.outputs[0] not in tiling.late])
        count, left = divmod(tiling.length, self.rows)
        params: dict[str, Any] = {"graph": self._part(self.rows)}
        if left:
            params["rest"] = self._part(left)
        joined = builder.emit(
            "tiled",
            tuple(self._at(value) for value, _ in self.cuts),
            {
                **params,
                "cuts": tuple(axis for _, axis in self.cuts),
                "joins": tuple(tiling.axes.get(value, 0) for value in self.results),
                "count": count,
            },
        )
        for value, found in zip(self.results, joined, strict=True):
            self.now[value] = found
            if value in tiling.folded:
                self.now[value] = bind(self.inside[value].op, found, axes=(0,))
        self._outside(builder, [call for call in outside if call.outputs[0] in tiling.late])
        return tuple(map(self._at, self.graph.outputs))

    def _at(self, value: Value) -> Value:
        return value if isinstance(value, Constant) else self.now[value]

    def _outside(self, builder: Builder, calls: list[Call]) -> None:
        for call in calls:
            builder.location = call.location
            outputs = builder.emit(call.op, tuple(map(self._at, call.inputs)), call.params)
            self.now.update(zip(call.outputs, outputs, strict=True))

    def _part(self, rows: int) -> Graph:
        """What one tile of so many rows computes."""
        tiling = self.tiling
        given: dict[tuple[Value, int | None], Value] = {}
        made: dict[Value, Value] = {}

        def operand(value: Value, axis: int | None) -> Value:
            if value in made:
                return made[value]
            if axis is None and isinstance(value, Constant):
                return value
            shape = value.shape if axis is None else with_rows(value.shape, axis, rows)
            return given.setdefault((value, axis), Value(ArrayType(value.dtype, shape)))

        with recording(Builder()) as builder:
            for output, call in self.inside.items():
                builder.location = call.location
                if output in tiling.folded:
                    found = bind(call.op, operand(call.inputs[0], tiling.folded[output]), **call.params)
                    made[output] = reshape(found, (1, *found.shape))
                    continue
                axis = tiling.axes[output]
                axes = input_axes(call, axis)
                assert axes is not None
                inputs = map(operand, call.inputs, axes)
                made[output] = bind(call.op, *inputs, **params_of_part(call, axis, rows))
        self.cuts = dict.fromkeys(given)
        names = dict(zip(self.graph.inputs, self.graph.input_names, strict=True))
        return Graph(
            self.graph.name,
            tuple(given.values()),
            tuple(builder.calls),
            tuple(made[value] for value in self.results),
            tuple(names.get(value, "x") for value, _ in given),
        )
