"""What containers, objects and arrays from outside hold may change between calls, however large they are."""

import warnings
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, deque
from collections.abc import Callable
from configparser import ConfigParser
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_matrix

import tracemill as tm


class Node:
    def __init__(self, value: float, following: "Node | None" = None) -> None:
        self.value, self.following = value, following


def chained(count: int) -> Node:
    node = Node(1.0)
    for _ in range(count):
        node = Node(1.0, node)
    return node


class MetaRate(type):
    kept: float

    @property
    def rate(cls) -> float:
        return cls.kept


def configured(rate: str) -> ConfigParser:
    settings = ConfigParser()
    settings["model"] = {"rate": rate}
    return settings


def context_variable() -> ContextVar[float]:
    variable = ContextVar("variable", default=0.0)
    variable.set(1.0)
    return variable


def last_of(node: Node) -> Node:
    while node.following is not None:
        node = node.following
    return node


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "an entry of a long list": (
        lambda: [1.0] * 5000,
        lambda x: x.__setitem__(4321, 7.0),
        lambda x, y: y * sum(x),
    ),
    "an entry of a long dict": (
        lambda: dict.fromkeys(range(5000), 1.0),
        lambda x: x.__setitem__(4321, 7.0),
        lambda x, y: y * x[4321],
    ),
    "an attribute of one of many objects": (
        lambda: [Node(1.0) for _ in range(1500)],
        lambda x: setattr(x[1400], "value", 7.0),
        lambda x, y: y * sum(one.value for one in x),
    ),
    "the end of a long chain": (
        lambda: chained(60),
        lambda x: setattr(last_of(x), "value", 7.0),
        lambda x, y: y * last_of(x).value,
    ),
    "a member of a set": (
        lambda: {1, 2},
        lambda x: (x.remove(2), x.add(3)),
        lambda x, y: y if 3 in x else -y,
    ),
    "the order of a dict": (
        lambda: {"a": 1.0, "b": 2.0},
        lambda x: x.update(a=x.pop("a")),
        lambda x, y: y * next(iter(x.values())),
    ),
    "the order of an OrderedDict": (
        lambda: OrderedDict(a=1.0, b=2.0),
        lambda x: x.move_to_end("a"),
        lambda x, y: y * next(iter(x.values())),
    ),
    "a deque": (lambda: deque([1.0, 2.0]), lambda x: x.rotate(), lambda x, y: y * x[0]),
    "a Counter": (lambda: Counter("aab"), lambda x: x.update("bbb"), lambda x, y: y * x.most_common(1)[0][1]),
    "a ChainMap": (
        lambda: ChainMap({"a": 1.0}, {"b": 2.0}),
        lambda x: x.maps[0].update(b=7.0),
        lambda x, y: y * x["b"],
    ),
    "a UserDict": (lambda: UserDict(a=1.0), lambda x: x.update(a=7.0), lambda x, y: y * x["a"]),
    "a UserList": (lambda: UserList([1.0]), lambda x: x.append(7.0), lambda x, y: y * sum(x)),
    "a bytearray": (lambda: bytearray(b"ab"), lambda x: x.__setitem__(0, 7), lambda x, y: y * x[0]),
    "an array of Python's": (
        lambda: array("d", [1.0, 2.0]),
        lambda x: x.__setitem__(0, 7.0),
        lambda x, y: y * x[0],
    ),
    "an entry of a large array that NumPy sums": (
        lambda: np.ones((200, 200)),
        lambda x: x.__setitem__((123, 45), 7.0),
        lambda x, y: y * x.sum(),
    ),
    "an entry of a large array that Python tests": (
        lambda: np.ones((200, 200)),
        lambda x: x.__setitem__((123, 45), 7.0),
        lambda x, y: y if x[123, 45] == 1 else -y,
    ),
    "a spline of SciPy's": (
        lambda: CubicSpline(np.arange(4.0), np.arange(4.0) ** 2),
        lambda x: x.c.__imul__(2.0),
        lambda x, y: y * float(x(1.5)),
    ),
    "a sparse matrix": (
        lambda: csr_matrix(np.eye(3)),
        lambda x: x.data.__setitem__(0, 7.0),
        lambda x, y: y * x.sum(),
    ),
    "a polynomial of NumPy's": (
        lambda: Polynomial([1.0, 2.0]),
        lambda x: setattr(x, "coef", np.array([7.0])),
        lambda x, y: y * x(2.0),
    ),
    "settings of a configuration": (
        lambda: configured("0.5"),
        lambda x: x["model"].update(rate="7"),
        lambda x, y: y * x.getfloat("model", "rate"),
    ),
    "a context variable": (context_variable, lambda x: x.set(7.0), lambda x, y: y * x.get()),
    "a property of a class": (
        lambda: MetaRate("Rated", (), {"kept": 1.0}),
        lambda x: setattr(x, "kept", 7.0),
        lambda x, y: y * x.rate,
    ),
    "the shape of an array": (
        lambda: {"w": np.ones(3)},
        lambda x: x.update(w=np.ones(5)),
        lambda x, y: y * x["w"].size,
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_shows_in_the_next_call(kind: str) -> None:
    make, change, use = CHANGES[kind]
    held = make()
    compiled = tm.compile(lambda y: use(held, y))
    before = compiled(2.0)
    assert before == use(held, 2.0)
    change(held)
    assert compiled(2.0) == use(held, 2.0) != before


def test_what_has_not_changed_is_not_compiled_again() -> None:
    held: dict[str, Any] = {"numbers": [1.0] * 3000, "names": {"a", "b"}, "table": np.ones((200, 200))}
    compiled = tm.compile(
        lambda y: y * sum(held["numbers"]) * len(held["names"]) * held["table"].sum(), on_recompile="error"
    )
    for y in (1.0, 2.0):
        assert compiled(y) == y * 3000 * 2 * 40_000
        held["numbers"][17] = float("1")  # an equal number
        held["names"].add("a")


def test_only_the_shape_of_an_array_is_read() -> None:
    table = np.ones((300, 300))
    compiled = tm.compile(lambda y: y * table.shape[0], on_recompile="error")
    assert compiled(1.0) == 300.0
    table[7, 7] = 2.0
    assert compiled(1.0) == 300.0


def test_the_explanation_names_the_entry() -> None:
    rates = {"slow": [1.0, 2.0]}
    compiled = tm.compile(lambda y: y * rates["slow"][1])
    compiled(1.0)
    rates["slow"][1] = 5.0
    compiled(1.0)
    assert "rates['slow'][1] was 2.0 and is 5.0" in str(compiled.explain_recompile())


def test_a_cache_that_is_cleared_is_filled_again() -> None:
    rate = {"now": 2.0}

    @lru_cache
    def scaled(n: int) -> float:
        return rate["now"] * n

    compiled = tm.compile(lambda y: y * scaled(3), on_recompile="ignore")
    assert compiled(1.0) == 6.0
    rate["now"] = 5.0
    assert compiled(1.0) == scaled(3) == 6.0
    scaled.cache_clear()
    assert compiled(1.0) == scaled(3) == 15.0


def test_a_class_method_is_no_change() -> None:
    class Scale:
        factor = 2.0

        @classmethod
        def applied(cls, y: Any) -> Any:
            return y * cls.factor

    compiled = tm.compile(Scale.applied)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(3.0) == 6.0
    Scale.factor = 5.0
    assert compiled(3.0) == 15.0


@pytest.mark.slow
def test_more_objects_than_are_compared_cause_a_warning() -> None:
    rows = [[float(i)] for i in range(50_001)]
    with pytest.warns(tm.errors.RecompileWarning, match="reaches more than 50,000 objects"):
        assert tm.compile(lambda y: y * rows[3][0])(2.0) == 6.0


class Scaled:
    def __init__(self, value: float) -> None:
        self.value = value

    def doubled(self) -> float:
        return 2 * self.value

    @staticmethod
    def shifted(y: Any) -> Any:
        return y + 1

    @classmethod
    def tripled(cls, y: Any) -> Any:
        return 3 * y

    @property
    def half(self) -> float:
        return self.value / 2

    def __mul__(self, y: Any) -> Any:
        return self.value * y


@pytest.mark.parametrize(
    ("name", "replaced", "use"),
    [
        ("doubled", lambda self: 20 * self.value, lambda x, y: y * x.doubled()),
        ("shifted", staticmethod(lambda y: y + 10), lambda x, y: x.shifted(y)),
        ("tripled", classmethod(lambda cls, y: 30 * y), lambda x, y: x.tripled(y)),
        ("half", property(lambda self: 50.0), lambda x, y: y * x.half),
        ("__mul__", lambda self, y: y - self.value, lambda x, y: x * y),
    ],
)
def test_a_method_that_is_replaced_shows_in_the_next_call(
    name: str, replaced: Any, use: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Scaled(5.0)
    compiled = tm.compile(lambda y: use(held, y))
    before = compiled(3.0)
    assert before == use(held, 3.0)
    monkeypatch.setattr(Scaled, name, replaced)
    assert compiled(3.0) == use(held, 3.0) != before


def test_new_code_of_a_function_shows_in_the_next_call() -> None:
    def step(y: Any) -> Any:
        return 2 * y

    compiled = tm.compile(lambda y: step(y) + 1)
    assert compiled(3.0) == 7.0
    step.__code__ = (lambda y: 5 * y).__code__  # as IPython's autoreload does
    assert compiled(3.0) == 16.0


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize(
    "made", [lambda: bytearray(b"a"), lambda: array("d", [1.0])], ids=["bytes", "floats"]
)
@pytest.mark.parametrize("change", [lambda x: x.append(3), lambda x: x.__setitem__(0, x[0] + 1)])
def test_a_change_by_the_function_itself_happens_in_each_call(made: Any, change: Any, in_loop: bool) -> None:
    def calling(held: Any) -> Any:
        def step(_: int, y: Any) -> Any:
            change(held)
            return y + len(held) + held[0]

        return lambda y: tm.fori_loop(0, 3, step, y) if in_loop else step(0, y)

    held, expected = made(), made()
    compiled, plain = tm.compile(calling(held), on_recompile="ignore"), calling(expected)
    for _ in range(3):
        assert compiled(2.0) == plain(2.0)
    assert held == expected
