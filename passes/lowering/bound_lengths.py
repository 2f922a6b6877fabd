"""Give each length that a program computes a maximum, for targets that reserve memory before it runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...compiler.free_sizes import MAXIMUM, bound_size, sizes_in_graph
from ...compiler.ir import Call, Constant, Graph, Param, Value
from ...compiler.shapes.dim import Dim
from ...compiler.shapes.largest import largest
from ...compiler.symbolic_size import is_known, min_expr
from ...compiler.tracing.value_ranges import ValueRanges


def bound_lengths(graph: Graph) -> Graph:
    """The graph in which each length has its maximum as a parameter.

    Before ``length_1: bool[n_1] = length(sum_1, dim=n_1)``, where ``sum_1`` counts the entries of a mask, after::

        length_1: bool[n_1] = length(sum_1, dim=n_1, most=7)

    Where nothing bounds a number, its maximum is a size ``max_n_1``, which the caller gives.
    """
    names = {str(one) for size in sizes_in_graph(graph) for one in size.sizes}
    return _bounded(graph, {}, names)


def _bounded(graph: Graph, most: Mapping[str, Any], names: set[str]) -> Graph:
    """The same for a nested graph; `most` has the maxima of the outer lengths."""
    known = dict(most)
    maker = {value: call for call in graph.calls for value in call.outputs}
    calls: list[Call] = []
    for call in graph.calls:
        size = bound_size(call)
        if size is None:
            nested = {name: _in_param(param, known, names) for name, param in call.params.items()}
            is_same = all(nested[name] is param for name, param in call.params.items())
            calls.append(call if is_same else replace(call, params=nested))
            continue
        name = str(size)
        found = _maximum(call.inputs[0], maker.get, known)
        if found is None:
            found = Dim(_fresh(f"{MAXIMUM}{name}", names))
        known[name] = found
        calls.append(replace(call, params={**call.params, "most": found}))
    return replace(graph, calls=tuple(calls))


def _in_param(param: Param, known: Mapping[str, Any], names: set[str]) -> Param:
    if isinstance(param, Graph):
        return _bounded(param, known, names)
    if isinstance(param, tuple) and any(isinstance(one, Graph) for one in param):
        return tuple(_in_param(one, known, names) for one in param)
    return param


def _maximum(count: Value, maker: Callable[[Value], Call | None], known: Mapping[str, Any]) -> Any:
    """The most that a number is, without the names of lengths that the program finds out; None if that is unknown."""
    ranges = ValueRanges(lambda value: None if isinstance(value, Constant) else maker(value))
    found = ranges.at_most(count)
    if found is None or not all(map(is_known, ranges.facts)):
        return None
    try:
        high = largest(found, known)
    except ValueError:
        return None
    return min_expr(high, 0) if is_known(high <= 0) else high


def _fresh(name: str, names: set[str]) -> str:
    while name in names:
        name += "_"
    names.add(name)
    return name
