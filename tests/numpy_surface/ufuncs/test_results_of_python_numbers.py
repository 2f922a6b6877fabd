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
