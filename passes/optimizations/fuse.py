"""Group the calls of a graph into kernels, each of which becomes one loop nest."""

from collections.abc import Mapping
from dataclasses import replace

from ...compiler.analysis.in_place_updates import in_place, kept_places
from ...compiler.free_sizes import bound_sizes
from ...compiler.ir import Call, Graph, Param, called, graphs_in
from ..fusion.cost import CPU, Costs
from ..fusion.kernels import fused_calls
from ..fusion.plan import Plan
from ..fusion.products import with_held_products, with_products
from ..fusion.recompute_upstream import recompute_upstream
from ..fusion.report import Report, report
from ..fusion.typical_graph import has_symbolic_shapes, typical_graph
from ..stages import in_stages


def fuse(graph: Graph, costs: Costs = CPU) -> Graph:
    """Replace elementwise calls, moves and reductions by calls of `kernel` that hold them as graphs.

    Before, for ``x: f64[1000, 100]``::

        exp_1: f64[1000, 100] = exp(x)
        sum_1: f64[1000] = sum(exp_1, axes=(1,))
        log_1: f64[1000] = log(sum_1)

    after::

        def kernel_exp_sum_log(x: f64[1000, 100]) -> f64[1000]:
            exp_1: f64[1000, 100] = exp(x)
            sum_1: f64[1000] = sum(exp_1, axes=(1,))
            log_1: f64[1000] = log(sum_1)
            return log_1
        kernel_1: f64[1000] = kernel(x, graph=kernel_exp_sum_log)

    A result that only one kernel uses is computed there and never stored. A result that several kernels use is
    recomputed in each if that costs less than storing it. Expensive values are computed once. A call that uses the
    result of a reduction is fused with it only inside the loops that both share. Nested graphs are fused in turn. In
    the body of a loop, a call that updates a part of the carry stays separate, after all calls that read it, so that
    the update happens in place.

    On targets that compute matrix products in kernels, calls on the elements of a product run in its kernel.

    Costs and the abilities of kernels depend on the target, whose `costs` these are. Symbolic sizes are weighed at
    typical sizes.
    """
    return _fused_graph(graph, costs, None)


def _fused_graph(graph: Graph, costs: Costs, kept: Mapping[int, int] | None) -> Graph:
    """`kept`: which output of a nested graph may use the memory of which input; None for a program."""
    if bound_sizes(graph):
        return in_stages(graph, lambda part: _fused_graph(part, costs, None if kept is None else {}))
    nested = tuple(_with_fused_graphs(call, costs) for call in graph.calls)
    if any(a is not b for a, b in zip(nested, graph.calls, strict=True)):
        graph = replace(graph, calls=nested)
    calls = fused_calls(plan_fusion(graph, costs, kept))
    if len(calls) != len(graph.calls) or any(a is not b for a, b in zip(calls, graph.calls, strict=True)):
        graph = replace(graph, calls=calls)
    return with_products(graph) if costs.holds_products else graph


def plan_fusion(graph: Graph, costs: Costs = CPU, kept: Mapping[int, int] | None = None) -> Plan:
    """Which calls of a graph become kernels, without those of nested graphs."""
    if costs.holds_products:
        graph = with_held_products(graph)
    ordered, overwritten = in_place(graph, kept or {})
    if not has_symbolic_shapes(ordered):
        return recompute_upstream(ordered, costs, overwritten, is_held=kept is not None)
    fixed = typical_graph(ordered)
    overwritten = fixed.overwritten(overwritten)
    return fixed.to_symbolic(recompute_upstream(fixed.graph, costs, overwritten, is_held=kept is not None))


def fusion_report(graph: Graph, costs: Costs = CPU) -> Report:
    """The plan that `fuse` makes for a graph without kernels: which kernels, and why not others. Print it.

    >>> import numpy as np, tracemill as tm
    >>> graph = tm.compile(lambda x: x / x.sum()).lower(np.ones((1000, 100))).graph
    >>> print(fusion_report(graph))
    function: 2_400_016 bytes moved without kernels, 2_400_016 with them
      kernel_sum: reads 800_000 bytes, writes 8, saves 0: sum_1
      kernel_divide: reads 800_008 bytes, writes 800_000, saves 0: divide_1
      sum_1 → divide_1: serial: it would leave 1 parallel iterations of a large loop

    For symbolic sizes, the numbers are those for typical sizes.
    """
    if has_symbolic_shapes(graph):
        graph = typical_graph(graph).graph
    return _report(graph, costs, None)


def _report(graph: Graph, costs: Costs, kept: Mapping[int, int] | None) -> Report:
    nested = tuple(
        _report(inner, costs, kept_places(call).get(name, {}))
        for call in graph.calls
        if call.op != "kernel"
        for name, param in call.params.items()
        for inner in graphs_in(param)
    )
    return report(plan_fusion(graph, costs, kept), _fused_graph(graph, costs, kept), nested)


def _with_fused_graphs(call: Call, costs: Costs) -> Call:
    if call.op == "kernel" or not any(True for _ in called((call,))):
        return call
    kept = kept_places(call)
    params = {name: _fused(param, costs, kept.get(name, {})) for name, param in call.params.items()}
    if all(params[name] is call.params[name] for name in params):
        return call
    return replace(call, params=params)


def _fused(param: Param, costs: Costs, kept: Mapping[int, int]) -> Param:
    """A parameter with its graphs fused; the parameter itself if none changes."""
    if isinstance(param, Graph):
        return _fused_graph(param, costs, kept)
    if isinstance(param, tuple):
        items = tuple(_fused(item, costs, kept) for item in param)
        return param if all(a is b for a, b in zip(items, param, strict=True)) else items
    return param
