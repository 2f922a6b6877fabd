"""Replace the named sizes of a graph by their values: the graph for arrays of one size."""

from collections.abc import Mapping

from ...compiler.free_sizes import names_bound_in
from ...compiler.ir import Graph
from ...compiler.substitution import Substitution, with_values
from ...compiler.symbolic_size import SymbolicSize


def fix_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with ints in place of all dims, in types and parameters, as tracing would give it for these sizes.

    Before, and with ``{"B": 8}``::

        def f(x: f32[B, 3]) -> f32[3*B]:
            reshape_1: f32[3*B] = reshape(x, shape=(3*B,))

        def f(x: f32[8, 3]) -> f32[24]:
            reshape_1: f32[24] = reshape(x, shape=(24,))

    Sizes that the graph finds out when it runs keep their names. Raises `KeyError` for any other size without a value.
    """
    found_later = names_bound_in(graph)

    def value_of(size: SymbolicSize) -> int:
        names = {str(one) for one in size.sizes}
        if not names & found_later:
            return size.at(sizes)
        given: int = with_values(size, {name: sizes[name] for name in names - found_later})
        return given

    return Substitution(value_of).graph(graph)
