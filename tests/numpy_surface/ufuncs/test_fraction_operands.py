"""Fractions beside floats are floats, as in Python."""

import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracemill as tm

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("op", OPERATORS)
def test_arithmetic_with_a_fraction_is_that_of_python(op: Any, swapped: bool) -> None:
    for number in (HALF, THIRD, Fraction(3)):

        def f(x: Any, n: Any = number) -> Any:
            return op(n, x) if swapped else op(x, n)

        for x in (2.5, np.float64(0.75)):
            for found in (tm.compile(f)(x), tm.jvp(f, (x,), (x,))[0]):
                assert found == f(x)
                assert type(found) in (float, np.float64)
        xs = np.array([0.5, 2.0, 3.25])
        expected = f(xs).astype(float)
        assert tm.compile(f)(xs).dtype == float
        np.testing.assert_allclose(tm.compile(f)(xs), expected, rtol=1e-15)
        np.testing.assert_allclose(tm.vmap(f)(xs), expected, rtol=1e-15)


def test_derivatives_go_through_operators_with_fractions() -> None:
    def f(x: Any) -> Any:
        return HALF * x + x / Fraction(2) - THIRD / x + x ** Fraction(2) + abs(x - HALF)

    for transform in (tm.grad(f), tm.compile(tm.grad(f))):
        assert transform(2.0) == pytest.approx(1 + 1 / 12 + 4 + 1, rel=1e-14)
    np.testing.assert_array_equal(tm.grad(lambda x: np.sum(x * HALF))(np.ones(2)), [0.5, 0.5])
    assert tm.grad(lambda x: np.sum(x * HALF))(np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_with_fractions_are_exact(op: Any) -> None:
    for x in (0.25, 0.5, 0.75):
        assert tm.compile(lambda x: op(x, HALF))(x) == op(x, HALF)
        assert tm.compile(lambda x: op(HALF, x))(x) == op(HALF, x)
    for x in (1 / 3, np.nextafter(1 / 3, 1.0)):
        assert tm.compile(lambda x: op(x, THIRD))(x) == op(x, THIRD)


@pytest.mark.parametrize(("x", "number"), [(2, HALF), (np.arange(2), HALF), (2.0, Decimal("0.5"))])
def test_fractions_beside_ints_and_decimals_are_refused(x: Any, number: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        tm.compile(lambda x: x * number)(x)


@pytest.mark.parametrize("exact", [Fraction(3), Decimal(3), Decimal("0.5"), Decimal("0.1"), Decimal("nan")])
@pytest.mark.parametrize("x", [3, 3.0, 0.5, True, 0, 3 + 0j])
def test_exact_numbers_are_equal_to_what_they_are_in_python(exact: Any, x: Any) -> None:
    def f(x: Any) -> Any:
        return (2 if x == exact else 1), (2 if exact != x else 1)

    assert tm.compile(f)(x) == f(x)


def test_decimals_are_ordered_as_in_python() -> None:
    def f(x: Any) -> Any:
        return x * 2 if x < Decimal("2.5") else x * 3

    for x in (2.0, 2.5, 3.0):
        assert tm.compile(f)(x) == f(x)
    np.testing.assert_array_equal(tm.vmap(f)(np.array([2.0, 2.5, 3.0])), [4.0, 7.5, 9.0])


EXACT = [
    Decimal("0.1"), Decimal(3), Decimal("-2.5"), Decimal("1e400"), Decimal("-1e-400"), Decimal("Infinity"),
    Decimal(2**53 + 1), Decimal("9223372036854775807.5"), Fraction(1, 3), Fraction(0.1), Fraction(-(10**30), 7),
]  # fmt: skip
ARRAYS = [
    np.array([0.1, 3.0, -2.5, 1 / 3, np.inf, -np.inf, -0.0, 5e-324, 2.0**53, 2.0**53 + 2]),
    np.array([0.1, 3.0, 1 / 3, np.inf, -2.5], np.float32),
    np.array([3, -2, 0, 2**63 - 1, -(2**63), 2**53 + 1]),
    np.array([2**64 - 1, 2**63, 3], np.uint64),
    np.array([True, False]),
]


@pytest.mark.parametrize("exact", EXACT, ids=repr)
def test_arrays_compare_exactly_with_numbers_that_no_dtype_holds(exact: Any) -> None:
    def compared(x: Any) -> Any:
        return [op(x, exact) for op in COMPARISONS] + [op(exact, x) for op in COMPARISONS]

    for x in ARRAYS:
        for found, expected in zip(tm.compile(compared, backend="numpy")(x), compared(x), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


def test_ufuncs_compare_with_fractions_and_decimals() -> None:
    def function(x: Any) -> Any:
        return np.equal(x, three), np.less(tenth, x), np.greater_equal(x, third)

    three: Any = Decimal(3)
    tenth: Any = Decimal("0.1")
    third: Any = THIRD
    x = np.array([3.0, 0.1, 1 / 3])
    for found, expected in zip(tm.compile(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
