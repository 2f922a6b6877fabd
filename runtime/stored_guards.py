"""What making a program assumed of named sizes, as a text that is stored with it."""

import json
from typing import cast

from ..compiler.ir import Graph
from ..compiler.shapes.dim import Dim
from ..compiler.shapes.guards import Guard, Guards
from ..compiler.sizes import sizes_in_graph


def guards_text(guards: tuple[Guard, ...]) -> str:
    """Each guard and the user's line that asked, as JSON."""
    lines = [
        [
            repr(guard.comparison),
            None if guard.location is None else str(guard.location),
            guard.because,
        ]
        for guard in guards
    ]
    return json.dumps(lines, indent=1)


def guards_read(text: str, graph: Graph) -> Guards:
    """The guards that `guards_text` wrote, of the sizes of the graph. Texts are read by their grammar."""
    sizes = {repr(size): size for found in sizes_in_graph(graph) for size in cast("Dim", found).sizes}
    return Guards(
        tuple(
            Guard(guard.comparison, location, because)
            for line, location, because in json.loads(text)
            for guard in Guards.read(line, sizes).guards
        )
    )
