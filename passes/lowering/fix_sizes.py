"""Replace the named sizes of a graph by their values: the graph for arrays of one size."""

from collections.abc import Mapping

from ...compiler.ir import Graph
from ...compiler.substitution import Substitution


def fix_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with ints in place of all dims, in types and parameters, as tracing would give it for these sizes.

    Before, and with ``{"B": 8}``::

        def f(x: f32[B, 3]) -> f32[3*B]:
            reshape_1: f32[3*B] = reshape(x, shape=(3*B,))

        def f(x: f32[8, 3]) -> f32[24]:
            reshape_1: f32[24] = reshape(x, shape=(24,))

    Raises `KeyError` for a size without a value.
    """
    return Substitution(lambda size: size.at(sizes)).graph(graph)
