"""Comparisons of Python's numbers are Python's bools: they add up, choose entries and return as Python's do."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

pytestmark = pytest.mark.usefixtures("lightly_optimised")

VALUES = np.array([1.0, -2.0, 3.0])


def counted(x: Any, y: Any) -> Any:
    return (x > 0) + (y > 0), (x > y) - (y > x), -(x > y), 3 * (x > 0) - 2.5 * (y > x), (x > 0) << 2


def joined(x: Any, y: Any) -> Any:
    both, one = x > 0 and y > 0, x > 0 or y > 0
    return both, one, both + one, not both, 0 < x < y, (x > 0) & (y > 0), (x > 0) ^ (y > 0)


def asked(x: Any, y: Any) -> Any:
    return (
        x in (1.0, 2.0),
        x not in (1.0, y),
        (x > 0) is True,
        (x > y) is not False,
        any([x > 0, y > 0]),
        all([x > 0]),
    )


def of_math(x: Any, y: Any) -> Any:
    return (
        math.isnan(x) + math.isfinite(y),
        math.isinf(x),
        math.isclose(x, y) + math.isclose(x, x),
        bool(x) + bool(y),
    )


def choosing(x: Any, y: Any) -> Any:
    return [10, 20][x > y], (x, y)[x > 0], {True: 1.0, False: 2.0}[y > 0], sum(1 for _ in range(x > y))


def as_numbers(x: Any, y: Any) -> Any:
    return (
        int(x > 0) + 1,
        float(x > y),
        round(x > y),
        abs(y > x),
        divmod(x > 0, 2),
        (x > 0) ** 2,
        (x > 0) / 2,
        str(x > y),
    )


def kept_in_variables(x: Any, y: Any) -> Any:
    larger, changes = False, 0
    for i in range(40):
        if (x > i) != larger:
            larger = not larger
            changes += 1
    if y > 0:
        larger = True
    return larger, changes, larger + larger


def counting_elements(values: Any) -> Any:
    positive = 0
    for value in values:
        positive += value > 0
    return positive, sum(value > 0 for value in values), values[0] > 0, (values > 0) + (values[1] > 0)


def with_arrays(x: Any, y: Any) -> Any:
    small = np.ones(2, np.int8)
    return (
        np.array([x > 0, y > 1]),
        (x > 0) + small,
        np.sum([x > 0, y > 0]),
        np.where(x > y, 1, 2),
        small * (x > 0),
    )


FUNCTIONS: list[Callable[..., Any]] = [
    counted, joined, asked, of_math, choosing, as_numbers, kept_in_variables, with_arrays
]  # fmt: skip


def assert_identical(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.all(np.equal(one, other)) if not isinstance(one, str | tuple) else one == other


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_results_and_their_types_are_those_of_python(function: Callable[..., Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in [(1.0, 2.0), (2.0, 1.0), (-1.0, -2.0), (1.5, 1.5)]:
        assert_identical(compiled(*args), function(*args))


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_comparisons_of_elements_are_those_of_numpy(backend: str) -> None:
    compiled = tm.compile(counting_elements, backend=backend)
    assert_identical(compiled(VALUES), counting_elements(VALUES))


def test_a_batch_counts_like_a_loop() -> None:
    def count(x: Any, y: Any) -> Any:
        return (x > 0) + (y > 0)

    x, y = np.array([1.0, -1.0, 2.0]), np.array([1.0, 1.0, -3.0])
    np.testing.assert_array_equal(tm.compile(tm.vmap(count))(x, y), tm.vmap(count)(x, y))
    with_numbers = tm.vmap(lambda x: count(x, 1.0))
    np.testing.assert_array_equal(with_numbers(x), [count(one, 1.0) for one in x])


def of_arrays(values: Any) -> Any:
    flags = [bool(value > 0) for value in values]
    return (
        all(values > -9) + any(values > 0),
        sum(flags),
        bool(values.any()) + 1,
        bool(values[0] > 0),
        (values[0] > 0) | False,
    )


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_bool_any_and_all_give_pythons_bools(backend: str) -> None:
    compiled = tm.compile(of_arrays, backend=backend)
    assert_identical(compiled(VALUES), of_arrays(VALUES))


def test_a_known_number_is_found_among_unknown_ones() -> None:
    def function(x: Any) -> Any:
        return (3 in [x, 4]) + 2 * (4 in (x, 2 * x)) + 4 * (1.5 not in [x, x + 1]) + 8 * (3 in [4, 3.0, x])

    examples = np.array([3.0, 4.0, 2.0, 0.5, 1.5, np.nan])
    expected = [function(float(x)) for x in examples]
    for transform in (tm.vmap(function), tm.compile(tm.vmap(function))):
        np.testing.assert_array_equal(transform(examples), expected)
    compiled = tm.compile(function, backend="numpy")
    assert [compiled(float(x)) for x in examples] == expected
    assert len(compiled.signatures()) == 1
