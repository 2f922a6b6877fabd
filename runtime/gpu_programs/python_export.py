"""Export as Python for GPUs: a program through the passes of the Triton backend, and printed as files."""

from collections.abc import Mapping

from ...compiler.backends.numpy.standalone.traced_function import TracedFunction
from ...compiler.backends.triton.standalone.files import triton_files
from ..programs.optimise import optimise
from ..programs.prepare import final, refuse_index_checks


def as_triton(function: TracedFunction, *, fast_math: bool = False) -> Mapping[str, str | bytes]:
    """A traced function as files by name: ``NAME_triton.py``, which needs torch and triton, and its constants.

    Its function takes tensors of torch on a GPU, and gives tensors that autograd knows nothing of. `fast_math` is that
    of `compile`.

    Raises:
        ExportError: NumPy would have to compute a part of it, or the function needs more than NumPy; the message says
            what.
    """
    refuse_index_checks(function.program.graph.name, function.program.graph)
    graph, _ = optimise(final(function.program.graph), "triton")
    return triton_files(function.of(graph), fast_math=fast_math)
