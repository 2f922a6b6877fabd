"""`of_sizes`: a function whose ints, such as the `n` of ``range(n)``, are sizes: one program serves many.

An array without memory, whose length is the number, represents the number. Then everything about sizes applies to it:
names, guards, and reasons for recompilation.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np
import optree

from ...compiler.dtypes import Array
from ...compiler.frontend.conversion import call_converted
from ...compiler.frontend.leaves import flatten_arguments
from ...compiler.frontend.outside_changes import ArgumentContainers
from ...compiler.tracing.trace import require_trace


def of_sizes(function: Callable[..., Any], places: Iterable[int]) -> Callable[..., Any]:
    """The function of arrays in place of some leaves, which uses their lengths."""

    @wraps(function)
    def of_lengths(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten_arguments(args, kwargs)
        for place in places:
            leaves[place] = leaves[place].shape[0]
        given, more = optree.tree_unflatten(tree, leaves)
        containers = ArgumentContainers(given, more)
        containers.note_in(require_trace())
        return containers.with_changes(function, call_converted(function, *given, **more))

    return of_lengths


def as_length(number: int) -> Array:
    """The array that represents a size."""
    return np.broadcast_to(np.False_, (number,))
