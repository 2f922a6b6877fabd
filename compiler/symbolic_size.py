"""Sizes in shapes that are not ints: everything that programs without named sizes need to know about them.

Comparisons of symbolic sizes may be undecided. Python's ``if`` then uses the sizes of the current call, and this
becomes a guard of the program. `is_known`, `same_shape` and `typical` make no guards: they are for questions where
either answer is correct.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, ClassVar, Final

from .errors import DimArithmeticError, UndecidedDimError

# The two classes are not ABCs: `isinstance` would take three times as long, and it runs for every operand.


class SymbolicSize:
    """A size that is an expression. `shapes.Dim` is its only class."""

    __slots__ = ()

    recorded: ClassVar[Callable[["SymbolicSize"], Any] | None] = None
    """Returns a size as a number in the function that is being traced; None outside of a trace. Set by the module of
    traced arrays."""

    def as_number(self) -> Any:
        """The number in the program, for use with arrays and floats."""
        record = SymbolicSize.recorded
        number = None if record is None else record(self)
        if number is None:
            raise DimArithmeticError(f"{self!r} has no value outside a traced function")
        return number

    def __index__(self) -> int:
        """Its value in the current call, which the program is then limited to: for code that needs an int."""
        raise NotImplementedError

    def whole(self, because: str = "") -> int:
        """Like `__index__`, with the reason."""
        raise NotImplementedError

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value for these values of the named sizes. `KeyError` names one that is missing."""
        raise NotImplementedError

    def where(self, size: "SymbolicSize", value: Any) -> Any:
        """The expression with a value, or another size, in place of a named size.

        `ZeroDivisionError` if that makes a divisor 0.
        """
        raise NotImplementedError

    @property
    def is_shown(self) -> bool:
        """Whether the current call shows its value; False if the program computes it."""
        raise NotImplementedError

    def called(self, name: str) -> "SymbolicSize":
        """A named size with another name, about which nothing is known."""
        raise NotImplementedError

    @property
    def typical(self) -> int:
        """Its value in the current call, or a likely value."""
        raise NotImplementedError

    def spelled(self, names: Mapping[str, str]) -> str:
        """The expression in Python; `names` are other names for some of the named sizes."""
        raise NotImplementedError

    @staticmethod
    def minimum(*sizes: Any) -> Any:
        """The minimum of several."""
        raise NotImplementedError

    @staticmethod
    def maximum(*sizes: Any) -> Any:
        """The maximum of several."""
        raise NotImplementedError

    @staticmethod
    def quotient(left: Any, right: Any) -> Any:
        """``left // right``, without a check that `right` is not 0."""
        raise NotImplementedError

    @staticmethod
    def remainder(left: Any, right: Any) -> Any:
        """``left % right``, without a check that `right` is not 0."""
        raise NotImplementedError

    @property
    def sizes(self) -> "tuple[SymbolicSize, ...]":
        """The named sizes in it, sorted by name."""
        raise NotImplementedError

    @property
    def may_overflow(self) -> bool:
        """Whether it might need more than 64 bits for arrays that fit in memory."""
        raise NotImplementedError

    @property
    def nesting(self) -> int:
        """The nesting depth of its quotients, remainders, minima and maxima."""
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[float, float]:
        """Its minimum and maximum, from what is known about each named size separately."""
        raise NotImplementedError

    @property
    def limits(self) -> dict[str, list[str]]:
        """What is known about each named size in it, by name: ``{"N": ["N in 1..4096", "N % 16 == 0"]}``."""
        raise NotImplementedError


class SymbolicFact:
    """A comparison that may hold for some sizes only. `shapes.Comparison` is its only class."""

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        """Whether it holds for all sizes of the program."""
        raise NotImplementedError

    def assume(self) -> bool:
        """If it holds for this call, record it as a guard."""
        raise NotImplementedError

    def assumed(self, *others: "SymbolicFact") -> AbstractContextManager[None]:
        """Within the block, assume that this and the others hold."""
        raise NotImplementedError


HUGE: Final = 2**40
"""Bytes. Arrays of this size are hardly ever meant, and few machines can hold them."""

_imagined: ContextVar[Mapping[str, int] | None] = ContextVar("imagined", default=None)


@contextmanager
def with_typical_sizes(sizes: Mapping[str, int]) -> Generator[None]:
    """Within the block, and only in this context, these are the typical values of the named sizes."""
    token = _imagined.set(sizes)
    try:
        yield
    finally:
        _imagined.reset(token)


def typical(size: Any) -> int:
    """A size as an int, for cost estimates: its value in the current call. The program must not depend on it."""
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
    """Whether a comparison holds for all sizes of the program; for ints, whether it holds."""
    return fact.is_known if isinstance(fact, SymbolicFact) else bool(fact)


def assuming(facts: Iterable[Any]) -> AbstractContextManager[None]:
    """Within the block, assume that these hold."""
    unknown = [fact for fact in facts if not is_known(fact)]
    return unknown[0].assumed(*unknown[1:]) if unknown else nullcontext()


def has_no_entries(size: Any) -> bool:
    """Whether an axis of this size is empty, as a guard where that is not known.

    Of a length that the program finds out when it runs, nothing is asked: then it is taken not to be 0, and what is
    computed along the axis checks that itself.
    """
    is_nothing: Any = size == 0
    try:
        return is_known(is_nothing) or (isinstance(size, SymbolicSize) and size.is_shown and bool(is_nothing))
    except UndecidedDimError:
        return False


def is_one(size: Any) -> bool:
    """Whether a size is known to be 1."""
    return lower_bound(size) <= 1 and is_known(size == 1)


def is_none(size: Any) -> bool:
    """Whether a size is known to be 0."""
    return lower_bound(size) <= 0 and is_known(size == 0)


def same_shape(x: Sequence[Any], y: Sequence[Any]) -> bool:
    """Whether two shapes are the same for all sizes of the program."""
    if x is y:
        return True
    if len(x) != len(y):
        return False
    for one, other in zip(x, y, strict=True):  # noqa: SIM110 (called for each call that is traced)
        if one is not other and not is_known(one == other):
            return False
    return True


def assume(fact: Any) -> bool:
    """Whether a comparison holds for all sizes, or else for the current call, where it becomes a guard.

    For code that is correct for all sizes, but better where the comparison holds.
    """
    return fact.assume() if isinstance(fact, SymbolicFact) else bool(fact)


def lower_bound(size: Any) -> float:
    """A lower bound of a size, found quickly. Use it only for cost estimates."""
    return size.bounds[0] if isinstance(size, SymbolicSize) else size


def upper_bound(size: Any) -> float:
    """An upper bound of a size, found quickly. Use it only for cost estimates."""
    return size.bounds[1] if isinstance(size, SymbolicSize) else size


def quotient(left: Any, right: Any) -> Any:
    """``left // right``. For sizes there is no check that `right` is not 0: if it is, the result is unused."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.quotient(left, right)
    return left // right


def remainder(left: Any, right: Any) -> Any:
    """``left % right``. For sizes there is no check that `right` is not 0: if it is, the result is unused."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.remainder(left, right)
    return left % right


def min_expr(left: Any, right: Any) -> Any:
    """The smaller of two sizes."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.minimum(left, right)
    return min(left, right)


def max_expr(left: Any, right: Any) -> Any:
    """The larger of two sizes."""
    for size in (left, right):
        if isinstance(size, SymbolicSize):
            return size.maximum(left, right)
    return max(left, right)


def guarded_min(left: Any, right: Any) -> Any:
    """The smaller of two sizes: the one of the current call, with a guard. Without a call, `min_expr`."""
    if assume(left <= right):
        return left
    return right if is_known(right <= left) or assume(right < left) else min_expr(left, right)


def guarded_max(left: Any, right: Any) -> Any:
    """The larger of two sizes, like `guarded_min`."""
    if assume(left >= right):
        return left
    return right if is_known(right >= left) or assume(right > left) else max_expr(left, right)


def guarded_is_one(size: Any) -> bool:
    """Whether a size is 1 in the current call, with a guard for either answer. Without a call, whether that is
    known."""
    if assume(size == 1):
        return True
    assume(size != 1)
    return False


def guarded_is_equal(size: Any, other: Any) -> bool:
    """Whether two sizes are equal in the current call, like `guarded_is_one`."""
    if assume(size == other):
        return True
    assume(size != other)
    return False


def is_symbolic_shape(shape: Sequence[Any]) -> bool:
    """Whether a size in it is symbolic."""
    return any(isinstance(dim, SymbolicSize) for dim in shape)


def broadcasts(one: Any, other: Any) -> bool:
    """Whether the first length broadcasts to the second. Adds a guard if that is unknown."""
    return one is other or is_known(one == 1) or one in (other, 1)


def is_empty(shape: Sequence[Any]) -> bool:
    """Whether an array of this shape is known to have no entries."""
    return any(is_known(dim == 0) for dim in shape)


def joint_shape(*shapes: Sequence[Any]) -> tuple[Any, ...] | None:
    """The shape that all broadcast to, aligned from the right; None if there is none."""
    first = shapes[0] if shapes else ()
    for shape in shapes:
        if not same_shape(shape, first):
            break
    else:
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
    """What two lengths broadcast to. For symbolic ones, it adds no guards if the answer is known or does not matter."""
    if one is other or is_known(other == 1):
        return one
    if is_known(one == 1) or one == other:
        return other
    if other == 1:
        return one
    return other if one == 1 else None
