"""Errors of a batch that is computed while its function runs: those of all examples, and those of some.

A function may catch an error that each of its examples raises alike. If only some do, its handler would run for all of
them, so that the call as a whole raises the error, as a compiled one does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler.dtypes import Array
from ...compiler.errors import BatchedHandlerError, TracemillError
from ...compiler.interpreter import evaluate
from ...compiler.ir import Graph
from ...compiler.op import RAISES, effects_in


class FailingExamplesError(BaseException):
    """Stops a function that raises an error for some examples. No handler for errors of this kind may catch it."""


def batched_handler_error(error: Exception) -> Exception:
    """The error to raise if only some examples raise one that the function handles."""
    what, line = str(error), None
    if isinstance(error, TracemillError):
        if not isinstance(error, IndexError):
            return error  # handlers see no errors that only Tracemill raises
        what, line = error.message, error.location
    refusal = BatchedHandlerError(
        f"an example of the batch raises {type(error).__name__}: {what}, which the function handles, and its handler "
        "cannot run for some examples only: test for the case with `if` or `np.where`, as in "
        "`x[i] if i < len(x) else 0.0`, or call the function in a loop",
        line,
    )
    refusal.__cause__ = error
    return refusal


def raise_alike(graph: Graph, arrays: Sequence[Array], mapped: Sequence[bool], size: int) -> bool:
    """Whether each example alone raises an error of the same class and text.

    Args:
        graph: what failed, for one example.
        arrays: its inputs, some with the batch as their first axis.
        mapped: which of them have it.
        size: the size of the batch.
    """
    if effects_in(graph) - {RAISES}:  # they must not happen again
        return False
    first = None
    for i in range(size):
        found = _error(graph, [x[i] if has_batch else x for x, has_batch in zip(arrays, mapped, strict=True)])
        first = first or found
        if found is None or found != first:
            return False
    return True


def _error(graph: Graph, inputs: Sequence[Any]) -> "tuple[type[Exception], str] | None":
    """The class and the text of the error that a graph raises; None if it raises none."""
    try:
        evaluate(graph, *map(np.asarray, inputs))
    except Exception as error:
        return type(error), str(error)
    return None
