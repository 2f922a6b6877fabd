"""Functions of `cmath` of traced numbers give Python's complex numbers, and raise Python's exceptions."""

import cmath
import itertools
import math
from typing import Any

import numpy as np
import pytest

import tracemill as tm

NUMBERS = [
    *(0j, 1 + 0j, -1 + 0j, 1j, -1j, 0.3 + 0.4j, -2.5 + 1.5j, 1000 + 1j, 1000j, -4 + 0j, complex(-4, -0.0)),
    *(1e308 + 1e308j, 1e-300j, complex(math.inf, 0), complex(0, math.inf), complex(math.nan, 1)),
    *(complex(math.inf, math.inf), complex(-math.inf, math.inf), complex(-math.inf, 1), 2.0, -3, 0),
]
OF_ONE = """
    acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase polar sin sinh sqrt tan tanh
""".split()
PAIRS = [(2.0, 0.5), (0.0, math.inf), (1.0, math.inf), (-1.5, 3.0), (8.0, 1.0), (8.0, 2.0), (0.0, 2.0)]


def assert_as_python(function: Any, compiled: Any, args: tuple[Any, ...]) -> None:
    outcomes: list[Any] = []
    for called in (function, compiled):
        try:
            outcomes.append(called(*args))
        except (ArithmeticError, ValueError) as error:
            outcomes.append((type(error).__name__, str(error)))
    expected, found = outcomes
    assert type(found) is type(expected)
    if isinstance(expected, tuple) and isinstance(expected[0], str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_number(name: str) -> None:
    function = getattr(cmath, name)

    def called(z: Any) -> Any:
        return function(z)

    compiled = tm.compile(called, on_recompile="ignore")
    for z in NUMBERS:
        assert_as_python(called, compiled, (z,))


@pytest.mark.parametrize("name", ["rect", "log", "isclose"])
def test_functions_of_two_numbers(name: str) -> None:
    function = getattr(cmath, name)

    def called(x: Any, y: Any) -> Any:
        return function(x, y)

    compiled = tm.compile(called, on_recompile="ignore")
    for args in PAIRS:
        assert_as_python(called, compiled, args)


EDGES = (-math.inf, -2.0, -0.0, 0.0, 1.0, 1.5, math.inf, math.nan)


@pytest.mark.parametrize(
    "function",
    [
        cmath.rect,
        complex,
        cmath.log,
        lambda x, tolerance: cmath.isclose(x, 1.0, rel_tol=tolerance),
        lambda x, tolerance: math.isclose(x, 1.0, rel_tol=tolerance, abs_tol=0.6),
    ],
    ids=["rect", "complex", "log", "isclose", "math.isclose"],
)
def test_infinities_zeros_and_nan(function: Any) -> None:
    def called(x: Any, y: Any) -> Any:
        return function(x, y)

    compiled = tm.compile(called, on_recompile="ignore")
    for args in itertools.product(EDGES, EDGES):
        assert_as_python(called, compiled, args)
        try:
            expected = function(*args)
        except ValueError:
            continue
        found = compiled(*args)
        for part in ("real", "imag"):  # also the signs of zeros
            one, other = getattr(expected, part), getattr(found, part)
            assert math.copysign(1, one) == math.copysign(1, other) or math.isnan(one)


def roots(a: Any, b: Any, c: Any) -> Any:
    root = cmath.sqrt(b * b - 4 * a * c)
    return (-b + root) / (2 * a), (-b - root) / (2 * a)


def test_roots_of_a_quadratic_equation() -> None:
    compiled = tm.compile(roots)
    for args in ((1.0, 2.0, 3.0), (1.0, 5.0, 1.0), (2.0, 4.0, 2.0)):
        np.testing.assert_allclose(compiled(*args), roots(*args), rtol=1e-15)
    assert len(compiled.signatures()) == 1


def test_a_derivative_through_a_complex_root() -> None:
    def size(x: Any) -> Any:
        return abs(cmath.exp(1j * x) * cmath.sqrt(x)) ** 2

    assert tm.grad(size)(2.0) == pytest.approx(1.0)
    assert tm.compile(tm.grad(size))(2.0) == pytest.approx(1.0)
