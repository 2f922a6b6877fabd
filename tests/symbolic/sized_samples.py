"""The samples of ops with dims instead of sizes, where the ops allow that."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from itertools import combinations_with_replacement
from typing import Any

import tracemill as tm
from samples.sample import Sample
from tracemill.compiler.builder import Builder, bind_all, recording
from tracemill.compiler.ir import ArrayType, Constant, Graph, Shape, Value
from tracemill.compiler.ops.control.custom_rule import Reverse
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.shapes.assumptions import Assumptions
from tracemill.compiler.shapes.guards import Guards

SIZES = frozenset(
    {"count", "length", "loops", "mask_shape", "normalized_shape", "of", "shape", "sizes", "stop", "types"}
)
"""The params that contain sizes: those of the inputs, or in a shape their products."""

Dims = Mapping[int, Any]
"""The dim for each size."""


@dataclass(frozen=True)
class Sized:
    """A sample for arrays of any size: one dim for each size of 2 or more that the op does not ask to be that size."""

    sample: Sample
    graph: Graph
    """A graph of the one call; the original one where the dims have their values `hints`."""
    hints: Mapping[str, int]
    assumptions: Assumptions
    """What the type rule has asked."""
    guards: Guards = field(repr=False)

    def at(self, sizes: Mapping[str, int]) -> Graph:
        """The graph for arrays of these sizes, made for these."""
        return _graph(self.sample, {size: sizes[name] for name, size in self.hints.items()})

    def allowed(self, sizes: Mapping[str, int]) -> bool:
        return allowed(self.guards, sizes)

    @cached_property
    def others(self) -> list[dict[str, int]]:
        """Up to two other lists of sizes that the guards allow."""
        found: list[dict[str, int]] = []
        for sizes in _candidates(self.hints):
            if self.allowed(sizes) and sizes not in found:
                found.append(sizes)
            if len(found) == 2:
                break
        return found


def allowed(guards: Guards, sizes: Mapping[str, int]) -> bool:
    """Whether the guards hold for these sizes."""
    return bool(eval(guards.source({name: name for name in sizes}), dict(sizes)))


def fixed_sizes(assumptions: Assumptions, hints: Mapping[str, int]) -> dict[str, int]:
    """The sizes of which only some few are left, by name, with those that they have."""
    bounded = {name: assumptions.bounds(tm.Dim(name, min=2))[1] < math.inf for name in hints}
    return {name: size for name, size in hints.items() if bounded[name]}


def sized(sample: Sample) -> Sized:
    """The sample with dims. `ValueError` if it has no size of 2 or more that may be another."""
    free = {dim for shape in sample.shapes for dim in shape if dim > 1}
    while free:
        hints = {f"N{size}": size for size in sorted(free)}
        scope = Observed(hints)
        with answering(scope):
            graph = _graph(sample, {size: tm.Dim(f"N{size}", min=2) for size in free})
        fixed = fixed_sizes(scope.assumptions, hints)
        if not fixed:
            return Sized(sample, graph, hints, scope.assumptions, scope.guards)
        free -= set(fixed.values())
    raise ValueError(f"{sample.id} has no free size")


def _candidates(hints: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for step in range(1, 7):
        yield {name: size + step for name, size in hints.items()}
        yield {name: size + step * (place + 1) for place, (name, size) in enumerate(hints.items())}
        for longer in hints:
            yield {name: size + step * (name == longer) for name, size in hints.items()}


def _graph(sample: Sample, dims: Dims) -> Graph:
    graph = sample.graph()
    if sample.op == "irfft":  # its length follows from the number of coefficients
        length = sample.params["length"]
        count = dims.get(length // 2 + 1, length // 2 + 1)
        return _symbolic(graph, dims, {"length": 2 * (count - 1) + length % 2})
    return _symbolic(graph, dims, {})


def _symbolic(graph: Graph, dims: Dims, params: Mapping[str, Any]) -> Graph:
    """The graph with dims for sizes, in the types of its inputs and in params, those given among them."""
    env: dict[Value, Value] = {
        v: v if isinstance(v, Constant) else Value(ArrayType(v.dtype, _shape(v.shape, dims)))
        for v in graph.inputs
    }
    inputs = tuple(env[v] for v in graph.inputs)
    with recording(Builder()) as builder:
        for call in graph.calls:
            own = {name: _param(name, param, dims) for name, param in call.params.items()} | dict(params)
            outputs = bind_all(call.op, *(env.get(v, v) for v in call.inputs), **own)
            env.update(zip(call.outputs, outputs, strict=True))
    outputs = tuple(env.get(v, v) for v in graph.outputs)
    return Graph(graph.name, inputs, tuple(builder.calls), outputs, graph.input_names)


def _shape(shape: Shape, dims: Dims) -> Shape:
    return tuple(dims.get(size, size) for size in shape)


def _param(name: str, param: Any, dims: Dims) -> Any:
    if isinstance(param, Graph):
        return _symbolic(param, dims, {})
    if isinstance(param, tuple):
        return tuple(_param(name, one, dims) for one in param)
    if inspect.isfunction(param) and name in ("jvp", "vjp", "transpose", "batch"):
        return _made(param, dims)
    return _size(param, dims) if name in SIZES and type(param) is int else param


def _size(size: int, dims: Dims) -> Any:
    """A size as a dim, or as a product of dims."""
    for count in range(1, 4):
        for factors in combinations_with_replacement(dims, count):
            if math.prod(factors) == size:
                return math.prod(dims[factor] for factor in factors)
    return size


def _made(maker: Callable[..., Any], dims: Dims) -> Callable[..., Any]:
    """What makes a rule's graph, or several, for dims."""

    @wraps(maker)
    def made(*args: Any) -> Any:
        rule = maker(*args)
        if isinstance(rule, Reverse):
            linear = rule.linear and _symbolic(rule.linear, dims, {})
            return Reverse(
                _symbolic(rule.forward, dims, {}), _symbolic(rule.backward, dims, {}), linear, rule.residuals
            )
        return _symbolic(rule, dims, {}) if isinstance(rule, Graph) else rule

    return made
