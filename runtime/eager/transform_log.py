"""`seen_transforms`: records the graphs that transforms produce while a function is traced, on request."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...compiler.ir import Graph


@dataclass(slots=True)
class SeenTransform:
    """A transform with its input graph, and the one or two graphs that it returned."""

    name: str
    before: Graph
    after: list[Graph] = field(default_factory=list[Graph])

    def __str__(self) -> str:
        given = f"# ---- {self.name} of\n{self.before.code}"
        return "\n".join([given, *(f"# ---- gives\n{graph.code}" for graph in self.after)])


_seen: ContextVar[list[SeenTransform] | None] = ContextVar("seen", default=None)


@contextmanager
def seen_transforms() -> Generator[list[SeenTransform]]:
    """A list that collects the transforms of this thread inside the block, the innermost first."""
    found: list[SeenTransform] = []
    token = _seen.set(found)
    try:
        yield found
    finally:
        _seen.reset(token)


def is_seen() -> bool:
    """Whether transforms of this thread are collected."""
    return _seen.get() is not None


def record_for(step: Callable[..., Any], graph: Graph) -> Callable[[str, Graph], None] | None:
    """Records the graphs that `step` makes of `graph`; None if no one listens."""
    found = _seen.get()
    if found is None:
        return None
    seen = SeenTransform(step.func.__name__ if isinstance(step, partial) else step.__name__, graph)
    found.append(seen)
    return lambda _, made: seen.after.append(made)
