"""Export as C: runs the passes of the C backend and prints the program as files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...compiler.backends.c.standalone.files import c_files
from ...compiler.frontend.traced_program import Program
from ...passes.lowering.without_numpy import without_numpy
from ..programs.canonicalize import canonicalize, refuse_checks
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
    refuse_checks(program.graph.name, program.graph)
    graph = optimize(without_numpy(canonicalize(program.graph, "c")), "c")
    return c_files(
        replace(program, graph=graph), doc, name=name, paths=paths, source=program.graph, fast_math=fast_math
    )
