"""The axes that enclosing `vmap`s map while a function is traced: how a random draw sees them."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.dtypes import INT64
from ...compiler.tracing.trace import ExampleIndex, Trace, current_trace
from ...compiler.tracing.traced_array import TracedArray, wrap
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import iota

RANDOMNESS = ("error", "same", "different")


@dataclass(frozen=True, slots=True)
class MappedAxis:
    """An axis that a `vmap` maps, as seen by the mapped function."""

    where: str
    """The transform, in messages: ``vmap(loss)``."""
    randomness: str
    trace: Trace
    """The trace of the mapped function."""
    axis: ExampleIndex
    name: str | None = None
    """Its name for collectives."""

    @property
    def size(self) -> int:
        return self.axis.size

    @property
    def index(self) -> Any:
        """The index of this example: an i64, as known or unknown to nested functions as any traced array."""
        return TracedArray(self.trace.storage_of_index(self.axis), ExampleIndex.type, is_scalar=True)


class _Stack(threading.local):
    axes: tuple[MappedAxis, ...] = ()


_stack = _Stack()


def mapped_axes() -> tuple[MappedAxis, ...]:
    """The axes that are being mapped in this thread, outermost first."""
    return _stack.axes


@contextmanager
def mapping(axis: MappedAxis) -> Generator[None]:
    """Map an axis, inside the axes that are already mapped, while a function is traced."""
    outer = _stack.axes
    _stack.axes = (*outer, axis)
    try:
        yield
    finally:
        _stack.axes = outer


def update_in_step(array: Any) -> None:
    """Let the examples of the mapped axes update an array together, although it is not mapped.

    If they differ, as in branches that not all examples take, the largest elements count.
    """
    trace = current_trace()
    while trace is not None and (not is_traced(array) or trace.is_within(array._storage.trace)):
        memory = trace.shadow(array._storage) if is_traced(array) else trace.storage_of_array(array)
        memory.in_step = True
        trace = trace.parent


def all_indices(axis: ExampleIndex) -> Any:
    """The indices of all examples: i64[size]."""
    return np.arange(axis.size) if current_trace() is None else wrap(iota(axis.size, INT64))
