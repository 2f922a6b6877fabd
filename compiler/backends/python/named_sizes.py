"""The named sizes of a generated module: variables that its functions take, and that are first read from the inputs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...errors import UndeterminedDimError
from ...free_sizes import names_bound_in, sizes_in_graph
from ...ir import ArrayType, Graph
from ...symbolic_size import SymbolicSize
from .text import Names

if TYPE_CHECKING:
    from ...shapes.dim import Dim

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)

LOCAL = ("arena", "kept", "memory", "quiet")
"""Variables of the module's own functions besides those of its sizes."""


def size_variables(graph: Graph, taken: Iterable[str]) -> dict[str, str]:
    """A variable for each named size of a graph, with the name of the size if it is free."""
    names = Names((*taken, *LOCAL))
    return {name: names.claim(name) for name in names_of_sizes(sizes_in_graph(graph))}


def names_of_sizes(sizes: Iterable[SymbolicSize]) -> list[str]:
    """The names in some expressions, in alphabetical order."""
    return sorted({str(named) for size in sizes for named in size.sizes})


def size_text(size: Any, variables: Mapping[str, str]) -> str:
    """A size as an expression of the variables, formatted like by ruff."""
    return spaced(size.spelled(variables)) if isinstance(size, SymbolicSize) else str(size)


def spaced(text: str) -> str:
    """An expression, formatted like by ruff."""
    return text.replace("*", " * ")


def sizes_used(variables: Mapping[str, str], lines: Iterable[str]) -> list[str]:
    """Those of the variables that occur in lines of Python."""
    if not variables:
        return []
    words = {word for line in lines for word in _WORD.findall(line.partition("# ")[0])}
    return [variable for variable in variables.values() if variable in words]


def size_statements(
    graph: Graph, parameters: Sequence[str], variables: Mapping[str, str], used: Sequence[str]
) -> list[str]:
    """``B = x.shape[0]`` for each of the variables that is `used`, given the names of the inputs."""
    if not used:
        return []
    from ...shapes.arguments.solving import SizeReader
    from ...shapes.arguments.unpacking import unpacked, unpacking
    from ...shapes.scope import relations_among

    shapes = [value.shape for value in graph.inputs]
    reader = SizeReader(graph.input_names, shapes, relations_among(variables))
    texts = unpacking(reader, [f"{name}.shape" for name in parameters], variables)
    missing = sorted(variables.keys() - texts.keys() - names_bound_in(graph))
    if missing:
        raise UndeterminedDimError(
            f"dim {missing[0]} cannot be determined from the shapes of the arguments: none has it"
        )
    needed = set(used)
    for name, text in reversed(texts.items()):
        if variables[name] in needed:
            needed.update(sizes_used(variables, [text]))
    bound = {variables[name]: text for name, text in texts.items() if variables[name] in needed}
    ranks = {f"{name}.shape": len(shape) for name, shape in zip(parameters, shapes, strict=True)}
    return [f"    {names} = {spaced(text)}" for names, text in unpacked(bound, ranks)]


def example_types(graph: Graph) -> list[ArrayType]:
    """Plausible shapes of the inputs of a call."""
    sizes = sorted({size for found in sizes_in_graph(graph) for size in found.sizes}, key=str)
    if not sizes:
        return [value.type for value in graph.inputs]
    from ...shapes.scope import example

    found = example(cast("list[Dim]", sizes))
    shapes = [[d.at(found) if isinstance(d, SymbolicSize) else d for d in v.shape] for v in graph.inputs]
    return [ArrayType(v.dtype, tuple(s)) for v, s in zip(graph.inputs, shapes, strict=True)]
