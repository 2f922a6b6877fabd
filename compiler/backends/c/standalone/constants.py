"""Large constants of a program: arrays in a file of their own instead of lines between its functions."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....errors import ExportError
from ....ir import Constant, Graph, Value
from ....text.naming import constant_key
from ..literals import c_elements, filled_rows
from ..types import element_type

LARGE = 256
"""A constant with this many entries is written to the separate file."""

MOST_ENTRIES = 1 << 22
"""For more of them as text, a C compiler takes minutes, and hundreds of times the memory."""


@dataclass(frozen=True, slots=True)
class NamedConstant:
    """An array of the file of constants."""

    name: str
    value: Constant

    @property
    def declaration(self) -> str:
        return f"const {element_type(self.value.dtype)} {self.name}[{self.value.type.size}]"

    @property
    def definition(self) -> str:
        rows = filled_rows(c_elements(self.value.array))
        return "\n".join([f"{self.declaration} = {{  // {self.value.type}", *rows, "};\n"])


def without_large_constants(graph: Graph, name: str) -> tuple[Graph, tuple[NamedConstant, ...]]:
    """The graph with its large constants as additional inputs, and these constants, called ``name_constant_1``, ….

    Raises:
        ExportError: they are too large for a text.
    """
    values = [v for call in graph.calls for v in call.inputs] + list(graph.outputs)
    found: dict[object, NamedConstant] = {}
    stands: dict[Value, Value] = {}
    inputs: dict[object, Value] = {}
    for value in values:
        if not isinstance(value, Constant) or value.type.size < LARGE:
            continue
        key = constant_key(value)
        if key not in found:
            found[key] = NamedConstant(f"{name}_constant_{len(found) + 1}", value)
            inputs[key] = Value(value.type)
        stands[value] = inputs[key]
    _check_size(constant.value for constant in found.values())
    if not found:
        return graph, ()
    calls = tuple(
        replace(call, inputs=tuple(stands.get(value, value) for value in call.inputs)) for call in graph.calls
    )
    outputs = tuple(stands.get(value, value) for value in graph.outputs)
    names = (*graph.input_names, *(f"constant_{number + 1}" for number in range(len(found))))
    lifted = Graph(graph.name, (*graph.inputs, *inputs.values()), calls, outputs, names)
    return lifted, tuple(found.values())


def _check_size(constants: Iterable[Constant]) -> None:
    entries = sum(constant.type.size for constant in constants)
    if entries > MOST_ENTRIES:
        raise ExportError(
            f"the program has constants of {entries:_} entries, and a C text holds {MOST_ENTRIES:_}: make the "
            "large ones arguments of the function, or export as a bundle"
        )
