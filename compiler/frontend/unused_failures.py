"""Calls that raise NumPy's errors for some values, and whose results nothing uses."""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..builder import Builder, bind, bind_all, recording
from ..dtypes import is_inexact
from ..ir import Call, Graph, Param, Value, called
from ..op import failure_of, has_effect
from ..value_ops import absolute, broadcast_to, equal, less, logical_and, logical_not, real

_SINGULAR: Final = "numpy.linalg.LinAlgError('Singular matrix')"
_NEGATIVE: Final = "ValueError('Integers to negative integer powers are not allowed.')"


def with_unused_failures(graph: Graph, *, is_used: bool = True) -> Graph:
    """The graph with a check for each such call, so that its program fails where Python does.

    Before ``cholesky_1 = cholesky(a)`` in ``try: np.linalg.cholesky(a)``, which would be dead code; after, a check
    follows, which reads its result and never fails. The same call of the same matrix that is used is enough. Each power
    of integers has a check, which asks whether an exponent is negative: simplification drops such a power also from
    ``x ** k * 0`` and ``(x ** k)[:2]``.
    """
    if not _may_fail(graph):
        return graph
    used: set[Value] = set(graph.outputs) if is_used else set()
    watched: set[Any] = set()
    calls: list[Call] = []
    for call in reversed(graph.calls):
        is_needed = not used.isdisjoint(call.outputs) or has_effect(call)
        if failure_of(call) is not None:
            key = (call.op, call.inputs[0]) if call.op != "power" else (call.inputs[1], call.outputs[0].shape)
            if (not is_needed or call.op == "power") and key not in watched:
                calls += reversed(_checks(call))
                is_needed = is_needed or call.op != "power"
            watched.add(key)
        call = _with_graphs(call, is_used=is_needed)
        if is_needed or has_effect(call):
            used.update(call.inputs)
        calls.append(call)
    return replace(graph, calls=tuple(reversed(calls)))


def _may_fail(graph: Graph) -> bool:
    return any(failure_of(call) is not None for call in graph.calls) or any(
        map(_may_fail, called(graph.calls))
    )


def _checks(call: Call) -> list[Call]:
    """The calls of a check: whether an exponent is negative, or whether something in a result is NaN and infinite."""
    builder = Builder()
    builder.location = call.location
    with recording(builder):
        if call.op == "power":
            fails, error = broadcast_to(less(call.inputs[1], 0), call.outputs[0].shape), _NEGATIVE
        else:
            result = next(value for value in call.outputs if is_inexact(value.dtype))
            result = real(result) if result.dtype.kind == "c" else result
            fails, error = (
                logical_and(logical_not(equal(result, result)), equal(absolute(result), np.inf)),
                _SINGULAR,
            )
        bind_all("raise_if", bind("any", fails, axes=tuple(range(fails.ndim))), error=error)
    return builder.calls


def _with_graphs(call: Call, *, is_used: bool) -> Call:
    """The call with the same done to the graphs that it holds."""
    if not any(map(_may_fail, called((call,)))):
        return call
    return replace(call, params={name: _rewritten(param, is_used) for name, param in call.params.items()})


def _rewritten(param: Param, is_used: bool) -> Any:
    if isinstance(param, Graph):
        return with_unused_failures(param, is_used=is_used)
    return tuple(_rewritten(one, is_used) for one in param) if isinstance(param, tuple) else param
