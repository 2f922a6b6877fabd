"""Calls that raise NumPy's `LinAlgError` for some matrices, and whose results nothing uses."""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..builder import Builder, bind, bind_all, recording
from ..dtypes import is_inexact
from ..ir import Call, Graph, Param, Value, called
from ..op import has_effect, lookup
from ..value_ops import absolute, equal, logical_and, logical_not, real

_ERROR: Final = "numpy.linalg.LinAlgError('Singular matrix')"


def with_unused_failures(graph: Graph) -> Graph:
    """The graph with something that keeps each such call, so that its program fails where Python does.

    Before ``cholesky_1 = cholesky(a)`` in ``try: np.linalg.cholesky(a)``, which would be dead code; after, a check
    follows, which reads its result and never fails. The same call of the same matrix that is used is enough.
    """
    if not _may_fail(graph):
        return graph
    used: set[Value] = set(graph.outputs)
    watched: set[tuple[str, Value]] = set()
    calls: list[Call] = []
    for call in reversed(graph.calls):
        is_used = not used.isdisjoint(call.outputs) or has_effect(call)
        if not is_used and lookup(call.op).may_fail and (call.op, call.inputs[0]) not in watched:
            calls += reversed(_checks(call))
            is_used = True
        if is_used:
            used.update(call.inputs)
            if lookup(call.op).may_fail:
                watched.add((call.op, call.inputs[0]))
        calls.append(_with_graphs(call))
    return replace(graph, calls=tuple(reversed(calls)))


def _may_fail(graph: Graph) -> bool:
    return any(lookup(call.op).may_fail for call in graph.calls) or any(map(_may_fail, called(graph.calls)))


def _checks(call: Call) -> list[Call]:
    """The calls of a check that reads a result: whether something is NaN and infinite."""
    builder = Builder()
    builder.location = call.location
    with recording(builder):
        result = next(value for value in call.outputs if is_inexact(value.dtype))
        result = real(result) if result.dtype.kind == "c" else result
        both = logical_and(logical_not(equal(result, result)), equal(absolute(result), np.inf))
        bind_all("raise_if", bind("any", both, axes=tuple(range(both.ndim))), error=_ERROR)
    return builder.calls


def _with_graphs(call: Call) -> Call:
    """The call with the same done to the graphs that it holds."""
    if not any(map(_may_fail, called((call,)))):
        return call
    return replace(call, params={name: _rewritten(param) for name, param in call.params.items()})


def _rewritten(param: Param) -> Any:
    if isinstance(param, Graph):
        return with_unused_failures(param)
    return tuple(map(_rewritten, param)) if isinstance(param, tuple) else param
