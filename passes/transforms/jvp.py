"""Forward mode: from ``f`` to ``(x, dx) -> (f(x), f'(x) dx)``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ...compiler.builder import Builder, as_tuple, recording
from ...compiler.dtypes import is_inexact
from ...compiler.errors import InternalError, TracemillError
from ...compiler.free_sizes import bound_sizes, size_names
from ...compiler.ir import Call, Graph, Value, called
from ...compiler.op import DifferentiateGraph, Rebuilt, lookup
from ...compiler.value_ops import zeros_like
from ..lowering.decompose import decompose_without
from ..nested import rule_params
from ..simplification.lengths_in_nested import in_nested
from ..simplification.mask_selections import mask_selections
from ..simplification.pad_lengths import pad_lengths
from .squared_lengths import SquaredLengths


def jvp(
    graph: Graph,
    *,
    wrt: Sequence[bool] | None = None,
    of: Sequence[bool] | None = None,
    recurse: DifferentiateGraph | None = None,
) -> Graph:
    """Push tangents through `graph`.

    The result takes the inputs of `graph`, then one tangent per input that is marked in `wrt` (default: every
    floating-point input). It returns the outputs, then one tangent per output that is marked in `of` (default: every
    floating-point output). `recurse` differentiates nested graphs; by default, outputs and tangents jointly.

    Before ``def f(x: f64[]) -> f64[]: sin_1 = sin(x); return sin_1``, after::

        def f_jvp(x: f64[], dx: f64[]) -> (f64[], f64[]):
            sin_1: f64[] = sin(x)
            cos_1: f64[] = cos(x)
            multiply_1: f64[] = multiply(dx, cos_1)
            return sin_1, multiply_1
    """
    graph = in_nested(
        decompose_without(graph, lambda op: op.jvp), partial(_with_one_length, recurse is not None)
    )
    graph = pad_lengths(graph, names=_scanned_lengths(graph), is_differentiated=True)
    marked = [is_inexact(v.dtype) for v in graph.inputs] if wrt is None else list(wrt)
    tangent_of: dict[Value, Value] = {
        v: Value(v.type) for v, m in zip(graph.inputs, marked, strict=True) if m
    }
    inputs = (*graph.inputs, *tangent_of.values())
    names = (*graph.input_names, *(f"d{n}" for n, m in zip(graph.input_names, marked, strict=True) if m))
    with recording(Builder()) as builder:
        producers: dict[Value, Call] = {}
        squared_lengths = SquaredLengths(producers, tangent_of)
        now: dict[Value, Value] = {}  # the new value of an output of a call that its rule has recorded again
        for call in graph.calls:
            call = _with_inputs(call, now)
            producers.update(dict.fromkeys(call.outputs, call))
            tangents = tuple(tangent_of.get(v) for v in call.inputs)
            if all(t is None for t in tangents):
                builder.calls.append(call)  # the primal part is shared, not copied
                continue
            builder.location = call.location and call.location.of_derivative()
            outputs = call.outputs
            place = len(builder.calls)
            builder.calls.append(call)
            try:
                results: Any = squared_lengths.tangent(call)
                if results is None:
                    params = rule_params(call, recurse or _jointly)
                    results = lookup(call.op).jvp(call.inputs, tangents, outputs, **params)
            except TracemillError as error:
                error.locate(call.location)
                raise
            if isinstance(results, Rebuilt):
                del builder.calls[place]
                outputs, results = results
                now.update(zip(call.outputs, outputs, strict=True))
            for output, tangent in zip(outputs, as_tuple(results), strict=True):
                if tangent is not None:
                    _check_tangent(call.op, output, tangent)
                    tangent_of[output] = tangent
        primals_out = tuple(now.get(v, v) for v in graph.outputs)
        wanted = [is_inexact(v.dtype) for v in graph.outputs] if of is None else of
        pushed = [v for v, is_wanted in zip(primals_out, wanted, strict=True) if is_wanted]
        tangents_out = tuple(tangent_of[v] if v in tangent_of else zeros_like(v) for v in pushed)
    return Graph(f"{graph.name}_jvp", inputs, tuple(builder.calls), (*primals_out, *tangents_out), names)


def _with_one_length(keeps: bool, graph: Graph) -> Graph:
    """The body of a loop, or a branch, without the lengths that it finds out itself.

    Those of whole selections always, and all if the derivative `keeps` what each iteration computes.
    """
    graph = mask_selections(graph, is_differentiated=True)
    return pad_lengths(graph, is_differentiated=True) if keeps else graph


_SCANS: Final = frozenset({"cumlogsumexp", "cummax", "cummin", "cumprod"})
"""Their derivatives take a number of steps that follows from the length."""


def _scanned_lengths(graph: Graph) -> set[str]:
    """The names of the lengths that the program finds out, if the derivative must know a bound of one of them."""
    bound = {str(size) for size in bound_sizes(graph)}
    return bound if bound and _scans(graph, bound) else set()


def _scans(graph: Graph, bound: set[str]) -> bool:
    """Whether a call of the graph, or of one that it holds, takes steps along such a length."""
    return any(
        (call.op in _SCANS and not bound.isdisjoint(size_names(call)))
        or any(_scans(inner, bound) for inner in called((call,)))
        for call in graph.calls
    )


def _jointly(graph: Graph, wrt: Sequence[bool], of: Sequence[bool]) -> tuple[Graph, None]:
    return jvp(graph, wrt=wrt, of=of), None


def _with_inputs(call: Call, now: Mapping[Value, Value]) -> Call:
    """The call on the new values of its inputs; the call itself if they are the same."""
    if not any(v in now for v in call.inputs):
        return call
    return replace(call, inputs=tuple(now.get(v, v) for v in call.inputs))


def _check_tangent(op: str, primal: Value, tangent: Value) -> None:
    if tangent.type != primal.type:
        raise InternalError(f"the JVP rule of {op} gives a tangent {tangent.type} for {primal.type}")
