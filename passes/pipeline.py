"""The one door to all passes: runs them in order, verifies and records each, and names the one that fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..compiler.check import check as verify
from ..compiler.errors import InvalidGraphError
from ..compiler.ir import Graph


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass with the name by which dumps and errors know it."""

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
    """Send `graph` through `passes`: plain functions, known by their names, or `Pass`.

    With `check`, the graph is verified after each pass. `record`, a list or a function, gets
    ``(name, graph)`` after each. What a pass raises leaves with a note that names the pass.

    Before ``def f(x): sin_1 = sin(x); cos_1 = cos(x); return sin_1``, after
    ``run(f, [remove_dead_code])``: ``def f(x): sin_1 = sin(x); return sin_1``.
    """
    for step in passes:
        one = step if isinstance(step, Pass) else Pass(step.__name__, step)
        try:
            graph = one.function(graph)
        except Exception as error:
            error.add_note(f"in the pass {one.name}")
            raise
        if check:
            _verify(one.name, graph)
        if callable(record):
            record(one.name, graph)
        elif record is not None:
            record.append((one.name, graph))
    return graph


def _verify(name: str, graph: Graph) -> None:
    try:
        verify(graph)
    except InvalidGraphError as error:
        error.message = f"after the pass {name}: {error.message}"
        raise
