"""Export as Python for GPUs: a program through the passes of the Triton backend, and printed as files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Signature
from typing import Any

from ...compiler.backends.triton.standalone.files import triton_files
from ...compiler.program import Argument, Program, Static
from ..optimise import optimise
from ..prepare import final


def as_triton(
    program: Program,
    tree: Any,
    leaves: Sequence[Argument | Static],
    signature: Signature | None = None,
    doc: str | None = None,
    *,
    name: str | None = None,
    fast_math: bool = False,
) -> Mapping[str, str | bytes]:
    """A traced program as files by name: ``NAME_triton.py``, which needs torch and triton, and its constants.

    Its function takes tensors of torch on a GPU, and gives tensors that autograd knows nothing of.

    Args:
        program: what was traced; what it captured has become constants of its graph.
        tree: the structure of the arguments, ``(args, kwargs)``.
        leaves: how the leaves of that entered the trace.
        signature: the user's parameters and defaults; None of functions that do not say.
        doc: the user's docstring.
        name: what the function is called; else as the graph is.
        fast_math: what `compile` understands by it.

    Raises:
        ExportError: NumPy would have to compute a part of it, or the function needs more than NumPy; the message says
            what.
    """
    graph, _ = optimise(final(program.graph), "triton")
    program = replace(program, graph=graph)
    return triton_files(program, tree, leaves, signature, doc, name=name, fast_math=fast_math)
