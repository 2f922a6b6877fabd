"""Calls that Python refuses are refused in uncompiled transforms, too, in words that users know."""

import builtins
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError

X = np.array([1.5, 2.5, 3.5])

own: Any = builtins
REFUSED: dict[str, Callable[[Any], Any]] = {
    "sorted reverse": lambda x: own.sorted([x[1], x[0]], reverse="yes"),
    "sorted None": lambda x: own.sorted([x[1], x[0]], reverse=None),
    "sorted option": lambda x: own.sorted([x[0]], order=1),
    "sorted key": lambda x: own.sorted([x[0]], abs),
    "sort": lambda x: own.list([x[0]]).sort(abs),
    "sort reverse": lambda x: own.list([x[0], x[1]]).sort(reverse="no"),
    "round": lambda x: own.round(x[0], number=1),
    "round three": lambda x: own.round(x[0], 1, 2),
    "abs": lambda x: own.abs(x=x[0]),
    "float": lambda x: own.float(x=x[0]),
    "max": lambda x: own.max(x[0], x[1], default=3),
    "sum": lambda x: own.sum(iterable=[x[0]]),
    "sum twice": lambda x: own.sum([x[0]], x[1], start=2),
    "add text": lambda x: x[0] + "a",
    "add to text": lambda x: own.str("a") + x[0],
    "add None": lambda x: x + None,
    "compare": lambda x: x[0] < "a",
    "add Decimal": lambda x: x[0] + Decimal(1),
    "call": lambda x: x[0](1),
    "next": lambda x: own.next(x, *()),
    "join": lambda x: own.str(",").join([x[0]]),
    "open": lambda x: own.open(x[0]),
    "ord": lambda x: own.ord(x[0]),
    "setattr": lambda x: own.setattr(x, "name", 1),
    "getattr": lambda x: own.getattr(x, x[0]),
    "text method": lambda x: own.str.upper(x[0]),
    "percent": lambda x: "%d" % x,  # noqa: UP031
    "super": lambda x: own.super(x[0]),
}
CALLS: dict[str, Callable[..., Any]] = {
    "grad": lambda f: tm.grad(f)(X),
    "jvp": lambda f: tm.jvp(f, (X,), (X,)),
    "vmap": lambda f: tm.vmap(f)(np.stack([X, X])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_errors_are_pythons_and_name_no_class_that_users_do_not_know(refused: Any, call: Any) -> None:
    with pytest.raises((TypeError, AttributeError)) as plain:
        refused(X)

    def f(x: Any) -> Any:
        refused(x)
        return x[0]

    with pytest.raises(type(plain.value).__mro__[-3]) as found:
        call(f)
    for name in ("EvaluatedArray", "BatchedArray", "TracedArray", "<locals>"):
        assert name not in str(found.value)


def test_round_takes_names_of_arguments() -> None:
    assert tm.grad(lambda x: round(number=x[0], ndigits=1) + round(x[0]) * x[1])(X)[1] == 2
    assert tm.grad(lambda x: round(x[0], ndigits=None) * x[1])(X)[1] == 2


@pytest.mark.parametrize("sort", [lambda e, key: e.sort(key=key), lambda e, key: sorted(e, key=key)])
def test_a_list_that_its_own_key_changes(sort: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        entries = [x[2], x[0], x[1]]

        def key(one: Any) -> Any:
            seen.append(len(entries))
            entries.append(one)
            return one

        try:
            found = sort(entries, key)
        except ValueError as error:
            seen.append(str(error))
            found = entries
        return found[0] * 2 + found[-1] * len(entries)

    wanted = f(X)
    plainly = list(seen)
    seen.clear()
    value, slope = tm.value_and_grad(f)(X)
    assert (value, seen) == (wanted, plainly)
    assert slope[0] == 2


def test_a_key_that_raises_leaves_the_list_as_it_was() -> None:
    def f(x: Any) -> Any:
        entries = [x[2], x[0], x[1]]
        with pytest.raises(ZeroDivisionError):
            entries.sort(key=lambda one: 1 / 0)
        return entries[0] * 2

    np.testing.assert_array_equal(tm.grad(f)(X), [0, 0, 2])


@pytest.mark.parametrize(
    "other", [Fraction(1, 3), Fraction(3, 2), Decimal("1.6"), Decimal("1.5"), Decimal("nan")]
)
def test_comparisons_with_exact_numbers(other: Any) -> None:
    is_nan = str(other) == "NaN"

    def f(x: Any) -> Any:
        answers = [x[0] == other, other == x[0], x[0] != other]
        if not is_nan:  # which Python refuses to compare
            answers += [x[0] < other, other < x[0]]
        seen.append([bool(one) for one in answers])
        return x[1] if x[0] == other else x[2]

    seen: list[list[bool]] = []
    f(X)
    slope = tm.grad(f)(X)
    assert seen[0] == seen[1]
    assert slope[1 if X[0] == other else 2] == 1


@pytest.mark.parametrize("make", [Fraction, Fraction.from_float, Decimal])
def test_exact_numbers_are_made_of_values_without_a_derivative(make: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        exact = make(y[0]) + make(float(y[1]))
        return float(exact) * x[0]

    assert tm.grad(f)(X, X)[0] == 4.0
    with pytest.raises(ConcretizationError, match="leaves the trace, and with it the derivative"):
        tm.grad(lambda x: float(make(x[0])) * x[1])(X)


def test_texts_of_numbers_are_those_of_python() -> None:
    seen: list[str] = []

    def f(x: Any) -> Any:
        seen.append(json.dumps({"a": float(x[0]), "b": [x[1], 2]}))
        return x[0]

    f(X)
    tm.grad(f)(X)
    assert seen[0] == seen[1]
