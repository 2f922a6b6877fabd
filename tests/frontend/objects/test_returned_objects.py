"""A compiled function that returns objects of the user's classes makes new ones in each call, with its values."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError, ExportError


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Fixed:
    x: Any
    y: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any


class Filter:
    """A plain class with a list among its attributes."""

    def __init__(self, order: Any) -> None:
        self.order, self.coefficients, self.name = order, [order, 2.0], "filter"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Hidden:
    """Has slots, one of which is private."""

    __slots__ = ("__twice", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.__twice = value, 2 * value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self.shown() == other.shown()

    __hash__ = None  # type: ignore[assignment]

    def shown(self) -> Any:
        return self.value, self.__twice


class Vector(Point):
    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    @classmethod
    def at(cls, angle: Any) -> "Vector":
        return cls(np.cos(angle), np.sin(angle))


class Node:
    def __init__(self, value: Any, parent: "Node | None" = None) -> None:
        self.value, self.parent = value, parent
        self.children: list[Node] = []
        if parent is not None:
            parent.children.append(self)


OUTSIDE = Point(1.0, 2.0)


def point(x: Any) -> Any:
    return Point(x, 2 * x)


def changed(x: Any) -> Any:
    found = Filter(x)
    found.order = x > 1
    found.coefficients.append(x)
    return found


def several(x: Any) -> Any:
    return [Fixed(x, Point(x, 1.0)), {"key": Slotted(x + 1)}, (Hidden(x),)]


def total(x: Any) -> Any:
    return Vector(x, 1.0) + Vector(1.0, x) + Vector.at(x)


def replaced(x: Any) -> Any:
    return dataclasses.replace(Fixed(x), y=2 * x)


def of_a_branch(x: Any) -> Any:
    if x > 1.5:
        return Point(x, 1.0)
    return Point(-x, 2.0)


def or_nothing(x: Any) -> Any:
    return Point(x, x) if x > 1.5 else None


def of_a_loop(n: Any) -> Any:
    found = Point(0.0, 1.0)
    for _ in range(int(n) + 40):
        found.x, found.y = found.x + found.y, found.y / 2
    return found


@pytest.mark.parametrize(
    "function", [point, changed, several, total, replaced, of_a_branch, or_nothing, of_a_loop]
)
def test_objects_have_the_values_of_the_call(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for x in (1.0, 2.0, 1.0, 3):
        assert compiled(x) == function(x)


def test_arrays_are_attributes() -> None:
    found = tm.compile(point)(np.ones(2))
    np.testing.assert_array_equal(found.y, [2.0, 2.0])


def test_each_call_makes_new_objects() -> None:
    def constant(x: Any) -> Any:
        return Filter(2.0), x

    compiled = tm.compile(constant)
    (first, _), (second, _) = compiled(1.0), compiled(1.0)
    assert first == second
    assert first is not second
    assert first.coefficients is not second.coefficients


def test_each_call_returns_a_set_of_its_own() -> None:
    compiled = tm.compile(lambda x: ({1, 2}, x))
    compiled(1.0)[0].add(3)
    assert compiled(1.0)[0] == {1, 2}


def test_objects_refer_to_each_other() -> None:
    def tree(x: Any) -> Any:
        root = Node(x)
        Node(x + 1, root)
        return root, root.children[0]

    def both(x: Any) -> Any:
        one = Point(x, x)
        other = copy.copy(one)
        return one, other, one

    compiled = tm.compile(tree)
    for x in (1.0, 5.0):
        root, leaf = compiled(x)
        assert root.children == [leaf]
        assert leaf.parent is root
        assert (root.value, leaf.value) == (x, x + 1)
    one, other, again = tm.compile(both)(1.0)
    assert one is again
    assert one is not other


def test_objects_from_outside_are_returned_themselves() -> None:
    given = Point(3.0, 4.0)
    compiled = tm.compile(lambda one, x: (OUTSIDE, one, x))
    outside, argument, _ = compiled(given, 1.0)
    assert outside is OUTSIDE
    assert argument is given


def test_a_new_object_may_be_put_into_a_list_of_the_caller() -> None:
    def append(points: Any, x: Any) -> Any:
        new = Point(x, x)
        points.append(new)
        return new

    compiled = tm.compile(append)
    for x in (1.0, 2.0):
        points: list[Any] = []
        assert compiled(points, x) is points[0]
        assert points == [Point(x, x)]


def test_what_no_program_can_return_is_a_named_error() -> None:
    with pytest.raises(ArgumentTypeError, match=r"returns ValueError, whose \.args holds a traced array"):
        tm.compile(lambda x: ValueError(x, 1))(1.0)
    with pytest.raises(ArgumentTypeError, match="returns Point"):
        tm.vmap(point)(np.ones(2))
    with pytest.raises(ExportError):
        tm.export(point, 1.0)
