"""`match` on values."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from samples.thinning import mostly_on_numpy
from tracemill.compiler.frontend.conversion import converted


class Kind(enum.IntEnum):
    """Which way."""

    UP = 1
    DOWN = 2


def by_value(v: Any) -> Any:
    total = 0.0
    for k in v:
        match int(k):
            case 0:
                continue
            case Kind.UP | Kind.DOWN as found:
                total += 10 * found
            case n if n > 5:
                total += n
            case 4:
                break
            case _:
                total -= 1
    return total


def by_guard(v: Any) -> Any:
    match v[0]:
        case x if x > 0:
            return x * 3
        case 0 if v[1] > 0:
            return 1.0
        case _:
            y = -v[0]
    return y * 2


def by_shape(v: Any) -> Any:
    match list(v):
        case [a, b, *rest]:
            if a > b:
                return a * b + sum(rest)
            return b
        case _:
            return 0.0


@pytest.mark.parametrize(("program", "backend"), mostly_on_numpy([by_value, by_guard, by_shape], 3))
def test_values_choose_the_case(program: Callable[..., Any], backend: str) -> None:
    rows = [np.array(row) for row in ([3.0, 1.0, 7.0, 2.0], [0.0, 2.0, 4.0, 1.0], [-2.0, 0.0, 3.0, 9.0])]
    check(program, *[(row,) for row in rows], backend=backend)
    np.testing.assert_allclose(tm.compile(tm.vmap(program))(np.stack(rows)), [program(row) for row in rows])


@dataclass
class Point:
    """A point."""

    x: Any
    y: Any = 0


def test_a_converted_match_behaves_like_the_original() -> None:
    def matched(subject: Any) -> Any:
        match subject:
            case None | True:
                return "singleton"
            case 1 | "one" as found:
                return found
            case {"a": a, **rest}:
                return a, rest
            case Point(x=0) | Point(1, _):
                return "point"
            case [first, *others] if first:
                return others
            case str() as text if text > "m":
                return text
            case _:
                pass
        match subject:
            case other if other == 7:
                other += 1
            case 2:
                return "two"
            case _:
                pass
        return other if subject == 7 else "none"

    new = converted(matched)
    assert new is not matched
    subjects = (
        None,
        True,
        1,
        1.0,
        "one",
        {"a": 2, "b": 3},
        Point(0),
        Point(1),
        Point(2),
        [1, 2],
        [0],
        "z",
        "a",
        7,
        2,
    )
    for subject in subjects:
        assert new(subject) == matched(subject)


def by_class(x: Any) -> Any:
    n: Any = None
    match x:
        case bool():
            return "bool"
        case int(n) if n > 3:
            return "int", n + 1
        case int(n) | float(n) if n < 0:
            return "negative", n
        case float() as number:
            return "float", number * 2
        case np.ndarray():
            return "array", x.sum()
        case complex() | str():
            return "other"
        case _:
            return "none", n


@pytest.mark.parametrize(
    "given",
    [True, 5, -2, 2, 2.5, -1.5, 1j, "a", None, np.array([1.0, 2.0]), np.float64(2.0), np.float64(-2.0)],
)
def test_a_traced_number_matches_its_class(given: Any) -> None:
    found, expected = tm.compile(by_class)(given), by_class(given)
    assert found == expected
    assert type(found) is type(expected)


def by_classes_inside(x: Any) -> Any:
    match x:
        case (bool(), _):
            return "bool"
        case (int(a), int(b)):
            return "ints", a + b
        case [float(), b]:
            return "float", b * 2
        case [np.ndarray() as a, *_]:
            return "array", a.sum()
        case {"rate": float(rate) | int(rate)}:
            return "rate", rate / 2
        case (a, complex()) if a is not None:
            return "complex", a
        case _:
            return "none", 0


@pytest.mark.parametrize(
    "given",
    [
        (True, 1),
        (1, 2),
        (1.5, 2.5),
        [1.5, np.float64(2.5)],
        [np.float64(1.5), 2],
        (np.ones(2), 1.0),
        {"rate": 3.0},
        {"rate": 3},
        {"rate": "a"},
        ("a", 1j),
        (1, "b"),
        (np.float32(1), 2.0),
        3.0,
    ],
)
def test_a_traced_number_matches_its_class_inside_of_other_patterns(given: Any) -> None:
    expected = by_classes_inside(given)
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(by_classes_inside(given))
        return x

    tm.vjp(f, 1.0)
    for found in (tm.compile(by_classes_inside)(given), seen[0]):
        assert found == expected
        assert type(found) is type(expected)


def test_a_gradient_goes_through_a_number_in_a_pattern() -> None:
    def f(x: Any) -> Any:
        match [x, 2.0]:
            case [float(a), float(b)] if a > 0:
                return a**2 * b
        return x * 0

    for transform in (tm.grad(f), tm.compile(tm.grad(f))):
        assert transform(3.0) == 12
    assert tm.grad(f)(-3.0) == 0


def test_numpys_classes_of_numbers_inside_of_other_patterns_are_refused_on_traced_numbers() -> None:
    def f(pair: Any) -> Any:
        match pair:
            case [np.float64(), b]:
                return b * 2
        return pair[1]

    assert tm.compile(f)(("a", "b")) == "b"
    with pytest.raises(
        tm.errors.ConcretizationError, match=r"isinstance\(a, np\.float64\)(.|\n)*test_match\.py"
    ):
        tm.compile(f)([np.float64(1), 2.0])


def test_a_class_with_the_name_of_pythons_number_is_refused_in_patterns() -> None:
    class float:  # noqa: N801
        pass

    def f(x: Any) -> Any:
        match [x]:
            case [float()]:
                return x
        return x * 2

    assert f(1.0) == 2
    with pytest.raises(
        tm.errors.ConcretizationError, match=r"`float` that is not Python's(.|\n)*test_match\.py"
    ):
        tm.grad(f)(1.0)
