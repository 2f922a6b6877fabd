"""The C function of a kernel."""

from dataclasses import replace

from ...ir import Constant, Graph
from ...loops.lower import lower
from ...loops.pairs import on_vectors
from ...loops.work import chunked, work
from .chunks import ChunkWriter
from .function import CFunction, COptions
from .literals import MOST_CONSTANTS, c_array
from .names import variable_name
from .parameters import memory_type
from .types import element_type

RESERVED = ("threads", "memory", "begin", "end", "chunk", "c", "value", "place")
"""What the drivers of kernels call their own."""


def kernel_function(graph: Graph, name: str, options: COptions) -> CFunction | None:
    """The C function called `name` that computes the outputs of a kernel's graph; None if it has large constants."""
    if any(
        isinstance(v, Constant) and v.type.size > MOST_CONSTANTS for call in graph.calls for v in call.inputs
    ):
        return None
    graph = replace(graph, input_names=tuple(map(variable_name, graph.input_names)))
    reserved = (*RESERVED, name)
    nest = chunked(on_vectors(lower(graph, reserved), reserved))
    writer = ChunkWriter(name=name)
    for buffer, value in nest.constants:
        writer.line(c_array(buffer.name, value.array))
    writer.copies(nest.body)
    writer.statements(nest.body)
    memory = [memory_type(writer.memory)] if writer.memory else []
    parameters = [
        *(f"const {element_type(x.dtype)} *restrict {x.name}" for x in nest.inputs),
        *(f"{element_type(x.dtype)} *restrict {x.name}" for x in nest.outputs),
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
        round(work(nest.body)),
    )
