"""Lanes: the examples of a batch where each may go another way through the program."""

from collections.abc import Sequence

from ..builder import bind
from ..dtypes import INT64
from ..ir import Graph, Value
from ..value_ops import broadcast_to, constant, reshape, where
from .collective_calls import refuse_collectives


def per_lane(mask: Value, like: Value) -> Value:
    """A mask of one bool per lane, as one that broadcasts against `like`, which has the lanes in front."""
    return reshape(mask, (*mask.shape, *(1,) * (like.ndim - 1)))


def select_lanes(mask: Value, new: Value, old: Value) -> Value:
    """``new`` in the lanes of the mask, ``old`` in the others."""
    return where(per_lane(mask, new), new, old)


def refuse_collectives_in(graphs: Sequence[Graph]) -> None:
    """`CollectiveError` if graphs that each example takes or leaves compute something with all examples."""
    refuse_collectives(
        graphs,
        "is in a branch or a loop that each example takes or leaves for itself, so that not all of them take part",
        "compute it before and use the result there",
    )


def fill_inactive_examples(mask: Value, values: Sequence[Value], mapped: Sequence[bool]) -> tuple[Value, ...]:
    """The mapped values with each lane outside of the mask replaced by a copy of one within; at least one is.

    What runs for all lanes then meets no values but those it is meant for: a loop in it ends, nothing overflows, and
    a derivative that is not used is not NaN, which would spoil the others.
    """
    lane = bind("argmax", bind("convert", mask, dtype=INT64), axis=0)
    return tuple(
        _with_copies(mask, lane, value) if is_mapped else value
        for value, is_mapped in zip(values, mapped, strict=True)
    )


def _with_copies(mask: Value, lane: Value, value: Value) -> Value:
    starts = [lane, *(constant(0, INT64) for _ in value.shape[1:])]
    active = bind("dynamic_slice", value, *starts, sizes=(1, *value.shape[1:]))
    return select_lanes(mask, value, broadcast_to(bind("stop_gradient", active), value.shape))
