"""Calls of functions with a user-defined derivative, batching or transpose.

Rules are Python functions. A call holds functions that trace them when a transform needs their graph, so an unused
rule never runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ...builder import Builder, bind_all, inline, recording
from ...dtypes import is_inexact
from ...errors import NotDifferentiableError, ShapeError
from ...interpreter import evaluate
from ...ir import ArrayType, Graph, Value
from ...op import DifferentiateGraph, Linear, Op, Rebuilt, register
from ...value_ops import broadcast_to, sum_, zeros_like
from ..batch_axes import in_front
from ..nested_graphs import spread
from .graph_call import batched_graph, differentiation, result_types

FAMILY = "custom_rule"

Marks: TypeAlias = tuple[bool, ...]
VmapGraph: TypeAlias = Callable[..., Graph]
"""The pass `vmap`."""


class Reverse(NamedTuple):
    """The graphs of a user's forward and backward function."""

    forward: Graph
    """``inputs -> (*outputs, *residuals)``."""
    backward: Graph
    """``(*residuals, *cotangents) -> cotangents`` of the floating-point outputs, then of the differentiable inputs."""
    linear: Graph | None
    """``(*residuals, *tangents) -> tangents``, the transpose of `backward`; None if that is not linear."""
    residuals: int


MakeJvp: TypeAlias = Callable[[], Graph]
"""``(*inputs, *tangents) -> (*outputs, *tangents)``: of the differentiable inputs, then of the floating-point
outputs."""

MakeReverse: TypeAlias = Callable[[], Reverse]

MakeBatch: TypeAlias = Callable[[Marks, int], Graph | None]
"""Given which inputs are mapped and the size: the outputs, all with the batch first. None if the rule is not for such
a batch."""

MakeTranspose: TypeAlias = Callable[[], Graph]
"""``(*non-differentiable inputs, *cotangents) -> cotangents`` of the differentiable inputs."""


# ---- custom_rule -------------------------------------------------------------------------------------


def _custom_type(
    *inputs: ArrayType, graph: Graph, differentiable: Marks, **rules: Any
) -> tuple[ArrayType, ...]:
    types = result_types("custom_rule", graph, inputs)
    if len(differentiable) != len(inputs):
        raise ShapeError(
            f"custom_rule of {graph.name}: {len(inputs)} inputs, but `differentiable` marks {len(differentiable)}"
        )
    return types


def _custom_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    graph: Graph,
    *,
    differentiable: Marks,
    jvp: MakeJvp | None = None,
    vjp: MakeReverse | None = None,
    transpose: MakeTranspose | None = None,
    batch: MakeBatch | None = None,
    recurse: DifferentiateGraph,
) -> Rebuilt:
    if jvp is None and vjp is None and transpose is None:
        return _derived(inputs, tangents, graph, recurse)
    if any(t is not None and not mark for t, mark in zip(tangents, differentiable, strict=True)):
        raise NotDifferentiableError(
            f"{graph.name} has a custom rule and closes over an array whose derivative is wanted, which the rule "
            "cannot give: make it an argument, or pass it through stop_gradient before the function sees it"
        )
    pairs = zip(inputs, tangents, differentiable, strict=True)
    given = [zeros_like(x) if t is None else t for x, t, mark in pairs if mark]
    count = len(outputs)
    if vjp is not None:
        reverse = vjp()
        results = inline(reverse.forward, inputs)
        known, linear, backward = results[count:], reverse.linear, reverse.backward
        if jvp is not None:
            known, linear, backward = (*inputs, *known), *_beside(jvp(), count, reverse)
        pushed = bind_all("linear_call", *known, *given, graph=linear, transposed=backward)
    elif jvp is not None:
        results = inline(jvp(), (*inputs, *given))
        pushed = results[count:]
    else:
        assert transpose is not None
        rules = _given(transpose=transpose, batch=batch)
        results = bind_all("custom_rule", *inputs, graph=graph, differentiable=differentiable, **rules)
        known = tuple(x for x, mark in zip(inputs, differentiable, strict=True) if not mark)
        linear = _applied(graph, differentiable)
        pushed = bind_all("linear_call", *known, *given, graph=linear, transposed=transpose())
    rates = iter(pushed)
    return Rebuilt(results[:count], tuple(next(rates) if is_inexact(v.dtype) else None for v in outputs))


def _derived(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    graph: Graph,
    recurse: DifferentiateGraph,
) -> Rebuilt:
    """Without a rule for it: the derivative of the function itself."""
    wrt, of, given = differentiation(graph, tangents)
    forward, linear = recurse(graph, wrt, of)
    count = len(graph.outputs)
    results = inline(forward, (*inputs, *given) if linear is None else inputs)
    pushed = results[count:] if linear is None else inline(linear, (*results[count:], *given))
    return Rebuilt(results[:count], spread(iter(pushed), of))


def _beside(pushed: Graph, count: int, reverse: Reverse) -> tuple[Graph, Graph]:
    """With rules for both modes: both as functions of the inputs and of the residuals."""
    tangents = len(reverse.backward.outputs)
    inputs = pushed.inputs[: len(pushed.inputs) - tangents]
    residuals = reverse.backward.inputs[: reverse.residuals]
    cotangents = reverse.backward.inputs[reverse.residuals :]
    forward = Graph(
        pushed.name,
        (*inputs, *(Value(v.type) for v in residuals), *pushed.inputs[len(inputs) :]),
        pushed.calls,
        pushed.outputs[count:],
    )
    unused = tuple(Value(v.type) for v in inputs)
    backward = reverse.backward
    return forward, Graph(backward.name, (*unused, *residuals, *cotangents), backward.calls, backward.outputs)


def _applied(graph: Graph, differentiable: Marks) -> Graph:
    """A function that is linear in its differentiable inputs, with the others first; floating-point outputs only."""
    marked = list(zip(graph.inputs, differentiable, strict=True))
    inputs = (*(v for v, mark in marked if not mark), *(v for v, mark in marked if mark))
    outputs = tuple(v for v in graph.outputs if is_inexact(v.dtype))
    return Graph(graph.name, inputs, graph.calls, outputs)


def _custom_transpose(
    cotangents: tuple[Value, ...],
    inputs: tuple[Any, ...],
    graph: Graph,
    *,
    differentiable: Marks,
    transpose: MakeTranspose | None = None,
    recurse: Callable[..., Graph],
    **rules: Any,
) -> tuple[Value | None, ...]:
    """For a call inside a linear graph, such as that of another function's rule."""
    linear = [isinstance(x, Linear) for x in inputs]
    marked = [m for m, is_linear in zip(differentiable, linear, strict=True) if is_linear]
    if transpose is None or not all(marked):
        known = [x for x in inputs if not isinstance(x, Linear)]
        return spread(iter(inline(recurse(graph, linear=linear), (*known, *cotangents))), linear)
    known = [x for x, mark in zip(inputs, differentiable, strict=True) if not mark]
    given = [ct for ct in cotangents if is_inexact(ct.dtype)]
    pulled = spread(iter(inline(transpose(), (*known, *given))), differentiable)
    return tuple(ct if is_linear else None for ct, is_linear in zip(pulled, linear, strict=True))


@in_front
def _custom_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    graph: Graph,
    *,
    differentiable: Marks,
    jvp: MakeJvp | None = None,
    vjp: MakeReverse | None = None,
    transpose: MakeTranspose | None = None,
    batch: MakeBatch | None = None,
    recurse: VmapGraph,
) -> tuple[Value, ...]:
    batched = None if batch is None else batch(tuple(mapped), size)
    if batched is None:
        batched = batched_graph(graph, mapped, size, recurse)
    mapping = _Mapping(differentiable, tuple(mapped), size, recurse)
    rules = _given(
        jvp=jvp and _MappedJvp(jvp, mapping),
        vjp=vjp and _MappedReverse(vjp, mapping),
        transpose=transpose and _MappedTranspose(transpose, mapping),
    )
    return bind_all("custom_rule", *inputs, graph=batched, differentiable=differentiable, **rules)


def _given(**rules: Any) -> dict[str, Any]:
    return {name: rule for name, rule in rules.items() if rule is not None}


@dataclass(frozen=True)
class _Mapping:
    """How the rules of a batch of calls are mapped."""

    differentiable: Marks
    mapped: Marks
    size: int
    vmap: VmapGraph

    def axes(self, *, differentiable: bool) -> list[int | None]:
        """The batch axes of the differentiable inputs, or of the others."""
        pairs = zip(self.mapped, self.differentiable, strict=True)
        return [0 if is_mapped else None for is_mapped, mark in pairs if mark == differentiable]

    def __call__(self, graph: Graph, in_axes: Sequence[int | None]) -> Graph:
        return self.vmap(graph, in_axes=in_axes, size=self.size, out_axes=[0] * len(graph.outputs))

    def pulled(self, graph: Graph, in_axes: Sequence[int | None]) -> Graph:
        """The same for a graph that returns cotangents: those of inputs that all examples share are summed."""
        batched = self(graph, in_axes)
        with recording(Builder()) as builder:
            builder.calls += batched.calls
            axes = self.axes(differentiable=True)
            outputs = tuple(
                sum_(v, (0,)) if axis is None else v for v, axis in zip(batched.outputs, axes, strict=True)
            )
        return Graph(batched.name, batched.inputs, tuple(builder.calls), outputs, batched.input_names)


@dataclass(frozen=True)
class _MappedJvp:
    rule: MakeJvp
    mapping: _Mapping

    def __call__(self) -> Graph:
        axes = [0 if is_mapped else None for is_mapped in self.mapping.mapped]
        return self.mapping(self.rule(), [*axes, *self.mapping.axes(differentiable=True)])


@dataclass(frozen=True)
class _MappedReverse:
    rule: MakeReverse
    mapping: _Mapping

    def __call__(self) -> Reverse:
        forward, backward, linear, residuals = self.rule()
        mapping = self.mapping
        axes = [0 if is_mapped else None for is_mapped in mapping.mapped]
        batched = mapping.pulled(backward, [0] * len(backward.inputs))
        if linear is not None:
            linear = mapping(linear, [*[0] * residuals, *mapping.axes(differentiable=True)])
        return Reverse(mapping(forward, axes), batched, linear, residuals)


@dataclass(frozen=True)
class _MappedTranspose:
    rule: MakeTranspose
    mapping: _Mapping

    def __call__(self) -> Graph:
        graph = self.rule()
        known = self.mapping.axes(differentiable=False)
        return self.mapping.pulled(graph, [*known, *[0] * (len(graph.inputs) - len(known))])


register(
    Op(
        "custom_rule",
        FAMILY,
        _custom_type,
        lambda *inputs, graph, **rules: evaluate(graph, *inputs),
        _custom_jvp,
        _custom_transpose,
        _custom_batch,
        spelling=None,
        effect=None,  # the calls in the graph have their own
        doc="The outputs of a nested graph, for which rules of the user's stand where derivatives with respect to "
        "the inputs marked `differentiable`, a batch, or the transpose are needed.",
    )
)


# ---- linear_call -------------------------------------------------------------------------------------


def _linear_type(*inputs: ArrayType, graph: Graph | None, transposed: Graph) -> tuple[ArrayType, ...]:
    known = len(inputs) - len(transposed.outputs)
    expected = (*(v.type for v in transposed.inputs[:known]), *(v.type for v in transposed.outputs))
    if inputs != expected or (graph is not None and inputs != tuple(v.type for v in graph.inputs)):
        given, wanted = (", ".join(map(str, types)) for types in (inputs, expected))
        raise ShapeError(f"linear_call of {transposed.name}({wanted}) with ({given})")
    return tuple(v.type for v in transposed.inputs[known:])


def require_linear_graph(graph: Graph | None, transposed: Graph) -> Graph:
    """The graph of a linear call; an error if there is only a transpose that is not linear."""
    if graph is None:
        raise NotDifferentiableError(
            f"{transposed.name}, a backward rule, is not linear in its cotangents, so that it cannot be turned "
            "around: forward mode (jvp, linearize, jacfwd, hessian) needs a jvp rule beside it"
        )
    return graph


def _linear_numpy(*inputs: Any, graph: Graph | None, transposed: Graph) -> Any:
    return evaluate(require_linear_graph(graph, transposed), *inputs)


def _linear_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    *,
    graph: Graph | None,
    transposed: Graph,
    recurse: DifferentiateGraph,
) -> Rebuilt:
    return _derived(inputs, tangents, require_linear_graph(graph, transposed), recurse)


def _linear_transpose(
    cotangents: tuple[Value, ...],
    inputs: tuple[Any, ...],
    *,
    graph: Graph | None,
    transposed: Graph,
    recurse: Callable[..., Graph],
) -> tuple[Value | None, ...]:
    known = inputs[: len(inputs) - len(transposed.outputs)]
    pulled = inline(transposed, (*known, *cotangents))
    linear = inputs[len(known) :]
    pairs = zip(pulled, linear, strict=True)
    return (*(None for _ in known), *(ct if isinstance(x, Linear) else None for ct, x in pairs))


@in_front
def _linear_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    *,
    graph: Graph | None,
    transposed: Graph,
    recurse: VmapGraph,
) -> tuple[Value, ...]:
    """All tangents get the batch axis. Its transpose sums the cotangents of those that had none."""
    known = len(inputs) - len(transposed.outputs)
    given = [
        x if is_mapped or place < known else broadcast_to(x, (size, *x.shape))
        for place, (x, is_mapped) in enumerate(zip(inputs, mapped, strict=True))
    ]
    in_axes = [0 if is_mapped else None for is_mapped in mapped[:known]]

    def batched(inner: Graph) -> Graph:
        axes = [*in_axes, *[0] * (len(inner.inputs) - known)]
        return recurse(inner, in_axes=axes, size=size, out_axes=[0] * len(inner.outputs))

    pushed = None if graph is None else batched(graph)
    return bind_all("linear_call", *given, graph=pushed, transposed=batched(transposed))


register(
    Op(
        "linear_call",
        FAMILY,
        _linear_type,
        _linear_numpy,
        _linear_jvp,
        _linear_transpose,
        _linear_batch,
        spelling=None,
        effect=None,
        doc="The outputs of a nested graph that is linear in its last inputs, one for each output of `transposed`: "
        "the graph that stands for its transpose, linear or not.",
    )
)
