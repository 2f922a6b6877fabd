"""Comparing pytrees: equal structures, prefixes of a structure, and both in messages."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np
import optree

from ..compiler.arguments.leaves import (
    NAMESPACE,
    flattened,
    has_labelled_classes,
    naming_bad_columns,
    with_plain_keys,
)
from ..compiler.errors import TreeMismatchError
from ..compiler.interpreter import is_idle
from ..compiler.labelled.classes import as_labelled, is_labelled
from ..compiler.nesting import refusing_deep_nesting
from ..compiler.tracing.outside.foreign_array import as_seen_inside


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a pytree and its structure."""
    with refusing_deep_nesting("a pytree", tree), naming_bad_columns(tree, "args"):
        leaves, found = flattened(tree if is_idle() else with_plain_keys(tree))
    return list(map(as_seen_inside, leaves)), found


def structure(tree: Any) -> Any:
    """The structure of a pytree, without its leaves."""
    if type(tree) is tuple and {*map(type, tree)} == {np.ndarray}:
        return _tuple_of_arrays(len(tree))
    with refusing_deep_nesting("a pytree", tree), naming_bad_columns(tree, "args"):
        return flattened(tree if is_idle() else with_plain_keys(tree))[1]


@lru_cache
def _tuple_of_arrays(count: int) -> Any:
    return optree.tree_structure(cast(Any, tuple(range(count))), namespace=NAMESPACE)


def changed_leaves(name: str, change: Callable[[Any], Any], tree: Any) -> Any:
    """The pytree `tree`, which errors call `name`, with `change` of each leaf in its place."""
    with refusing_deep_nesting(name, tree):
        leaves, found = flattened(tree)
        return optree.tree_unflatten(found, map(change, leaves))


def show(structure: Any) -> str:
    """A structure in messages: ``{'w': *, 'b': *}``."""
    text = str(structure).removeprefix("PyTreeSpec(").removesuffix(")")
    return text.replace(f", namespace='{NAMESPACE}'", "")


def check_same_structure(what: str, found: Any, expected: Any) -> None:
    """Raises `TreeMismatchError` unless two structures are equal; the message shows both."""
    if found != expected and not (has_labelled_classes() and _of_traced(found) == _of_traced(expected)):
        raise TreeMismatchError(
            f"{what}: expected the structure {show(expected)}, found {show(found)}, where * is an array or a number"
        )


def _of_traced(structure: Any) -> Any:
    """The structure with the Series and DataFrames of a traced function in place of those of pandas."""
    return flattened(optree.tree_unflatten(structure, [_LEAF] * structure.num_leaves))[1]


_LEAF: Final = object()


def spread(prefix: Any, structure: Any, stands_for: Callable[[Any, Any], bool]) -> list[Any]:
    """For each leaf of `structure`, the corresponding part of `prefix`.

    ``stands_for(part, structure)`` says where the walk down `prefix` ends. Above that, containers must agree in type
    and keys; a list is not a tuple. Raises `LookupError`, to which the caller adds what was compared.
    """
    if stands_for(prefix, structure):
        return [prefix] * structure.num_leaves
    if optree.tree_is_leaf(prefix, none_is_leaf=True, namespace=NAMESPACE):
        raise LookupError
    if is_labelled(prefix):
        prefix = as_labelled(prefix)
        like: Any = optree.tree_unflatten(structure, [_LEAF] * structure.num_leaves)
        if type(like) is not type(prefix) or like.form != prefix.form:
            raise LookupError
        pairs = zip(prefix.arrays, structure.children(), strict=True)
        return [leaf for child, below in pairs for leaf in spread(child, below, stands_for)]
    children, _, keys, _ = optree.tree_flatten_one_level(prefix, none_is_leaf=True, namespace=NAMESPACE)
    if type(prefix) is not structure.type or list(keys) != structure.entries():
        raise LookupError
    parts = zip(children, structure.children(), strict=True)
    return [leaf for child, below in parts for leaf in spread(child, below, stands_for)]
