"""Export as C: runs the passes of the C backend and prints the program as files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...compiler.backends.c.standalone.files import c_files
from ...compiler.backends.c.standalone.signature import found_lengths
from ...compiler.builder import Builder, recording
from ...compiler.dtypes import INT64
from ...compiler.free_sizes import bound_sizes
from ...compiler.frontend.program import Program
from ...compiler.ir import Graph
from ...compiler.value_ops import number
from ...passes.lowering.bound_lengths import bound_lengths
from ...passes.lowering.without_numpy import without_numpy
from ..programs.canonicalize import canonicalize
from ..programs.errors import with_plain_errors
from ..programs.optimize import optimize


def as_c(
    program: Program,
    doc: str | None = None,
    *,
    name: str | None = None,
    paths: Sequence[str] | None = None,
    fast_math: bool = False,
) -> Mapping[str, str]:
    """The C files of a traced program by name: a header, sources, and a Makefile.

    Args:
        program: what was traced; what it captured has become constants of its graph.
        doc: what is said of it in the header.
        name: what the C function is called; else as the graph is.
        paths: how Python reaches the arguments; else as the trace says.
        fast_math: whether the last digits may be traded for speed, as for `compile`.

    Raises:
        ExportError: C cannot compute it.
    """
    source, errors = with_plain_errors(program.graph)
    graph = bound_lengths(_with_lengths(canonicalize(source, "c"), has_records=bool(errors)))
    return c_files(
        replace(program, graph=optimize(without_numpy(graph), "c")),
        doc,
        name=name,
        paths=paths,
        source=program.graph,
        fast_math=fast_math,
        errors=list(map(str, errors)),
    )


def _with_lengths(graph: Graph, *, has_records: bool) -> Graph:
    """The graph with the lengths of its results as further outputs, before the last one if that has records."""
    count = len(graph.outputs) - has_records
    outputs, records = graph.outputs[:count], graph.outputs[count:]
    bound = {str(size): size for size in bound_sizes(graph)}
    with recording(Builder()) as builder:
        lengths = [
            number(bound[name], INT64) for name in found_lengths([value.type for value in outputs], bound)
        ]
    calls = (*graph.calls, *builder.calls)
    return replace(graph, calls=calls, outputs=(*outputs, *lengths, *records))
