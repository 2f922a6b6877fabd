"""Tiles as C: threads share the tiles, and each computes one after another in memory of its own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ....analysis.memory_plan import aligned
from ....analysis.row_products import is_in_one_piece
from ....ir import Call, Graph, Shape
from ....params import graph_param, int_param, ints_param, optional_graph_param, optional_ints_param
from ....symbolic_size import SymbolicSize
from ..function import CFunction
from ..parameters import WorkingMemory, parameters
from ..steps.row_products import row_product
from ..threads.shared_loop import SharedLoop
from .graph import FunctionOf, graph_function, scratch_bytes

CHUNKS: Final = 32
"""The tiles are shared in at most this many chunks, each with its own memory for what lies between its calls."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The tiles along one axis."""

    name: str
    """The C variable with the number of the tile."""
    count: int


@dataclass(frozen=True, slots=True)
class _Array:
    """An array that tiles read or write: which one, and the elements to the part for a tile."""

    name: str
    shape: Shape
    offsets: tuple[str, ...] = ()

    def part(self, level: _Level, axis: int | None, part: Shape) -> "_Array":
        """The part for a tile of this level, whose shape is that of `part`."""
        if axis is None:
            return self
        distance = part[axis] * math.prod(self.shape[axis + 1 :])
        return _Array(self.name, self.shape, (*self.offsets, f"{level.name} * {distance}"))

    @property
    def text(self) -> str:
        return " + ".join([self.name, *self.offsets])


@dataclass(slots=True)
class _Nest:
    """Tiles in tiles, one level per axis, and what the innermost ones compute."""

    call: Call
    levels: list[_Level]
    parts: list[tuple[Graph, int]]
    """The graphs of the innermost tiles, and how many there are of each: the last of them may be shorter."""
    arrays: list[_Array]
    """What those take, then what they make."""

    @property
    def counts(self) -> list[int]:
        """The number of tiles per level."""
        return [*(level.count for level in self.levels[:-1]), sum(count for _, count in self.parts)]


def tiled(call: Call, name: str, function_of: FunctionOf, alone: bool) -> CFunction | None:
    """The C function of tiles whose arrays have known sizes and lie in one piece of memory; None for others."""
    sizes = [size for value in (*call.inputs, *call.outputs) for size in value.shape]
    if any(isinstance(size, SymbolicSize) for size in sizes) or "whole" in call.params:
        return None
    nest = _nest_of(call)
    if not all(map(partial(_are_in_one_piece, nest.arrays), (graph for graph, _ in nest.parts))):
        return None

    def function_in_tile(inner: Call, inner_name: str) -> CFunction | None:
        return row_product(inner, inner_name) or function_of(inner, inner_name)

    functions: list[CFunction] = []
    for (graph, _), own_name in zip(nest.parts, (f"{name}_tile", f"{name}_rest"), strict=False):
        found = graph_function(graph, own_name, function_in_tile, any_constants=alone)
        if found is None:
            return None
        functions.append(found.function)
    return _function(nest, name, functions)


def _nest_of(call: Call) -> _Nest:
    levels: list[_Level] = []
    arrays = [_Array(f"x{i}", value.shape) for i, value in enumerate(call.inputs)]
    results = [_Array(f"out{i}", value.shape) for i, value in enumerate(call.outputs)]
    inner = call
    while True:
        graph, rest = graph_param(inner), optional_graph_param(inner, "rest")
        cuts, joins, count = (
            optional_ints_param(inner, "cuts"),
            ints_param(inner, "joins"),
            int_param(inner, "count"),
        )
        level = _Level(f"tile{len(levels)}", count)
        levels.append(level)
        arrays = [
            array.part(level, axis, value.shape)
            for array, axis, value in zip(arrays, cuts, graph.inputs, strict=True)
        ]
        results = [
            array.part(level, axis, value.shape)
            for array, axis, value in zip(results, joins, graph.outputs, strict=True)
        ]
        nested = _only_tiles(graph) if rest is None else None
        if nested is None:
            parts = [(graph, count), *([] if rest is None else [(rest, 1)])]
            return _Nest(call, levels, parts, [*arrays, *results])
        given = dict(zip(graph.inputs, arrays, strict=True))
        arrays = [given[value] for value in nested.inputs]
        inner = nested


def _only_tiles(graph: Graph) -> Call | None:
    """The tiles that are all that a tile computes, along another axis."""
    if len(graph.calls) != 1 or graph.calls[0].op != "tiled" or graph.outputs != graph.calls[0].outputs:
        return None
    (call,) = graph.calls
    is_plain = "whole" not in call.params and set(call.inputs) <= set(graph.inputs)
    return call if is_plain else None


def _are_in_one_piece(arrays: Sequence[_Array], graph: Graph) -> bool:
    """Whether the parts of all arrays are contiguous."""
    pairs = zip((*graph.inputs, *graph.outputs), arrays, strict=True)
    return all(is_in_one_piece(value.shape, array.shape) for value, array in pairs)


def _function(nest: _Nest, name: str, functions: Sequence[CFunction]) -> CFunction:
    call, counts = nest.call, nest.counts
    total = math.prod(counts)
    chunks = min(total, CHUNKS)
    scratch = max(aligned(scratch_bytes(one, len(call.outputs))) for one in functions)
    memory = WorkingMemory(scratch * chunks)
    inputs = tuple(value.type for value in call.inputs)
    outputs = tuple(value.type for value in call.outputs)
    declared = [*parameters(inputs, outputs), *memory.parameters]
    body = [
        f"    const long end = (chunk + 1) * {total} / {chunks};",
        f"    for (long tile = chunk * {total} / {chunks}; tile < end; tile++) {{",
        *_numbers(nest, counts),
        *_calls(nest, functions, scratch),
        "    }",
    ]
    given = [*declared, *(["uint8_t *work"] if memory.is_small and scratch else [])]
    loop = SharedLoop(name, given, body)
    text = "\n".join(
        [
            *dict.fromkeys(one.text for one in functions),
            loop.function,
            f"static void {name}({', '.join([*declared, 'long threads'])})",
            "{",
            *memory.declarations,
            f"    {loop.call(str(chunks))}",
            "}",
            "",
        ]
    )
    per_level = zip(functions, nest.parts, strict=True)
    work = sum(one.work * count for one, (_, count) in per_level) * math.prod(counts[:-1])
    needs = frozenset[str]().union(*(one.needs for one in functions))
    return CFunction(name, text, inputs, (*outputs, *memory.types), needs, work)


def _numbers(nest: _Nest, counts: Sequence[int]) -> list[str]:
    """The number of the tile on each level, out of the number of all."""
    lines: list[str] = []
    behind = 1
    for level, count in zip(reversed(nest.levels), reversed(counts), strict=True):
        number = "tile" if behind == 1 else f"tile / {behind}"
        lines.append(
            f"        const long {level.name} = {number}{'' if level is nest.levels[0] else f' % {count}'};"
        )
        behind *= count
    return lines


def _calls(nest: _Nest, functions: Sequence[CFunction], scratch: int) -> list[str]:
    """The call of the function of a tile, or of the last one if that has its own."""
    places = [array.text for array in nest.arrays]
    outputs = len(nest.call.outputs)
    calls: list[str] = []
    for function in functions:
        own = [f"work + chunk * {scratch}"] if scratch_bytes(function, outputs) else []
        calls.append(f"{function.name}({', '.join([*places, *own, '1'])});")
    if len(calls) == 1:
        return [f"        {calls[0]}"]
    last = nest.levels[-1]
    condition = f"        if ({last.name} < {last.count})"
    return [condition, f"            {calls[0]}", "        else", f"            {calls[1]}"]
