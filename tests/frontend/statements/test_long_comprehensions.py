"""Comprehensions over many items, whose entry is traced once, and windows at counters: what Python computes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import assert_same, check_batch, check_gradient
from samples.thinning import mostly_on_numpy
from tracemill.runtime.machine.toolchain import Toolchain
from tracemill.runtime.staging.loops import unrolling

pytestmark = pytest.mark.usefixtures("shorter_loops_are_very_long")

COUNT = 84
FEW = 60
"""More calls in a graph say that it was written out."""


def chosen_ways(x: Any) -> Any:
    return np.array([v * 2 if v > 0 else -v for v in x])


def running(x: Any) -> Any:
    items = [(v, v * v) for v in x]
    return items[0][1] + items[-1][0], len(items)


def whole_numbers(x: Any) -> Any:
    return np.array([int(v > 0) for v in x]).sum(), sum([v > 0 for v in x])


def python_floats(x: Any) -> Any:
    numbers = [float(v) for v in x]
    return numbers[3] + numbers[-1] * 2, sum(numbers, start=2.5)


def windows(x: Any) -> Any:
    return np.concatenate([x[i : i + 2] * 3 for i in range(len(x) - 1)])


def centred_windows(x: Any) -> Any:
    return np.array([x[i - 1 : 2 + i].mean() for i in range(1, len(x) - 1)])


def moving_sums(x: Any) -> Any:
    out = np.zeros(len(x) - 2)
    for i in range(len(x) - 2):
        out[i] = x[i : i + 3].sum()
    return out


def written_windows(x: Any) -> Any:
    y = x.copy()
    for i in range(len(x) - 3):
        y[i + 1 : i + 4] += y[i : i + 3] * 0.1
    return y


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: np.array([v * 2 for v in x]),
    "numbers": lambda x: np.array([x[i] * i for i in range(len(x))]),
    "sum of a generator": lambda x: sum(v * 2 for v in x),
    "sum of a list": lambda x: sum([v * x[0] for v in x]),
    "greatest": lambda x: max(v * 2 for v in x),
    "zip": lambda x: np.array([v + w for v, w in zip(x, x[::-1], strict=True)]),
    "enumerate": lambda x: np.array([i * v for i, v in enumerate(x)]),
    "flat": lambda x: np.array([v + 1 for v in x.reshape(-1, 3).flat]),
    "lists": lambda x: np.array([[v, v + 1] for v in x]),
    "lists of lists": lambda x: np.array([[[v, 1.0], [2.0, v]] for v in x]),
    "arrays": lambda x: np.stack([v * np.ones(3) for v in x]),
    "columns": lambda x: np.column_stack([v * np.arange(3.0) for v in x]),
    "on top": lambda x: np.vstack([x[:3] * v for v in x]),
    "side by side": lambda x: np.hstack([v + 1 for v in x]),
    "nested": lambda x: np.array([[a * b for a in x[:5]] for b in x]),
    "few in few": lambda x: np.array([[a * b + i for a in x[:30]] for i, b in enumerate(x[:30])]),
    "sums of few": lambda x: np.array([sum(a * b * j for j, a in enumerate(x[:30])) for b in x[:30]]),
    "few in few in few": lambda x: np.array([[[a * b + c for a in x[:7]] for b in x[:7]] for c in x[:7]]),
    "all pairs": lambda x: np.array([np.sum(np.abs(x - v)) for v in x]),
    "math": lambda x: np.array([math.sin(v) for v in x]),
    "mean": lambda x: np.mean([v**2 for v in x]),
    "one entry": lambda x: [v * 2 for v in x][5],
    "sorted": lambda x: sorted(v * 1 for v in x)[3],
    "listed": lambda x: np.asarray(list(v + 1 for v in x)),  # noqa: C400
    "the items": lambda x: np.array([v for v in x]),  # noqa: C416
    "chosen ways": chosen_ways,
    "running": running,
    "python's floats": python_floats,
    "windows": windows,
    "centred windows": centred_windows,
    "moving sums": moving_sums,
    "written windows": written_windows,
}
FUNCTIONS = SMOOTH | {"whole numbers": whole_numbers}


def numbers(count: int = COUNT) -> Any:
    return np.random.default_rng(0).normal(size=count)


@pytest.mark.parametrize(("name", "backend"), mostly_on_numpy(FUNCTIONS, 7))
def test_the_entries_are_pythons(name: str, backend: str, c_toolchain: Toolchain) -> None:
    function = FUNCTIONS[name]
    assert_same(tm.compile(function, backend=backend)(numbers()), function(numbers()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_entry_is_traced_once(name: str) -> None:
    lowered = tm.compile(FUNCTIONS[name], backend="numpy").lower(numbers())
    assert len(lowered.graph.calls) < FEW


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_differences(name: str) -> None:
    check_gradient(SMOOTH[name], numbers(30))  # without compilation, nothing depends on the count


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_is_a_loop(name: str) -> None:
    check_batch(FUNCTIONS[name], np.random.default_rng(2).normal(size=(2, COUNT)))


def test_ten_thousand_items_are_no_more_calls_than_a_few() -> None:
    lowered = tm.compile(SMOOTH["rows"], backend="numpy").lower(numbers(10_000))
    assert len(lowered.graph.calls) < FEW


# ---- what must not be traced once ----------------------------------------------------------------------


def changes_an_entry(x: Any) -> Any:
    rows = [r * 2 for r in x.reshape(-1, 1)]
    rows[0][0] = 7.0
    return np.array(rows), rows[0]


def changes_an_item(x: Any) -> Any:
    rows = [r for r in x.reshape(-1, 1)]  # noqa: C416
    rows[1][0] = 9.0
    return x + 0, np.array(rows)


def views_of_items(x: Any) -> Any:
    parts = [r[:1] for r in x.reshape(-1, 2)]
    x[0] = 5.0
    return np.array(parts)


def the_same_array(x: Any) -> Any:
    total = x * 2
    rows = [total for _ in range(COUNT)]
    rows[0][0] = 3.0
    return rows[-1], len(rows)


def counts_calls(x: Any) -> Any:
    seen: dict[int, Any] = {}
    entries = [seen.setdefault(i, v) * 2 for i, v in enumerate(x)]
    return np.array(entries), len(seen)


def writes_in_entries(x: Any) -> Any:
    out = np.zeros(len(x))
    done = [out.__setitem__(i, v) for i, v in enumerate(x)]
    return out, len(done)


def exact_integers(x: Any) -> Any:
    powers = [3**i for i in range(COUNT)]
    return x * (powers[-1] % 1000)


def texts(x: Any) -> Any:
    names = [f"x{i}" for i in range(COUNT)]
    return x + len(names[-1])


def different_shapes(x: Any) -> Any:
    return np.concatenate([x[: i % 3] for i in range(COUNT)])


def writes_to_its_items(x: Any) -> Any:
    rows = x.reshape(-1, 1)
    done = [r.__iadd__(1.0) * 2 for r in rows]
    return np.array(done), x


class Counter:
    count = 0


def counts_in_a_class(x: Any) -> Any:
    Counter.count = 0

    def counted(v: Any) -> Any:
        Counter.count += 1
        return v * Counter.count

    return np.array([counted(v) for v in x]), sum(counted(v) for v in x)


def counts_in_a_default(x: Any) -> Any:
    def counted(v: Any, seen: Any = [0]) -> Any:  # noqa: B006
        seen[0] += 1
        return v * seen[0]

    return np.array([counted(v) for v in x])


def remembers_the_last(x: Any) -> Any:
    last = {"v": 0.0}

    def difference(v: Any) -> Any:
        before, last["v"] = last["v"], v
        return v - before

    return np.array([difference(v) for v in x])


def chooses_an_item(x: Any) -> Any:
    rows = [v if v[0] > 0 else v * 2 for v in x.reshape(-1, 1)]
    rows[0][0] = 9.0
    return np.array(rows), x


@pytest.mark.sampled("counts_in_a_default", "remembers_the_last", every=3, slow=2)
@pytest.mark.parametrize(
    "function",
    [
        counts_in_a_class,
        counts_in_a_default,
        remembers_the_last,
        changes_an_entry,
        changes_an_item,
        views_of_items,
        the_same_array,
        counts_calls,
        writes_in_entries,
        exact_integers,
        texts,
        different_shapes,
        writes_to_its_items,
    ],
)
def test_memory_and_effects_are_pythons(function: Callable[[Any], Any]) -> None:
    ours, theirs = numbers(), numbers()
    assert_same(tm.compile(function)(ours), function(theirs))
    np.testing.assert_array_equal(ours, theirs)


def test_a_function_of_the_users_named_sum_gets_a_generator() -> None:
    def sum(values: Any) -> Any:
        return next(values) + next(values)

    def function(x: Any) -> Any:
        return sum(v * 2 for v in x)

    assert_same(tm.compile(function)(numbers()), function(numbers()))


def test_an_exception_in_an_entry_names_the_users_line() -> None:
    def function(x: Any) -> Any:
        return np.array([v.no_such_attribute for v in x])

    with pytest.raises(AttributeError, match="no_such_attribute"):
        tm.compile(function)(numbers())


# ---- comprehensions in comprehensions ------------------------------------------------------------------


def changes_lists_of_entries(x: Any) -> Any:
    table = [[a * b for a in x] for b in x]
    table[0][1] = 7.0
    table[2] = table[0]
    table[2][3] = x[0]
    return np.array(table[0]), np.array(table[2]), np.array(table)[1]


def changes_arrays_of_lists_of_entries(x: Any) -> Any:
    table = [[a * x[:2] for a in x] for _ in x]
    table[0][1][0] = 7.0
    table[1][1] += 1
    return np.array(table[0]), np.array(table[1]), np.array(table[2])


def repeats_a_list(x: Any) -> Any:
    row = [v * 2 for v in x]
    table = [row for _ in x]
    table[0][1] = 7.0
    return np.array(table)[5]


NESTED: dict[str, Callable[[Any], Any]] = {
    "products of all pairs": lambda x: np.array([[a * b for a in x] for b in x]),
    "lists of arrays": lambda x: np.array([[a * x[:2] for a in x] for b in x[1:]]),
    "changes lists": changes_lists_of_entries,
    "changes arrays of lists": changes_arrays_of_lists_of_entries,
    "repeats a list": repeats_a_list,
}


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("name", NESTED)
def test_lists_of_lists_are_pythons(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling, "VERY_LONG", 8)
    function, x = NESTED[name], numbers(11)
    for backend in ("numpy", "c") if name == "changes lists" else ("numpy",):
        assert_same(tm.compile(function, backend=backend)(x), function(x))
    check_batch(function, np.random.default_rng(2).normal(size=(2, 11)))
    check_gradient(function, x)


def test_lists_of_lists_are_traced_once() -> None:
    lowered = tm.compile(NESTED["products of all pairs"], backend="numpy").lower(numbers())
    assert len(lowered.graph.calls) < FEW
