"""Expressions that Python evaluates in part: ``and``, ``or``, ``if … else``, chains of comparisons, generators."""

import operator
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from ...compiler.arguments.leaves import weak_type
from ...compiler.callers.user_code import line_of_raise, user_location
from ...compiler.errors import BranchMismatchError, ConcretizationError, TracemillError
from ...compiler.frontend.expressions import comparison
from ...compiler.numpy_surface.ufuncs.value_checks import guarded
from ...compiler.op import PRINTS, has_effect
from ...compiler.symbolic_size import SymbolicFact, SymbolicSize
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.exceptions.handlers import follow_if_handled
from ...compiler.tracing.exceptions.python_failures import line_of_failure
from ...compiler.tracing.trace import Trace, require_trace
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.tracing.values_in_call import guarded_truth
from ..branching.asked_lengths import length_test
from ..branching.branches import value_of
from ..branching.one_of import OneOf, is_one_of
from ..branching.python_numbers import as_python_number, is_open, is_unknown
from ..branching.variables import has_memory
from ..branching.watching import reached_by, watching
from .callee import callee
from .comprehensions import Pairs, fold
from .dictionaries import has_key, is_unknown_key
from .loops.truth_in_call import truth_in_call
from .methods import PLAIN_KEYS
from .operators import PLAIN_TYPES, REFLECTED, compared, quick, truth, users_method

_CONTAINERS: Final = frozenset({dict, frozenset, list, range, set, str, tuple})
_COMPARISONS = {name: comparison(name) for name in REFLECTED}


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """``first and …``"""
    for other in others:
        if type(first) is bool:
            if not first:
                return first
            first = other()
            continue
        first = length_test(first)
        test = first if is_one_of(first) else truth(first)
        if test is not first and is_open(test):
            first = choose(test, other, partial(_same, first))
        elif is_open(first):
            first = _joined(np.logical_and, first, other, first_if=False)
        elif not test:
            return first
        else:
            first = other()
    return first


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """``first or …``"""
    for other in others:
        if type(first) is bool:
            if first:
                return first
            first = other()
            continue
        first = length_test(first)
        test = first if is_one_of(first) else truth(first)
        if test is not first and is_open(test):
            first = choose(test, partial(_same, first), other)
        elif is_open(first):
            first = _joined(np.logical_or, first, other, first_if=True)
        elif test:
            return first
        else:
            first = other()
    return first


def _same(x: Any) -> Any:
    return x


def _joined(join: Any, first: Any, other: Callable[[], Any], *, first_if: bool) -> Any:
    """``first and other()``, or ``or``: one operation on two booleans, otherwise a branch."""

    def either(given: Callable[[], Any]) -> Any:
        return choose(first, *((lambda: first, given) if first_if else (given, lambda: first)))

    if first.dtype != np.bool_:
        return either(other)
    if_evaluated = np.logical_not(first) if first_if else first
    evaluated = _evaluated("`or`" if first_if else "`and`", if_evaluated, other)
    if evaluated is None:
        return either(other)
    second = evaluated.value
    own = np.dtype(bool) if type(second) is bool else None
    if getattr(second, "dtype", own) != np.bool_:
        if weak_type(first) is bool and weak_type(second) is not None:
            truth = guarded_truth(require_trace(), as_value(first), "which operand `and` or `or` gives")
            if truth is not None:  # Python gives a bool, or a number of another type
                return truth if truth is first_if else second
        return either(lambda: second)
    return _like_both(join(first, second), first, second)


@dataclass(frozen=True, slots=True)
class _Evaluated:
    value: Any


def _evaluated(
    where: str, test: Any, operand: Callable[[], Any], after: Callable[[Any], Any] = lambda x: x
) -> _Evaluated | None:
    """``after(operand())`` of an operand that Python only evaluates if the test holds, computed in any case.

    None if it does more than compute, so that it needs a branch.
    """
    trace = require_trace()
    if trace.checks_bounds or _prints(operand):
        return None
    began = len(trace.calls)
    try:
        with watching(where, reached_by(operand), user_location()) as watch, guarded(test):
            found, changed = after(operand()), watch.take()
    except Exception as error:
        if (line_of_raise(error) or line_of_failure(error)) is None:
            raise
        return None  # the branch raises it
    return None if changed or _take_prints(trace, began) else _Evaluated(found)


def _take_prints(trace: Trace, began: int) -> bool:
    """Whether the calls since a place print. They are removed, because they must not happen in all cases."""
    kept = [call for call in trace.calls[began:] if not has_effect(call, PRINTS)]
    if prints := len(kept) < len(trace.calls) - began:
        trace.calls[began:] = kept
    return prints


def _prints(operand: Any) -> bool:
    """Whether an operand has a `print`, which must not happen if Python does not evaluate it."""
    return "printed" in operand.__code__.co_names


def _like_both(found: Any, one: Any, other: Any) -> Any:
    """A bool that is one of two, as a Python bool if both are."""
    is_pythons = weak_type(one) is bool and weak_type(other) is bool
    return as_python_number(found, bool) if is_pythons else found


def not_(x: Any) -> Any:
    """``not x``"""
    if type(x) is bool:
        return not x
    x = length_test(x)
    return as_python_number(np.logical_not(x), bool) if is_open(x) else not x


def choose(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``body if test else orelse``"""
    if type(test) is bool:
        return body() if test else orelse()
    test = length_test(test)
    if not is_open(test):
        return body() if test else orelse()
    try:
        return value_of("if … else", test, body, orelse)
    except BranchMismatchError as failure:
        return body() if truth_in_call(test, failure, "`if … else`") else orelse()
    except TracemillError:
        raise
    except Exception as failure:
        follow_if_handled("`if … else`", failure)
        raise


def folded(function: Any, pairs: Pairs, is_list: bool, *rest: Any, **options: Any) -> Any:
    """``function(value for … if test)``"""
    return fold(function, pairs, is_list, callee, *rest, **options)


def compare(names: tuple[str, ...], left: Any, *others: Callable[[], Any]) -> Any:
    """``left < … < …``"""
    result: Any = True
    for number, (name, other) in enumerate(zip(names, others, strict=True)):
        if is_open(result):
            after = partial(_compared, name, left)
            evaluated = _evaluated("a chain of comparisons", result, other, after)
            if evaluated is None:
                rest = partial(compare, names[number:], left, *others[number:])
                return choose(result, rest, partial(_as_bool, result))
            right, found = evaluated.value
            result = _like_both(np.logical_and(result, found), result, found)
        else:
            right, found = _compared(name, left, other())
            if number == len(names) - 1 or not (is_open(found) or found):
                return found
            result = found
        left = right
    return result


def compare_two(name: str, left: Any, right: Any) -> Any:
    """``left < right``, and ``x in …``"""
    if type(left) in PLAIN_KEYS and type(right) in _CONTAINERS and name in ("in_", "not_in"):
        with suppress(ConcretizationError):  # an entry is not known
            return (left in right) is (name == "in_")
    if PLAIN_TYPES[type(left)] and PLAIN_TYPES[type(right)] and name in REFLECTED:
        found = _COMPARISONS[name](left, right)
        return found if type(found) is bool else length_test(found)
    found = _is_in(left, right, name) if name in ("in_", "not_in") else compared(name, left, right)
    return _as_bool(length_test(found))


def comparison_hooks() -> dict[str, Callable[[Any, Any], Any]]:
    """The hooks of single comparisons."""
    names = (*REFLECTED, "is_", "is_not", "in_", "not_in")
    return {f"compare_{name}": quick(name, comparison(name), compare_two) for name in names}


def _compared(name: str, left: Any, right: Any) -> tuple[Any, Any]:
    """The right operand of a comparison, and the result."""
    return right, compare_two(name, left, right)


def _as_bool(found: Any) -> Any:
    """A comparison of sizes as the bool that it is for these sizes; anything else unchanged."""
    return bool(found) if isinstance(found, SymbolicFact) else found


def _is_in(x: Any, container: Any, name: str) -> Any:
    """``x in container``, and ``x not in container``: a Python bool."""
    found = _is_found(x, container)
    if name == "in_":
        return found
    return not_(found)


def _is_found(x: Any, container: Any) -> Any:
    """``x in container``, by comparing with each item."""
    if is_one_of(x):
        return OneOf.asked(x, lambda one: _is_found(one, container))
    if is_one_of(container):
        return OneOf.asked(container, lambda one: _is_found(x, one))
    if (contains := users_method(container, "__contains__")) is not None:
        contained = truth(contains(x))
        return contained if is_traced(contained) else bool(contained)
    if isinstance(x, SymbolicSize) and isinstance(container, (set, frozenset, dict)):
        x = operator.index(x)
    if is_traced(container) and has_memory(container):
        return as_python_number(np.any(container == x), bool)
    if isinstance(container, dict) and is_unknown_key(x):
        return as_python_number(has_key(container, x), bool)
    is_short = isinstance(container, (list, tuple, set, frozenset, range)) and len(container) <= 64
    if is_short and (is_unknown(x) or (type(x) in _NUMBERS and _are_unknown_numbers(container))):
        found: Any = np.bool_(any(one is x for one in container))  # Python finds a NaN by its identity
        for one in container:
            found = np.logical_or(found, x == one)
        return as_python_number(found, bool)
    return x in container


_NUMBERS: Final = frozenset({int, float, bool, complex})


def _are_unknown_numbers(entries: Iterable[Any]) -> bool:
    """Whether all are numbers, and one is not known."""
    kinds = [is_unknown(one) or type(one) in _NUMBERS for one in entries]
    return all(kinds) and any(map(is_unknown, entries))
