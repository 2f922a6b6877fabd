"""Attention: means of values, weighted by how well keys match queries.

A. Vaswani et al., "Attention is all you need" (2017).
"""

import math
from collections.abc import Sequence
from typing import Any

from ...builder import bind, bind_all
from ...dtypes import BOOL, INT64
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import BatchRule, Rebuilt, by_decomposition, not_linear
from ...value_ops import (
    add,
    broadcast_to,
    dot,
    equal,
    greater_equal,
    iota,
    logical_and,
    logical_not,
    multiply,
    reshape,
    where,
)
from ..batch_axes import align_ranks, in_front, leading
from ..composite import composite, floating_operands
from ..elementwise.broadcasting import broadcast_shapes

FAMILY = "attention"


def check_attention(*types: ArrayType, scale: float, causal: bool) -> None:
    """Queries [..., L, E], keys [..., S, E], values [..., S, V], and a mask that broadcasts to [..., L, S]."""
    given = ", ".join(map(str, types))
    if len(types) not in (3, 4) or any(t.ndim < 2 for t in types[:3]):
        raise ShapeError(f"attention of ({given}): queries, keys and values need two axes at least")
    query, key, value = types[:3]
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"attention of ({given}): queries and keys must have last axes of one length, keys and values axes -2"
        )
    if len(types) == 4 and types[3].dtype == BOOL:
        floating_operands("attention")(*types[:3])
    elif len({t.dtype for t in types}) > 1:
        raise DTypeError(
            f"attention is not defined for ({given}): a mask is bool, or of the dtype of the others"
        )
    floating_operands("attention")(*types)
    shape = (*_leading(types[:3]), query.shape[-2], key.shape[-2])
    if len(types) == 4:
        both = broadcast_shapes("attention", [types[3], ArrayType(query.dtype, shape)])
        if both != shape:
            raise ShapeError(f"attention of ({given}): the mask must broadcast to the shape {shape}")


def _leading(types: Sequence[ArrayType]) -> Shape:
    """What the axes before the last two broadcast to."""
    return broadcast_shapes("attention", [ArrayType(t.dtype, t.shape[:-2]) for t in types])


def attention_scores(query: Value, key: Value, *mask: Value, scale: float, causal: bool) -> Value:
    """The scores of keys for queries, for one batch: −∞ for masked keys."""
    last = query.ndim - 1
    front = tuple(range(last - 1))
    scores = dot(multiply(query, scale), key, ((last,), (last,)), (front, front))
    seen = _seen(mask, query.shape[-2], key.shape[-2], causal)
    if mask and mask[0].dtype != BOOL:
        scores = add(scores, mask[0])
    return scores if seen is None else where(seen, scores, -math.inf)


def in_one_batch(*arrays: Value) -> list[Value]:
    """Arrays with their axes before the last two broadcast."""
    batch = _leading([x.type for x in arrays])
    return [broadcast_to(x, (*batch, *x.shape[-2:])) for x in arrays]


def _with_weights(
    query: Value, key: Value, value: Value, *mask: Value, scale: float, causal: bool
) -> tuple[Value, Value]:
    query, key, value = in_one_batch(query, key, value)
    last = query.ndim - 1
    scores = attention_scores(query, key, *mask, scale=scale, causal=causal)
    if mask:
        # A fully masked row has weights 0, computed from scores that cause no NaN on the way.
        sees = logical_not(bind("all", equal(scores, -math.inf), axes=(last,)))
        sees = reshape(sees, (*scores.shape[:-1], 1))
        weights = where(sees, bind("softmax", where(sees, scores, 0), axis=last), 0)
    else:  # every query sees at least one key: in the causal order, the first
        weights = bind("softmax", scores, axis=last)
    front = tuple(range(last - 1))
    return dot(weights, value, ((last,), (last - 1,)), (front, front)), weights


def _attention(query: Value, key: Value, value: Value, *mask: Value, scale: float, causal: bool) -> Value:
    return _with_weights(query, key, value, *mask, scale=scale, causal=causal)[0]


def _seen(mask: Sequence[Value], rows: int, columns: int, causal: bool) -> Value | None:
    """Which keys a query may see, by a boolean mask and by the causal order; None for all."""
    seen = mask[0] if mask and mask[0].dtype == BOOL else None
    if not causal:
        return seen
    past = greater_equal(reshape(iota(rows, INT64), (rows, 1)), iota(columns, INT64))
    return past if seen is None else logical_and(seen, past)


def _attention_jvp(
    inputs: tuple[Value, ...], tangents: Sequence[Value | None], outputs: Any, scale: float, causal: bool
) -> Rebuilt:
    """The derivative needs the weights, so the call returns them as well."""
    out, weights = bind_all("attention_with_weights", *inputs, scale=scale, causal=causal)
    wrt = tuple(place for place, tangent in enumerate(tangents) if tangent is not None)
    moving = [tangent for tangent in tangents if tangent is not None]
    tangent = bind("attention_tangent", *moving, *inputs[:3], weights, scale=scale, wrt=wrt)
    return Rebuilt((out,), (tangent,))


def _batch_of(name: str) -> BatchRule:
    """The batch is one more leading axis, as for broadcasting; a mask alone adds no axes to the result."""

    @in_front
    def batch(
        inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, **params: Any
    ) -> tuple[Value, ...]:
        if not any(mapped[:3]):
            inputs = (leading(inputs[0], False, size), *inputs[1:])
            mapped = (True, *mapped[1:])
        return bind_all(name, *align_ranks(inputs, mapped), **params)

    return batch


composite(
    "attention",
    _attention,
    check=check_attention,
    jvp=_attention_jvp,
    transpose=not_linear,
    batch=_batch_of("attention"),
    family=FAMILY,
    doc="softmax(scale · query · keyᵀ + mask) · value, with arrays [..., L, E], [..., S, E], [..., S, V] whose other "
    "axes broadcast. A mask of booleans says which keys are seen, one of numbers is added; in the `causal` order "
    "query i sees keys 0 to i. A query that sees no key gives zeros.",
)
composite(
    "attention_with_weights",
    _with_weights,
    check=check_attention,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=_batch_of("attention_with_weights"),
    family=FAMILY,
    doc="`attention`, and the softmax that it multiplies the values by: [..., L, S], not rounded to half precision.",
    wide=(1,),
)
