"""Answers for `programs.sorting`."""

from typing import Any

import numpy as np

from programs.checks.outcomes import Outcome


def insertion_sort(got: Outcome, a: Any) -> None:
    assert got.result is None
    assert np.array_equal(got.arguments[0], np.sort(a))


def bubble_sort(got: Outcome, values: Any) -> None:
    a, exchanges = got.result
    assert np.array_equal(a, np.sort(values))
    assert exchanges == np.count_nonzero(np.triu(values[:, None] > values[None, :]))  # the inversions


def merge_sort(got: Outcome, a: Any) -> None:
    assert np.array_equal(got.result, np.sort(a))
    assert np.array_equal(got.arguments[0], a)


def heap_sort(got: Outcome, a: Any) -> None:
    assert np.array_equal(got.result, np.sort(a))
    assert np.array_equal(got.arguments[0], np.sort(a))


def shell_sort(got: Outcome, a: Any) -> None:
    assert np.array_equal(got.result, np.sort(a))
    assert np.array_equal(got.arguments[0], a)


def quickselect(got: Outcome, a: Any, k: int) -> None:
    assert got.result == np.partition(a, k)[k]


def counting_sort(got: Outcome, grades: Any, highest: int) -> None:
    assert np.array_equal(got.result, np.sort(grades))


def binary_search(got: Outcome, a: Any, wanted: Any) -> None:
    expected = [list(a).index(value) if value in a else -1 for value in wanted]
    assert got.result.tolist() == expected
