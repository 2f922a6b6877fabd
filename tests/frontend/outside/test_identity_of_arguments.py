"""`a is b` has Python's answer where one array is given twice, or is one that the function knows already."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X: Any = np.ones(3)
Y: Any = np.ones(3)


def is_same(a: Any, b: Any) -> Any:
    return a is b


def changed_unless_same(a: Any, b: Any) -> Any:
    return a + 1 if a is not b else b - 1


def count_of_objects(a: Any, b: Any) -> Any:
    return a * len({id(a), id(b)})


def entries_are_same(a: Any, b: Any) -> Any:
    def first_two(entries: Sequence[Any]) -> bool:
        return entries[0] is entries[1]

    return first_two([a, b])


def is_known(a: Any, b: Any) -> Any:
    return b * 2 if a is X else b


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize(
    "function", [is_same, changed_unless_same, count_of_objects, entries_are_same, is_known]
)
@pytest.mark.parametrize("calls", [((X, X), (X, Y), (Y, X), (Y, Y)), ((Y, X), (X, X), (X, Y))])
def test_an_array_that_is_given_twice_is_the_same_object(
    calls: Sequence[tuple[Any, Any]], function: Callable[..., Any], convert: bool
) -> None:
    compiled = tm.compile(function, convert=convert)
    for args in calls:
        np.testing.assert_array_equal(compiled(*args), function(*args))


def test_an_array_that_a_container_holds_twice_is_the_same_object() -> None:
    compiled = tm.compile(lambda given: given["a"] is given["b"])
    assert [compiled({"a": X, "b": other}) for other in (X, Y, X)] == [True, False, True]
