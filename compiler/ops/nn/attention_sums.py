"""Attention with the sums from which its weights can be recomputed, for targets that do not store weights.

T. Dao, "FlashAttention-2" (2023).
"""

import math

from ...builder import bind
from ...errors import ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import by_decomposition, not_linear
from ...value_ops import divide, dot, equal, exp, multiply, reshape, subtract, sum_, unbroadcast, where
from ..composite import composite
from .attention import attention_scores, check_attention, in_one_batch

FAMILY = "attention_sums"


def _kept(x: Value) -> Value:
    """With one more axis at the end."""
    return reshape(x, (*x.shape, 1))


def _with_sums(
    query: Value, key: Value, value: Value, *mask: Value, scale: float, causal: bool
) -> tuple[Value, Value, Value]:
    out = bind("attention", query, key, value, *mask, scale=scale, causal=causal)
    query, key = in_one_batch(query, key, value)[:2]
    last = query.ndim - 1
    scores = attention_scores(query, key, *mask, scale=scale, causal=causal)
    largest = bind("max", scores, axes=(last,))
    largest = where(equal(largest, -math.inf), 0, largest)
    total = sum_(exp(subtract(scores, _kept(largest))), (last,))
    return out, largest, where(equal(total, 0), 1, total) if mask else total


composite(
    "attention_with_sums",
    _with_sums,
    check=check_attention,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=by_decomposition,
    family=FAMILY,
    doc="`attention`, and for each query the largest score of a key (0 if it sees none) and the sum of "
    "e^(score − largest) (1 if it sees none by a mask), which are not rounded to half precision.",
    wide=(1, 2),
)


def _check_gradient(*types: ArrayType, scale: float, causal: bool) -> None:
    ct, *operands, out, largest, total = types
    check_attention(*operands, scale=scale, causal=causal)
    if ct != out or {largest.shape, total.shape} != {out.shape[:-1]}:
        raise ShapeError(f"attention_gradient_by_sums of ({', '.join(map(str, types))}): sums do not fit")


def _gradient(ct: Value, *values: Value, scale: float, causal: bool) -> tuple[Value, Value, Value]:
    query, key, value, *mask, out, largest, total = values
    shapes: tuple[Shape, ...] = (query.shape, key.shape, value.shape)
    query, key, value = in_one_batch(query, key, value)
    last, front = query.ndim - 1, tuple(range(query.ndim - 2))
    stacked = (front, front)
    scores = attention_scores(query, key, *mask, scale=scale, causal=causal)
    weights = divide(exp(subtract(scores, _kept(largest))), _kept(total))
    change = dot(ct, value, ((last,), (last,)), stacked)
    moved = multiply(weights, subtract(change, _kept(sum_(multiply(ct, out), (last,)))))
    found = (
        multiply(dot(moved, key, ((last,), (last - 1,)), stacked), scale),
        dot(moved, multiply(query, scale), ((last - 1,), (last - 1,)), stacked),
        dot(weights, ct, ((last - 1,), (last - 1,)), stacked),
    )
    dq, dk, dv = (unbroadcast(x, shape) for x, shape in zip(found, shapes, strict=True))
    return dq, dk, dv


composite(
    "attention_gradient_by_sums",
    _gradient,
    check=_check_gradient,
    jvp=by_decomposition,
    transpose=by_decomposition,
    batch=by_decomposition,
    family=FAMILY,
    doc="The cotangents of query, key and value from that of the result, the operands of attention, the result, and "
    "the sums of `attention_with_sums`.",
)
