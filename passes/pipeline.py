"""The only way to run passes: runs them in order, verifies and records each, and names the one that fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ..compiler.errors import InvalidGraphError
from ..compiler.ir import Graph
from ..compiler.verifier import check as verify

Made = TypeVar("Made", Graph, tuple[Graph, Graph])
"""The result of a transform: a graph, or two, as for `linearize` and `vjp`."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass with the name that dumps and errors use."""

    name: str
    function: Callable[[Graph], Graph]


Record: TypeAlias = list[tuple[str, Graph]] | Callable[[str, Graph], Any]


def run(
    graph: Graph,
    passes: Sequence[Pass | Callable[[Graph], Graph]],
    *,
    check: bool = False,
    record: Record | None = None,
) -> Graph:
    """Run `graph` through `passes`: plain functions, known by their names, or `Pass`.

    With `check`, the graph is verified after each pass. `record`, a list or a function, receives ``(name, graph)``
    after each. If a pass raises an exception, a note names the pass.

    Before ``def f(x): sin_1 = sin(x); cos_1 = cos(x); return sin_1``, after
    ``run(f, [remove_dead_code])``: ``def f(x): sin_1 = sin(x); return sin_1``.
    """
    for step in passes:
        if isinstance(step, Pass):
            graph = apply(step.function, graph, name=step.name, check=check, record=record)
        else:
            graph = apply(step, graph, check=check, record=record)
    return graph


def apply(
    step: Callable[[Graph], Made],
    graph: Graph,
    *,
    name: str | None = None,
    check: bool = False,
    record: Record | None = None,
) -> Made:
    """The result of one pass on `graph`. Bind options with `functools.partial`: ``partial(vjp, wrt=[True])``."""
    name = name or _name_of(step)
    try:
        made = step(graph)
    except Exception as error:
        error.add_note(f"in the pass {name}")
        raise
    results: Any = made
    for result in results if isinstance(results, tuple) else (results,):
        if check:
            _verify(name, result)
        if callable(record):
            record(name, result)
        elif record is not None:
            record.append((name, result))
    return made


def _name_of(step: Any) -> str:
    return str(step.func.__name__ if isinstance(step, partial) else step.__name__)


def _verify(name: str, graph: Graph) -> None:
    try:
        verify(graph)
    except InvalidGraphError as error:
        error.message = f"after the pass {name}: {error.message}"
        raise
