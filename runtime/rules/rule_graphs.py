"""Functions that trace custom rules into graphs for the types of one call, when a transform needs them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import optree

from ...compiler.arguments.leaves import is_array_like, leaf_type, weak_type
from ...compiler.builder import Builder, inline, recording
from ...compiler.frontend.conversion import converted
from ...compiler.frontend.program import Argument, Static
from ...compiler.interpreter import depends_on
from ...compiler.ir import Graph
from ...compiler.op import PRINTS
from ...compiler.ops.control.checkpoint import without_effects
from ...compiler.ops.control.custom_rule import Reverse
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import zeros_like
from ...passes.transforms.linearity import nonlinear_call, nonlinear_outputs
from ...passes.transforms.transpose import transpose as transpose_graph
from ...passes.transforms.vjp import conjugated
from ..trees import flatten
from .rule_site import Leaf, RuleSite, batched_type


@dataclass(frozen=True)
class Jvp:
    """Makes the graph of a jvp rule."""

    site: RuleSite

    def __call__(self) -> Graph:
        site = self.site
        leaves = site.tangent_leaves()
        tangents = optree.tree_unflatten(site.primals_tree, leaves)

        def rule(primals: Any, tangents: Any, **settings: Any) -> Any:
            result = converted(site.rules["jvp"])(primals, tangents, **settings)
            output, rates = site.pair("jvp", result, "output, tangent")
            return (*site.outputs("jvp", output), *site.rates("jvp", rates))

        given = [leaf for leaf in leaves if isinstance(leaf, Argument)]
        graph = site.graph("jvp", rule, (site.primals, tangents), [*site.inputs, *given])
        self._check(graph, len(given))
        pairs = zip(site.primal_leaves, leaves, strict=True)
        moves = [isinstance(primal, Argument) for primal, leaf in pairs if isinstance(leaf, Argument)]
        return _with_zeros(graph, [True] * len(site.inputs) + moves)

    def _check(self, graph: Graph, tangents: int) -> None:
        linear = [False] * (len(graph.inputs) - tangents) + [True] * tangents
        reached = depends_on(graph, linear)
        outputs = len(self.site.returned.arrays)
        if any(value in reached for value in graph.outputs[:outputs]):
            raise self.site.failure("jvp", "returns an output that depends on the tangents")
        if any(place >= outputs for place in nonlinear_outputs(graph, linear=linear)):
            raise self.site.failure(
                "jvp", "returns a tangent that does not depend on the tangents: return None where it is 0"
            )
        call = nonlinear_call(graph, linear=linear)
        if call is not None:
            raise self.site.failure(
                "jvp", f"is not linear in the tangents: they go through {call.op} at {call.location}"
            )


def _with_zeros(graph: Graph, kept: Sequence[bool]) -> Graph:
    """`graph` with 0 for the inputs that are not kept."""
    if all(kept):
        return graph
    with recording(Builder()) as builder:
        pairs = zip(graph.inputs, kept, strict=True)
        outputs = inline(graph, [value if keeps else zeros_like(value) for value, keeps in pairs])
    inputs, names = tuple(compress(graph.inputs, kept)), tuple(compress(graph.input_names, kept))
    return Graph(graph.name, inputs, tuple(builder.calls), outputs, names)


@dataclass(frozen=True)
class Vjp:
    """Makes the graphs of a forward and a backward rule."""

    site: RuleSite

    def __call__(self) -> Reverse:
        site = self.site
        kept: list[Any] = []

        def forward(*primals: Any, **settings: Any) -> Any:
            result = site.as_called(site.rules["vjp"])(*primals, **settings)
            output, residuals = site.pair("forward", result, "output, residuals")
            leaves, tree = flatten(residuals)
            arrays = [leaf for leaf in leaves if is_array_like(leaf) and hasattr(leaf, "dtype")]
            places = [_residual(leaf) for leaf in leaves]
            kept.append(optree.tree_unflatten(tree, places))
            kept.append([leaf for leaf in places if isinstance(leaf, Argument)])
            return (*site.outputs("forward", output), *arrays)

        traced = site.graph("forward", forward, site.primals, site.inputs)
        by_place = dict(zip(map(id, site.inputs), traced.inputs, strict=True))
        settings = [by_place[id(leaf)] for leaf in site.setting_arrays]
        traced = replace(traced, outputs=(*traced.outputs, *settings))
        residuals, given = kept
        backward = conjugated(self._backward(residuals, given), len(given) + len(settings))
        marks = [index >= len(given) + len(settings) for index in range(len(backward.inputs))]
        linear = None
        if nonlinear_call(backward, linear=marks) is None and not nonlinear_outputs(backward, linear=marks):
            silent = replace(backward, calls=tuple(without_effects(backward.calls, {PRINTS})))
            turned = transpose_graph(silent, linear=marks)  # forward mode does not run the rule
            linear = replace(turned, name=f"{site.name}_linear")
        return Reverse(traced, backward, linear, len(given) + len(settings))

    def _backward(self, residuals: Any, given: list[Argument]) -> Graph:
        site = self.site
        leaves = site.cotangent_leaves()
        cotangents = optree.tree_unflatten(site.returned.tree, leaves)

        def backward(residuals: Any, cotangents: Any, **settings: Any) -> Any:
            return tuple(
                site.pulled("backward", converted(site.rules["backward"])(residuals, cotangents, **settings))
            )

        entering = [leaf for leaf in leaves if isinstance(leaf, Argument)]
        order = [*given, *site.setting_arrays, *entering]
        return site.graph("backward", backward, (residuals, cotangents), order)


def _residual(leaf: Any) -> Leaf:
    """The value of a residual in the backward rule: arrays are traced again, everything else is passed on."""
    if not is_array_like(leaf) or not hasattr(leaf, "dtype"):
        return Static(leaf)
    is_scalar = leaf.is_scalar if is_traced(leaf) else not leaf.shape
    return Argument(leaf_type(leaf, "residuals"), "residual", weak_type(leaf), is_scalar)


@dataclass(frozen=True)
class Batch:
    """Makes the graph of a batch rule."""

    site: RuleSite

    def __call__(self, mapped: tuple[bool, ...], size: int) -> Graph | None:
        site = self.site
        of = dict(zip(map(id, site.inputs), mapped, strict=True))
        primals = {id(leaf) for leaf in site.primal_leaves}
        if any(is_mapped for leaf, is_mapped in of.items() if leaf not in primals):
            return None
        places = [
            replace(leaf, type=batched_type(leaf.type, (size,)), is_scalar=False, weak=None)
            if isinstance(leaf, Argument) and of[id(leaf)]
            else leaf
            for leaf in site.primal_leaves
        ]
        marks = [isinstance(leaf, Argument) and of[id(leaf)] for leaf in site.primal_leaves]
        which = optree.tree_unflatten(site.primals_tree, marks)

        def rule(*primals: Any, **settings: Any) -> Any:
            output = converted(site.rules["batch"])(size, which, *primals, **settings)
            return tuple(site.outputs("batch", output, batch=(size,)))

        entering = [leaf for leaf in places if isinstance(leaf, Argument)]
        order = [*entering, *site.inputs[len(entering) :]]
        return site.graph("batch", rule, site.unflattened(site.primals_tree, places), order)


@dataclass(frozen=True)
class Transpose:
    """Makes the graph of a transpose rule."""

    site: RuleSite

    def __call__(self) -> Graph:
        site = self.site
        leaves = site.cotangent_leaves()
        cotangents = optree.tree_unflatten(site.returned.tree, leaves)

        def rule(cotangents: Any, **settings: Any) -> Any:
            return tuple(site.pulled("transpose", converted(site.rules["transpose"])(cotangents, **settings)))

        pairs = zip(site.inputs, site.differentiable, strict=True)
        known = [leaf for leaf, mark in pairs if not mark]
        entering = [leaf for leaf in leaves if isinstance(leaf, Argument)]
        return site.graph("transpose", rule, (cotangents,), [*known, *entering])


MAKERS: Mapping[str, Callable[[RuleSite], Callable[..., Any]]] = {
    "jvp": Jvp,
    "vjp": Vjp,
    "batch": Batch,
    "transpose": Transpose,
}
