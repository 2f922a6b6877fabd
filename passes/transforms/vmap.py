"""Vectorise: from a function of one example to a function of a batch."""

from collections.abc import Sequence
from functools import partial

from ...compiler.builder import Builder, as_tuple, bind_all, recording
from ...compiler.ir import ArrayType, Graph, Value
from ...compiler.op import lookup
from ...compiler.ops.batch_axes import Unmapped
from ...compiler.value_ops import broadcast_to, moveaxis
from ..lowering.decompose import decompose_without
from ..nested import rule_params
from ..simplification.mask_selections import mask_selections
from ..simplification.pad_lengths import differing_lengths, pad_lengths


def vmap(
    graph: Graph,
    *,
    in_axes: Sequence[int | None],
    size: int,
    out_axes: Sequence[int | None],
    is_part: bool = False,
) -> Graph:
    """Give `graph` a batch of `size` examples, along ``in_axes[i]`` of input i (None: shared by all).

    Output i has its batch along ``out_axes[i]``; None is allowed if the output does not depend on a mapped input.
    Inside, batch axes come first, and each op's batch rule handles them. With `is_part`, these are examples of a
    larger batch, and locations do not name them.

    Before ``def f(x: f64[3], y: f64[]): multiply_1 = multiply(x, y)``, after, with both mapped along 0::

        def f_batched(x: f64[B, 3], y: f64[B]) -> f64[B, 3]:
            reshape_1: f64[B, 1] = reshape(y, shape=(B, 1))
            multiply_1: f64[B, 3] = multiply(x, reshape_1)
            return multiply_1
    """
    graph = mask_selections(decompose_without(graph, lambda op: op.batch), is_differentiated=True)
    names = differing_lengths(graph, [axis is not None for axis in in_axes])
    graph = pad_lengths(graph, names=names, is_differentiated=True)
    recurse = partial(vmap, is_part=True) if is_part else vmap
    inputs = tuple(
        Value(_physical(v.type, axis, size)) for v, axis in zip(graph.inputs, in_axes, strict=True)
    )
    mapped: set[Value] = set()
    env: dict[Value, Value] = {}
    with recording(Builder()) as builder:
        for value, given, axis in zip(graph.inputs, inputs, in_axes, strict=True):
            env[value] = given if axis is None else moveaxis(given, axis, 0)
            if axis is not None:
                mapped.add(value)
        for call in graph.calls:
            builder.location = call.location
            arguments = tuple(env.get(v, v) for v in call.inputs)
            which = tuple(v in mapped for v in call.inputs)
            if any(which):
                builder.location = call.location and (
                    call.location.mapped_in_parts() if is_part else call.location.mapped(size)
                )
                outputs = as_tuple(
                    lookup(call.op).batch(arguments, which, size, **rule_params(call, recurse))
                )
                differing = [not isinstance(out, Unmapped) for out in outputs]
                mapped.update(v for v, differs in zip(call.outputs, differing, strict=True) if differs)
                outputs = tuple(out.value if isinstance(out, Unmapped) else out for out in outputs)
            else:
                outputs = bind_all(call.op, *arguments, **call.params)
            env.update(zip(call.outputs, outputs, strict=True))
        results = tuple(
            _place(env.get(v, v), v in mapped, axis, size)
            for v, axis in zip(graph.outputs, out_axes, strict=True)
        )
    return Graph(f"{graph.name}_batched", inputs, tuple(builder.calls), results, graph.input_names)


def _physical(type: ArrayType, axis: int | None, size: int) -> ArrayType:
    if axis is None:
        return type
    shape = list(type.shape)
    shape.insert(axis % (type.ndim + 1), size)
    return ArrayType(type.dtype, tuple(shape))


def _place(value: Value, is_mapped: bool, axis: int | None, size: int) -> Value:
    """Move the batch axis to where the caller wants it; repeat an unmapped value along it."""
    if axis is None:
        return value
    batched = value if is_mapped else broadcast_to(value, (size, *value.shape))
    return moveaxis(batched, 0, axis)
