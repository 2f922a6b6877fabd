"""Compiled code raises the exceptions of Python numbers, also in batches and derivatives, and handlers see them."""

# ruff: noqa: PLW0108 (functions of C are not converted, only their calls in Python code)

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError

pytestmark = pytest.mark.usefixtures("lightly_optimised")

NAN, INF = math.nan, math.inf

OPERATIONS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "x / y": (lambda x, y: x / y, [(1.0, 2.0), (1.0, 0.0), (0.0, -0.0), (1.0, NAN), (1.0, INF)]),
    "n / m": (lambda n, m: n / m, [(3, 2), (3, 0), (-3, 4)]),
    "x / n": (lambda x, n: x / n, [(3.0, 2), (3.0, 0)]),
    "z / w": (lambda z, w: z / w, [(1j, 2j), (1j, 0j)]),
    "x // y": (lambda x, y: x // y, [(7.0, 2.0), (7.0, 0.0)]),
    "n // m": (lambda n, m: n // m, [(7, -2), (7, 0)]),
    "n % m": (lambda n, m: n % m, [(7, -2), (7, 0)]),
    "x % y": (lambda x, y: x % y, [(7.0, -2.0), (7.0, 0.0)]),
    "divmod": (lambda x, y: divmod(x, y), [(7, 2), (7, 0), (7.0, 2.0), (7.0, 0.0)]),
    "x / 0": (lambda x: x / 0, [(1.0,), (2.0,)]),
    "x **": (lambda x, y: x**y, [(2.0, -1.0), (0.0, -1.0), (0.0, 1.0)]),
    "x ** fraction": (lambda x, y: x**y, [(8.0, 1 / 3), (-8.0, 1 / 3), (-8.0, 2.0), (-8, 0.5), (9, 0.5)]),
    "x ** y too large": (lambda x, y: x**y, [(1e200, 1), (1e200, 2), (0.0, 2), (INF, 2), (-1e200, 3)]),
    "x ** 2": (lambda x: x**2, [(1e100,), (1e200,), (-INF,), (3,)]),
    "2 ** y": (lambda y: 2**y, [(0.5,), (5000.0,), (INF,), (-INF,)]),
    "x ** 0.5": (lambda x: x**0.5, [(-INF,), (-0.0,), (0.0,), (INF,), (4.0,), (NAN,), (9,)]),
    "x ** y as a root": (lambda x, y: x**y, [(-INF, 0.5), (-0.0, 0.5), (-0.0, 1.5), (-0.0, 1.0), (4.0, 0.5)]),
    "-0.0 ** y": (lambda y: (-0.0) ** y, [(0.5,), (1.0,), (3.0,)]),
    "z ** w": (lambda z, w: z**w, [(1j, 2j), (0j, -1), (0j, 1j), (0j, 0), (1e200 + 0j, 2), (1j, 2.5)]),
    "n ** m": (lambda n, m: n**m, [(2, 3), (2, -1), (0, -1), (-2, -3), (-2, 3), (0, 0)]),
    "m, then n ** m": (lambda n, m: n**m, [(2, -3), (2, 3)]),
    "n ** -1": (lambda n: n**-1, [(2,), (0,), (-4,)]),
    "10 ** -n": (lambda n: pow(10, -n), [(2,), (-2,), (0,)]),
    "(x > 0) ** y": (lambda x, y: (x > 0) ** y, [(2.0, -1.0), (-1.0, -1.0)]),
    "n << m": (lambda n, m: n << m, [(3, 2), (3, -2)]),
    "n >> m": (lambda n, m: n >> m, [(3, 2), (3, -2)]),
    "int": (lambda x: int(x), [(2.7,), (-2.7,), (NAN,), (INF,), (-INF,)]),
    "round": (lambda x: round(x), [(2.5,), (NAN,), (INF,)]),
    "floor": (lambda x: math.floor(x), [(-2.5,), (NAN,), (INF,)]),
    "and": (lambda x, y: y != 0 and x / y > 1, [(3.0, 2.0), (3.0, 0.0), (1.0, 2.0)]),
    "or": (lambda x, y: y == 0 or x / y > 1, [(3.0, 2.0), (3.0, 0.0), (1.0, 2.0)]),
    "else": (lambda x, y: x / y if y else 0.0, [(3.0, 2.0), (3.0, 0.0)]),
    "chain": (lambda x, y: 0 < y < 1 / y, [(3.0, 0.5), (3.0, 0.0), (3.0, 2.0)]),
    "isqrt": (lambda n: math.isqrt(n), [(17,), (-1,)]),
    "log base": (lambda x, y: math.log(x, y), [(8.0, 2.0), (8.0, 1.0), (8.0, 0.0)]),
    "ldexp": (
        lambda x, n: math.ldexp(x, n),
        [
            (2.5, 3),
            (0.5, 1024),
            (5e-324, 1074),
            (1.0, -1074),
            (1.0, -2000),
            (-0.0, 9),
            (INF, 3),
            (1.0, 1024),
            (3, 1),
        ],
    ),
    "ldexp of a float": (lambda x, y: math.ldexp(x, y), [(2.5, 0.5), (2.5, 3.0)]),
    "isqrt of a float": (lambda x: math.isqrt(x), [(2.5,), (INF,)]),
}
VALUES = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 200.0, -200.5, 1e3, 1e308, NAN, INF, -INF)
PAIRS = [
    (x, y)
    for x in (0.0, -8.0, 2.0, 2.5, -1.5, 1e300, NAN, INF)
    for y in (0.0, -1.0, 0.5, 1.0, 3.0, NAN, INF, -INF)
]
OF_ONE = """
    sqrt exp expm1 exp2 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh cbrt
    fabs gamma lgamma erf erfc degrees radians
""".split()
OF_TWO = ["pow", "fmod", "remainder", "atan2", "copysign", "hypot"]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (ArithmeticError, TypeError, ValueError) as error:
        return type(error), str(error)


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple) and wanted and isinstance(wanted[0], type):
        assert found == wanted
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert np.iscomplexobj(wanted) or np.all(np.signbit(found) == np.signbit(wanted))


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operators_raise_the_exceptions_of_python(name: str, backend: str) -> None:
    function, calls = OPERATIONS[name]
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in calls:
        assert_same(outcome(compiled, *args), outcome(function, *args))


@pytest.mark.parametrize("name", [name for name in OF_ONE if hasattr(math, name)])
def test_functions_of_math_raise_the_exceptions_of_python(name: str) -> None:
    function = getattr(math, name)

    def called(x: Any) -> Any:
        return function(x)

    compiled = tm.compile(called, backend="numpy", on_recompile="ignore")
    for x in VALUES:
        wanted, found = outcome(function, x), outcome(compiled, x)
        if isinstance(wanted, tuple):
            assert found[0] is wanted[0], x
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=str(x))


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_numbers_raise_the_exceptions_of_python(name: str) -> None:
    function = getattr(math, name)

    def called(x: Any, y: Any) -> Any:
        return function(x, y)

    compiled = tm.compile(called, backend="numpy", on_recompile="ignore")
    for x, y in PAIRS:
        wanted, found = outcome(function, x, y), outcome(compiled, x, y)
        if isinstance(wanted, tuple):
            assert found[0] is wanted[0], (x, y)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=str((x, y)))


LARGE = 2**53
SIDES = [
    (n, x)
    for n in (LARGE - 1, LARGE, LARGE + 1, -LARGE - 1, 2**63 - 1, -(2**63) + 1, 2**62 + 1, 3)
    for x in (float(LARGE), -float(LARGE), 2.0**62, 2.0**63, -(2.0**63), 1e300, INF, -INF, NAN, 2.5, 3.0)
]


def relations(n: Any, x: Any) -> tuple[Any, ...]:
    return n < x, n <= x, n > x, n >= x, n == x, n != x, x < n, x <= n, x > n, x >= n, x == n, x != n


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_ints_and_floats_are_compared_exactly(backend: str) -> None:
    compiled = tm.compile(relations, backend=backend, on_recompile="ignore")
    with_a_known_float = tm.compile(
        lambda n: relations(n, float(LARGE)), backend=backend, on_recompile="ignore"
    )
    for n, x in SIDES:
        found = compiled(n, x)
        assert found == relations(n, x), (n, x)
        assert all(type(one) is bool for one in found)
        assert with_a_known_float(n) == relations(n, float(LARGE))


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("n", [2**63, 2**63 + 1, 2**70, 2**70 + 1, -(2**70), 2**2000])
def test_known_ints_of_any_length_are_compared_exactly_with_floats(n: int, backend: str) -> None:
    compiled = tm.compile(lambda x: relations(n, x), backend=backend)
    for x in (2.0**63, 2.0**70, -(2.0**70), 1e300, INF, -INF, NAN, 2.5):
        assert compiled(x) == relations(n, x), x


@pytest.mark.parametrize("n", [LARGE + 1, -LARGE - 1, 2**70, 2**2000])
def test_a_derivative_without_compile_compares_ints_and_floats_exactly(n: int) -> None:
    for x in (float(LARGE), -float(LARGE), 2.0**70):
        for place in range(len(relations(n, x))):

            def scaled(x: Any, place: int = place) -> Any:
                return 3 * x if relations(n, x)[place] else x

            assert tm.grad(scaled)(x) == (3 if relations(n, x)[place] else 1), (x, place)


def test_a_derivative_without_compile_raises_when_a_square_is_too_large() -> None:
    with pytest.raises(OverflowError):
        tm.grad(lambda x: x**2)(1e200)
    assert tm.grad(lambda x: x**2)(1e100) == 2e100


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_that_are_roots_are_those_of_numpy(dtype: Any, backend: str) -> None:
    """Whether 0.5 is one exponent or an array of them, and whether the base is an array, makes a difference there."""
    x, half = np.array([-INF, -0.0, 4.0], dtype), dtype(0.5)

    def powers(x: Any, y: Any) -> Any:
        return (
            x**0.5,
            np.power(x, 0.5),
            np.power(x, y),
            x[0] ** 0.5,
            x[1] ** 0.5,
            np.power(x[0], 0.5),
            x[1] ** y,
        )

    compiled = tm.compile(powers, backend=backend, on_recompile="ignore")
    for y in (half, np.array(half), np.full(3, half)):
        with np.errstate(all="ignore"):
            pairs = zip(compiled(x, y), powers(x, y), strict=True)
        for found, wanted in pairs:
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[wanted == 0])


def test_comparisons_of_tuples_of_pythons_numbers_are_pythons_bools() -> None:
    def relations(x: Any, n: Any, a: Any) -> Any:
        return (
            (x, n) < (2.0, 2),
            (x, [n]) >= (2.0, [2]),
            (x, n) == (2.0, 2),
            (x, n) != (2.0, 2),
            (a[0], n) == (1.0, 2),
        )

    compiled = tm.compile(relations)
    for x, n in ((1.0, 2), (2.0, 2), (2.0, 3)):
        args = x, n, np.array([1.0])
        found, wanted = compiled(*args), relations(*args)
        assert found == wanted
        assert [*map(type, found)] == [*map(type, wanted)]


def test_numbers_of_numpy_keep_its_infinities() -> None:
    def quotients(x: Any, y: Any) -> Any:
        return x[0] / y[0], 1.0 / y[0], x / y

    args = np.array([1.0, 0.0]), np.array([0.0, 0.0])
    with np.errstate(all="ignore"):
        wanted = quotients(*args)
    for found, one in zip(tm.compile(quotients)(*args), wanted, strict=True):
        np.testing.assert_array_equal(found, one)


def test_the_int_of_a_float_that_64_bits_cannot_hold_is_refused() -> None:
    def whole(x: Any) -> Any:
        try:
            return int(x)
        except (OverflowError, ValueError):
            return -1

    compiled = tm.compile(whole)
    assert compiled(2.5) == 2
    with pytest.raises(ArgumentTypeError, match="more than 64 bits"):
        compiled(1e30)


def test_checks_can_be_left_out() -> None:
    with np.errstate(all="ignore"):
        assert tm.compile(lambda x, y: x / y, checks=False)(1.0, 0.0) == math.inf
        assert math.isnan(tm.compile(lambda x: math.sqrt(x), checks=False)(-1.0))


def quotient(x: Any, y: Any) -> Any:
    if y == 0:
        return 0.0
    return x / y


def gcd(n: Any, m: Any) -> Any:
    while m:
        n, m = m, n % m
    return n


@pytest.mark.parametrize("backend", [None, "numpy", "c"])
def test_an_example_raises_only_where_it_divides(backend: str | None) -> None:
    batch = np.array([1.0, 2.0]), np.array([4.0, 0.0])
    numbers = np.array([12, 7, 100]), np.array([18, 0, 35])
    quotients, divisors = tm.vmap(quotient), tm.vmap(gcd)
    if backend is not None:
        quotients, divisors = (tm.compile(one, backend=backend) for one in (quotients, divisors))
    np.testing.assert_array_equal(quotients(*batch), [0.25, 0.0])
    np.testing.assert_array_equal(divisors(*numbers), [6, 7, 5])


@pytest.mark.parametrize("backend", [None, "numpy", "c"])
def test_a_derivative_raises_where_the_function_does(backend: str | None) -> None:
    gradient = tm.grad(lambda x: 1 / x)
    if backend is not None:
        gradient = tm.compile(gradient, backend=backend)
    assert gradient(2.0) == -0.25
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        gradient(0.0)


# ---- handlers ----------------------------------------------------------------------------------------


def divided(x: Any, y: Any) -> Any:
    try:
        return x / y
    except ZeroDivisionError:
        return -1.0


def sigmoid(x: Any) -> Any:
    try:
        return 1 / (1 + math.exp(-x))
    except OverflowError:
        return 0.0


def root(x: Any) -> Any:
    try:
        found = math.sqrt(x)
    except ValueError as error:
        return len(str(error))
    else:
        found = found + 1
    finally:
        x = x * 2
    return found * x


def total(x: Any, n: Any) -> Any:
    found = 0.0
    for i in range(n):
        try:
            found += 1 / (x - i)
        except (TypeError, ZeroDivisionError):
            found += 100.0
    return found


def by_a_function(x: Any) -> Any:
    try:
        return quotient_of(x)
    except ArithmeticError:
        return 7.0


def quotient_of(x: Any) -> Any:
    return 1 / x


def own_error(values: Any) -> Any:
    try:
        if np.any(values < 0):
            raise ValueError("negative")
        return values.sum()
    except ValueError:
        return 0.0


def with_a_message(x: Any) -> Any:
    try:
        if x > 3:
            raise KeyError(f"it is {x}")
        return x * 2
    except KeyError:
        return 7.0


def raised_again(x: Any) -> Any:
    try:
        try:
            return 1 / x
        except ZeroDivisionError as error:
            raise ValueError("no inverse") from error
    except ValueError:
        return 5.0


def suppressed(x: Any) -> Any:
    found = -1.0
    with suppress(ZeroDivisionError, KeyError):
        found = 1 / x
    return found


def in_a_branch(x: Any, t: Any) -> Any:
    if t > 0:
        try:
            found = 1 / x
        except ZeroDivisionError:
            found = 0.0
    else:
        found = 5.0
    return found


def until_it_fails(x: Any) -> Any:
    n = 0
    while True:
        try:
            x = math.sqrt(x) - 2
        except ValueError:
            break
        n += 1
    return n, x


def of_a_key(x: Any, k: Any) -> Any:
    table = {1: 2.0, 2: 3.0}
    try:
        return table[k] * x
    except KeyError:
        return -x


def not_handled(x: Any) -> Any:
    try:
        return 1 / x
    except KeyError:
        return 5.0


HANDLERS: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    divided: [(1.0, 2.0), (1.0, 0.0), (3.0, 4.0), (2, 0), (5.0, 0.0)],
    sigmoid: [(1.0,), (-1000.0,), (2.0,)],
    root: [(4.0,), (-4.0,), (9.0,)],
    total: [(0.5, 3), (2.0, 3), (1.0, 3)],
    by_a_function: [(2.0,), (0.0,)],
    own_error: [(np.array([1.0, 2.0]),), (np.array([1.0, -2.0]),)],
    with_a_message: [(1.0,), (5.0,), (2.0,)],
    raised_again: [(2.0,), (0.0,)],
    suppressed: [(2.0,), (0.0,)],
    in_a_branch: [(2.0, 1.0), (0.0, 1.0), (0.0, -1.0), (4.0, 1.0)],
    until_it_fails: [(100.0,), (3.0,)],
    of_a_key: [(1.0, 1), (1.0, 5), (2.0, 2)],
    not_handled: [(2.0,), (0.0,)],
}


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", HANDLERS, ids=lambda function: function.__name__)
def test_handlers_see_the_exceptions_of_the_call(function: Callable[..., Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in HANDLERS[function]:
        assert_same(outcome(compiled, *args), outcome(function, *args))


def test_calls_with_the_same_outcome_share_a_program() -> None:
    compiled = tm.compile(divided, on_recompile="ignore")
    for y in (2.0, 0.0, 3.0, 4.0, 0.0, 5.0):
        assert compiled(1.0, y) == divided(1.0, y)
    assert len(compiled.signatures()) == 2


def test_a_gradient_is_that_of_the_handler() -> None:
    for transformed in (tm.grad(divided), tm.compile(tm.grad(divided), on_recompile="ignore")):
        assert transformed(1.0, 2.0) == 0.5
        assert transformed(1.0, 0.0) == 0.0


def looked_up(key: Any) -> Any:
    return {1: 2.0, 2: 3.0}[key]


def deleted(key: Any) -> Any:
    table = {1: 2.0, 2: 3.0}
    del table[key]
    return len(table)


def removed(key: Any) -> Any:
    numbers = {1, 2}
    numbers.remove(key)
    return len(numbers)


@pytest.mark.parametrize("function", [looked_up, deleted, removed], ids=lambda function: function.__name__)
def test_a_missing_key_is_named(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for key in (1, 5, np.int64(7), 2):
        if key in (1, 2):
            assert compiled(key) == function(key)
            continue
        with pytest.raises(KeyError) as found:
            compiled(key)
        assert found.value.args == (key,)
        assert type(found.value.args[0]) is type(key)


def visited(start: int, stop: int, step: int) -> tuple[int, int]:
    """The number of items of a range, and a number that differs for each order of them."""
    count, mixed = 0, 0
    for i in range(start, stop, step):
        count += 1
        mixed = (mixed * 7 + i) % 1000
    return count, mixed


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_range_may_have_a_step_that_values_decide(backend: str) -> None:
    def function(bounds: Any) -> tuple[int, int]:
        return visited(int(bounds[0]), int(bounds[1]), int(bounds[2]))

    compiled = tm.compile(function, backend=backend)
    for bounds in (
        (0, 9, 2),
        (0, 9, 3),
        (9, 0, -2),
        (9, 0, -3),
        (3, 3, 1),
        (0, 5, -1),
        (5, 0, 1),
        (-4, 4, 7),
    ):
        assert compiled(np.array(bounds)) == visited(*bounds)
    with pytest.raises(ValueError, match="arg 3 must not be zero"):
        compiled(np.array([0, 9, 0]))
    assert len(compiled.signatures()) == 1


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_powers_of_numbers_have_pythons_last_bits(backend: str) -> None:
    def cube_root(n: int) -> Any:
        root = n ** (1 / 3)
        return root, root * root * root == n

    compiled = tm.compile(cube_root, backend=backend)
    for n in (27, 35, 44, 61, 76, 127, 147, 1000):
        assert compiled(n) == cube_root(n)


def test_ints_of_large_uint64_are_pythons() -> None:
    def digits(x: Any) -> Any:
        return int(x[0]) % 7, int(x[0]) >> 3, sum(int(one) % 5 for one in x)

    compiled = tm.compile(digits)
    for x in (np.array([1, 2**63, 2**64 - 1], np.uint64), np.array([2**64 - 2, 5, 6], np.uint64)):
        assert compiled(x) == digits(x)
    with pytest.raises(OverflowError, match="more than 63 bits"):
        tm.vmap(digits)(np.full((2, 1), 2**64 - 1, np.uint64))


@pytest.mark.parametrize("function", [lambda x, n: x + n, lambda x, n: x * n, lambda x, n: np.maximum(n, x)])
def test_an_int_out_of_bounds_of_the_array_that_it_meets_is_an_error(function: Callable[..., Any]) -> None:
    x = np.array([1, 100], np.int8)
    compiled = tm.compile(function)
    for n in (3, 127, -128, 200, -129, 5):
        if -128 <= n <= 127:
            np.testing.assert_array_equal(compiled(x, n), function(x, n))
            continue
        with pytest.raises(OverflowError) as expected:
            function(x, n)
        with pytest.raises(OverflowError) as found:
            compiled(x, n)
        assert str(found.value) == str(expected.value)
    with pytest.raises(OverflowError, match="-1 out of bounds for uint64"):
        tm.compile(function)(np.array([1, 2], np.uint64), -1)
