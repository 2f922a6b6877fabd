"""What stands in a shape and is no int: all that programs without named sizes need to know of them.

Comparisons of symbolic sizes may be undecided, and Python's ``if`` then takes what the call at hand shows, which
becomes a guard of the program. `is_known`, `same_shape` and `typical` make none: they are for what may be either way.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any


class SymbolicSize(ABC):
    """A size that is an expression. `shapes.Dim` is the one class of them."""

    __slots__ = ()

    @abstractmethod
    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value where the named sizes have these. `KeyError` names one that is missing."""

    @property
    @abstractmethod
    def typical(self) -> int:
        """What it is for the call at hand, or a value that it may well have."""

    @abstractmethod
    def spelled(self, names: Mapping[str, str]) -> str:
        """The expression in Python; `names` are what some of the named sizes are called there."""

    @staticmethod
    @abstractmethod
    def minimum(*sizes: Any) -> Any:
        """The least of several."""

    @staticmethod
    @abstractmethod
    def maximum(*sizes: Any) -> Any:
        """The greatest of several."""

    @property
    @abstractmethod
    def sizes(self) -> "tuple[SymbolicSize, ...]":
        """The named sizes that it is computed from, in the order of their names."""

    @property
    @abstractmethod
    def limits(self) -> dict[str, list[str]]:
        """What is known of each named size in it, by name: ``{"N": ["N in 1..4096", "N % 16 == 0"]}``."""


class SymbolicFact(ABC):
    """A comparison of sizes that may hold for some and not for others. `shapes.Comparison` is the one class of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Whether it holds for all sizes that the program is for."""


def typical(size: Any) -> int:
    """A size as an int, to judge by what pays: for the call at hand, and right for none in particular."""
    return size.typical if isinstance(size, SymbolicSize) else size


def is_known(fact: Any) -> bool:
    """Whether a comparison holds for all sizes that the program is for; of ints, whether it holds."""
    return fact.is_known if not isinstance(fact, bool) and isinstance(fact, SymbolicFact) else bool(fact)


def is_one(size: Any) -> bool:
    """Whether a size is known to be 1."""
    return is_known(size == 1)


def same_shape(x: Sequence[Any], y: Sequence[Any]) -> bool:
    """Whether two shapes are the same for all sizes that the program is for."""
    return len(x) == len(y) and all(
        one is other or is_known(one == other) for one, other in zip(x, y, strict=True)
    )


def quotient(left: Any, right: Any) -> Any:
    """``left // right``, of sizes without the question whether `right` is 0: where it is, nobody needs the answer."""
    if isinstance(left, SymbolicSize) or isinstance(right, SymbolicSize):
        from .shapes.dim import quotient as of_sizes

        return of_sizes(left, right)
    return left // right


def remainder(left: Any, right: Any) -> Any:
    """``left % right``, of sizes without the question whether `right` is 0: where it is, nobody needs the answer."""
    if isinstance(left, SymbolicSize) or isinstance(right, SymbolicSize):
        from .shapes.dim import remainder as of_sizes

        return of_sizes(left, right)
    return left % right


def minimum(left: Any, right: Any) -> Any:
    """The lesser of two sizes."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.minimum(left, right)
    return min(left, right)


def maximum(left: Any, right: Any) -> Any:
    """The greater of two sizes."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.maximum(left, right)
    return max(left, right)
