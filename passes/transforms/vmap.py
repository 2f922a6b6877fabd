"""Vectorise: from a function of one example to a function of a batch."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ...compiler.builder import Builder, as_tuple, bind_all, recording
from ...compiler.ir import ArrayType, BatchAxis, Call, Graph, Location, Value
from ...compiler.op import lookup
from ...compiler.ops.batch_axes import Batched
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
    Inside, each batch axis stays where it lies; only the batch rules of some ops move it. With `is_part`, these are
    examples of a larger batch, and locations do not name them.

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
    env: dict[Value, Batched] = {}
    with recording(Builder()) as builder:
        for value, given, axis in zip(graph.inputs, inputs, in_axes, strict=True):
            env[value] = Batched(given, None if axis is None else axis % given.ndim)
        for call in graph.calls:
            builder.location = call.location
            arguments = tuple(env.get(v) or Batched(v, None) for v in call.inputs)
            if any(x.axis is not None for x in arguments):
                before = len(builder.calls)
                builder.location = call.location and (
                    call.location.mapped_in_parts() if is_part else call.location.mapped(BatchAxis(size))
                )
                outputs = as_tuple(lookup(call.op).batch(arguments, size, **rule_params(call, recurse)))
                if not is_part:
                    _locate_batch(builder.calls, before, call.location, size, arguments, outputs)
            else:
                same = bind_all(call.op, *(x.value for x in arguments), **call.params)
                outputs = tuple(Batched(value, None) for value in same)
            env.update(zip(call.outputs, outputs, strict=True))
        results = tuple(
            _place(env.get(v) or Batched(v, None), axis, size)
            for v, axis in zip(graph.outputs, out_axes, strict=True)
        )
    return Graph(f"{graph.name}_batched", inputs, tuple(builder.calls), results, graph.input_names)


def _physical(type: ArrayType, axis: int | None, size: int) -> ArrayType:
    if axis is None:
        return type
    shape = list(type.shape)
    shape.insert(axis % (type.ndim + 1), size)
    return ArrayType(type.dtype, tuple(shape))


def _locate_batch(
    calls: list[Call],
    start: int,
    line: Location | None,
    size: int,
    inputs: Sequence[Batched],
    outputs: Sequence[Batched],
) -> None:
    """Let the locations of the calls from `start` on say where the batch axis lies, if it is not in front."""
    axes = {x.axis for x in (*inputs, *outputs)} - {None}
    if line is None or axes <= {0}:
        return
    for place in range(start, len(calls)):
        for out in outputs:
            if out.axis is not None and out.value in calls[place].outputs:
                batch = BatchAxis(size, out.axis, len(axes) == 1)
                calls[place] = replace(calls[place], location=line.mapped(batch))


def _place(x: Batched, axis: int | None, size: int) -> Value:
    """Move the batch axis to where the caller wants it; repeat an unmapped value along it."""
    return x.value if axis is None else x.on_axis(axis % (x.logical_ndim + 1), size)
