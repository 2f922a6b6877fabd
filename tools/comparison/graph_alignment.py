"""Two graphs side by side: which calls and constants of one stand for those of the other."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ...compiler.ir import Call, Constant, Graph, Value, called, exact
from ...compiler.text.naming import Naming, constant_key
from ...compiler.text.printer import to_code

MOST_COMPARED = 1 << 20
"""How many pairs of calls are looked at that are not computed alike: the search is quadratic."""


@dataclass(frozen=True)
class Alignment:
    """What in one graph, the one after a change, stands for what in the one before it."""

    before: Graph
    after: Graph
    values: Mapping[Value, Value]
    """By values of the graph after: those of the graph before, in nested graphs too."""
    graphs: Mapping[int, Graph]
    """Nested graphs before, by the identity of those after: equal ones may stand in several places."""

    @property
    def constants(self) -> Iterator[tuple[Constant, Constant]]:
        """Constants before and after."""
        for after, before in self.values.items():
            if isinstance(after, Constant) and isinstance(before, Constant):
                yield before, after

    def codes(self) -> tuple[str, str]:
        """The texts of both graphs, in which a value has one name: ``add_2`` stays that if another comes before it."""
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
    """A scope whose values are called as those that they stand for, and others by names of their own."""

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
    """Find what is computed alike, and then, among the rest, what is of the same op and type in the same order."""
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
    """Inputs of the same name, and others of the same place and type."""
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
    """Equal for calls of the same op, parameters and types on the same values."""
    inputs = [
        constant_key(value) if isinstance(value, Constant) else values.get(value, value)
        for value in call.inputs
    ]
    params = [(name, _param(param)) for name, param in sorted(call.params.items())]
    return _kind(call), tuple(inputs), tuple(params)


def _kind(call: Call) -> Hashable:
    return call.op, tuple(value.type for value in call.outputs)


def _param(param: Any) -> Hashable:
    """A function of Python's by its name."""
    if isinstance(param, tuple):
        return tuple(map(_param, param))
    if callable(param) and not isinstance(param, Graph):
        return f"{param.__module__}:{getattr(param, '__qualname__', '')}"
    return exact(param)


def _in_order(before: Sequence[Call], after: Sequence[Call]) -> Iterator[tuple[Call, Call]]:
    """Pairs of calls of the same op and types, in the order of both."""
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
