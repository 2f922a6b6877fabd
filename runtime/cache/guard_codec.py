"""The assumptions of a program about named sizes, as text that is stored with it."""

import json
from pathlib import Path
from typing import cast

from ...compiler.free_sizes import sizes_in_graph
from ...compiler.ir import Graph, Location
from ...compiler.shapes.dim import Dim
from ...compiler.shapes.guards import Guard, Guards


def guards_text(guards: tuple[Guard, ...]) -> str:
    """Each guard, the user's line that caused it with the base name of its file, and the reason, as JSON."""
    return json.dumps([[repr(one.comparison), _line(one.location), one.because] for one in guards], indent=1)


def guards_read(text: str, graph: Graph) -> Guards:
    """The guards in a text of `guards_text`, about the sizes of the graph. Texts are parsed with their grammar."""
    sizes = {repr(size): size for found in sizes_in_graph(graph) for size in cast("Dim", found).sizes}
    return Guards(
        tuple(
            Guard(guard.comparison, None if line is None else Location(*line), because)
            for comparison, line, because in json.loads(text)
            for guard in Guards.read(comparison, sizes).guards
        )
    )


def _line(location: Location | None) -> tuple[str, int, str] | None:
    return None if location is None else (Path(location.file).name, location.line, location.code)
