"""The C function of a kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...affine import same
from ...ir import Constant, Graph
from ...loops.lower import lower
from ...loops.nest import Buffer, Nest
from ...loops.overwriting import overwritable
from ...loops.pairs import on_vectors
from ...loops.work import chunked, nanoseconds
from .chunks import ChunkWriter
from .function import CFunction, COptions
from .literals import MOST_CONSTANTS, c_array
from .names import variable_name
from .parameters import is_same_type, memory_type
from .sizes import names_in_graph, size_parameters, size_variable

RESERVED = ("threads", "memory", "begin", "end", "chunk", "c", "value", "place", "per_chunk")
"""What the drivers of kernels call their own."""


def kernel_function(
    graph: Graph, name: str, options: COptions, *, in_place: bool = False
) -> CFunction | None:
    """The C function called `name` that computes the outputs of a kernel's graph; None if it has large constants.

    With `in_place`, outputs may be written over inputs as far as that is safe: compilers are told less about these.
    """
    if not options.alone and any(
        isinstance(v, Constant) and v.type.size > MOST_CONSTANTS for call in graph.calls for v in call.inputs
    ):
        return None
    graph = replace(graph, input_names=tuple(map(variable_name, graph.input_names)))
    sizes = names_in_graph(graph)
    reserved = (*RESERVED, name, *map(size_variable, sizes))
    nest = chunked(on_vectors(lower(graph, reserved), reserved))
    places = _in_place(graph, nest) if in_place else {}
    writer = ChunkWriter(name=name, aliased=_aliased(nest, places), sizes=sizes)
    for buffer, value in nest.constants:
        writer.line(c_array(buffer.name, value.array))
    writer.copies(nest.body)
    writer.statements(nest.body)
    memory = [] if same(writer.memory, 0) else [memory_type(writer.memory)]
    parameters = [
        *size_parameters(sizes),
        *(f"const {writer.pointer(x)}" for x in nest.inputs),
        *(writer.pointer(x) for x in nest.outputs),
        *("uint8_t *restrict memory" for _ in memory),
        "long threads",
    ]
    main = "\n".join([f"static void {name}({', '.join(parameters)})", "{", *writer.lines, "}", ""])
    return CFunction(
        name,
        "\n".join([*writer.functions, main]),
        tuple(value.type for value in graph.inputs),
        (*(value.type for value in graph.outputs), *memory),
        frozenset(writer.needs),
        nanoseconds(nest.body),
        in_place=places,
        sizes=sizes,
    )


def _in_place(graph: Graph, nest: Nest) -> Mapping[int, Sequence[int]]:
    """The inputs that each output may be written over. A number's memory may be a Python object's."""
    found: dict[int, Sequence[int]] = {}
    for number, places in overwritable(nest).items():
        type = graph.outputs[number].type
        alike = [place for place in places if type.ndim and is_same_type(graph.inputs[place].type, type)]
        if alike:
            found[number] = alike
    return found


def _aliased(nest: Nest, places: Mapping[int, Sequence[int]]) -> frozenset[Buffer]:
    """What may lie in the same memory as something else."""
    inputs = {nest.inputs[place] for alike in places.values() for place in alike}
    return frozenset(inputs.union(nest.outputs[number] for number in places))
