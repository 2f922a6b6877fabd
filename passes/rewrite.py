"""Rewriting a graph call by call: the basis of the simplifying passes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..compiler.builder import Builder, recording
from ..compiler.errors import InternalError
from ..compiler.ir import Call, Graph, Param, Value, ops_with_graphs

Replacement: TypeAlias = Callable[[str, tuple[Value, ...], Mapping[str, Param]], tuple[Value, ...] | None]
"""Returns what replaces the outputs of a call, given its op, inputs and parameters; None keeps the call."""


def rewrite(graph: Graph, replacement: Replacement) -> Graph:
    """Replace calls, also in nested graphs, each on its own."""
    return _ByReplacement(graph, replacement).run()


class Rewriter(Builder, ABC):
    """Goes over the calls of a graph in order and replaces some of them.

    `replace` is called for every call of the graph and for every call that it records itself, so that replacements
    are rewritten like the rest. A call that is not replaced stays the same object, and so does a graph in which
    nothing is replaced.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.producer: dict[Value, Call] = {}
        """The call that computes a value, for every call recorded so far."""

    @abstractmethod
    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        """The values that replace the outputs of this call, or None to keep it."""

    @abstractmethod
    def nested(self, graph: Graph) -> Graph:
        """The rewritten form of a graph that is a parameter of a call."""

    def stands_for(self, new: Value, old: Value) -> None:
        """Called when `new` takes the place of `old`, a value of the graph."""

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        found = self.replace(op, inputs, params)
        if found is None:
            found = super().emit(op, inputs, params)
            self._remember(self.calls[-1])
        return found

    def run(self) -> Graph:
        """The rewritten graph."""
        graph = self.graph
        nesting = ops_with_graphs(graph)
        now: dict[Value, Value] = {}  # the new value of a value of the old graph, if it differs
        with recording(self):
            for call in graph.calls:
                inputs = tuple([now.get(v, v) for v in call.inputs]) if now else call.inputs
                params = self._with_nested(call.params) if call.op in nesting else call.params
                self.location = call.location
                outputs = self.replace(call.op, inputs, params)
                if outputs is None:
                    self._keep(call, inputs, params)
                    continue
                for old, new in zip(call.outputs, outputs, strict=True):
                    if new.type != old.type:
                        raise InternalError(f"{type(self).__name__} puts {new.type} in place of a {old.type}")
                    now[old] = new
                    self.stands_for(new, old)
        calls = tuple(self.calls)
        if not now and calls == graph.calls:  # a call without outputs may have been removed
            return graph
        outputs = tuple(now.get(v, v) for v in graph.outputs)
        return Graph(graph.name, graph.inputs, calls, outputs, graph.input_names)

    def _keep(self, call: Call, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> None:
        """Record a call of the old graph. Its outputs stay the same values, since types cannot change."""
        same = params is call.params and inputs == call.inputs
        self.calls.append(call if same else Call(call.op, inputs, params, call.outputs, call.location))
        self._remember(self.calls[-1])

    def _remember(self, call: Call) -> None:
        for output in call.outputs:
            self.producer[output] = call

    def _with_nested(self, params: Mapping[str, Param]) -> Mapping[str, Param]:
        """The parameters with their graphs rewritten; the same object if none changes."""
        rewritten = {name: self._rewritten(param) for name, param in params.items()}
        return params if all(rewritten[name] is params[name] for name in params) else rewritten

    def _rewritten(self, param: Param) -> Param:
        """A parameter with its graphs rewritten; the parameter itself if none changes."""
        if isinstance(param, Graph):
            return self.nested(param)
        if isinstance(param, tuple) and any(isinstance(item, Graph | tuple) for item in param):
            items = tuple(map(self._rewritten, param))
            return param if all(a is b for a, b in zip(items, param, strict=True)) else items
        return param


class _ByReplacement(Rewriter):
    def __init__(self, graph: Graph, replacement: Replacement) -> None:
        super().__init__(graph)
        self._replacement = replacement

    def nested(self, graph: Graph) -> Graph:
        return rewrite(graph, self._replacement)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        return self._replacement(op, inputs, params)
