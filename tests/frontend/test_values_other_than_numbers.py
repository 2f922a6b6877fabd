"""Branches that choose between strings, None, functions and tuples of different lengths; objects with operators."""

import enum
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from samples.thinning import mostly_on_numpy
from tracemill.compiler.errors import ConcretizationError

X = np.array([0.5, -1.2, 2.0, 0.3])


def by_name(x: Any) -> Any:
    mode = "up" if x > 0 else "down"
    if mode == "up":
        return x * 2
    return -x


def by_none(x: Any) -> Any:
    sign = None
    if x > 0:
        sign = "+"
    elif x < 0:
        sign = "-"
    if sign is None:
        return 1.0
    return x if sign == "+" else 3.0


def state_machine(v: Any) -> Any:
    state, count = "idle", 0
    for x in v:
        if state == "idle" and x > 0:
            state = "run"
        elif state == "run":
            count += 1
            if x < 0:
                state = "idle"
    return count


def smallest_positive(v: Any) -> Any:
    best = None
    for x in v:
        if x > 0.4 and (best is None or x < best):
            best = x
    if best is None:
        return -1.0
    return best + 1.0


def of_several_lengths(v: Any) -> Any:
    total = 0.0
    for x in v:
        cs = (1.0, 2.0) if x < 0 else (1.0, 2.0, 3.0)
        p = 0.0
        for c in cs:
            p = p * x + c
        total += p / len(cs) + cs[-1]
    return total


def by_function(x: Any) -> Any:
    f = np.sin if x > 0 else np.cos
    join = operator.add if x > 1 else operator.mul
    return f(x) + join(x, 2.0)


def pairs(x: Any) -> Any:
    name, scale = ("a", 2.0) if x > 0 else ("b", 3.0)
    table = {"a": 10.0, "b": 20.0}
    return table[name] * scale


@pytest.mark.parametrize(("program", "backend"), mostly_on_numpy([by_name, by_none, by_function, pairs], 4))
def test_branches_choose_between_strings_none_and_objects(program: Callable[..., Any], backend: str) -> None:
    check(program, (0.7,), (-0.7,), (1.7,), (0.0,), backend=backend)


@pytest.mark.sampled("smallest_positive-numpy", "state_machine-c")
@pytest.mark.parametrize(
    ("program", "backend"), mostly_on_numpy([state_machine, smallest_positive, of_several_lengths], 3)
)
def test_loops_carry_strings_none_and_objects(program: Callable[..., Any], backend: str) -> None:
    check(program, (X,), (-X,), (X[::-1] * 0.1,), backend=backend)
    long = np.sin(np.arange(300.0))
    check(program, (long,), (-long,), backend=backend)


@pytest.mark.sampled("of_several_lengths")
@pytest.mark.parametrize("program", [by_name, by_function, smallest_positive, of_several_lengths])
def test_these_programs_batch_and_differentiate(program: Callable[..., Any]) -> None:
    xs = np.array([0.7, -0.7, 1.7]) if program in (by_name, by_function) else np.stack([X, -X, X * 0.1])
    np.testing.assert_allclose(tm.compile(tm.vmap(program))(xs), [program(x) for x in xs])
    for x in xs:
        np.testing.assert_allclose(
            tm.compile(tm.grad(program))(x), tm.grad(program)(x), rtol=1e-12, atol=1e-12
        )


def test_a_result_may_be_a_string_or_none() -> None:
    @tm.compile
    def told(x: Any) -> Any:
        if x > 1:
            return "large", x
        return ("small", -x) if x > 0 else None

    assert told(2.0) == ("large", 2.0)
    assert told(0.5) == ("small", -0.5)
    assert told(-1.0) is None
    with pytest.raises(ConcretizationError, match="an array cannot hold strings"):
        tm.vmap(told)(np.array([2.0, 0.5]))


def test_uses_that_need_the_value_are_for_the_call_at_hand() -> None:
    def keyed(x: Any) -> Any:
        return len({"up" if x > 0 else "down", "up"})

    compiled = tm.compile(keyed, on_recompile="ignore")
    assert [compiled(x) for x in (1.0, -1.0, 2.0)] == [1, 2, 1]
    with pytest.raises(ConcretizationError, match="used in a set or as the key of a dict"):
        tm.compile(tm.vmap(keyed))(np.ones(2))


def test_none_in_arithmetic_raises_pythons_error_if_it_is_chosen() -> None:
    @tm.compile
    def halved(x: Any) -> Any:
        found = None
        if x > 0:
            found = x
        return found / 2  # type: ignore[operator]

    assert halved(3.0) == 1.5
    with pytest.raises(TypeError, match="unsupported operand"):
        halved(-3.0)


# ---- objects of the user's ------------------------------------------------------------------------------


@dataclass
class Point:
    """A point with all special methods."""

    x: Any
    y: Any

    def __add__(self, other: "Point") -> "Point":
        return Point(self.x + other.x, self.y + other.y)

    def __rmul__(self, scale: Any) -> "Point":
        return Point(scale * self.x if scale > 0 else self.x, self.y)

    def __neg__(self) -> "Point":
        return Point(-self.x, -self.y)

    def __abs__(self) -> Any:
        return math.hypot(self.x, self.y)

    def __lt__(self, other: "Point") -> Any:
        return abs(self) < abs(other)

    def __getitem__(self, axis: int) -> Any:
        if self.x > 0:
            return (self.x, self.y)[axis]
        return 0.0

    def __iter__(self) -> Any:
        yield self.x
        yield self.y if self.y > 0 else -self.y

    def __contains__(self, x: Any) -> Any:
        return self.x < x < self.y

    def __len__(self) -> int:
        return 2

    @property
    def norm(self) -> Any:
        if self.x > 0:
            return math.sqrt(self.x**2 + self.y**2)
        return -self.y

    @norm.setter
    def norm(self, new: Any) -> None:
        self.x = new if new > 0 else -new


def with_operators(x: Any, y: Any) -> Any:
    p = Point(x, y) + 2.0 * Point(y, 1.0)
    a, b = p
    p.norm = x
    q = -p
    p += q
    return p.norm + abs(q) + a * b + q[0] + p[1] + len(p) + (1.0 if 0.5 in Point(x, y) else 0.0)


def compared(x: Any, y: Any) -> Any:
    p, q = Point(x, y), Point(y, x * 3)
    if p < q:
        return min(p, q).x
    return max([p, q]).y + (2.0 if (x, y) < (y, x) else 1.0) + (4.0 if p == Point(x, y) else 8.0)


class Scaled:
    """A context manager, a callable, and an object with `__getattr__`."""

    def __init__(self, scale: Any) -> None:
        self._scale = scale
        self.calls = 0

    def __enter__(self) -> "Scaled":
        self._scale = self._scale * 2 if self._scale > 0 else self._scale
        return self

    def __exit__(self, *error: object) -> None:
        self._scale = self._scale / 2

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self._scale * x if x > 0 else x

    def __getattr__(self, name: str) -> Any:
        if name == "twice":
            return self._scale * 2 if self._scale > 1 else self._scale
        raise AttributeError(name)

    @functools.cached_property
    def square(self) -> Any:
        return self._scale**2 if self._scale > 0 else 0.0


def managed(x: Any, y: Any) -> Any:
    with Scaled(x) as scaled:
        z = scaled(y) + scaled.twice
    return z + scaled(y) + scaled.square + scaled.square + scaled.calls


class Pair(NamedTuple):
    a: Any
    b: Any

    def larger(self) -> Any:
        return max(self.b, self.a)


def named(x: Any, y: Any) -> Any:
    p = Pair(x, y)
    if x > y:
        p = p._replace(a=y * 2)
    return p.larger() + max(p) + p._asdict()["b"]


CALLS = [(0.5, 0.7), (-0.5, 0.7), (0.5, -0.9), (2.0, 0.1)]


@pytest.mark.sampled("managed-numpy", every=8)
@pytest.mark.parametrize(
    ("program", "backend"), mostly_on_numpy([with_operators, compared, managed, named], 4)
)
def test_operators_run_the_methods_of_user_classes(program: Callable[..., Any], backend: str) -> None:
    check(program, *CALLS, backend=backend)


@pytest.mark.sampled("compared")
@pytest.mark.parametrize("program", [with_operators, compared, managed, named])
def test_methods_of_user_classes_batch_and_differentiate(program: Callable[..., Any]) -> None:
    columns = [np.array(column) for column in zip(*CALLS, strict=True)]
    np.testing.assert_allclose(
        tm.compile(tm.vmap(program))(*columns), [program(*call) for call in CALLS], rtol=1e-12
    )
    for call in CALLS:
        np.testing.assert_allclose(tm.compile(tm.grad(program))(*call), tm.grad(program)(*call), rtol=1e-12)


def test_traced_values_have_the_classes_that_they_have_in_python() -> None:
    def kinds(v: Any, n: Any, x: Any) -> Any:
        found = [
            isinstance(v, np.ndarray),
            isinstance(v[0], float),
            isinstance(v[0], np.floating),
            isinstance(v[0], np.ndarray),
            isinstance(n, int),
            isinstance(n, (float, str)),
            isinstance(x, float),
            isinstance(v.sum(), np.float64),
            isinstance(v.sum() > 1, np.bool_),
            isinstance(np.asarray(x), np.ndarray),
            type(x) is float,
            type(v[0]) is np.float64,
        ]
        return np.array(found) * 1.0

    check(kinds, (X, 3, 0.5))


# ---- functions of Python's of traced numbers ------------------------------------------------------------


def of_floats(v: Any) -> Any:
    total = math.fsum([1e16, v[0], -1e16]) + math.fsum(v) + math.fsum(x * x for x in v)
    for x in v:
        total += math.erf(x) + math.erfc(x) + math.gamma(abs(x) + 1) + math.lgamma(abs(x) + 1)
        total += math.pow(abs(x), 1.5) + math.hypot(x, 1.0, 2.0) + math.log(abs(x) + 1, 3.0)
    f, whole = math.modf(v[2])
    m, e = math.frexp(v[2])
    return total + f + whole + m + e + math.ldexp(v[0], 3) + math.remainder(v[2], 0.7) + math.dist(v, v[::-1])


def of_integers(a: Any, b: Any) -> Any:
    while b > 1:
        b -= 1
    n = a[0]
    return math.gcd(n, 12) + math.lcm(n, 4) + math.isqrt(n * n + 1) + b


def complex_steps(v: Any) -> Any:
    z, n = complex(v[0], v[1]), 0
    while abs(z) < 2 and n < 20:
        z = z * z + complex(0.3, 0.5)
        n += 1
    return n + z.real


def is_near(v: Any) -> Any:
    return 1.0 if math.isclose(v[0], v[1]) or math.isclose(v[0], 0.5, abs_tol=0.1) else v[0]


@pytest.mark.parametrize("program", [of_floats, complex_steps, is_near])
def test_functions_of_math_take_traced_numbers(program: Callable[..., Any]) -> None:
    check(program, (X,), (X + 0.25,))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            tm.compile(tm.vmap(program))(np.stack([X, X + 1])), [program(X), program(X + 1)]
        )
    np.testing.assert_allclose(tm.compile(tm.grad(program))(X), tm.grad(program)(X), rtol=1e-9)


def test_functions_of_integers_take_traced_ones() -> None:
    check(of_integers, (np.array([18, 2]), 3), (np.array([35, 2]), 1))


def type_by_identity(x: Any) -> Any:
    found = None if x[0] > 3 else "a"
    return 1 if type(found) is str else 2


def type_among_others(x: Any) -> Any:
    found = None if x[0] > 3 else x[1]
    return type(found) in (int, float, np.float64), type(found) is not np.float64


def name_of_type(x: Any) -> Any:
    found = (1, 2) if x[0] > 3 else "a"
    return type(found).__name__ == "str", found.__class__ is tuple, type(found) is not str


@pytest.mark.parametrize("function", [type_by_identity, type_among_others, name_of_type])
def test_the_type_of_a_value_that_is_one_of_several_is_that_of_the_chosen_one(
    function: Callable[[Any], Any],
) -> None:
    compiled = tm.compile(function, backend="numpy")
    for x in (np.array([5.0, 1.0]), np.array([0.0, 1.0])):
        assert compiled(x) == function(x)


def test_one_of_several_lists_is_enumerated() -> None:
    def places(x: Any) -> Any:
        names = ["a"]
        if x > 0:
            names = [*names, "c"]
        return [i * x for i, _ in enumerate(names)]

    compiled = tm.compile(places, on_recompile="ignore")
    for x in (1.0, -1.0, 2.0):
        assert compiled(x) == places(x)


def while_text(x: Any) -> Any:
    text, count = "ab" if x > 0 else "", 0
    while text:
        text = text[1:] if count > 3 else text
        count += 1
        if count > 6:
            break
    return count


def while_none_or_list(x: Any) -> Any:
    count = 0
    while None if x < 0 else [1]:
        x, count = x - 1, count + 1
    return count


def while_bool_and_list(x: Any) -> Any:
    count = 0
    while x > 0 and [count, x]:
        x, count = x - 1, count + 1
    return count


@pytest.mark.parametrize("program", [while_text, while_none_or_list, while_bool_and_list])
@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_the_test_of_a_loop_is_the_truth_of_any_object(program: Callable[..., Any], backend: str) -> None:
    compiled = tm.compile(program, backend=backend, on_recompile="ignore")
    assert [compiled(x) for x in (2.0, -1.0, 0.0)] == [program(x) for x in (2.0, -1.0, 0.0)]


def test_isscalar_is_true_of_traced_scalars() -> None:
    def function(x: Any, n: int, v: float) -> Any:
        kinds = [np.isscalar(one) for one in (x, x[0], x.sum(), n, v, float(x[0]), np.asarray(v), len(x))]
        return x.sum() * v, kinds

    arguments = np.ones(2), 3, 2.5
    for called in (function, tm.compile(function)):
        assert called(*arguments)[1] == [False, True, True, True, True, True, False, True]
    assert tm.grad(function, has_aux=True)(*arguments)[1] == function(*arguments)[1]


class Gear(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Metres(float):
    """A number with a unit."""

    unit = "m"


def by_enum(x: Any) -> Any:
    gear = Gear.LOW
    if x > 0:
        gear = Gear.HIGH
    return gear, gear.name, gear + 1


def by_unit(x: Any) -> Any:
    length = Metres(2.0) if x > 0 else Metres(3.0)
    return length, length.unit, length * x


@pytest.mark.parametrize("function", [by_enum, by_unit])
def test_numbers_of_a_class_of_their_own_stay_what_they_are(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for x in (1.0, -1.0, 2.0):
        for found, expected in zip(compiled(x), function(x), strict=True):
            assert found == expected
            assert type(found) is type(expected)


class AskingPair:
    """Two numbers, whose operators ask what they meet."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return AskingPair(self.x * other, self.y * other)
        return AskingPair(self.x * other.x, self.y * other.y)

    def __add__(self, other: Any) -> Any:
        return (
            AskingPair(self.x + other, self.y)
            if np.isscalar(other)
            else AskingPair(self.x + other.x, self.y + other.y)
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return AskingPair(0.0, 0.0) if hasattr(other, "shape") else AskingPair(self.x - other, self.y - other)

    def __truediv__(self, other: Any) -> Any:
        return AskingPair(self.x / other, self.y / other) if type(other) is float else None


@pytest.mark.parametrize(
    "operation",
    [
        lambda p, s: p * s,
        lambda p, s: p + s,
        lambda p, s: p - s,
        lambda p, s: p / s,
        lambda p, s: sum([p, p], s),
    ],
)
def test_operators_of_classes_see_pythons_numbers(operation: Callable[..., Any]) -> None:
    def function(a: Any, s: Any) -> Any:
        found = operation(AskingPair(a, 2 * a), s)
        return found.x, found.y

    compiled = tm.compile(function)
    for args in ((1.0, 2.0), (3.0, -4.0)):
        assert compiled(*args) == function(*args)
    assert tm.grad(lambda a, s: function(a, s)[0])(1.0, 2.0) == tm.compile(
        tm.grad(lambda a, s: function(a, s)[0])
    )(1.0, 2.0)


def test_numbers_have_the_attributes_of_pythons_numbers() -> None:
    names = ("shape", "__len__", "__iter__", "real", "dtype")

    def asked(x: Any, v: Any) -> Any:
        return [[hasattr(one, name) for name in names] for one in (x, v, v[0])]

    args = 2.0, np.ones(2)
    assert tm.compile(asked)(*args) == asked(*args)


def test_a_callable_object_may_define_equality() -> None:
    class Scaled:
        def __init__(self, by: Any) -> None:
            self.by = by

        def __call__(self, x: Any) -> Any:
            return x * self.by

        def __mul__(self, other: Any) -> Any:
            return Scaled(self.by * other)

        def __eq__(self, other: object) -> bool:
            return bool(self.by == other.by)  # type: ignore[attr-defined]

        __hash__ = None  # type: ignore[assignment]

    def function(x: Any, by: Any) -> Any:
        return (Scaled(by) * 2)(x)

    assert tm.compile(function)(1.0, 3.0) == 6.0
