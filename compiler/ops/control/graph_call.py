"""Shared code of ops that run their graph once: `call`, `checkpoint`, `custom_rule`, `kernel`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...builder import bind_all
from ...dtypes import is_inexact
from ...errors import ShapeError
from ...interpreter import depends_on, evaluate
from ...ir import ArrayType, Graph, Param, Value
from ...op import BatchRule, DifferentiateGraph, JvpRule, Linear, Op, Rebuilt, TransposeRule, register
from ..batch_axes import in_front
from ..nested_graphs import spread


def result_types(op: str, graph: Graph, inputs: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
    """The types of the outputs of `graph`; raises `ShapeError` unless it takes these inputs."""
    expected = tuple(value.type for value in graph.inputs)
    if inputs != expected:
        given, wanted = (", ".join(map(str, types)) for types in (inputs, expected))
        raise ShapeError(f"{op} of {graph.name}({wanted}) with ({given})")
    return tuple(value.type for value in graph.outputs)


class Differentiation(NamedTuple):
    """What to differentiate in a graph, given the tangents of its inputs."""

    wrt: list[bool]
    """The inputs that have one."""
    of: list[bool]
    """The outputs that get one: they are floating-point and depend on those inputs."""
    given: list[Value]
    """The tangents, without those that are zero."""


def differentiation(graph: Graph, tangents: Sequence[Value | None]) -> Differentiation:
    """The arguments of ``recurse`` in a JVP rule."""
    wrt = [tangent is not None for tangent in tangents]
    reached = depends_on(graph, wrt)
    of = [value in reached and is_inexact(value.dtype) for value in graph.outputs]
    return Differentiation(wrt, of, [tangent for tangent in tangents if tangent is not None])


def differentiated_call(op: str) -> JvpRule:
    """The JVP rule: the op again, on a joint graph of outputs and tangents, or on two separate ones."""

    def jvp(
        inputs: tuple[Value, ...],
        tangents: tuple[Value | None, ...],
        outputs: tuple[Value, ...],
        graph: Graph,
        *,
        recurse: DifferentiateGraph,
    ) -> Rebuilt:
        wrt, of, given = differentiation(graph, tangents)
        forward, linear = recurse(graph, wrt, of)
        count = len(outputs)
        results = bind_all(op, *inputs, *(given if linear is None else ()), graph=forward)
        pushed = results[count:]
        if linear is not None:
            pushed = bind_all(op, *pushed, *given, graph=linear)
        return Rebuilt(results[:count], spread(iter(pushed), of))

    return jvp


def register_call(name: str, family: str, doc: str) -> None:
    """Register an op that only runs its graph, such as `call` and `kernel`."""

    def type_rule(*inputs: ArrayType, graph: Graph) -> tuple[ArrayType, ...]:
        return result_types(name, graph, inputs)

    register(
        Op(
            name,
            family,
            type_rule,
            lambda *inputs, graph: evaluate(graph, *inputs),
            differentiated_call(name),
            transposed_call(name),
            batched_call(name),
            spelling=None,
            effect=None,  # the calls in the graph have their own
            doc=doc,
        )
    )


def transposed_call(op: str) -> TransposeRule:
    """The transpose rule: the op again, on the transposed graph."""

    def transpose(
        cotangents: tuple[Value, ...],
        inputs: tuple[Any, ...],
        graph: Graph,
        *,
        recurse: Callable[..., Graph],
        **params: Param,
    ) -> tuple[Value | None, ...]:
        linear = [isinstance(x, Linear) for x in inputs]
        known = [x for x in inputs if not isinstance(x, Linear)]
        found = bind_all(op, *known, *cotangents, graph=recurse(graph, linear=linear), **params)
        return spread(iter(found), linear)

    return transpose


def batched_call(op: str) -> BatchRule:
    """The batch rule: the op again, on the batched graph."""

    @in_front
    def batch(
        inputs: tuple[Value, ...],
        mapped: Sequence[bool],
        size: int,
        graph: Graph,
        *,
        recurse: Callable[..., Graph],
        **params: Param,
    ) -> tuple[Value, ...]:
        return bind_all(op, *inputs, graph=batched_graph(graph, mapped, size, recurse), **params)

    return batch


def batched_graph(graph: Graph, mapped: Sequence[bool], size: int, vmap: Callable[..., Graph]) -> Graph:
    """`graph` for a batch that is the first axis of the inputs marked in `mapped`, and of all outputs."""
    in_axes = [0 if is_mapped else None for is_mapped in mapped]
    return vmap(graph, in_axes=in_axes, size=size, out_axes=[0] * len(graph.outputs))
