"""A test of many cases tells which of them fail."""

from typing import Any

import pytest

from samples.grouping import Case, in_groups
from samples.thinning import sampled

CASES = [
    Case("few", "one", (1,)),
    Case("few", "two", (2,)),
    Case("many", "three", (3,)),
    Case("few", "six", (6,), is_slow=True),
    Case("few", "seven", (7,), is_exhaustive=True),
]


def is_odd(number: int) -> None:
    """Of one number."""
    assert number % 2, "an even number"


def test_a_group_is_a_test_and_its_slow_and_exhaustive_cases_are_others() -> None:
    grouped: Any = in_groups(CASES)(is_odd)
    (mark,) = grouped.pytestmark
    names, parameters = mark.args
    assert names == "cases"
    assert [(p.id, [c.name for c in p.values[0]], [m.name for m in p.marks]) for p in parameters] == [
        ("few", ["one", "two"], []),
        ("many", ["three"], []),
        ("few-slow", ["six"], ["slow"]),
        ("few-exhaustive", ["seven"], ["exhaustive"]),
    ]
    assert (grouped.__name__, grouped.__doc__) == ("is_odd", "Of one number.")


def test_cases_of_a_function_are_made_when_they_are_asked_for() -> None:
    made: list[str] = []

    def cases() -> list[Case]:
        made.append("cases")
        return CASES

    grouped: Any = in_groups(cases, values=1)(is_odd)
    assert not made
    (mark,) = grouped.pytestmark
    assert [p.id for p in mark.args[1]] == ["few", "many", "few-slow", "few-exhaustive"]
    assert made == ["cases"]


def test_all_cases_run_and_those_that_fail_are_named() -> None:
    with pytest.raises(ExceptionGroup, match="2 of 5 cases") as caught:
        in_groups(CASES)(is_odd)(CASES)
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["the case is two"], ["the case is six"]
    ]  # fmt: skip
    assert all("an even number" in str(error) for error in caught.value.exceptions)


def test_fixtures_are_shared_by_the_cases_of_a_group() -> None:
    calls: list[tuple[int, str]] = []

    def remembered(number: int, tmp: str) -> None:
        calls.append((number, tmp))

    in_groups(CASES)(remembered)(CASES[:2], tmp="folder")
    assert calls == [(1, "folder"), (2, "folder")]


def test_of_a_sampled_test_the_named_cases_and_every_nth_run_always() -> None:
    slow, exhaustive = "slow", "exhaustive"
    seven = "a b c d e f g".split()
    assert sampled(seven, ("b", "g"), every=3) == [None, None, slow, None, slow, slow, None]
    assert sampled(seven, ("b", "g"), every=3, slow=2) == [None, None, slow, None, exhaustive, slow, None]
    assert sampled("a b c".split(), ("b",)) == [slow, None, slow]
    with pytest.raises(ValueError, match="names of cases that are not there: x, y"):
        sampled("a b c".split(), ("y", "b", "x"))
