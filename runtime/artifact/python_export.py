"""Export as Python: runs the passes of the NumPy backend and prints the program as files."""

from collections.abc import Mapping

from ...compiler.backends.numpy.writer import NUMPY
from ...compiler.backends.python.standalone.files import python_files
from ...compiler.backends.python.standalone.traced_function import TracedFunction
from ..programs.canonicalize import inline_user_rules
from ..programs.errors import raised_errors
from ..programs.optimize import optimize_in_stages


def as_python(function: TracedFunction) -> Mapping[str, str | bytes]:
    """A traced function as files by name: ``NAME.py``, which needs only NumPy, and ``NAME.npz`` with large constants.

    Raises:
        ExportError: the function needs more than NumPy; the message says what.
    """
    program = function.program.graph
    graph, _ = optimize_in_stages(inline_user_rules(program), "numpy")
    return python_files(function.of(graph), NUMPY, raised_errors(program))
