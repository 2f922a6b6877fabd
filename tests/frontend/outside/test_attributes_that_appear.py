"""What a function looks for and does not find, and what runs without a name in the code, is looked at in each call."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


class Plain:
    def __init__(self, rate: float) -> None:
        self.rate = rate


SHARED = Plain(2.0)


def with_default(x: Any, of: Any) -> Any:
    return x * getattr(of, "scale", 1.0)


def asked(x: Any, of: Any) -> Any:
    return x * of.scale if hasattr(of, "scale") else x


def handled(x: Any, of: Any) -> Any:
    try:
        return x * of.scale
    except AttributeError:
        return x


def of_global(x: Any, of: Any) -> Any:
    return x * getattr(SHARED, "scale", 1.0)


def missing_global(x: Any, of: Any) -> Any:
    try:
        return x * UNKNOWN  # type: ignore[name-defined]
    except NameError:
        return x


@pytest.mark.parametrize("function", [with_default, asked, handled, of_global])
def test_an_attribute_may_appear_and_go(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f = tm.compile(function, on_recompile="ignore")
    one = Plain(2.0)
    x = np.arange(3.0)
    places = ((one, "scale", 5.0), (SHARED, "scale", 4.0), (Plain, "scale", 3.0))
    for held, name, value in places:
        np.testing.assert_array_equal(f(x, one), function(x, one))
        with monkeypatch.context() as patch:
            patch.setattr(held, name, value, raising=False)
            np.testing.assert_array_equal(f(x, one), function(x, one))
    np.testing.assert_array_equal(f(x, one), function(x, one))


def test_a_global_may_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tm.compile(missing_global, on_recompile="ignore")
    assert f(3.0, None) == 3.0
    monkeypatch.setitem(globals(), "UNKNOWN", 5.0)
    assert f(3.0, None) == 15.0


def by_globals(x: Any, of: Any) -> Any:
    return x * globals().get("UNKNOWN", 1.0)


def by_vars(x: Any, of: Any) -> Any:
    return x * vars(SHARED).get("scale", 1.0)


def by_vars_of_an_argument(x: Any, of: Any) -> Any:
    return x * sum(vars(of).values())


def by_the_dict(x: Any, of: Any) -> Any:
    return x * SHARED.__dict__.get("scale", 1.0)


@pytest.mark.parametrize("function", [by_globals, by_vars, by_vars_of_an_argument, by_the_dict])
def test_names_that_are_looked_up_as_texts_may_appear(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, of = tm.compile(function, on_recompile="ignore"), Plain(2.0)
    for value in (None, 5.0, 7.0):
        if value is not None:
            monkeypatch.setitem(globals(), "UNKNOWN", value)
            monkeypatch.setattr(SHARED, "scale", value, raising=False)
            monkeypatch.setattr(of, "scale", value, raising=False)
        assert f(3.0, of) == function(3.0, of)
        assert f(2.0, of) == function(2.0, of)


def test_attributes_that_the_function_sets_itself_need_no_other_program() -> None:
    class Running:
        def step(self, x: Any) -> Any:
            if not hasattr(self, "total"):
                self.total = 0.0
            self.total = self.total + x
            return self.total

    def twice(x: Any) -> Any:
        running = Running()
        running.step(x)
        return running.step(x)

    f = tm.compile(twice, on_recompile="error")
    assert [f(2.0), f(3.0), f(4.0)] == [4.0, 6.0, 8.0]


def test_a_getattr_of_the_users_that_raises_key_errors_is_not_an_array() -> None:
    class Entries:
        def __init__(self) -> None:
            self.entries = {"rate": 2.0}

        def __getattr__(self, name: str) -> Any:
            return self.__dict__["entries"][name]

    np.random.default_rng(0)  # generators are looked for among arguments once there may be some
    assert tm.compile(lambda of, x: of.rate * x)(Entries(), 3.0) == 6.0


RATES = [2.0]
RATE = 2.0


class Computed:
    @property
    def of_list(self) -> float:
        return RATES[0]

    @property
    def of_number(self) -> float:
        return RATE

    def __getattr__(self, name: str) -> float:
        if name == "missing_list":
            return RATES[0]
        if name == "missing_number":
            return RATE
        raise AttributeError(name)

    def __mul__(self, x: Any) -> Any:
        return RATES[0] * x

    def __add__(self, x: Any) -> Any:
        return RATE + x

    def __getitem__(self, place: int) -> float:
        return RATE

    def __call__(self, x: Any) -> Any:
        return RATE * x


COMPUTED = Computed()


@pytest.mark.parametrize(
    "function",
    [
        lambda of, x: of.of_list * x,
        lambda of, x: of.of_number * x,
        lambda of, x: of.missing_list * x,
        lambda of, x: of.missing_number * x,
        lambda of, x: of * x,
        lambda of, x: of + x,
        lambda of, x: of[0] * x,
        lambda of, x: of(x),
        lambda of, x: COMPUTED * x + COMPUTED.of_number,
    ],
)
def test_globals_of_properties_and_operators_are_looked_at(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f = tm.compile(function, on_recompile="ignore")
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(COMPUTED, x), function(COMPUTED, x))
    monkeypatch.setitem(globals(), "RATE", 5.0)
    RATES[0] = 7.0
    try:
        np.testing.assert_array_equal(f(COMPUTED, x), function(COMPUTED, x))
    finally:
        RATES[0] = 2.0
