"""Export as Python for GPUs: runs the passes of the Triton backend and prints the program as files."""

from collections.abc import Mapping

from ...compiler.backends.python.standalone.traced_function import TracedFunction
from ...compiler.backends.triton.standalone.files import triton_files
from ..programs.canonicalize import inline_user_rules, refuse_checks
from ..programs.optimize import optimize_in_stages


def as_triton(function: TracedFunction, *, fast_math: bool = False) -> Mapping[str, str | bytes]:
    """A traced function as files by name: ``NAME_triton.py``, which needs torch and triton, and its constants.

    Its function takes torch tensors on a GPU, and returns tensors that autograd does not track. `fast_math` is that
    of `compile`.

    Raises:
        ExportError: NumPy would have to compute a part of it, or the function needs more than NumPy; the message says
            what.
    """
    refuse_checks(function.program.graph.name, function.program.graph)
    graph, _ = optimize_in_stages(inline_user_rules(function.program.graph), "triton")
    return triton_files(function.of(graph), fast_math=fast_math)
