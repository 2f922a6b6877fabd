"""Process large arrays in tiles: each tile goes through all calls while it is in the cache."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from ...compiler.analysis.fusible_ops import REDUCTIONS
from ...compiler.analysis.peak_memory import peak_memory
from ...compiler.analysis.tiling_axes import Tiling, input_axes, params_of_part, tiling_of, with_rows
from ...compiler.builder import Builder, bind, inline, recording
from ...compiler.free_sizes import is_symbolic, sizes_in_graph
from ...compiler.ir import ArrayType, Call, Constant, Extent, Graph, Param, Value, called
from ...compiler.op import is_view
from ...compiler.symbolic_size import SymbolicSize, is_known, max_expr, typical, with_typical_sizes
from ...compiler.value_ops import reshape
from ..fusion.cost import operations
from ..rewrite import Rewriter
from ..simplification.remove_dead_code import remove_dead_code
from ..simplification.share_subexpressions import share_subexpressions
from .fuse import fuse

TILE_BYTES = 1 << 18
"""The bytes of the largest value of a tile. A few such values fit into the cache of a core, yet statements run long
enough that the cost of calling them is small and other threads need not wait for the GIL."""

CACHED = 4
"""The cache of a core has room for this many values of that size."""

SMALLEST = 1 << 20
"""The values of kernels whose largest value has fewer bytes stay in the cache anyway."""

WORTH = 8
"""Tiles, and the threads that share them, pay off from this many times the bytes of the smallest value, counted as
often as the kernel reads or writes it. One access does not count, since tiles cannot save it."""

PLENTY = 4
"""Arrays of sizes called large have this many times the smallest bytes."""

FACTORS = (1 << 8, 1 << 16, 1 << 24)
"""Other sizes may well be this many times the typical ones."""

COSTLY = 4
"""This many operations on an element take as long as reading or writing it."""


def tile(graph: Graph, *, tile_bytes: int = TILE_BYTES, smallest: int = SMALLEST) -> Graph:
    """Compute the kernels that `fuse` would build in tiles along their outermost axis, if that pays.

    Before, for ``x: f32[4096, 1024]``::

        exp_1: f32[4096, 1024] = exp(x)
        sin_1: f32[4096, 1024] = sin(exp_1)

    after::

        def kernel_exp_sin(x: f32[64, 1024]) -> f32[64, 1024]:
            exp_1: f32[64, 1024] = exp(x)
            sin_1: f32[64, 1024] = sin(exp_1)
            return sin_1
        tiled_1: f32[4096, 1024] = tiled(x, graph=kernel_exp_sin, cuts=(0,), joins=(0,), count=64)

    Calls before or after the tiles compute what a tile cannot, such as the end of a sum over the axis. The tiles
    depend only on the shapes. For symbolic shapes they depend on typical sizes: tiles along such an axis have a fixed
    number of rows for any length, and a remainder that may be everything. If arrays may be so small that they are
    better computed without tiles, the program decides when it runs. Calls that are not worth tiling stay as they are,
    and kernels among them are dissolved.
    """
    holds_kernels = any(call.op == "kernel" for call in _all_calls(graph))
    is_large = _largest(graph) >= smallest
    larger = None if is_large else _larger_sizes(graph, smallest)
    if not (holds_kernels or is_large or larger):
        return graph
    with with_typical_sizes(larger) if larger else nullcontext():
        tiled = _Tiler(fuse(graph), tile_bytes, smallest, only_larger=larger is not None).run()
    if not holds_kernels and not any(call.op == "tiled" for call in _all_calls(tiled)):
        return graph
    return remove_dead_code(share_subexpressions(tiled))


def _largest(graph: Graph) -> int:
    """The bytes of the largest result, for typical sizes."""
    return max(
        (typical(value.type.nbytes) for call in _all_calls(graph) for value in call.outputs), default=0
    )


def _larger_sizes(graph: Graph, smallest: int) -> Mapping[str, int] | None:
    """Sizes in about the same proportions for which tiles may pay; None if arrays are never large enough."""
    named = dict.fromkeys(one for size in sizes_in_graph(graph) for one in size.sizes)
    usual = {str(size): typical(size) for size in named}
    for factor in FACTORS if named else ():
        sizes = {str(size): int(min(factor * usual[str(size)], size.bounds[1])) for size in named}
        with with_typical_sizes(sizes):
            if _largest(graph) >= PLENTY * smallest:
                return sizes
    return None


def _all_calls(graph: Graph) -> Iterator[Call]:
    """The calls of a graph and of its nested graphs."""
    for call in graph.calls:
        yield call
        for held in called((call,)):
            yield from _all_calls(held)


class _Tiler(Rewriter):
    def __init__(self, graph: Graph, tile_bytes: int, smallest: int, *, only_larger: bool) -> None:
        super().__init__(graph)
        self.tile_bytes = tile_bytes
        self.smallest = smallest
        self.only_larger = only_larger
        """Whether the tiles are for sizes larger than the typical ones."""

    def nested(self, graph: Graph) -> Graph:
        return _Tiler(graph, self.tile_bytes, self.smallest, only_larger=self.only_larger).run()

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op != "kernel":
            return None
        given: Mapping[str, Any] = params
        graph = remove_dead_code(given["graph"])
        tiling = tiling_of(graph, most_row_bytes=4 * self.tile_bytes)
        if tiling is None or not self._is_worth_it(graph, tiling):
            return inline(graph, inputs)
        rows = _rows(tiling.length, max(1, self._most_rows(graph, tiling)))
        if typical(tiling.length) < 2 * rows:
            return inline(graph, inputs)
        tiles = _Tiles(graph, tiling, rows, dict(zip(graph.inputs, inputs, strict=True)))
        if self.only_larger and tiles.whole is None:
            return inline(graph, inputs)
        return tiles.record(self)

    def _most_rows(self, graph: Graph, tiling: Tiling) -> int:
        """As many as `tile_bytes` allow, or twice as many if all values that are alive at one time still fit into the
        cache: the statements of longer tiles cost less."""
        rows = self.tile_bytes // tiling.row_bytes
        alive = peak_memory(graph) + sum(value.type.nbytes for value in graph.inputs)
        twice = 2 * rows * typical(alive) // max(1, typical(tiling.length))
        return 2 * rows if twice <= CACHED * self.tile_bytes else rows

    def _is_worth_it(self, graph: Graph, tiling: Tiling) -> bool:
        traffic = [
            max(
                typical(value.type.nbytes)
                for value in (call.outputs[0], *call.inputs[: call.op in REDUCTIONS])
            )
            * max(1, operations(call) / COSTLY)
            for call in graph.calls
            if not is_view(call) and (call.outputs[0] in tiling.axes or call.outputs[0] in tiling.folded)
        ]
        is_large = tiling.row_bytes * typical(tiling.length) >= self.smallest
        return is_large and bool(traffic) and sum(traffic) - min(traffic) >= WORTH * self.smallest


def _rows(length: Extent, most: int) -> int:
    """The length of the tiles: without a remainder, if that does not make them much shorter.

    Symbolic lengths are more often multiples of powers of two than of other numbers.
    """
    if isinstance(length, SymbolicSize):
        return 1 << (most.bit_length() - 1)
    divisors = (rows for rows in range(most, most // 2, -1) if length % rows == 0)
    return next(divisors, most)


def _full_tiles(length: Extent, rows: int) -> tuple[Extent, Extent]:
    """How many tiles have this many rows, and how many rows remain. Some remain if there may be no full tile."""
    count, left = divmod(length, rows)
    if isinstance(left, SymbolicSize) or not is_known(count >= 1):
        count = max_expr(length - 1, 0) // rows
    return count, length - count * rows


class _Tiles:
    """Records the replacement of a kernel: calls before the tiles, the tiles, and calls after them."""

    def __init__(self, graph: Graph, tiling: Tiling, rows: int, now: dict[Value, Value]) -> None:
        self.graph = graph
        self.tiling = tiling
        self.rows = rows
        self.now = now
        """The values outside the kernel that replace its values."""
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
        """The inputs of the tiles: values of the kernel, and the axis along which they are split."""
        self.tile = self._part(rows)
        has_known_tiles = is_symbolic(graph) and not is_symbolic(self.tile)
        self.whole = self._part(tiling.length) if has_known_tiles else None
        """Computes everything at once if one tile is known to be large enough for small arrays."""

    def record(self, builder: Builder) -> tuple[Value, ...]:
        """The outputs of the kernel."""
        tiling = self.tiling
        outside = [call for call in self.graph.calls if call.outputs[0] not in self.inside]
        self._outside(builder, [call for call in outside if call.outputs[0] not in tiling.late])
        count, left = _full_tiles(tiling.length, self.rows)
        params: dict[str, Any] = {"graph": self.tile}
        if isinstance(left, SymbolicSize) or left:
            params["rest"] = self._part(left)
        if self.whole is not None:
            params["whole"] = self.whole
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

    def _part(self, rows: Extent) -> Graph:
        """The computation of one tile with this many rows."""
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
