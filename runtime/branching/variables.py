"""Flattened values of variables: arrays and numbers, which a graph can compute, and everything else."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import flattened, is_array_like, strongest_type
from ...compiler.callers.user_code import user_location
from ...compiler.errors import BranchMismatchError
from ...compiler.ir import ArrayType
from ...compiler.symbolic_size import SymbolicSize, same_shape
from ...compiler.tracing.array_values import PYTHON_NUMBERS
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.trace import require_trace
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..eager.nested_function import Result
from .one_of import entries_of, is_one_of

_PLAIN = (str, bytes, type(None), type(Ellipsis))


@dataclass(frozen=True)
class Held:
    """The flattened value of a variable: its structure and its leaves."""

    tree: Any
    leaves: list[Any]
    value: Any = None
    """The value itself."""
    parts: "tuple[Held, ...]" = ()
    """The flattened entries, if the value is a `OneOf`."""

    @property
    def arrays(self) -> list[Any]:
        """The leaves that a graph computes."""
        return [leaf for leaf in self.leaves if is_computed(leaf)]

    def filled(self, arrays: Sequence[Any]) -> Any:
        """The value with these arrays instead of its own."""
        following = iter(arrays)
        leaves = [next(following) if is_computed(leaf) else leaf for leaf in self.leaves]
        return optree.tree_unflatten(self.tree, leaves)

    def __str__(self) -> str:
        marks = ["*" if is_computed(leaf) else leaf for leaf in self.leaves]
        return f"{optree.tree_unflatten(self.tree, marks)!r:.60}".replace("'*'", "*")

    def has_form_of(self, other: "Held") -> bool:
        """Whether the two differ only in arrays and numbers."""
        return (
            self.tree == other.tree
            and (not has_dict(self.tree) or key_orders(self.value) == key_orders(other.value))
            and all(
                is_computed(x) if is_computed(y) else is_same(x, y)
                for x, y in zip(self.leaves, other.leaves, strict=True)
            )
        )

    def has_objects_of(self, other: "Held") -> bool:
        """Whether the two have the same structure and hold the same objects."""
        return self.tree == other.tree and all(x is y for x, y in zip(self.leaves, other.leaves, strict=True))


def held(value: Any) -> Held:
    """Flatten a value."""
    leaves, tree = flattened(value)
    leaves = [leaf.as_number() if isinstance(leaf, SymbolicSize) else leaf for leaf in leaves]
    return Held(tree, leaves, value, tuple(map(held, entries_of(value))) if is_one_of(value) else ())


@lru_cache(1024)
def has_dict(tree: Any) -> bool:
    """Whether a structure has a dict: it does not contain the order of the keys."""
    return tree.type in (dict, defaultdict) or any(map(has_dict, tree.children()))


def key_orders(value: Any) -> list[list[Any]]:
    """The keys of the dicts in a value, in their orders."""
    if isinstance(value, dict):
        return [list(value), *(order for one in value.values() for order in key_orders(one))]
    if isinstance(value, list | tuple | deque):
        return [order for one in value for order in key_orders(one)]
    return []


def is_computed(leaf: Any) -> bool:
    """Whether a graph can compute a leaf. A number of a class of its own, such as an `enum.IntEnum`, is an object."""
    if isinstance(leaf, PYTHON_NUMBERS) and type(leaf) not in PYTHON_NUMBERS:
        return isinstance(leaf, np.generic)
    return is_array_like(leaf) or isinstance(leaf, ForeignMemory)


def has_memory(x: Any) -> bool:
    """Whether a leaf is an array, which may be written to, rather than a number."""
    return is_numpy_array(x) or (is_traced(x) and not x.is_scalar)


def memory(x: Any) -> int:
    """A number that identifies the memory of an array."""
    if is_traced(x):
        return id(require_trace().known_shadow(x._storage))
    return id(x if x.base is None else x.base)


def is_same(x: Any, y: Any) -> bool:
    """Whether two leaves that are not arrays are the same object or equal constants."""
    return x is y or (type(x) is type(y) and isinstance(x, _PLAIN) and x == y)


def joined(where: str, name: str, found: Sequence[Result | None]) -> Result:
    """The type of a leaf that branches return. Their shapes must agree; NumPy promotes their dtypes."""
    results = [one for one in found if one is not None]
    first = results[0]
    for other in results[1:]:
        if not same_shape(first.type.shape, other.type.shape):
            raise BranchMismatchError(
                f"{where}: `{name}` is {first} in one branch and {other} in another: give it one shape",
                user_location(),
            )
    weak = strongest(results)
    kinds = [one.type.dtype if one.weak is None else one.weak(0) for one in results]
    type_ = ArrayType(np.result_type(*kinds), first.type.shape)
    return Result(type_, weak, all(one.is_scalar for one in results), 0)


def strongest(results: Sequence[Result]) -> "type[Any] | None":
    """The Python type of the result, if all of these are Python numbers; otherwise None."""
    weak = [one.weak for one in results]
    return None if None in weak else strongest_type(weak)
