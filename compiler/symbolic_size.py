"""What stands in a shape and is not an int: all that programs without named sizes need to know of them.

Comparisons of symbolic sizes may be undecided, and Python's ``if`` then takes what the call at hand shows, which
becomes a guard of the program. `is_known`, `same_shape` and `typical` make none: they are for what may be either way.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, ClassVar

from .errors import DimArithmeticError

# The two classes are not ABCs: `isinstance` would take three times as long, and it is asked for every operand.


class SymbolicSize:
    """A size that is an expression. `shapes.Dim` is the one class of them."""

    __slots__ = ()

    recorded: ClassVar[Callable[["SymbolicSize"], Any] | None] = None
    """Gives a size as a number in the function that is traced; None if none is. From where traced arrays are made."""

    def as_number(self) -> Any:
        """The number in a program that it is, where it meets arrays and floats."""
        record = SymbolicSize.recorded
        number = None if record is None else record(self)
        if number is None:
            raise DimArithmeticError(f"{self!r} has no value outside a traced function")
        return number

    def __index__(self) -> int:
        """What it is for the call at hand, which the program is then for: for what needs an int."""
        raise NotImplementedError

    def whole(self, because: str = "") -> int:
        """As `__index__`, with the reason."""
        raise NotImplementedError

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value where the named sizes have these. `KeyError` names one that is missing."""
        raise NotImplementedError

    def where(self, size: "SymbolicSize", value: int) -> Any:
        """What it is where a named size has a value. `ZeroDivisionError` if a divisor is 0 there."""
        raise NotImplementedError

    @property
    def typical(self) -> int:
        """What it is for the call at hand, or a value that it may well have."""
        raise NotImplementedError

    def spelled(self, names: Mapping[str, str]) -> str:
        """The expression in Python; `names` are what some of the named sizes are called there."""
        raise NotImplementedError

    @staticmethod
    def minimum(*sizes: Any) -> Any:
        """The least of several."""
        raise NotImplementedError

    @staticmethod
    def maximum(*sizes: Any) -> Any:
        """The greatest of several."""
        raise NotImplementedError

    @staticmethod
    def quotient(left: Any, right: Any) -> Any:
        """``left // right``, without asking whether `right` is 0."""
        raise NotImplementedError

    @staticmethod
    def remainder(left: Any, right: Any) -> Any:
        """``left % right``, without asking whether `right` is 0."""
        raise NotImplementedError

    @property
    def sizes(self) -> "tuple[SymbolicSize, ...]":
        """The named sizes that it is computed from, in the order of their names."""
        raise NotImplementedError

    @property
    def may_overflow(self) -> bool:
        """Whether it might need more than 64 bits where arrays are as large as memories are."""
        raise NotImplementedError

    @property
    def nesting(self) -> int:
        """How deep quotients, remainders and extremes stand in each other."""
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that it may have, by what is known of each named size by itself."""
        raise NotImplementedError

    @property
    def limits(self) -> dict[str, list[str]]:
        """What is known of each named size in it, by name: ``{"N": ["N in 1..4096", "N % 16 == 0"]}``."""
        raise NotImplementedError


class SymbolicFact:
    """A comparison of sizes that may hold for some and not for others. `shapes.Comparison` is the one class of them."""

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        """Whether it holds for all sizes that the program is for."""
        raise NotImplementedError

    def assume(self) -> bool:
        """If it holds for this call, record it as a guard."""
        raise NotImplementedError

    def assumed(self, *others: "SymbolicFact") -> AbstractContextManager[None]:
        """Within the block, what is known is known of sizes for which this and the others hold."""
        raise NotImplementedError


_imagined: ContextVar[Mapping[str, int] | None] = ContextVar("imagined", default=None)


@contextmanager
def with_typical_sizes(sizes: Mapping[str, int]) -> Generator[None]:
    """Within the block, and in this context alone, named sizes are typically these."""
    token = _imagined.set(sizes)
    try:
        yield
    finally:
        _imagined.reset(token)


def typical(size: Any) -> int:
    """A size as an int, to judge by what pays: for the call at hand, and right for none in particular."""
    if not isinstance(size, SymbolicSize):
        given: int = size
        return given
    imagined = _imagined.get()
    if imagined is None:
        return size.typical
    try:
        return max(1, size.at(imagined))
    except ZeroDivisionError:
        return 1


def is_known(fact: Any) -> bool:
    """Whether a comparison holds for all sizes that the program is for; of ints, whether it holds."""
    return fact.is_known if isinstance(fact, SymbolicFact) else bool(fact)


def assuming(facts: Iterable[Any]) -> AbstractContextManager[None]:
    """Within the block, what is known is known of sizes for which these hold."""
    unknown = [fact for fact in facts if not is_known(fact)]
    return unknown[0].assumed(*unknown[1:]) if unknown else nullcontext()


def is_one(size: Any) -> bool:
    """Whether a size is known to be 1."""
    return is_known(size == 1)


def same_shape(x: Sequence[Any], y: Sequence[Any]) -> bool:
    """Whether two shapes are the same for all sizes that the program is for."""
    return len(x) == len(y) and all(
        one is other or is_known(one == other) for one, other in zip(x, y, strict=True)
    )


def assume(fact: Any) -> bool:
    """Whether a comparison holds for all sizes, or else for the call at hand: then it becomes a guard.

    It is for what is right for all sizes, and better for those for which the comparison holds.
    """
    return fact.assume() if isinstance(fact, SymbolicFact) else bool(fact)


def lower_bound(size: Any) -> float:
    """A number that a size is never below: quickly found, for what pays only."""
    return size.bounds[0] if isinstance(size, SymbolicSize) else size


def upper_bound(size: Any) -> float:
    """A number that a size is never above: quickly found, for what pays only."""
    return size.bounds[1] if isinstance(size, SymbolicSize) else size


def quotient(left: Any, right: Any) -> Any:
    """``left // right``, of sizes without the question whether `right` is 0: where it is, nobody needs the answer."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.quotient(left, right)
    return left // right


def remainder(left: Any, right: Any) -> Any:
    """``left % right``, of sizes without the question whether `right` is 0: where it is, nobody needs the answer."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.remainder(left, right)
    return left % right


def min_expr(left: Any, right: Any) -> Any:
    """The lesser of two sizes."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.minimum(left, right)
    return min(left, right)


def max_expr(left: Any, right: Any) -> Any:
    """The greater of two sizes."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.maximum(left, right)
    return max(left, right)


def guarded_min(left: Any, right: Any) -> Any:
    """The lesser of two sizes: that which it is for the call at hand, as a guard; without a call, `min_expr`."""
    if assume(left <= right):
        return left
    return right if is_known(right <= left) or assume(right < left) else min_expr(left, right)


def guarded_max(left: Any, right: Any) -> Any:
    """The greater of two sizes, as `guarded_min`."""
    if assume(left >= right):
        return left
    return right if is_known(right >= left) or assume(right > left) else max_expr(left, right)


def guarded_is_one(size: Any) -> bool:
    """Whether a size is 1 for the call at hand, as a guard either way; without a call, whether that is known."""
    if assume(size == 1):
        return True
    assume(size != 1)
    return False


def is_symbolic_shape(shape: Sequence[Any]) -> bool:
    """Whether a size in it is symbolic."""
    return any(isinstance(dim, SymbolicSize) for dim in shape)


def broadcasts(one: Any, other: Any) -> bool:
    """Whether the first length broadcasts to the second. Asks what is not known."""
    return one is other or is_known(one == 1) or one in (other, 1)


def is_empty(shape: Sequence[Any]) -> bool:
    """Whether an array of this shape is known to have no entries."""
    return any(is_known(dim == 0) for dim in shape)


def joint_shape(*shapes: Sequence[Any]) -> tuple[Any, ...] | None:
    """The shape that all broadcast to, aligned from the right; None if there is none."""
    first = shapes[0] if shapes else ()
    if all(same_shape(shape, first) for shape in shapes[1:]):
        return tuple(first)
    rank = max(map(len, shapes))
    joint: list[Any] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, start=rank - len(shape)):
            joint[axis] = _joint_size(joint[axis], dim)
            if joint[axis] is None:
                return None
    return tuple(joint)


def _joint_size(one: Any, other: Any) -> Any:
    """What two lengths broadcast to; of symbolic ones nothing is asked that is known or does not matter."""
    if one is other or is_known(other == 1):
        return one
    if is_known(one == 1) or one == other:
        return other
    if other == 1:
        return one
    return other if one == 1 else None
