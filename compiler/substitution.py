"""`Substitution`: replaces symbolic sizes by ints or by other sizes, in graphs and in calls."""

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any, cast

from .free_sizes import size_names
from .ir import ArrayType, Call, Constant, Graph, Param, Shape, Value
from .symbolic_size import SymbolicSize


class Substitution:
    """Replaces sizes in graphs, and remembers the results."""

    def __init__(self, value_of: Callable[[SymbolicSize], Any]) -> None:
        self.value_of = value_of
        self.values: dict[Value, Value] = {}
        self.graphs: dict[int, Graph] = {}
        """Finished graphs by identity: a graph may be called very often."""

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

    def call(self, call: Call) -> Call:
        """A call on values that belong to it."""
        inputs = tuple(
            value if isinstance(value, Constant) else self.made((value,))[0] for value in call.inputs
        )
        params = {name: self.param(param) for name, param in call.params.items()}
        return Call(call.op, inputs, params, self.made(call.outputs), call.location)

    def made(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        for value in values:
            shape = cast("Shape", self.param(value.shape))
            self.values[value] = Value(ArrayType(value.dtype, shape))
        return tuple(self.values[value] for value in values)

    def param(self, param: Any) -> Param:
        if isinstance(param, SymbolicSize):
            found: Param = self.value_of(param)
            return found
        if isinstance(param, tuple):
            return tuple(map(self.param, param))
        if isinstance(param, Graph):
            if id(param) not in self.graphs:
                self.graphs[id(param)] = self.graph(param)
            return self.graphs[id(param)]
        return cast("Param", param)


def with_values(size: SymbolicSize, values: Mapping[str, Any]) -> Any:
    """A size with some of its named sizes replaced by values, which may be other sizes."""
    found: Any = size
    for one in size.sizes:
        if isinstance(found, SymbolicSize) and str(one) in values:
            found = found.where(one, values[str(one)])
    return found


def fixed_call(call: Call, values: Mapping[str, Any]) -> Call:
    """A copy of a call with these values instead of named sizes; the call itself if it has none of them."""
    if not size_names(call) & values.keys():
        return call
    return Substitution(lambda size: with_values(size, values)).call(call)


def without_outputs(call: Call, given: Set[Value]) -> Call:
    """A call that does not compute given values: other values take their places."""
    if given.isdisjoint(call.outputs):
        return call
    return replace(call, outputs=tuple(Value(v.type) if v in given else v for v in call.outputs))
