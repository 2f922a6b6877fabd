"""Returned objects of the user's classes are as in Python, also where they share something: then Python makes them."""

import collections
import copy
import functools
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning, SideEffectError


class Plain:
    def __init__(self, x: Any, **more: Any) -> None:
        self.x, self.log = x, [x]
        vars(self).update(more)


class Doubling:
    """A property that stores something else than it is given."""

    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def x(self) -> Any:
        return vars(self)["x"]

    @x.setter
    def x(self, value: Any) -> None:
        vars(self)["x"] = value * 2


class ReadOnly:
    def __init__(self, x: Any) -> None:
        vars(self)["x"] = x

    @property
    def x(self) -> Any:
        return vars(self)["x"]


class Slot:
    __slots__ = "a"  # noqa: PLC0205 (one name)
    a: Any


FIRST_SLOT = vars(Slot)["a"]


class SlotAgain(Slot):
    __slots__ = ("a", "b")

    def __init__(self, x: Any) -> None:
        self.a, self.b = x, 2 * x
        FIRST_SLOT.__set__(self, x + 5)


class Mixed(Plain):
    __slots__ = ("pair",)

    def __init__(self, x: Any) -> None:
        super().__init__(x)
        self.pair = x, (x, "a")


class Button:
    def __init__(self, x: Any) -> None:
        self.pressed, self.x, self.press = 0, x, self.pressing

    def pressing(self) -> int:
        self.pressed += 1
        return self.pressed


class Child:
    def __init__(self, parent: Any, x: Any) -> None:
        self.parent, self.x = weakref.ref(parent), x


class Registered:
    def __init__(self, x: Any) -> None:
        self.x = x
        REGISTRY.append(self)


class WeaklyRegistered:
    def __init__(self, x: Any) -> None:
        self.x = x
        WEAK.add(self)


class Numbered:
    def __init__(self, x: Any) -> None:
        self.number, self.x = next(NUMBERS[0]), x


class Single:
    only: "Single | None" = None
    x: Any

    def __new__(cls, x: Any) -> "Single":
        if cls.only is None:
            cls.only = object.__new__(cls)
        return cls.only

    def __init__(self, x: Any) -> None:
        self.x = x


class Borg:
    state: dict[str, Any] = {}  # noqa: RUF012 (shared by all)

    def __init__(self, x: Any) -> None:
        self.__dict__ = Borg.state
        self.x = x


class Row(list[Any]):
    pass


class FoundError(Exception):
    pass


REGISTRY: list[Any] = []
WEAK: "weakref.WeakSet[Any]" = weakref.WeakSet()
NUMBERS = [itertools.count()]
SHARED = [1]
ARRAY = np.ones(2)
OUTSIDE = Plain(3.0)


@functools.lru_cache
def cached(n: int) -> Plain:
    return Plain(n)


@functools.lru_cache(None)
def cached_for_ever(n: int) -> Plain:
    return Plain(n)


@pytest.fixture(autouse=True)
def _forget() -> None:
    forget()


def forget() -> None:
    cached.cache_clear()
    cached_for_ever.cache_clear()
    REGISTRY.clear()
    NUMBERS[0] = itertools.count()
    Single.only = None
    Borg.state.clear()


def with_child(x: Any) -> Any:
    parent = Plain(x)
    return parent, Child(parent, x)


def in_step(x: Any) -> Any:
    cached(3).x += 1
    return cached(3)


def in_step_for_ever(x: Any) -> Any:
    cached_for_ever(3).x += 1
    return cached_for_ever(3)


def row(x: Any) -> Any:
    return Row([x])


def with_own_log(x: Any) -> Any:
    one = Plain(x)
    return one, one.log


def with_view(x: Any) -> Any:
    one = Plain(x)
    one.view = one.log  # type: ignore[attr-defined]
    return one


def sharing_a_list(x: Any) -> Any:
    shared = [x]
    return Plain(x, shared=shared), Plain(x, shared=shared)


def appended(x: list[Any]) -> Any:
    x.append(1)
    return list(x)


def add_to(x: Any) -> Any:
    x[0] += 1
    return x


def add(one: Any, value: Any = 1) -> Any:
    one.x += value
    return one.x


@pytest.mark.parametrize(
    ("function", "use"),
    [
        (Doubling, lambda one: one.x),
        (ReadOnly, lambda one: one.x),
        (SlotAgain, lambda one: (one.a, one.b, FIRST_SLOT.__get__(one))),
        (Mixed, lambda one: (one.pair, one.log, one.x)),
        (Button, lambda one: (one.press(), one.press(), one.pressed, one.press.__self__ is one)),
        (with_child, lambda pair: (pair[1].parent() is pair[0], pair[1].x)),
        (with_own_log, lambda pair: (appended(pair[1]), pair[0].log)),
        (with_view, lambda one: (appended(one.view), one.log)),
        (sharing_a_list, lambda pair: (appended(pair[0].shared), pair[1].shared)),
        (Registered, lambda one: (REGISTRY[-1] is one, len(REGISTRY), one.x)),
        (WeaklyRegistered, lambda one: (one in WEAK, one.x)),
        (Numbered, lambda one: (one.number, one.x)),
        (Single, lambda one: (one is Single.only, one.x)),
        (Borg, lambda one: (vars(one) is Borg.state, one.x)),
        (row, lambda one: (type(one), list(one))),
        (FoundError, lambda one: one.args),
        (in_step, lambda one: one.x),
        (in_step_for_ever, lambda one: one.x),
    ],
)
def test_objects_are_as_those_of_python(function: Callable[..., Any], use: Callable[[Any], Any]) -> None:
    def made(x: Any) -> Any:
        return function(x)

    found = []
    for called in (made, tm.compile(made, on_recompile="ignore")):
        forget()
        found.append([use(called(x)) for x in (1.0, 2.0, 3.0)])
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize(
    ("function", "use"),
    [
        (lambda x: (cached(4), x), lambda pair: pair[0] is cached(4)),
        (lambda x: Plain(x, held=np.random.default_rng(0)), lambda one: one.held.random()),
        (lambda x: Plain(x, held=bytearray(2)), lambda one: appended(one.held)),
        (lambda x: Plain(x, held=collections.Counter("aa")), lambda one: one.held.update("a") or one.held),
        (lambda x: Plain(x, held=threading.Lock()), lambda one: one.held.acquire(False)),
        (lambda x: Plain(x, held=itertools.count()), lambda one: next(one.held)),
        (lambda x: Plain(x, held=lambda: x), lambda one: one.held()),
        (lambda x: Plain(x, held=SHARED), lambda one: one.held is SHARED),
        (lambda x: Plain(x, held=ARRAY), lambda one: one.held is ARRAY),
        (lambda x: Plain(x, held={1, 2}), lambda one: one.held.add(3) or one.held),
        (lambda x: Plain(x, held=np.zeros(2)), lambda one: add_to(one.held)),
        (lambda x: Plain(x, held={"b": x, "a": (x, [x])}), lambda one: one.held),
        (lambda x: copy.copy(Plain(x)), lambda one: (one.x, one.log)),
        (lambda x: copy.deepcopy(Plain(x)), lambda one: (one.x, one.log)),
        (lambda x: copy.copy(OUTSIDE), lambda one: one.log is OUTSIDE.log),
        (lambda x: {Plain(x)}, lambda found: [one.x for one in found]),
        (lambda x: {Plain(5)}, lambda found: list(map(add, found))),
        (lambda x: {Plain(5): x}, lambda found: list(map(add, found))),
        (lambda x: Button(x).pressing, lambda press: (press(), press())),
        (lambda x: lambda: x, lambda inner: inner()),
    ],
)
def test_what_objects_hold_is_as_in_python(function: Callable[..., Any], use: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for x in (1.0, 2.0, 3.0):
        assert repr(use(compiled(x))) == repr(use(function(x)))


def test_a_list_of_the_caller_is_held_itself() -> None:
    def held(shared: Any, x: Any) -> Any:
        return Plain(x, held=shared)

    given = [1.0]
    assert tm.compile(held, on_recompile="ignore")(given, 1.0).held is given


def test_an_object_that_the_caller_gets_twice_is_one() -> None:
    def append(points: Any, x: Any) -> Any:
        new = Plain(x)
        points += [new, new]
        new.view = new.log  # type: ignore[attr-defined]
        return new

    points: list[Any] = []
    new = tm.compile(append, on_recompile="ignore")(points, 1.0)
    assert points == [new, new]
    assert new.view is new.log


def test_that_python_makes_the_objects_is_a_warning() -> None:
    with pytest.warns(RecompileWarning, match=r"that no program can make anew .* because of a method in it"):
        tm.compile(lambda x: Plain(x, press=Button(x).pressing))(1.0)


def test_what_cannot_be_undone_is_a_named_error() -> None:
    made = itertools.count()

    def numbered(x: Any) -> Any:
        return Plain(x, number=next(made), held={1})

    with pytest.raises(SideEffectError, match="because of a set in it: return its values"):
        tm.compile(numbered)(1.0)


def test_changes_of_an_object_set_slots_and_not_properties() -> None:
    def change(one: Any, x: Any) -> Any:
        one.x = x
        return x

    compiled, one, other = tm.compile(change, on_recompile="ignore"), Doubling(1.0), SlotAgain(1.0)
    for x in (3.0, 4.0):
        compiled(one, x)
        assert one.x == 2 * x

    def change_slots(given: Any, x: Any) -> Any:
        given.a = x
        return x

    compiled = tm.compile(change_slots, on_recompile="ignore")
    for x in (3.0, 4.0):
        compiled(other, x)
        assert (other.a, other.b, FIRST_SLOT.__get__(other)) == (x, 2.0, 6.0)
