"""Give the named sizes of a graph their values: what it is for arrays of one size."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..compiler.ir import ArrayType, Call, Graph, Param, Shape, Value
from ..compiler.symbolic_size import SymbolicSize


def fix_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with ints in the place of all dims, in types and parameters, which is what tracing gives for these.

    Before, and with ``{"B": 8}``::

        def f(x: f32[B, 3]) -> f32[3*B]:
            reshape_1: f32[3*B] = reshape(x, shape=(3*B,))

        def f(x: f32[8, 3]) -> f32[24]:
            reshape_1: f32[24] = reshape(x, shape=(24,))

    `KeyError` names a size without a value.
    """
    return Fixing(lambda size: size.at(sizes)).graph(graph)


class Fixing:
    """Gives the sizes of graphs values, and remembers what has become of theirs."""

    def __init__(self, value_of: Callable[[SymbolicSize], int]) -> None:
        self.value_of = value_of
        self.values: dict[Value, Value] = {}
        self.graphs: dict[int, Graph] = {}
        """By identity, those that are done: a graph may be called very often."""

    def graph(self, graph: Graph) -> Graph:
        inputs = self.made(graph.inputs)
        calls = tuple(
            Call(
                call.op,
                tuple(self.values.get(value, value) for value in call.inputs),
                {name: self.param(param) for name, param in call.params.items()},
                self.made(call.outputs),
                call.location,
            )
            for call in graph.calls
        )
        outputs = tuple(self.values.get(value, value) for value in graph.outputs)
        return Graph(graph.name, inputs, calls, outputs, graph.input_names)

    def made(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        for value in values:
            shape = cast("Shape", self.param(value.shape))
            self.values[value] = Value(ArrayType(value.dtype, shape))
        return tuple(self.values[value] for value in values)

    def param(self, param: Any) -> Param:
        if isinstance(param, SymbolicSize):
            return self.value_of(param)
        if isinstance(param, tuple):
            return tuple(map(self.param, param))
        if isinstance(param, Graph):
            if id(param) not in self.graphs:
                self.graphs[id(param)] = self.graph(param)
            return self.graphs[id(param)]
        return cast("Param", param)
