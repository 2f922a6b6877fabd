"""Attention: means of values by how well keys answer queries.

A. Vaswani et al., "Attention is all you need" (2017).
"""

import math
from collections.abc import Sequence

from ..batching import align_ranks, leading
from ..dtypes import BOOL, INT64
from ..errors import DTypeError, ShapeError
from ..functions import (
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
from ..ir import ArrayType, Shape, Value
from ..op import by_decomposition, not_linear
from ..trace import bind
from .composite import composite, floating_operands
from .elementwise import broadcast_shapes

FAMILY = "attention"


def _check(*types: ArrayType, scale: float, causal: bool) -> None:
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


def _attention(query: Value, key: Value, value: Value, *mask: Value, scale: float, causal: bool) -> Value:
    batch = _leading([query.type, key.type, value.type])
    query, key, value = (broadcast_to(x, (*batch, *x.shape[-2:])) for x in (query, key, value))
    rows, columns, last = query.shape[-2], key.shape[-2], len(batch) + 1
    front = tuple(range(len(batch)))
    stacked = (front, front)
    scores = dot(multiply(query, scale), key, ((last,), (last,)), stacked)
    seen = _seen(mask, rows, columns, causal)
    if mask and mask[0].dtype != BOOL:
        scores = add(scores, mask[0])
    if seen is not None:
        scores = where(seen, scores, -math.inf)
    if not mask:  # every query sees a key: in the causal order, the first
        return dot(bind("softmax", scores, axis=last), value, ((last,), (last - 1,)), stacked)
    # A row that sees nothing has weights 0, by scores that give no NaN on the way.
    sees = reshape(logical_not(bind("all", equal(scores, -math.inf), axes=(last,))), (*scores.shape[:-1], 1))
    weights = where(sees, bind("softmax", where(sees, scores, 0), axis=last), 0)
    return dot(weights, value, ((last,), (last - 1,)), stacked)


def _seen(mask: Sequence[Value], rows: int, columns: int, causal: bool) -> Value | None:
    """Which keys a query may see, by a mask of booleans and by the causal order; None if all."""
    seen = mask[0] if mask and mask[0].dtype == BOOL else None
    if not causal:
        return seen
    past = greater_equal(reshape(iota(rows, INT64), (rows, 1)), iota(columns, INT64))
    return past if seen is None else logical_and(seen, past)


def _attention_batch(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, scale: float, causal: bool
) -> Value:
    """The batch is one more axis in front, as broadcasting has it; a mask alone gives no axes to the result."""
    if not any(mapped[:3]):
        inputs = (leading(inputs[0], False, size), *inputs[1:])
        mapped = (True, *mapped[1:])
    return bind("attention", *align_ranks(inputs, mapped), scale=scale, causal=causal)


composite(
    "attention",
    _attention,
    check=_check,
    jvp=by_decomposition,
    transpose=not_linear,
    batch=_attention_batch,
    family=FAMILY,
    doc="softmax(scale · query · keyᵀ + mask) · value, with arrays [..., L, E], [..., S, E], [..., S, V] whose other "
    "axes broadcast. A mask of booleans says which keys are seen, one of numbers is added; in the `causal` order "
    "query i sees keys 0 to i. A query that sees no key gives zeros.",
)
