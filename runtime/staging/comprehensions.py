"""``sum(x for x in row if x > 0)``, and ``len``, ``any``, ``all``, ``min``, ``max`` and ``next`` of such generators.

With a test on values, the number of entries depends on values, but the shape of these results does not.
"""

from collections.abc import Callable, Iterable
from functools import partial
from types import BuiltinFunctionType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_traced
from ..branching.branches import raise_where, value_of
from ..branching.python_numbers import is_open, is_unknown
from ..branching.watching import watching
from .entries import select
from .loops.open_generators import OpenPairs
from .orderings import chosen_key, is_better

Pairs = Iterable[tuple[Any, Callable[[], Any]]]
_WHERE: Final = "the `if` of a generator"
_NOTHING: Final = object()


def fold(
    function: Any, pairs: Pairs, is_list: bool, callee: Callable[[Any], Any], *rest: Any, **options: Any
) -> Any:
    """``function(value for … if test)``, where each pair holds a test and a function that returns the value.

    The function reads variables of the generator, so it is called before the next pair is made.
    """
    meaning = None
    if current_trace() is not None and type(function) is BuiltinFunctionType:
        meaning = _FOLDS.get(function)
    if meaning is None:
        values: Any = (value() for test, value in pairs if test)
        return callee(function)(list(values) if is_list else values, *rest, **options)
    if isinstance(pairs, OpenPairs) and (found := pairs.folded(function, *rest, **options)):
        return found[0]
    chosen = ((test, value) for test, value in pairs if is_unknown(test) or test)
    return meaning(chosen, callee, *rest, **options)


def _decides(test: Any) -> bool:
    """Whether a test depends on values of arrays.

    If it only depends on numbers that are arguments, the program is traced again for those numbers.
    """
    return is_open(test) and not test._trace.numbers_used_by(test.value)


def is_kept(test: Any) -> Any:
    """The test of an `if` in a comprehension that makes a list, or anything else of a known length."""
    if _decides(test):
        raise _too_many("a comprehension with an `if` on values has")
    return test


def known_tests(own: Any, callee: Callable[[Any], Any]) -> Callable[..., Any]:
    """``filter``, ``takewhile`` and similar functions, whose tests decide the number of entries."""

    def function(test: Any, entries: Any) -> Any:
        asked = callee(test) if callable(test) else bool

        def known(one: Any) -> Any:
            found = one if test is None else asked(one)
            if _decides(found):
                raise _too_many(f"{own.__name__} with a test on values gives")
            return found

        return own(known, entries)

    return function


def _too_many(what: str) -> ConcretizationError:
    return ConcretizationError(
        f"{what} as many entries as values decide, and a program must know how many. sum, len, any, all, min, max and "
        "next of a generator with such an `if` compile, and np.where(test, x, 0) keeps the length",
        user_location(),
    )


def _if(test: Any, value: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    return value_of(_WHERE, test, value, otherwise) if is_unknown(test) else value()


def _sum(pairs: Pairs, callee: Any, start: Any = 0) -> Any:
    del callee
    total = start
    for test, value in pairs:
        total = _if(test, partial(_added, total, value), partial(_same, total))
    return total


def _added(total: Any, value: Callable[[], Any]) -> Any:
    return total + value()


def _same(x: Any) -> Any:
    return x


def _len(pairs: Pairs, callee: Any) -> Any:
    return _sum(((test, lambda: 1) for test, _ in pairs), callee)


def _any(pairs: Pairs, callee: Any) -> Any:
    return callee(any)(_truth_if(test, value, otherwise=False) for test, value in pairs)


def _all(pairs: Pairs, callee: Any) -> Any:
    return callee(all)(_truth_if(test, value, otherwise=True) for test, value in pairs)


def _truth_if(test: Any, value: Callable[[], Any], *, otherwise: bool) -> Any:
    """The truth of an entry where the test holds; the entry itself if the test is known to hold."""

    def truth() -> Any:
        found = value()
        return found != 0 if is_traced(found) else bool(found)

    return value_of(_WHERE, test, truth, lambda: otherwise) if is_unknown(test) else value()


def _next(pairs: Pairs, callee: Any, default: Any = _NOTHING) -> Any:
    del callee
    has: Any = False
    found = default
    for test, value in pairs:
        if found is _NOTHING:
            found = _speculative(value)
        else:
            found = _if(np.logical_and(np.logical_not(has), test), value, partial(_same, found))
        has = np.logical_or(has, test)
        if not is_unknown(test):
            return found
    if default is _NOTHING:
        _raise_unless(has, StopIteration())
    return found


def _error_of_nothing(own: Callable[..., Any]) -> Exception:
    """Python's error for no entries at all, whose text each version of Python words anew."""
    try:
        own(())
    except ValueError as error:
        return ValueError(*error.args)
    raise AssertionError


def _extreme(own: Callable[..., Any], better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def extreme(pairs: Pairs, callee: Any, *, key: Any = None, default: Any = _NOTHING) -> Any:
        has: Any = False
        best: Any = None
        best_key: Any = None
        for test, value in pairs:
            one = _speculative(value)
            one_key = one if key is None else callee(key)(one)
            is_new = np.logical_not(has)
            if best is not None:
                is_new = np.logical_and(test, np.logical_or(is_new, is_better(one_key, best_key, better)))
                one, one_key = select(is_new, one, best), chosen_key(is_new, one_key, best_key)
            best, best_key, has = one, one_key, np.logical_or(has, test)
        if default is _NOTHING:
            _raise_unless(has, _error_of_nothing(own))
            return best
        return default if best is None else select(has, best, default)

    return extreme


def _speculative(value: Callable[[], Any]) -> Any:
    """The result of a function that Python might not call."""
    with watching(_WHERE, {}, user_location()):
        return value()


def _raise_unless(test: Any, error: Exception) -> None:
    if is_unknown(test):
        raise_where(np.logical_not(test), error, user_location())
    elif not test:
        raise error


_FOLDS: Final[dict[Any, Callable[..., Any]]] = {
    sum: _sum,
    len: _len,
    any: _any,
    all: _all,
    next: _next,
    min: _extreme(min, lambda one, other: one < other),
    max: _extreme(max, lambda one, other: one > other),
}
