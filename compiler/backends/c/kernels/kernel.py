"""The C function of a kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ....affine import same
from ....ir import Constant, Graph, same_type
from ....loops.in_place_safety import overwritable
from ....loops.interchange import vectorize_long_axis
from ....loops.loop_costs import chunked, estimated_time
from ....loops.lower import lower
from ....loops.nest import Buffer, Nest
from ....symbolic_size import max_expr
from ..function import CFunction, COptions
from ..literals import MOST_CONSTANTS, c_array
from ..names import variable_name
from ..parameters import memory_type
from ..sizes import names_in_graph, size_parameters, size_text, size_variable
from .chunks import ChunkWriter
from .short_axes import short_axis, versions

RESERVED = ("threads", "memory", "begin", "end", "chunk", "c", "value", "place", "per_chunk")
"""Names that the drivers of kernels use."""


def kernel_function(
    graph: Graph, name: str, options: COptions, *, in_place: bool = False
) -> CFunction | None:
    """The C function called `name` that computes the outputs of a kernel's graph; None if it has large constants.

    With `in_place`, outputs may overwrite inputs if that is safe; the compiler then knows less about aliasing.
    """
    if not options.alone and any(
        isinstance(v, Constant) and v.type.size > MOST_CONSTANTS for call in graph.calls for v in call.inputs
    ):
        return None
    graph = replace(graph, input_names=tuple(map(variable_name, graph.input_names)))
    whole = _version(graph, name)
    axis = short_axis(whole.nest)
    short = {} if axis is None else versions(graph, axis)
    others = {length: _version(fixed, f"{name}_for_{length}") for length, fixed in short.items()}
    places: Mapping[int, Sequence[int]] = _in_place(whole) if in_place else {}
    for other in others.values():
        places = _in_both(places, _in_place(other))
    writer = _written(whole, places)
    lines, functions, memory, needs = writer.lines, writer.functions, writer.memory, writer.needs
    for length, other in reversed(others.items()):
        written = _written(other, places)
        said = f"// {name} where {axis} is {length}."
        functions = [said, *written.functions, _text(other, written, written.memory), *functions]
        lines = [*_choice(other, written, f"{size_text(axis)} == {length}"), *lines]
        memory, needs = max_expr(memory, written.memory), needs | written.needs
    writer.lines = lines
    return CFunction(
        name,
        "\n".join([*functions, _text(whole, writer, memory)]),
        tuple(value.type for value in graph.inputs),
        (*(value.type for value in graph.outputs), *([] if same(memory, 0) else [memory_type(memory)])),
        frozenset(needs),
        estimated_time(whole.nest.body),
        in_place=places,
        sizes=whole.sizes,
    )


@dataclass(frozen=True, slots=True)
class _Version:
    """A kernel for all sizes, or for one value of a size."""

    name: str
    graph: Graph
    sizes: tuple[str, ...]
    nest: Nest


def _version(graph: Graph, name: str) -> _Version:
    sizes = names_in_graph(graph)
    reserved = (*RESERVED, name, *map(size_variable, sizes))
    return _Version(name, graph, sizes, chunked(vectorize_long_axis(lower(graph, reserved), reserved)))


def _written(version: _Version, places: Mapping[int, Sequence[int]]) -> ChunkWriter:
    """The statements of a version, and the functions that they call."""
    nest = version.nest
    writer = ChunkWriter(name=version.name, aliased=_aliased(nest, places), sizes=version.sizes)
    for buffer, value in nest.constants:
        writer.line(c_array(buffer.name, value.array))
    writer.copies(nest.body)
    writer.statements(nest.body)
    return writer


def _text(version: _Version, writer: ChunkWriter, memory: int) -> str:
    """The function of a version."""
    parameters = [
        *size_parameters(version.sizes),
        *(f"const {writer.pointer(x)}" for x in version.nest.inputs),
        *(writer.pointer(x) for x in version.nest.outputs),
        *([] if same(memory, 0) else ["uint8_t *restrict memory"]),
        "long threads",
    ]
    return "\n".join([f"static void {version.name}({', '.join(parameters)})", "{", *writer.lines, "}", ""])


def _choice(version: _Version, writer: ChunkWriter, condition: str) -> list[str]:
    """Statements by which the function for all sizes delegates a call to a version."""
    arguments = [
        *map(size_variable, version.sizes),
        *(buffer.name for buffer in (*version.nest.inputs, *version.nest.outputs)),
        *([] if same(writer.memory, 0) else ["memory"]),
        "threads",
    ]
    call = f"{version.name}({', '.join(arguments)});"
    return [f"    if ({condition}) {{", f"        {call}", "        return;", "    }"]


def _in_both(
    places: Mapping[int, Sequence[int]], others: Mapping[int, Sequence[int]]
) -> Mapping[int, Sequence[int]]:
    both = {output: [x for x in found if x in others.get(output, ())] for output, found in places.items()}
    return {output: found for output, found in both.items() if found}


def _in_place(version: _Version) -> Mapping[int, Sequence[int]]:
    """The inputs that each output may overwrite. A number's memory may be a Python object's."""
    graph, nest = version.graph, version.nest
    found: dict[int, Sequence[int]] = {}
    for number, places in overwritable(nest).items():
        type = graph.outputs[number].type
        alike = [place for place in places if type.ndim and same_type(graph.inputs[place].type, type)]
        if alike:
            found[number] = alike
    return found


def _aliased(nest: Nest, places: Mapping[int, Sequence[int]]) -> frozenset[Buffer]:
    """Arrays that may share memory with others."""
    inputs = {nest.inputs[place] for alike in places.values() for place in alike}
    return frozenset(inputs.union(nest.outputs[number] for number in places))
