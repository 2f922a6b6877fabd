"""The derivative of attention through its weights, and its transpose, each as one op."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ...builder import bind, bind_all
from ...errors import ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import Linear, by_decomposition
from ...value_ops import add, broadcast_to, dot, multiply, reshape, unbroadcast
from ..batch_axes import align_ranks, all_leading, in_front
from ..composite import composite
from .attention import check_attention, in_one_batch

FAMILY = "attention_derivatives"

QUERY, KEY, VALUE, MASK = range(4)
"""The inputs of attention: `wrt` says which of them have a tangent or want a cotangent."""


def _check(name: str, weights: ArrayType, *types: ArrayType, scale: float) -> None:
    check_attention(*types, scale=scale, causal=False)
    query, key, _ = types
    if weights.shape[-2:] != (query.shape[-2], key.shape[-2]):
        raise ShapeError(f"{name} of {weights}: weights are [..., {query.shape[-2]}, {key.shape[-2]}]")


# ---- forward ---------------------------------------------------------------------------------------


def _check_tangent(*types: ArrayType, scale: float, wrt: tuple[int, ...]) -> None:
    *tangents, query, key, value, weights = types
    _check("attention_tangent", weights, query, key, value, scale=scale)
    known = (query.shape, key.shape, value.shape)
    if len(tangents) != len(wrt) or any(
        place != MASK and tangent.shape != known[place] for place, tangent in zip(wrt, tangents, strict=True)
    ):
        raise ShapeError(f"attention_tangent of ({', '.join(map(str, types))}): tangents of {wrt} do not fit")


def _tangent(*values: Value, scale: float, wrt: tuple[int, ...]) -> Value:
    """A change of the scores changes the weights; the result changes with the weights and the values."""
    *tangents, query, key, value, weights = values
    query, key, value = in_one_batch(query, key, value)
    moving = {
        place: broadcast_to(tangent, (weights, query, key, value)[(place + 1) % 4].shape)
        for place, tangent in zip(wrt, tangents, strict=True)
    }
    last, front = query.ndim - 1, tuple(range(query.ndim - 2))
    scores: list[Value] = []
    if QUERY in moving:
        scores.append(dot(multiply(moving[QUERY], scale), key, ((last,), (last,)), (front, front)))
    if KEY in moving:
        scores.append(dot(multiply(query, scale), moving[KEY], ((last,), (last,)), (front, front)))
    if MASK in moving:
        scores.append(moving[MASK])
    outputs: list[Value] = []
    if scores:
        change = bind("softmax_backward", reduce(add, scores), weights, axis=last)
        outputs.append(dot(change, value, ((last,), (last - 1,)), (front, front)))
    if VALUE in moving:
        outputs.append(dot(weights, moving[VALUE], ((last,), (last - 1,)), (front, front)))
    return reduce(add, outputs)


def _tangent_transpose(
    cotangents: tuple[Value], inputs: Any, scale: float, wrt: tuple[int, ...]
) -> tuple[Value | None, ...]:
    tangents: list[Linear] = list(inputs[: len(wrt)])
    mask = tangents[-1].shape if MASK in wrt else ()
    found = bind_all(
        "attention_gradient", *cotangents, *inputs[len(wrt) :], scale=scale, wrt=wrt, mask_shape=mask
    )
    return (*found, None, None, None, None)


composite(
    "attention_tangent",
    _tangent,
    check=_check_tangent,
    jvp=by_decomposition,
    transpose=_tangent_transpose,
    batch=by_decomposition,
    family=FAMILY,
    doc="How attention moves with the tangents of its inputs `wrt` (0 to 3: query, key, value, mask), given query, "
    "key, value and the weights of `attention_with_weights` behind them.",
)


# ---- backward --------------------------------------------------------------------------------------


def _check_gradient(*types: ArrayType, scale: float, wrt: tuple[int, ...], mask_shape: Shape) -> None:
    ct, query, key, value, weights = types
    _check("attention_gradient", weights, query, key, value, scale=scale)
    if ct.shape != (*weights.shape[:-1], value.shape[-1]):
        raise ShapeError(f"attention_gradient of {ct} by weights {weights} and values {value}")


def _gradient(
    ct: Value,
    query: Value,
    key: Value,
    value: Value,
    weights: Value,
    scale: float,
    wrt: tuple[int, ...],
    mask_shape: Shape,
) -> tuple[Value, ...]:
    shapes = (query.shape, key.shape, value.shape, mask_shape)
    query, key, value = in_one_batch(query, key, value)
    last, front = query.ndim - 1, tuple(range(query.ndim - 2))
    stacked = (front, front)
    change = dot(ct, value, ((last,), (last,)), stacked)
    scores = bind("softmax_backward", change, weights, axis=last)
    made = {
        QUERY: lambda: multiply(dot(scores, key, ((last,), (last - 1,)), stacked), scale),
        KEY: lambda: dot(scores, multiply(query, scale), ((last - 1,), (last - 1,)), stacked),
        VALUE: lambda: dot(weights, ct, ((last - 1,), (last - 1,)), stacked),
        MASK: lambda: scores,
    }
    return tuple(unbroadcast(made[place](), shapes[place]) for place in wrt)


@in_front
def _gradient_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    scale: float,
    wrt: tuple[int, ...],
    mask_shape: Shape,
) -> tuple[Value, ...]:
    """Each example has its own cotangent, also of inputs that all examples share."""
    known = all_leading(inputs, mapped, size)
    aligned = align_ranks(known, [True] * len(known))
    rank = aligned[0].ndim - 1
    shapes = [*(x.shape for x in known[1:4]), (size, *mask_shape)]
    lengthened = (size, *(1 for _ in range(rank - len(mask_shape))), *mask_shape) if MASK in wrt else ()
    found = bind_all("attention_gradient", *aligned, scale=scale, wrt=wrt, mask_shape=lengthened)
    return tuple(reshape(x, shapes[place]) for place, x in zip(wrt, found, strict=True))


composite(
    "attention_gradient",
    _gradient,
    check=_check_gradient,
    jvp=by_decomposition,
    transpose=by_decomposition,
    batch=_gradient_batch,
    family=FAMILY,
    doc="The cotangents of the inputs `wrt` of attention (0 to 3: query, key, value, mask) from that of its result, "
    "and query, key, value and weights. A mask is of `mask_shape`.",
)
