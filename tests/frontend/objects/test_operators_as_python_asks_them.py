"""Uncompiled derivatives call the methods of a user's classes in the order in which Python does."""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracemill as tm

CALLS: list[str] = []


def outcome(function: Callable[[], Any]) -> tuple[list[str], str]:
    """What is called, and what comes of it."""
    CALLS.clear()
    try:
        found = repr(function())
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return [*CALLS], found


def same_as_python(function: Callable[[], Any]) -> None:
    expected, found = outcome(function), []

    def f(x: Any) -> Any:
        CALLS.clear()
        try:
            result = repr(function())
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        found.append(([*CALLS], result))
        return x * 2.0

    assert tm.grad(f)(1.0) == 2.0
    assert found == [expected]


def noting(name: str, answer: Any) -> Any:
    def method(self: Any, *given: Any) -> Any:
        CALLS.append(f"{type(self).__name__}.{name}")
        return answer

    return method


METHODS = {"+": ("add", "radd", "iadd"), "*": ("mul", "rmul", "imul"), "@": ("matmul", "rmatmul", "imatmul")}


def classes(methods: tuple[str, ...], answer: Any) -> list[type]:
    """A class, a class derived from it with and without methods of its own, and an unrelated one."""
    own = {f"__{name}__": noting(name, answer) for name in methods}
    again = {f"__{name}__": noting(f"other {name}", 7) for name in methods}
    base = type("Base", (), {**own, "__repr__": lambda _: "Base"})
    return [base, type("Plain", (base,), {}), type("Derived", (base,), again), type("Other", (), again)]


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "*": lambda x, y: x * y,
    "@": lambda x, y: x @ y,
}
BUILT_IN: tuple[Any, ...] = ([1], (1,), "a", 2, 1.5, None, Fraction(1, 2), {1: 2})


@pytest.mark.parametrize("answer", [5, NotImplemented], ids=["answered", "not implemented"])
@pytest.mark.parametrize("sign", METHODS)
def test_binary_operators(sign: str, answer: Any) -> None:
    for count in range(4):
        for methods in itertools.combinations(METHODS[sign], count):
            instances = [kind() for kind in classes(methods, answer)]
            for x, y in itertools.product([*instances, *BUILT_IN], repeat=2):
                if x in BUILT_IN and y in BUILT_IN:
                    continue
                same_as_python(functools.partial(BINARY[sign], x, y))


@pytest.mark.parametrize("methods", [("add",), ("radd",), ("iadd",), ("add", "iadd"), ("radd", "iadd")])
@pytest.mark.parametrize("answer", [5, NotImplemented], ids=["answered", "not implemented"])
def test_updates(methods: tuple[str, ...], answer: Any) -> None:
    instances = [kind() for kind in classes(methods, answer)]

    def updated(x: Any, y: Any) -> Any:
        x += y
        return x

    for x, y in itertools.product([*instances, *BUILT_IN], repeat=2):
        if not (x in BUILT_IN and y in BUILT_IN) and type(x) is not list:
            same_as_python(functools.partial(updated, x, y))


COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}


@pytest.mark.parametrize("answer", [True, NotImplemented], ids=["answered", "not implemented"])
@pytest.mark.parametrize(
    "methods", [("lt",), ("gt",), ("lt", "gt"), ("le", "ge"), ("eq",), ("ne",), ("eq", "ne")]
)
def test_comparisons(methods: tuple[str, ...], answer: Any) -> None:
    instances = [kind() for kind in classes(methods, answer)]
    for compare in COMPARED.values():
        for x, y in itertools.product([*instances, 2, 1.5, None, "a"], repeat=2):
            if type(x).__module__ != "builtins" or type(y).__module__ != "builtins":
                same_as_python(functools.partial(compare, x, y))


@dataclasses.dataclass(order=True)
class Named:
    name: str


@dataclasses.dataclass(order=True)
class Child(Named):
    pass


@pytest.mark.parametrize("other", ["sgd", None, Named("adam"), Named("b"), Child("adam"), 3])
@pytest.mark.parametrize("compare", COMPARED.values(), ids=COMPARED)
def test_dataclasses(compare: Callable[[Any, Any], Any], other: Any) -> None:
    same_as_python(lambda: compare(Named("adam"), other))
    same_as_python(lambda: compare(other, Named("adam")))
    same_as_python(lambda: compare(Child("adam"), other))


class Meta(type):
    def __getattr__(cls, name: str) -> Any:
        return f"meta {name}"


class Held(metaclass=Meta):
    k = 5.0


class Inherits(Held):
    pass


class Own:
    def __getattribute__(self, name: str) -> Any:
        return "own" if name == "v" else object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        return f"missing {name}"

    @property
    def p(self) -> Any:
        return "property"


class Failing:
    @property
    def p(self) -> Any:
        raise AttributeError("p has none")

    def __getattr__(self, name: str) -> Any:
        return f"missing {name}"


class Cached:
    @functools.cached_property
    def c(self) -> Any:
        CALLS.append("made")
        return 3

    def twice(self) -> Any:
        return self.c + self.c


ATTRIBUTES: dict[str, Callable[[], Any]] = {
    "of a base of a class with a metaclass": lambda: Inherits.k,
    "of a metaclass": lambda: Inherits.other,
    "by __getattribute__": lambda: Own().v,
    "by __getattr__ beside it": lambda: Own().w,
    "a property beside it": lambda: Own().p,
    "a property that has none": lambda: Failing().p,
    "cached": lambda: Cached().twice(),
    "missing": lambda: Cached().missing,  # type: ignore[attr-defined]
    "of a module": lambda: np.pi,
    "missing of a module": lambda: np.no_such_name,  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("read", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes(read: Callable[[], Any]) -> None:
    same_as_python(read)


def Truth(method: str, answer: Any) -> Any:
    return type("Truth", (), {method: lambda self, *_: answer, "__repr__": lambda _: "a truth"})()


TRUTHS: dict[str, Callable[[], Any]] = {
    "bool": lambda: 1 if Truth("__bool__", False) else 2,
    "bool that is a number": lambda: 1 if Truth("__bool__", 5) else 2,
    "bool of NumPy": lambda: 1 if Truth("__bool__", np.bool_(True)) else 2,
    "length": lambda: 1 if Truth("__len__", 0) else 2,
    "negative length": lambda: 1 if Truth("__len__", -1) else 2,
    "length that is a float": lambda: 1 if Truth("__len__", 1.5) else 2,
    "contains a number": lambda: 1 in Truth("__contains__", 5),
    "contains a text": lambda: 1 in Truth("__contains__", ""),
    "not contained": lambda: 1 not in Truth("__contains__", "x"),
    "not": lambda: not Truth("__bool__", False),
    "and": lambda: Truth("__bool__", False) and 3,
}


@pytest.mark.parametrize("test", TRUTHS.values(), ids=TRUTHS)
def test_truth(test: Callable[[], Any]) -> None:
    same_as_python(test)


def test_a_method_that_is_replaced_is_the_new_one() -> None:
    class Number:
        def __add__(self, other: Any) -> Any:
            return 1.0

    def f(x: Any) -> Any:
        return x * (Number() + 2)

    assert tm.grad(f)(1.0) == 1.0
    Number.__add__ = lambda self, other: 3.0  # type: ignore[method-assign]
    assert tm.grad(f)(1.0) == 3.0


def test_arrays_are_updated_in_place_by_objects_that_are_arrays() -> None:
    class Like:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0])

        def __radd__(self, other: Any) -> Any:
            return "replaced"

    def f(x: Any) -> Any:
        a = np.zeros(2)
        b = a
        a += Like()
        return x * b.sum()

    assert tm.grad(f)(1.0) == f(1.0)


def test_arrays_convert_objects_that_are_arrays_without_asking_their_methods() -> None:
    class Like:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(2.0)

        def __radd__(self, other: Any) -> Any:
            return other

    def f(x: Any) -> Any:
        return np.sum(x + Like())

    x = np.ones(2)
    assert tm.compile(f)(x) == tm.value_and_grad(f)(x)[0] == f(x)
