"""Export as Python: a program through the passes of the NumPy backend, and printed as files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Signature
from typing import Any

from ..compiler.backends.numpy.standalone.files import python_files
from ..compiler.program import Argument, Program, Static
from .optimise import optimise
from .prepare import final


def as_python(
    program: Program,
    tree: Any,
    leaves: Sequence[Argument | Static],
    signature: Signature | None = None,
    doc: str | None = None,
    *,
    name: str | None = None,
) -> Mapping[str, str | bytes]:
    """A traced program as files by name: ``NAME.py``, which needs NumPy alone, and ``NAME.npz`` with large constants.

    Args:
        program: what was traced; what it captured has become constants of its graph.
        tree: the structure of the arguments, ``(args, kwargs)``.
        leaves: how the leaves of that entered the trace.
        signature: the user's parameters and defaults; None of functions that do not say.
        doc: the user's docstring.
        name: what the function is called; else as the graph is.

    Raises:
        ExportError: the function needs more than NumPy; the message says what.
    """
    graph, _ = optimise(final(program.graph), "numpy")
    return python_files(replace(program, graph=graph), tree, leaves, signature, doc, name=name)
