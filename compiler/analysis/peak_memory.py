"""How much memory a graph needs to run, from the values that are alive at the same time."""

from collections.abc import Iterator

from ..interpreter import last_uses
from ..ir import Call, Extent, Graph, Value, called
from ..op import is_renamed, is_reshaped, is_view
from ..ops.composite import COMPOSITES, definition
from ..symbolic_size import typical


def peak_memory(graph: Graph) -> Extent:
    """The maximum number of bytes that the results of a graph's calls occupy at one time, when it runs call by call.

    Inputs and constants are not counted: they exist before. Results that are views of others cost nothing and keep
    those alive. A nested graph, or a composite op, needs its own peak while it runs. For symbolic sizes, the peak is
    the one for typical sizes.

    >>> import numpy as np, tracemill as tm
    >>> graph = tm.compile(lambda x: np.sum(np.sin(x) * 2.0)).lower(np.ones(100)).graph
    >>> peak_memory(graph)
    1600
    """
    owner = _owners(graph)
    users: dict[Value, int] = {}  # how many values are in the memory of an owner
    for value in owner.values():
        users[value] = users.get(value, 0) + 1
    dying = last_uses(graph)
    now: Extent = 0
    peak: Extent = 0
    for index, call in enumerate(graph.calls):
        now += sum(value.type.nbytes for value in call.outputs if owner.get(value) is value)
        inside = max(map(working_memory, _run_by(call)), key=typical, default=0)
        peak = max(peak, now + inside, key=typical)
        for value in dying.get(index, ()):
            place = owner.get(value)
            if place is not None:
                users[place] -= 1
                now -= 0 if users[place] else place.type.nbytes
    return peak


def _run_by(call: Call) -> Iterator[Graph]:
    """The graphs that run during a call: its nested graphs, or its decomposition."""
    yield from called((call,))
    if call.op in COMPOSITES:
        yield definition(call.op, tuple(value.type for value in call.inputs), call.params)


def working_memory(graph: Graph) -> Extent:
    """What a nested graph needs in addition to its outputs, which count for the call."""
    return max(0, peak_memory(graph) - sum(value.type.nbytes for value in {*graph.outputs}), key=typical)


def _owners(graph: Graph) -> dict[Value, Value]:
    """For each result the one in whose memory it is; views of inputs and constants are left out."""
    owner: dict[Value, Value] = {}
    scattered: set[Value] = set()  # views that skip, repeat or permute entries: reshaping them makes a copy
    for call in graph.calls:
        for output in call.outputs:
            if not is_view(call) or (is_reshaped(call) and call.inputs[0] in scattered):
                owner[output] = output
                continue
            source = call.inputs[0]
            if source in owner:
                owner[output] = owner[source]
            if not is_renamed(call) or source in scattered:
                scattered.add(output)
    return owner
