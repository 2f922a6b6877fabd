"""`Naming`: names for the values of one graph, in the order in which they appear."""

from collections.abc import Collection, Iterator, Sequence

from ..dtypes import dtype_names
from ..ir import Call, Constant, Graph, Value
from .literals import scalar_text

INLINE_SIZE = 16  # a constant with more elements is named by its digest
RESERVED = {
    *dtype_names(),
    "callable",
    "inf",
    "nan",
}  # other meanings of a word as a parameter, besides the name of a graph


class Naming:
    """The scope of one printed graph: inputs keep their names, other values are named by op and number."""

    def __init__(self, graph: Graph) -> None:
        self._names: dict[Value, str] = dict(zip(graph.inputs, graph.input_names, strict=False))
        self._taken = set(graph.input_names)
        self._counts: dict[str, int] = {}
        self._constants: dict[object, str] = {}

    def introduce(self, values: Sequence[Value]) -> Iterator[tuple[str, Constant]]:
        """New names for the unnamed constants among `values` that need a line of their own."""
        for value in values:
            if isinstance(value, Constant) and value.ndim and value not in self._names:
                key = constant_key(value)
                known = self._constants.get(key)
                self._names[value] = self._constants[key] = known or self._name(value, "constant")
                if known is None:
                    yield self._names[value], value

    def make(self, call: Call) -> tuple[str, ...]:
        """Name the outputs of a call."""
        names = tuple(self._name(value, call.op) for value in call.outputs)
        self._names.update(zip(call.outputs, names, strict=True))
        return names

    def use(self, value: Value) -> str:
        """The name of a value, or its literal: numbers are written where they are used."""
        name = self._names.get(value)
        if name is None:
            if isinstance(value, Constant) and not value.ndim:
                name = scalar_text(value.array)
            else:
                name = self._fresh("undefined")
            self._names[value] = name
        return name

    def claim(self, name: str, sizes: Collection[str] = ()) -> str:
        """A name for a nested graph: its own if it is free here and is not the name of a size."""
        number, free = 1, name
        while free in self._taken or free in RESERVED or free in sizes:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free

    def _name(self, value: Value, stem: str) -> str:
        """The name for a value that has none yet."""
        return self._fresh(stem)

    def _fresh(self, stem: str) -> str:
        while True:
            number = self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}_{number}"
            if name not in self._taken:
                self._taken.add(name)
                return name


def constant_key(constant: Constant) -> object:
    """Equal for bit-identical constants."""
    if constant.type.size > INLINE_SIZE:
        return constant.digest
    return constant.type, constant.array.tobytes()
