"""`Parts`: tuples of arrays as tasks, which are combined in a tree and taken apart into Dask arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import optree

from ...compiler.errors import BlockError
from ...compiler.ir import ArrayType
from .block_call import TracedCall
from .block_function import Block, BlockFunction
from .block_program import BlockProgram, array_of, run_blocks
from .packages import shared


@dataclass(frozen=True)
class TypedProgram:
    """A program with the types and the structure of its results."""

    program: BlockProgram
    types: Sequence[ArrayType]
    tree: Any

    @property
    def task(self) -> Any:
        """The key of the task graph that holds it, with the graph."""
        return shared(self.program, f"program-of-{self.program.name}-{self.program.digest[:16]}")


@dataclass(frozen=True)
class Parts:
    """Tasks whose results are tuples of arrays of the same types."""

    keys: Sequence[Any]
    graph: Any
    layer: str
    """The name of the layer of the graph that holds the tasks."""
    types: Sequence[ArrayType]
    tree: Any
    """The structure that the arrays of a tuple are the leaves of."""

    @classmethod
    def of(cls, call: TracedCall) -> "Parts":
        """The results for each block. Raises `BlockError` if their types differ."""
        first = call.types[0][1]
        for _, types in call.types:
            if types != first:
                raise BlockError(
                    f"{call.call.where}: the function returns {shown_types(first)} for a block and"
                    f" {shown_types(types)} for another one: partial results must have the same type for each block,"
                    " such as sums over its rows"
                )
        tuples = call.tuples()
        keys = list(np.ndindex(tuples.numblocks))
        return cls(
            [(tuples.name, *key) for key in keys],
            tuples.dask,
            tuples.name,
            first,
            call.call.function.results,
        )

    def program(self, where: str, function: Callable[..., Any], *, count: int) -> TypedProgram:
        """The program of a function of this many of these."""
        leaves = [Block(type) for type in self.types]
        one = optree.tree_unflatten(self.tree, leaves)
        traced = BlockFunction(where, function, [one] * count, {})
        shapes = tuple(type.shape for type in self.types) * count
        program, types = traced.program([shapes])
        return TypedProgram(program, types[shapes], traced.results)

    def combined(self, split_every: int, program: TypedProgram | None = None) -> "Parts":
        """A single one: the sum of all, or what a program of two makes of them, in a tree of a fixed order."""
        name = f"{'sum' if program is None else program.program.name}-of-{self.layer}"
        if program:
            name += f"-{program.program.digest[:16]}"
        run: tuple[Any, ...] = (_summed,) if program is None else (_combined, program.task.key)
        tasks: dict[Any, Any] = {}
        level, keys = 0, list(self.keys)
        while len(keys) > 1 or not tasks:
            made = {}
            for number, start in enumerate(range(0, len(keys), split_every)):
                made[(name, level, number)] = (*run, *keys[start : start + split_every])
            tasks |= made
            level, keys = level + 1, list(made)
        return self._followed(name, tasks, keys, program)

    def applied(self, program: TypedProgram) -> "Parts":
        """What a program makes of the only one."""
        name = f"{program.program.name}-of-{self.layer}-{program.program.digest[:16]}"
        tasks = {(name, 0): (_applied, program.task.key, *self.keys)}
        after = self._followed(name, tasks, list(tasks), program)
        return replace(after, types=program.types, tree=program.tree)

    def result(self, arrays: Any) -> Any:
        """The arrays of the only one, as lazy Dask arrays, in their structure."""
        leaves: list[Any] = []
        for number, type in enumerate(self.types):
            name = f"part-{number}-of-{self.layer}"
            key = (name, *(0 for _ in type.shape))
            graph = self._followed(name, {key: (array_of, *self.keys, number)}, [key]).graph
            chunks = tuple((size,) for size in type.shape)
            leaves.append(arrays.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), type.dtype)))
        return optree.tree_unflatten(self.tree, leaves)

    def _followed(
        self, name: str, tasks: Mapping[Any, Any], keys: Sequence[Any], program: TypedProgram | None = None
    ) -> "Parts":
        """The results of tasks that need these, and a program."""
        from dask.highlevelgraph import HighLevelGraph

        layers, needed = {**self.graph.layers, name: tasks}, {self.layer}
        dependencies = dict(self.graph.dependencies)
        if program:
            task = program.task
            layers |= task.dask.layers
            dependencies |= task.dask.dependencies
            needed |= set(task.__dask_layers__())
        graph = HighLevelGraph(layers, {**dependencies, name: needed})
        return replace(self, keys=keys, graph=graph, layer=name)


def shown_types(types: Sequence[ArrayType]) -> str:
    """Types of the leaves of a pytree, in a message."""
    return ", ".join(map(str, types)) or "nothing"


def _summed(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sum of tuples of arrays."""
    total = parts[0]
    for part in parts[1:]:
        total = tuple(np.asarray(x + y) for x, y in zip(total, part, strict=True))
    return total


def _combined(program: BlockProgram, *parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a program of two tuples makes of several."""
    total = parts[0]
    for part in parts[1:]:
        total = run_blocks(program, *total, *part)
    return total


def _applied(program: BlockProgram, part: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a program makes of a tuple."""
    return run_blocks(program, *part)
