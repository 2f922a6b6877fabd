"""``sum(x for … in range(n) if …)`` with an `n` that only the program knows: the function as a loop of the program."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import FunctionType
from typing import Any, Final

from ....compiler.callers.user_code import OPERATORS
from ....compiler.frontend.conversion import Conversion, OperatorsNeededError
from ....compiler.frontend.source import source_of
from ....compiler.tracing.trace import current_trace
from .iterations import StagedRange
from .unrolling import raise_own_fault, raise_to_tell_apart

Pair = tuple[Any, Callable[[], Any]]
Make = Callable[[Iterable[Any]], Iterator[Pair]]


class OpenPairs:
    """A test and a delayed entry for each item of a range whose length only the program may know."""

    def __init__(self, make: Make, items: StagedRange) -> None:
        self.make, self.items = make, items

    def __iter__(self) -> Iterator[Pair]:
        """Those of this call. The program is then for ranges of this length."""
        return self.make(self.items)

    def folded(self, function: Any, *rest: Any, **options: Any) -> tuple[Any, ...]:
        """The result of Python's `function` of the entries, computed in a loop; empty if it cannot be."""
        fold = None if options else _FOLDS.get((function, len(rest)))
        if fold is None:
            return ()
        try:
            assert isinstance(fold, FunctionType)
            return (_converted(fold, OPERATORS.get()).bound_to(fold)(self.items, self.make, *rest),)
        except OperatorsNeededError:
            raise
        except Exception as error:  # entry by entry, it may work, or fail at the right place
            raise_to_tell_apart(error)
            raise_own_fault(error)
            return ()


def pairs(make: Make, items: Any) -> Iterable[Pair]:
    """The pairs of a generator with a test."""
    if current_trace() is not None and type(items) is StagedRange:
        return OpenPairs(make, items)
    return make(items)


@cache
def _converted(function: FunctionType, has_operators: bool) -> Conversion:
    scope = source_of(function, is_wanted=True)
    assert not isinstance(scope, str), scope
    return Conversion(function.__code__, scope, has_operators=has_operators)


# ---- what follows is converted, as the user's code is ---------------------------------------------------


def _sum(items: Any, make: Any, total: Any = 0) -> Any:
    for item in items:
        for test, value in make((item,)):
            if test:
                total = total + value()
    return total


def _count(items: Any, make: Any) -> Any:
    count = 0
    for item in items:
        for test, _ in make((item,)):
            if test:
                count = count + 1
    return count


def _any(items: Any, make: Any) -> Any:
    for item in items:
        for test, value in make((item,)):
            if test and value():
                return True
    return False


def _all(items: Any, make: Any) -> Any:
    for item in items:
        for test, value in make((item,)):
            if test and not value():
                return False
    return True


def _next(items: Any, make: Any, default: Any) -> Any:
    for item in items:
        for test, value in make((item,)):
            if test:
                return value()
    return default


_FOLDS: Final[dict[tuple[Any, int], Callable[..., Any]]] = {
    (sum, 0): _sum,
    (sum, 1): _sum,
    (len, 0): _count,
    (any, 0): _any,
    (all, 0): _all,
    (next, 1): _next,
}
"""By the function, and how many arguments follow the generator."""
