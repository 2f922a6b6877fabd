"""Index expressions mean what their arithmetic says, within the ranges that they promise."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemill.compiler.affine import (
    Affine,
    Quotient,
    Variable,
    flattened,
    of,
    strides,
    unflattened,
    within,
)

N, J, K = Variable("i", 0, 11), Variable("j", 0, 4), Variable("k", -3, 5)


def value(place: Affine, values: Mapping[Variable, int]) -> int:
    """What an expression is worth."""
    total = place.constant
    for atom, factor in place.terms:
        if isinstance(atom, Variable):
            total += factor * values[atom]
        elif isinstance(atom, Quotient):
            total += factor * (value(atom.dividend, values) // atom.divisor)
        else:
            total += factor * (value(atom.dividend, values) % atom.divisor)
    return total


assignments = st.fixed_dictionaries({v: st.integers(v.low, v.high) for v in (N, J, K)})


@st.composite
def sums(draw: st.DrawFn) -> Affine:
    total = Affine(draw(st.integers(-9, 9)))
    for variable in (N, J, K):
        total += of(variable) * draw(st.sampled_from((0, 1, 2, 4, 5, 10, 20, -1, -3)))
    return total


@given(x=sums(), y=sums(), values=assignments, divisor=st.integers(1, 24), factor=st.integers(-4, 4))
def test_arithmetic_means_what_it_says(
    x: Affine, y: Affine, values: Mapping[Variable, int], divisor: int, factor: int
) -> None:
    a, b = value(x, values), value(y, values)
    assert value(x + y, values) == a + b
    assert value(x - y, values) == a - b
    assert value(x * factor + 3, values) == a * factor + 3
    assert value(x // divisor, values) == a // divisor
    assert value(x % divisor, values) == a % divisor
    assert value((x // divisor) // 3, values) == a // divisor // 3
    assert value((x // divisor) % 3 + x % divisor * factor, values) == a // divisor % 3 + a % divisor * factor


def test_a_quotient_depends_only_on_the_variables_that_it_needs() -> None:
    row, k = Variable("row", 0, 511), Variable("k", 0, 63)
    place = of(N) * 32768 + of(row) * 64 + of(k)
    assert place // (8 * 32768) == of(N) // 8
    assert place % (8 * 32768) == of(N) % 8 * 32768 + of(row) * 64 + of(k)


@given(x=sums(), values=assignments, divisor=st.integers(1, 24))
def test_values_are_in_the_promised_range(x: Affine, values: Mapping[Variable, int], divisor: int) -> None:
    for place in (x, x // divisor, x % divisor, x // divisor * 5 - x % 7):
        assert place.low <= value(place, values) <= place.high


@given(x=sums(), y=sums(), values=assignments, divisor=st.integers(1, 9))
def test_a_variable_can_be_given_a_value(
    x: Affine, y: Affine, values: dict[Variable, int], divisor: int
) -> None:
    given_one = {**values, J: value(y, values)}
    for place in (x, x // divisor, x % divisor):
        assert value(place.at(J, y), values) == value(place, given_one)


@given(x=sums(), divisor=st.integers(1, 24))
def test_no_dividend_is_negative_so_that_c_rounds_down_as_python_does(x: Affine, divisor: int) -> None:
    for place in (x // divisor, x % divisor, (x // divisor) % 3, (x % divisor) // 2):
        for atom, _ in place.terms:
            assert isinstance(atom, Variable) or atom.dividend.low >= 0


@given(x=sums(), divisor=st.integers(1, 24))
def test_what_is_taken_apart_comes_together_again(x: Affine, divisor: int) -> None:
    assert x // divisor * divisor + x % divisor == x


@given(st.lists(st.integers(1, 5), max_size=4).map(tuple), st.lists(st.integers(1, 5), max_size=4).map(tuple))
def test_an_index_made_of_a_place_is_that_place_again(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    size = 1
    for dim in shape:
        size *= dim
    place = of(Variable("i", 0, size - 1))
    index = unflattened(place, shape)
    assert within(index, shape)
    assert flattened(index, shape) == place
    for number in range(size):
        digits, rest = [], number
        for step, dim in zip(strides(shape), shape, strict=True):
            digits.append(rest // step % dim)
        assert [value(part.at(Variable("i", 0, size - 1), Affine(number)), {}) for part in index] == digits


def test_divisors_that_divide_leave_nothing() -> None:
    place = of(N) * 20 + of(J) * 4 + 3
    assert place // 20 == of(N)
    assert place % 20 == of(J) * 4 + 3
    assert place // 4 == of(N) * 5 + of(J)
    assert (of(N) * 4 + 1) // 8 == of(N) // 2
    assert not ((place // 3) % 2).is_linear


def test_the_step_along_a_variable_is_its_factor() -> None:
    place = of(N) * 20 + of(J)
    assert [place.factor(v) for v in (N, J, K)] == [20, 1, 0]
    assert (place // 7).factor(N) is None


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Affine(0), "0"),
        (of(N), "i"),
        (of(J) * -1 + 7, "-j + 7"),
        (of(N) * 20 - of(J) - 3, "20 * i - j - 3"),
        (of(K) // 4 * 3, "3 * ((k + 4) / 4) - 3"),
    ],
)
def test_expressions_print_as_c(place: Affine, text: str) -> None:
    assert str(place) == text
