"""`of_sizes`: a function whose ints, such as the `n` of ``range(n)``, are sizes: one program serves many.

An array without memory, whose length is the number, represents the number. Then everything about sizes applies to it:
names, guards, and reasons for recompilation.
"""

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

import numpy as np
import optree

from ...compiler.dtypes import Array
from ...compiler.frontend.conversion import call_converted
from ...compiler.frontend.leaves import NAMESPACE, flatten_arguments
from ...compiler.frontend.outside_changes import ArgumentContainers


def of_sizes(function: Callable[..., Any], places: Collection[int]) -> Callable[..., Any]:
    """The function of arrays in place of some leaves, which uses their lengths."""

    @wraps(function)
    def of_lengths(*args: Any, **kwargs: Any) -> Any:
        _, tree = flatten_arguments(args, kwargs)
        given, more = with_leaves((args, kwargs), tree, places, lambda x: x.shape[0])
        containers = ArgumentContainers(given, more)
        result = call_converted(function, *given, **more)
        containers.change_as_well(function, args, kwargs)  # those that hold sizes are new
        return result

    return of_lengths


def as_length(number: int) -> Array:
    """The array that represents a size."""
    return np.broadcast_to(np.False_, (number,))


def with_leaves(
    x: Any, tree: Any, places: Collection[int], change: Callable[[Any], Any], first: int = 0
) -> Any:
    """A pytree with `change` of the leaves that have these numbers, counted from `first`.

    What holds none of them is the same object.
    """
    if not any(first <= place < first + tree.num_leaves for place in places):
        return x
    if tree.is_leaf():
        return change(x)
    children, metadata, _, unflatten = optree.tree_flatten_one_level(x, namespace=NAMESPACE)
    new = []
    for child, part in zip(children, tree.children(), strict=True):
        new.append(with_leaves(child, part, places, change, first))
        first += part.num_leaves
    return unflatten(metadata, new)
