"""Compiles a program for a GPU that this machine need not have."""

from ...compiler.backends.triton.planning.program import triton_program
from ...compiler.ir import Graph
from ...compiler.text.printer import to_text
from ..machine.target import GRAPH
from ..machine.triton_compiler import build_program, target_named
from ..programs.canonicalize import canonicalize
from ..programs.optimize import optimize
from .stored_program import files_of


def files_for(graph: Graph, target: str, *, fast_math: bool) -> dict[str, bytes]:
    """The files of a program for a target such as ``cuda:sm_90``, and the text of its graph.

    Raises:
        MissingPackageError, BackendError, KernelError: as `build_program` does.
    """
    graph = canonicalize(graph, "triton")
    program = triton_program(optimize(graph, "triton"), {}, fast_math=fast_math)
    built = build_program(program, target_named(target))
    return {GRAPH: to_text(graph, locations=False).encode(), **files_of(program, built, with_ptx=True)}
