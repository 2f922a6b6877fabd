"""Two graphs side by side: which calls and constants correspond."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ...compiler.ir import Call, Constant, Graph, Value, called, exact
from ...compiler.text.naming import Naming, constant_key
from ...compiler.text.printer import to_code

MOST_COMPARED = 1 << 20
"""The maximum number of pairs of unequal calls that are compared: the search is quadratic."""


@dataclass(frozen=True)
class Alignment:
    """The correspondence between the graph after a change and the graph before it."""

    before: Graph
    after: Graph
    values: Mapping[Value, Value]
    """From values of the new graph to those of the old one, also in nested graphs."""
    graphs: Mapping[int, Graph]
    """Old nested graphs, by the identity of the new ones: equal ones may occur in several places."""

    @property
    def constants(self) -> Iterator[tuple[Constant, Constant]]:
        """Constants before and after."""
        for after, before in self.values.items():
            if isinstance(after, Constant) and isinstance(before, Constant):
                yield before, after

    def codes(self) -> tuple[str, str]:
        """The texts of both graphs, in which corresponding values have one name: ``add_2`` keeps its name if another
        call is inserted before it."""
        scopes: dict[int, Naming] = {}

        def remembered(graph: Graph) -> Naming:
            scopes[id(graph)] = Naming(graph)
            return scopes[id(graph)]

        def following(graph: Graph) -> Naming:
            known = self.graphs.get(id(graph))
            scope = None if known is None else scopes.get(id(known))
            return Naming(graph) if scope is None else _Following(graph, scope, self.values)

        return (
            to_code(self.before, locations=False, naming=remembered),
            to_code(self.after, locations=False, naming=following),
        )


class _Following(Naming):
    """A scope in which values have the names of their counterparts, and others have new names."""

    def __init__(self, graph: Graph, scope: Naming, values: Mapping[Value, Value]) -> None:
        super().__init__(graph)
        self._scope, self._values = scope, values
        self._used = set(graph.input_names)
        self._taken |= set(scope._names.values())

    def _name(self, value: Value, stem: str) -> str:
        known = self._scope._names.get(self._values.get(value, value))
        name = self._fresh(stem) if known is None or known in self._used else known
        self._used.add(name)
        return name


def alignment_of(before: Graph, after: Graph) -> Alignment:
    """Find values that are computed the same way, and then, among the rest, calls with the same op and type in the
    same order."""
    values: dict[Value, Value] = {}
    graphs: dict[int, Graph] = {}
    _align(before, after, values, graphs)
    return Alignment(before, after, values, graphs)


def _align(before: Graph, after: Graph, values: dict[Value, Value], graphs: dict[int, Graph]) -> None:
    graphs[id(after)] = before
    values |= _inputs(before, after)
    constants = {constant_key(constant): constant for constant in _constants(before)}
    values |= {
        constant: constants[key]
        for constant in _constants(after)
        if (key := constant_key(constant)) in constants
    }

    def pair(old: Call, new: Call) -> None:
        values.update(zip(new.outputs, old.outputs, strict=True))
        for value, other in zip(new.inputs, old.inputs, strict=False):
            if isinstance(value, Constant) and isinstance(other, Constant):
                values.setdefault(value, other)
        for nested, other_graph in zip(called((new,)), called((old,)), strict=False):
            if id(nested) not in graphs:
                _align(other_graph, nested, values, graphs)

    waiting: dict[Hashable, deque[Call]] = defaultdict(deque)
    for call in before.calls:
        waiting[_computation(call, {})].append(call)
    rest: list[Call] = []
    for call in after.calls:
        if same := waiting.get(_computation(call, values)):
            pair(same.popleft(), call)
        else:
            rest.append(call)
    left = {call for calls in waiting.values() for call in calls}
    for old, new in _in_order([call for call in before.calls if call in left], rest):
        pair(old, new)


def _inputs(before: Graph, after: Graph) -> dict[Value, Value]:
    """Inputs with the same name, and others at the same position with the same type."""
    names = dict(zip(before.input_names, before.inputs, strict=True))
    found: dict[Value, Value] = {}
    for name, value in zip(after.input_names, after.inputs, strict=True):
        if name in names:
            found[value] = names[name]
    for value, old, name in zip(after.inputs, before.inputs, before.input_names, strict=False):
        if value not in found and name not in after.input_names and value.type == old.type:
            found[value] = old
    return found


def _constants(graph: Graph) -> Iterator[Constant]:
    for value in (*(value for call in graph.calls for value in call.inputs), *graph.outputs):
        if isinstance(value, Constant):
            yield value


def _computation(call: Call, values: Mapping[Value, Value]) -> Hashable:
    """Equal for calls with the same op, parameters and types on the same values."""
    inputs = [
        constant_key(value) if isinstance(value, Constant) else values.get(value, value)
        for value in call.inputs
    ]
    params = [(name, _param(param)) for name, param in sorted(call.params.items())]
    return _kind(call), tuple(inputs), tuple(params)


def _kind(call: Call) -> Hashable:
    return call.op, tuple(value.type for value in call.outputs)


def _param(param: Any) -> Hashable:
    """A Python function by its name."""
    if isinstance(param, tuple):
        return tuple(map(_param, param))
    if callable(param) and not isinstance(param, Graph):
        return f"{param.__module__}:{getattr(param, '__qualname__', '')}"
    return exact(param)


def _in_order(before: Sequence[Call], after: Sequence[Call]) -> Iterator[tuple[Call, Call]]:
    """Pairs of calls with the same op and types, in the order of both."""
    start = 0
    for old, new in zip(before, after, strict=False):
        if _kind(old) != _kind(new):
            break
        yield old, new
        start += 1
    before, after = before[start:], after[start:]
    if len(before) * len(after) > MOST_COMPARED:
        return
    matcher = SequenceMatcher(None, [*map(_kind, before)], [*map(_kind, after)], autojunk=False)
    for one, other, size in matcher.get_matching_blocks():
        yield from zip(before[one : one + size], after[other : other + size], strict=True)
