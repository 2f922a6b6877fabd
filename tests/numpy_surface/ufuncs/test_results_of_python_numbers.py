"""Operators and attributes of traced Python numbers give Python numbers, as in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError

INTS: list[Callable[[Any], Any]] = [
    lambda n: n + True,
    lambda n: True - n,
    lambda n: n * False,
    lambda n: n & True,
    lambda n: [7, n, 5].index(n),
    lambda n: (n, 5).index(5),
    lambda n: pow(n, 5, 7),
    lambda n: pow(3, n, 7),
    lambda n: pow(3, 5, mod=n),
    lambda n: n.imag,
]


@pytest.mark.parametrize("function", INTS)
def test_an_int_stays_an_int(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for number in (5, 4):
        found, wanted = compiled(number), function(number)
        assert found == wanted
        assert type(found) is type(wanted)


@pytest.mark.parametrize("number", [2 + 3j, np.complex64(2 + 3j), np.complex128(1j), 2.5, np.float32(2)])
def test_the_parts_of_a_number_are_numbers(number: Any) -> None:
    found = tm.compile(lambda z: (z.real, z.imag, (z * z).imag), backend="numpy")(number)
    wanted = (number.real, number.imag, (number * number).imag)
    assert found == wanted
    assert list(map(type, found)) == list(map(type, wanted))


def test_the_parts_of_an_array_are_still_views() -> None:
    def changed(z: Any) -> Any:
        z.real[0], z.imag[1] = 5.0, 7.0
        return z.real, z[0].real

    given = np.array([1j, 2.0])
    real, first = tm.compile(changed, backend="numpy")(given)
    np.testing.assert_array_equal(given, [5 + 1j, 2 + 7j])
    np.testing.assert_array_equal(real, [5.0, 2.0])
    assert type(first) is np.float64


@pytest.mark.parametrize("function", [lambda n: n + 2**63, lambda n: 2**70 - n])
def test_an_int_that_64_bits_cannot_hold_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(ArgumentTypeError, match="ints of a program have 64 bits"):
        tm.compile(function, backend="numpy")(5)
    assert tm.compile(lambda x: x + 2**70, backend="numpy")(1.5) == 1.5 + 2**70


def test_the_answer_of_a_comparison_of_arrays_is_a_bool_of_pythons() -> None:
    def asked(x: Any) -> Any:
        same = np.allclose(x, x[::-1]), np.array_equal(x, x[::-1]), np.array_equiv(x, x[0])
        return ("differs" if np.allclose(x, x[::-1]) is False else "alike"), same

    compiled = tm.compile(asked, on_recompile="ignore")
    for x in (np.array([1.0, 2.0]), np.array([3.0, 3.0])):
        assert repr(compiled(x)) == repr(asked(x))


def test_whether_a_float_is_an_integer_needs_no_program_of_its_own() -> None:
    compiled = tm.compile(lambda x: (x.is_integer(), (x / 2).is_integer()))
    for x in (1.0, 2.0, 0.5, -4.0):
        assert repr(compiled(x)) == repr((x.is_integer(), (x / 2).is_integer()))
    assert len(compiled.signatures()) == 1


def test_rounded_numbers_of_sizes_are_pythons() -> None:
    def rounded(n: int) -> Any:
        length = len(np.zeros(n))
        return round(length / length, 3), round(length / 3, 2), round((3 - length * 0.5) * 0, 2)

    compiled = tm.compile(rounded, on_recompile="ignore")
    for n in (2, 3, 4):
        assert repr(compiled(n)) == repr(rounded(n))
