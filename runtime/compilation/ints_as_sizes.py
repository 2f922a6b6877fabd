"""`of_sizes`: a function whose ints, such as the `n` of ``range(n)``, are sizes: one program serves many.

An array without memory, whose length is the number, represents the number. Then everything about sizes applies to it:
names, guards, and reasons for recompilation.
"""

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import NAMESPACE, flatten_arguments, has_containers
from ...compiler.dtypes import Array
from ...compiler.frontend.conversion import call_converted
from ...compiler.frontend.outside.outside_changes import ArgumentContainers


def of_sizes(function: Callable[..., Any], places: Collection[int]) -> Callable[..., Any]:
    """The function of arrays in place of some leaves, which uses their lengths."""

    @wraps(function)
    def of_lengths(*args: Any, **kwargs: Any) -> Any:
        _, tree = flatten_arguments(args, kwargs)
        given, more = with_leaves((args, kwargs), tree, places, lambda x: x.shape[0], {})
        containers = ArgumentContainers(given, more)
        result = call_converted(function, *given, **more)
        containers.change_as_well(function, args, kwargs)  # those that hold sizes are new
        return result

    return of_lengths


def as_length(number: int) -> Array:
    """The array that represents a size."""
    return np.broadcast_to(np.False_, (number,))


def with_lengths(call: Any, leaves: Sequence[Any], tree: Any, places: Collection[int]) -> Any:
    """The arguments of a call with arrays in place of sizes. Containers without sizes are the same objects."""
    if has_containers(tree):
        return with_leaves(call, tree, places, as_length, {})
    given = [as_length(leaf) if place in places else leaf for place, leaf in enumerate(leaves)]
    return optree.tree_unflatten(tree, given)


def with_leaves(
    x: Any,
    tree: Any,
    places: Collection[int],
    change: Callable[[Any], Any],
    made: dict[int, Any],
    first: int = 0,
) -> Any:
    """A pytree with `change` of the leaves that have these numbers, counted from `first`.

    What holds none of them is the same object. One container in two places stays one: `made` holds the new ones by the
    ids of the old ones.
    """
    if id(x) in made:
        return made[id(x)]
    if not any(first <= place < first + tree.num_leaves for place in places):
        return x
    if tree.is_leaf():
        return change(x)
    children, metadata, _, unflatten = optree.tree_flatten_one_level(x, namespace=NAMESPACE)
    new = []
    for child, part in zip(children, tree.children(), strict=True):
        new.append(with_leaves(child, part, places, change, made, first))
        first += part.num_leaves
    found = made[id(x)] = unflatten(metadata, new)
    return found


def in_every_place(x: Any, tree: Any, places: Collection[int]) -> frozenset[int]:
    """The numbers of these leaves, and of the same leaves of a container where it is in other places, too."""
    if not has_containers(tree):
        return frozenset(places)
    found: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}

    def note(x: Any, tree: Any, first: int) -> None:
        if not tree.is_leaf():
            found.setdefault(id(x), []).append(first)
            sizes[id(x)] = tree.num_leaves
            children = optree.tree_flatten_one_level(x, namespace=NAMESPACE)[0]
            for child, part in zip(children, tree.children(), strict=True):
                note(child, part, first)
                first += part.num_leaves

    note(x, tree, 0)
    more = set(places)
    for key, starts in found.items():
        inner = {place - first for first in starts for place in places if 0 <= place - first < sizes[key]}
        more |= {first + place for first in starts for place in inner}
    return frozenset(more)
