"""Names that a function makes itself, and names that come before others, are seen at the next call."""

import builtins
import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import tracemill as tm

X = np.arange(1.0, 4.0)
MODULE: Any = ModuleType("settings")
RATE_OF = operator.attrgetter("rate")


class Base:
    kind: Any = 2.0


class Counted(Base):
    count: int
    total: Any

    def step(self, x: Any) -> Any:
        return x * super().kind

    def run(self, x: Any) -> Any:
        return self.step(x)


class Derived(Counted):
    pass


class Slotted:
    __slots__ = ("__hidden", "count")

    def hidden(self) -> int:
        self.__hidden = getattr(self, "_Slotted__hidden", 0) + 1
        return self.__hidden


class Constant(Slotted):
    """Has a property where its base has a slot."""

    reads: ClassVar[list[int]] = []

    @property
    def count(self) -> int:
        self.reads.append(1)
        return len(self.reads)


class Meta(type):
    def __getattr__(cls, name: str) -> Any:
        return 3.0


class ByMeta(metaclass=Meta):
    pass


ONE: Any = Derived()
OTHERS: Any = [Derived(), Derived()]
SLOTTED: Any = Slotted()
CONSTANT: Any = Constant()
COUNT: Any
TOTAL: Any


def in_a_class(x: Any) -> Any:
    Counted.count = getattr(Counted, "count", 0) + 1
    return x * Counted.count


def in_a_class_after_asking(x: Any) -> Any:
    if not hasattr(Counted, "count"):
        Counted.count = 0
    Counted.count += 1
    return x * Counted.count


def in_a_class_after_failing(x: Any) -> Any:
    try:
        Counted.count += 1
    except AttributeError:
        Counted.count = 1
    return x * Counted.count


def in_a_class_by_its_name(x: Any) -> Any:
    name = "cou" + "nt"
    setattr(Counted, name, getattr(Counted, name, 0) + 1)
    return x * Counted.count


def in_a_module(x: Any) -> Any:
    MODULE.count = getattr(MODULE, "count", 0) + 1
    return x * MODULE.count


def in_a_slot(x: Any) -> Any:
    SLOTTED.count = getattr(SLOTTED, "count", 0) + 1
    return x * SLOTTED.count


def in_a_private_slot(x: Any) -> Any:
    return x * SLOTTED.hidden()


def in_globals(x: Any) -> Any:
    globals()["COUNT"] = globals().get("COUNT", 0) + 1
    return x * globals()["COUNT"]


def in_a_global(x: Any) -> Any:
    global COUNT  # noqa: PLW0603 (this is what is tested)
    try:
        COUNT = COUNT + 1
    except NameError:
        COUNT = 1
    return x * COUNT


def removed_from_a_class(x: Any) -> Any:
    if hasattr(Counted, "count"):
        del Counted.count
        return x
    Counted.count = 1
    return -x


def removed_from_globals(x: Any) -> Any:
    global COUNT  # noqa: PLW0603 (this is what is tested)
    if "COUNT" in globals():
        del COUNT
        return x
    COUNT = 1
    return -x


def an_array_in_a_class(x: Any) -> Any:
    Counted.total = getattr(Counted, "total", 0 * x) + x
    return Counted.total


def an_array_in_a_global(x: Any) -> Any:
    global TOTAL  # noqa: PLW0603 (this is what is tested)
    try:
        TOTAL = TOTAL + x
    except NameError:
        TOTAL = x
    return TOTAL


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    forget()


def forget() -> None:
    for holder in (Counted, MODULE, SLOTTED):
        for name in ("count", "total", "_Slotted__hidden"):
            with suppress(AttributeError):
                delattr(holder, name)
    for name in ("COUNT", "TOTAL"):
        globals().pop(name, None)


@pytest.mark.parametrize(
    "function",
    [
        in_a_class, in_a_class_after_asking, in_a_class_after_failing, in_a_class_by_its_name, in_a_module, in_a_slot,
        in_a_private_slot, in_globals, in_a_global, removed_from_a_class, removed_from_globals, an_array_in_a_class,
        an_array_in_a_global,
    ],
)  # fmt: skip
def test_a_name_that_the_function_makes_is_seen_at_the_next_call(function: Callable[[Any], Any]) -> None:
    expected = [function(X) for _ in range(4)]
    forget()
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for wanted in expected:
        np.testing.assert_array_equal(compiled(X), wanted)


def of_an_object(x: Any) -> Any:
    return x * ONE.kind


def of_a_class(x: Any) -> Any:
    return x * Derived.kind


def of_objects_in_a_list(x: Any) -> Any:
    for one in OTHERS:
        x = x * one.kind
    return x


def of_a_method(x: Any) -> Any:
    return ONE.run(x)


def of_methods_in_a_list(x: Any) -> Any:
    return OTHERS[1].run(x)


def of_a_truth_value(x: Any) -> Any:
    return x if ONE else -x


def of_a_comparison(x: Any) -> Any:
    return x if ONE == 3 else -x


def of_an_unknown_attribute(x: Any) -> Any:
    return x * getattr(ONE, "unknown", 1.0)


def of_a_metaclass(x: Any) -> Any:
    return x * ByMeta.rate


def of_an_attrgetter(x: Any) -> Any:
    return x * RATE_OF(ByMeta)


def of_a_module(x: Any) -> Any:
    return x * getattr(MODULE, "rate", 1.0)


def of_a_function_of_python(x: Any) -> Any:
    return x * len([1, 2])


def of_a_name_among_pythons(x: Any) -> Any:
    try:
        return x * SHOWN  # type: ignore[name-defined]
    except NameError:
        return x


@pytest.mark.parametrize(
    ("function", "holder", "name", "value"),
    [
        (of_an_object, ONE, "kind", 5.0),
        (of_an_object, Derived, "kind", 5.0),
        (of_an_object, Counted, "kind", 5.0),
        (of_a_class, Counted, "kind", 5.0),
        (of_objects_in_a_list, OTHERS[1], "kind", 5.0),
        (of_a_method, Base, "kind", 5.0),
        (of_a_method, Derived, "step", lambda self, x: x - 1),
        (of_a_method, ONE, "step", lambda x: x - 1),
        (of_methods_in_a_list, OTHERS[1], "run", lambda x: x - 1),
        (of_a_truth_value, Derived, "__len__", lambda self: 0),
        (of_a_comparison, Derived, "__eq__", lambda self, other: True),
        (of_an_unknown_attribute, Derived, "__getattr__", lambda self, name: 4.0),
        (of_an_unknown_attribute, Base, "unknown", 4.0),
        (of_a_metaclass, ByMeta, "rate", 4.0),
        (of_an_attrgetter, ByMeta, "rate", 4.0),
        (of_a_module, MODULE, "rate", 4.0),
        (of_a_name_among_pythons, builtins, "SHOWN", 4.0),
    ],
)
def test_an_attribute_may_come_between(
    function: Callable[[Any], Any], holder: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for _ in range(2):
        before = function(X)
        np.testing.assert_array_equal(compiled(X), before)
        with monkeypatch.context() as patch:
            patch.setattr(holder, name, value, raising=False)
            assert not np.array_equal(function(X), before)
            np.testing.assert_array_equal(compiled(X), function(X))
    assert len(compiled.signatures()) <= 2


def test_a_global_may_hide_a_function_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tm.compile(of_a_function_of_python, backend="numpy", on_recompile="ignore")
    np.testing.assert_array_equal(compiled(X), 2 * X)
    monkeypatch.setitem(globals(), "len", lambda x: 7)
    np.testing.assert_array_equal(compiled(X), 7 * X)


class Closed:
    def of(self, x: Any) -> Any:
        return -x


class Open(Closed):
    def of(self, x: Any) -> Any:
        return x


def test_an_object_may_change_its_class_and_its_attributes() -> None:
    state: Any = Closed()
    compiled = tm.compile(lambda x: state.of(x) * state.rate, backend="numpy", on_recompile="ignore")
    for kind in (Open, Closed, Open):
        state.__class__, state.__dict__ = kind, {"rate": kind.__name__ == "Open" or 3.0}
        np.testing.assert_array_equal(compiled(X), state.of(X) * state.rate)


def test_names_that_the_function_does_not_mention_change_nothing() -> None:
    one: Any = Derived()
    compiled = tm.compile(lambda x: x * one.kind, backend="numpy", on_recompile="error")
    for number in range(3):
        setattr(one, f"note_{number}", number)
        np.testing.assert_array_equal(compiled(X), 2 * X)


def test_a_property_in_the_place_of_a_slot_is_read_by_the_function_alone() -> None:
    def f(x: Any) -> Any:
        return x * CONSTANT.count

    compiled = tm.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [float(compiled(np.float64(1.0))) for _ in range(3)] == [1, 2, 3]


def test_an_explanation_names_the_new_attribute() -> None:
    one: Any = Derived()
    compiled = tm.compile(lambda x: x * one.kind, backend="numpy", on_recompile="ignore")
    compiled(X)
    one.kind = 4.0
    compiled(X)
    assert "one.kind" in compiled.explain_recompile()
