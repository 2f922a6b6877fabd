"""`SteadyNames`: names for the values of all stages, so that a value that a pass keeps also keeps its name."""

from collections.abc import Iterator, Sequence

from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.text.naming import Naming, constant_key
from ...compiler.text.printer import Statement, statements


class SteadyNames:
    """Remembers the names of one stage for the next: passes keep the calls that they do not change.

    The first stage has the names of its text. In a later one, new values get names that no stage has used.
    """

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.constants: dict[object, str] = {}
        self.used: set[str] = set()
        """The names of values outside nested graphs."""
        self._root: Graph | None = None

    def statements(self, graph: Graph) -> list[Statement]:
        """The text of the next stage."""
        self._root = graph
        return list(statements(graph, self._scope))

    def of(self, value: Value, otherwise: str = "?") -> str:
        """The name of a value that some stage has made."""
        return self.names.get(value, otherwise)

    def _scope(self, graph: Graph) -> Naming:
        return _Scope(graph, self, is_root=graph is self._root)


def values_by_name(graph: Graph) -> dict[str, Value]:
    """The values of the calls of a graph, by their names in its own text."""
    naming = Naming(graph)
    found = dict(zip(graph.input_names, graph.inputs, strict=True))
    for call in graph.calls:
        list(naming.introduce(call.inputs))
        found.update(zip(naming.make(call), call.outputs, strict=True))
    return found


class _Scope(Naming):
    def __init__(self, graph: Graph, steady: SteadyNames, *, is_root: bool) -> None:
        super().__init__(graph)
        self._steady = steady
        self._is_root = is_root
        self._kept: dict[Value, str] = {}
        for call in graph.calls:
            for value in call.outputs:
                name = steady.names.get(value)
                if name is not None and name not in self._taken:
                    self._kept[value] = name
                    self._taken.add(name)
        if is_root:
            self._taken |= steady.used

    def introduce(self, values: Sequence[Value]) -> Iterator[tuple[str, Constant]]:
        if not self._is_root:
            yield from super().introduce(values)
            return
        for value in values:
            if not isinstance(value, Constant) or not value.ndim or value in self._names:
                continue
            key = constant_key(value)
            is_new = key not in self._constants
            name = self._constants.get(key) or self._steady.constants.get(key) or self._fresh("constant")
            self._names[value] = self._constants[key] = self._steady.constants[key] = name
            self._steady.used.add(name)
            if is_new:
                yield name, value

    def make(self, call: Call) -> tuple[str, ...]:
        names = tuple(self._kept.get(value) or self._fresh(call.op) for value in call.outputs)
        for value, name in zip(call.outputs, names, strict=True):
            self._names[value] = self._steady.names[value] = name
        if self._is_root:
            self._steady.used.update(names)
        return names
