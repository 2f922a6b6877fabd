"""What a function changes outside, and computes with, is another number in each call, as in Python."""

import itertools
import random
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

Function = Callable[[Any], Any]


def in_a_list() -> Function:
    count = [0]

    def function(x: Any) -> Any:
        count[0] += 1
        return x * count[0]

    return function


def in_a_dict() -> Function:
    count: dict[str, int] = {}

    def function(x: Any) -> Any:
        count["calls"] = count.get("calls", 0) + 1
        return x * count["calls"]

    return function


def in_a_counter() -> Function:
    count = Counter[str]()

    def function(x: Any) -> Any:
        count["calls"] += 1
        return x * count["calls"]

    return function


def in_an_attribute() -> Function:
    class Object:
        count = 0

        def __call__(self, x: Any) -> Any:
            self.count += 1
            return x * self.count

    return Object()


def in_a_variable() -> Function:
    count = 0

    def function(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    return function


def in_a_default() -> Function:
    def function(x: Any, count: list[int] = [0]) -> Any:  # noqa: B006
        count[0] += 1
        return x * count[0]

    return function


def in_another_function() -> Function:
    count = [0]

    def following() -> int:
        count[0] += 1
        return count[0]

    return lambda x: x * following()


def in_a_property() -> Function:
    count = [0]

    class Object:
        @property
        def following(self) -> int:
            count[0] += 1
            return count[0]

    counted = Object()
    return lambda x: x * counted.following


def as_the_length_of_a_list() -> Function:
    calls: list[str] = []

    def function(x: Any) -> Any:
        calls.append("called")
        return x * len(calls)

    return function


def after_it_was_read() -> Function:
    state = [1.0]

    def function(x: Any) -> Any:
        result = x * state[0]
        state[0] = state[0] + 1
        return result

    return function


def a_stack() -> Function:
    stack = [1.0, 2.0, 3.0, 4.0]
    return lambda x: x * stack.pop()


def a_ring() -> Function:
    ring = deque([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        ring.rotate(1)
        return x * ring[0]

    return function


def an_iterator() -> Function:
    numbers = itertools.count(1)
    return lambda x: x * next(numbers)


def a_generator() -> Function:
    numbers = (number**2 for number in range(9))
    return lambda x: x * next(numbers)


def an_iterator_of_an_array() -> Function:
    numbers = iter(np.arange(5.0))
    return lambda x: x * next(numbers)


def a_part_of_an_iterator() -> Function:
    numbers = itertools.cycle([1, 2, 3])
    return lambda x: sum(x * number for number in itertools.islice(numbers, 2))


def a_count() -> Function:
    numbers = itertools.count(3)
    return lambda x: x * next(numbers)


def an_iterator_without_a_state() -> Function:
    def next_number(self: Any) -> int:
        self.number = getattr(self, "number", 0) + 1
        return int(self.number)

    def refused(self: Any) -> Any:
        raise TypeError("cannot pickle 'itertools.cycle' object")

    # Those of itertools are like this from Python 3.14 on.
    methods = {"__next__": next_number, "__reduce__": refused, "__module__": "itertools"}
    numbers: Any = type("cycle", (), methods)()
    return lambda x: x * next(numbers)


def a_factory() -> Function:
    made = defaultdict[int, float](random.Random(3).random)
    return lambda x: x * made[len(made)]


IMPURE = [
    in_a_list, in_a_dict, in_a_counter, in_an_attribute, in_a_variable, in_a_default, in_another_function,
    in_a_property, as_the_length_of_a_list, after_it_was_read, a_stack, a_ring, an_iterator, a_generator,
    an_iterator_of_an_array, a_part_of_an_iterator, a_count, an_iterator_without_a_state, a_factory,
]  # fmt: skip


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("made", IMPURE)
def test_each_call_counts(made: Callable[[], Function], convert: bool) -> None:
    in_python, compiled = made(), tm.compile(made(), convert=convert, on_recompile="ignore")
    for _ in range(3):
        assert compiled(np.float64(2.0)) == in_python(np.float64(2.0))


def test_a_function_that_is_traced_in_each_call_warns_with_the_cause() -> None:
    compiled = tm.compile(in_a_list())
    compiled(np.float64(2.0))
    cause = r"is traced again in each call(.|\n)*changes `count\[0\]` whenever it runs"
    with pytest.warns(tm.errors.RecompileWarning, match=cause):
        compiled(np.float64(2.0))


def test_what_is_made_at_the_first_call_is_not_made_again() -> None:
    class Filter:
        def __init__(self) -> None:
            self.window: Any = None
            self.traces: list[str] = []

        def __call__(self, x: Any) -> Any:
            self.traces.append("traced")
            if self.window is None:
                self.window = np.hanning(3)
            return x * self.window

    plain, smooth = Filter(), Filter()
    compiled = tm.compile(smooth, on_recompile="ignore")
    for _ in range(4):
        np.testing.assert_array_equal(compiled(np.ones(3)), plain(np.ones(3)))
    assert len(smooth.traces) <= 2


def test_what_a_function_only_writes_down_causes_no_new_trace() -> None:
    calls: list[str] = []
    seen: dict[str, int] = {}

    def function(x: Any) -> Any:
        calls.append("traced")
        seen["traced"] = seen.get("traced", 0) + 1
        return 2 * x

    compiled = tm.compile(function, on_recompile="ignore")
    for _ in range(3):
        compiled(np.ones(2))
    assert calls == ["traced"]
    assert seen == {"traced": 1}


TOTAL = 0


def changes_a_global(x: Any) -> Any:
    global TOTAL  # noqa: PLW0603 (this is what is tested)
    TOTAL += 1
    return 2 * x


def test_a_change_that_is_not_repeated_causes_one_warning() -> None:
    compiled = tm.compile(changes_a_global)
    before = TOTAL
    with pytest.warns(tm.errors.SideEffectWarning, match=r"changes `TOTAL`, .* and not in each call"):
        compiled(1.0)
    assert compiled(2.0) == 4.0
    compiled(np.ones(3))  # no second warning
    assert before + 1 == TOTAL - 1


def test_what_is_made_once_and_kept_causes_no_warning() -> None:
    table: dict[int, Any] = {}

    def windowed(x: Any) -> Any:
        if len(x) not in table:
            table[len(x)] = np.hanning(len(x))
        return x * table[len(x)]

    compiled = tm.compile(windowed, dynamic=False)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(np.ones(5)), np.hanning(5))


def test_what_fills_a_cache_is_compiled_once_the_cache_is_full() -> None:
    cache: dict[str, Any] = {}

    def scaled(x: Any) -> Any:
        if "total" not in cache:
            cache["total"] = x.sum()
        return x * cache["total"]

    compiled = tm.compile(scaled)
    for value in (1.0, 2.0, 3.0):  # the total is that of the first call
        np.testing.assert_array_equal(compiled(np.full(3, value)), np.full(3, 3.0 * value))
    assert len(compiled.signatures()) == 1
    cache["total"] = 5.0
    np.testing.assert_array_equal(compiled(np.ones(3)), np.full(3, 5.0))
    del cache["total"]
    np.testing.assert_array_equal(compiled(np.full(3, 2.0)), np.full(3, 12.0))
    assert cache["total"] == 6.0


def test_an_array_that_is_kept_in_each_call_is_the_one_of_that_call() -> None:
    log: list[Any] = []

    def logged(x: Any) -> Any:
        log.append(x.sum())
        return 2 * x

    compiled = tm.compile(logged)
    assert compiled(np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.warns(tm.errors.RecompileWarning, match=r"runs uncompiled: .*changes a list, .* outside"):
        compiled(np.full(2, 2.0))
    assert log == [2.0, 4.0]
    assert re.search(r"args\[0\]: f64\[2\] runs uncompiled: .*changes a list", compiled.explain_recompile())


def test_a_table_that_is_made_once_may_change_later() -> None:
    table: dict[str, Any] = {}

    def scaled(x: Any) -> Any:
        if "rate" not in table:
            table["rate"] = 2.0
        return x * table["rate"]

    compiled = tm.compile(scaled)
    assert compiled(1.0) == compiled(1.0) == 2.0
    table["rate"] = 7.0
    assert compiled(1.0) == 7.0
    del table["rate"]
    assert compiled(1.0) == table["rate"] == 2.0


RATE: Any = None


def sets_its_rate(x: Any) -> Any:
    global RATE  # noqa: PLW0603 (this is what is tested)
    if RATE is None:
        RATE = 4.0
    return x * RATE


def test_a_global_that_the_function_sets_once_may_change_later(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tm.compile(sets_its_rate)
    monkeypatch.setitem(sets_its_rate.__globals__, "RATE", None)
    assert compiled(1.0) == compiled(1.0) == 4.0
    monkeypatch.setitem(sets_its_rate.__globals__, "RATE", 8.0)
    assert compiled(1.0) == 8.0


def test_an_array_counts_each_call() -> None:
    count = np.zeros(1)

    def function(x: Any) -> Any:
        count[0] += 1
        return 2 * x

    compiled = tm.compile(function)
    for _ in range(3):
        compiled(1.0)
    assert count[0] == 3
