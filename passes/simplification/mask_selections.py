"""Compute with masks what only looks at the elements that a mask selects."""

from functools import partial

from ...compiler.free_sizes import bound_sizes
from ...compiler.ir import Graph
from .lengths_in_nested import in_nested
from .remove_dead_code import remove_dead_code


def mask_selections(graph: Graph, *, is_differentiated: bool = False) -> Graph:
    """Replace arrays of selected elements by whole arrays and their mask, if they are only reduced or written back.

    Before, for ``np.sum(x[x > 0] ** 2)``::

        length_1: bool[n_1] = length(sum_1, size=n_1)
        flatnonzero_1: i64[n_1] = flatnonzero(greater_1, length_1)
        gather_1: f64[n_1] = gather(x, flatnonzero_1, axes=(0,))
        square_1: f64[n_1] = square(gather_1)
        sum_2: f64[] = sum(square_1, axes=(0,))

    after::

        square_1: f64[7] = square(x)
        where_1: f64[7] = where(greater_1, square_1, f64(0.0))
        sum_2: f64[] = sum(where_1, axes=(0,))

    So are writes of selected elements to the places that they come from, ``x[m] = f(x[m])``. A selection that is needed
    as an array, such as ``x[m]`` that is returned, stays as it is.

    What a function is at elements that are not selected does not matter. It may be infinite there: where derivatives
    may be asked for later, as `is_differentiated` says, a number without derivative stands in their place.
    """
    graph = in_nested(graph, partial(mask_selections, is_differentiated=is_differentiated))
    kept: set[str] = set()
    while True:
        sizes = {str(size) for size in bound_sizes(graph)} - kept
        if not sizes:
            return graph
        from .masking import masked

        found = remove_dead_code(masked(graph, sizes, is_differentiated=is_differentiated))
        left = {str(size) for size in bound_sizes(found)} & sizes
        if not left:
            return found
        kept |= left
