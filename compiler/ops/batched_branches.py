"""The examples of a batch may take different branches: masks and selections."""

from collections.abc import Sequence

from ..builder import bind
from ..dtypes import INT64
from ..errors import SideEffectError
from ..ir import Graph, Value
from ..op import PRINTS, has_effect
from ..value_ops import broadcast_to, constant, reshape, where
from .collective_calls import refuse_collectives


def per_example(mask: Value, like: Value) -> Value:
    """A mask of one bool per example, reshaped to broadcast against `like`, whose first axis is the batch."""
    return reshape(mask, (*mask.shape, *(1,) * (like.ndim - 1)))


def select_examples(mask: Value, new: Value, old: Value) -> Value:
    """``new`` for the examples in the mask, ``old`` for the others."""
    return where(per_example(mask, new), new, old)


def refuse_collectives_in(graphs: Sequence[Graph]) -> None:
    """Raises `CollectiveError` if graphs that only some examples run compute something with all examples."""
    refuse_collectives(
        graphs,
        "is in a branch or a loop that only some of the examples may run",
        "compute it before and use the result there",
    )


def refuse_prints_in(graphs: Sequence[Graph]) -> None:
    """Raises `SideEffectError` if graphs that only some examples run print: they run for all examples, so that lines of
    others would appear."""
    for graph in graphs:
        for call in graph.calls:
            if has_effect(call, PRINTS):
                raise SideEffectError(
                    "under vmap a branch or a loop prints that only some of the examples may run: print after it, for "
                    "all examples, or loop over the examples instead, [f(x) for x in batch]",
                    call.location,
                )


def fill_inactive_examples(mask: Value, values: Sequence[Value], mapped: Sequence[bool]) -> tuple[Value, ...]:
    """The mapped values with each example outside the mask replaced by a copy of one inside; at least one is inside.

    Code that runs for all examples then sees only valid values: its loops end, nothing overflows, and an unused
    derivative is not NaN, which would spoil the others.
    """
    index = bind("argmax", bind("convert", mask, dtype=INT64), axis=0)
    return tuple(
        _with_copies(mask, index, value) if is_mapped else value
        for value, is_mapped in zip(values, mapped, strict=True)
    )


def _with_copies(mask: Value, index: Value, value: Value) -> Value:
    starts = [index, *(constant(0, INT64) for _ in value.shape[1:])]
    active = bind("dynamic_slice", value, *starts, sizes=(1, *value.shape[1:]))
    return select_examples(mask, value, broadcast_to(bind("stop_gradient", active), value.shape))
