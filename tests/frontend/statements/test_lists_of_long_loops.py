"""Long loops that append to lists are traced once, where Python would make the same lists."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import assert_same, check_batch, check_gradient
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = pytest.mark.usefixtures("shorter_loops_are_very_long")

COUNT = 84
FEW = 60
"""More calls in a graph say that the loop was written out."""


def doubled(x: Any) -> Any:
    out = []
    for v in x:
        out.append(v * 2)  # noqa: PERF401
    return np.array(out)


def states(x: Any) -> Any:
    state, path = np.zeros(3), []
    for v in x:
        state = 0.9 * state + v
        path.append(state)
    return np.array(path)


def states_and_the_first(x: Any) -> Any:
    state = np.zeros(3)
    path = [state]
    for i in range(len(x)):
        state = 0.9 * state + x[i]
        path.append(state.copy())
    return np.stack(path), state


def new_arrays(x: Any) -> Any:
    rows: list[Any] = []
    for v in x:
        rows.append(v * np.arange(3.0))  # noqa: PERF401
    rows[0][1] = 5.0
    return np.array(rows), rows[1]


def states_before(x: Any) -> Any:
    state, path = x[:3] * 1, []
    for v in x:
        path.append(state)
        state = 0.9 * state + v
    return np.vstack(path)


def two_lists(x: Any) -> Any:
    times, values = [], []
    t = 0.0
    for v in x:
        t += 0.1
        times.append(t)
        values.append(np.sin(t) * v)
    return np.array(times), np.array(values)


def one_way_or_the_other(x: Any) -> Any:
    out = []
    for v in x:
        if v > 0:
            out.append(v)
        else:
            out.append(-2 * v)
    return np.array(out)


def states_and_differences(x: Any) -> Any:
    state, before, path = np.ones(3), np.zeros(3), []
    for v in x:
        before, state = state, np.tanh(state - before) + v
        path.append((v, state))
    return np.array([row * v for v, row in path]), before


def made_in_steps(x: Any) -> Any:
    state, path = np.zeros(3), []
    for i in range(len(x)):
        new = np.zeros(3)
        new[i % 3] = x[i]
        path.append(new)
        new += state
        state = new
    return np.array(path), state


def written_in_the_list(x: Any) -> Any:
    state, path = np.zeros(3), []
    for v in x:
        state = state * 0.5 + v
        path.append(state)
    path[-1][0] = 99.0
    return np.array(path), state


def the_first_written_to(x: Any) -> Any:
    first = np.zeros(3)
    state, path = first, []
    for v in x:
        path.append(state)
        state = state * 0.5 + v
    first[1] = 99.0
    return np.array(path), state


def seen_by_another_variable(x: Any) -> Any:
    state, kept, path = np.zeros(3), np.zeros(3), []
    for v in x:
        state = state * 0.5 + v
        path.append(state)
        if v > 1:
            kept = state
    kept[1] = 99.0
    return np.array(path), kept


def rebound_for_some_values(x: Any) -> Any:
    state, path = np.zeros(3), []
    for v in x:
        if v > 0:
            state = state * 0.5 + v
        path.append(state)
    path[3][0] = 99.0
    return np.array(path), state


def swapped(x: Any) -> Any:
    state, other, path = np.zeros(3), np.ones(3), []
    for _ in x:
        state, other = other, state
        path.append(state)
    path[0][0] = x[0]
    return np.array(path), state


def before_and_after(x: Any) -> Any:
    state, path, steps = np.zeros(3), [], []
    for v in x:
        path.append(state)
        state = state * 0.5 + v
        steps.append(state)
    steps[2][0] = 99.0
    return np.array(path), np.array(steps)


def an_iteration_later(x: Any) -> Any:
    state, before, path, late = np.zeros(3), np.zeros(3), [], []
    for v in x:
        path.append(state)
        late.append(before)
        before, state = state, state * 0.5 + v
    path[2][0] = 99.0
    return np.array(path), np.array(late)


def pairs(x: Any) -> Any:
    found = []
    for v in x:
        found.append((v, v * v))  # noqa: PERF401
    return np.array([a * b for a, b in found])


def added_up(x: Any) -> Any:
    total, sums = 0.0, []
    for v in x:
        total += v
        sums.append(total)
    return sum(sums), max(sums), len(sums)


def written_to_afterwards(x: Any) -> Any:
    state, path = np.zeros(3), []
    for v in x:
        state = state * 0.5 + v
        path.append(state)
    state[0] = 99.0
    return np.array(path), state


def written_to_in_the_next_iteration(x: Any) -> Any:
    state, path = np.zeros(3), []
    for v in x:
        state *= 0.5
        state = state + v
        path.append(state)
    return np.array(path)


def in_two_lists(x: Any) -> Any:
    first, second = [], []
    for v in x:
        row = v * np.ones(2)
        first.append(row)
        second.append(row)
    first[0][0] = 9.0
    return np.array(first), np.array(second)


def kept_as_a_view(x: Any) -> Any:
    view, rows = np.zeros(2), []
    for v in x:
        row = v * np.ones(3)
        view = row[:2]
        rows.append(row)
    view[0] = 9.0
    return np.array(rows)


def read_in_a_tuple(x: Any) -> Any:
    out = [x[0]]
    held = (out,)
    for v in x[1:]:
        out.append(v + held[0][-1])  # noqa: PERF401
    return np.array(out)


def read_by_a_default(x: Any) -> Any:
    out = [x[0]]

    def last(entries: Any = out) -> Any:
        return entries[-1]

    for v in x[1:]:
        out.append(v + last())  # noqa: PERF401
    return np.array(out)


def caught(x: Any) -> Any:
    out: list[Any] = []
    try:
        for i, v in enumerate(x):
            if i == 250:
                raise ValueError
            out.append(v)
    except ValueError:
        pass
    return np.array(out)


def in_a_row_of_lists(x: Any) -> Any:
    kept = {"path": [x[0]]}
    for v in x:
        kept["path"].append(v * 3)
    return np.array(kept["path"])


STAGED: dict[str, Callable[[Any], Any]] = {
    function.__name__: function
    for function in (
        doubled,
        states,
        states_before,
        states_and_differences,
        made_in_steps,
        states_and_the_first,
        new_arrays,
        two_lists,
        one_way_or_the_other,
        pairs,
        added_up,
    )
}


def reads_its_last_entry(x: Any) -> Any:
    out = [x[0]]
    for v in x[1:]:
        out.append(0.3 * v + 0.7 * out[-1])
    return np.array(out)


def reads_by_another_name(x: Any) -> Any:
    out = [x[0]]
    same = out
    for v in x[1:]:
        out.append(0.3 * v + 0.7 * same[-1])  # noqa: PERF401
    return np.array(out)


def reads_in_a_function(x: Any) -> Any:
    out = [x[0]]

    def last() -> Any:
        return out[-1]

    for v in x[1:]:
        out.append(0.3 * v + 0.7 * last())  # noqa: PERF401
    return np.array(out)


def hands_it_to_a_function(x: Any) -> Any:
    def extended(entries: Any, v: Any) -> None:
        entries.append(v + entries[-1])

    out = [x[0]]
    for v in x[1:]:
        extended(out, v)
    return np.array(out)


def asks_for_its_length(x: Any) -> Any:
    out: list[Any] = []
    for v in x:
        out.append(v * len(out))
    return np.array(out)


def appends_one_array_again_and_again(x: Any) -> Any:
    state, path = np.zeros(3), []
    for v in x:
        state += v
        path.append(state)
    return np.array(path)


def appends_its_items(x: Any) -> Any:
    rows = []
    for row in x.reshape(-1, 1):
        rows.append(row)  # noqa: PERF402
    x[0] = 5.0
    return np.array(rows)


def appends_views(x: Any) -> Any:
    base, rows = x * 1, []
    for i in range(len(x) - 2):
        rows.append(base[i : i + 2])  # noqa: PERF401
    base[1] = 5.0
    return np.array(rows)


def grows_what_it_goes_over(x: Any) -> Any:
    entries = [x[i] * 2 for i in range(len(x))]
    for v in entries:
        if len(entries) < COUNT + 3:
            entries.append(v)
    return np.array(entries)


def two_entries(x: Any) -> Any:
    out = []
    for v in x:
        out.extend([v, 2 * v])
    return np.array(out)


WRITTEN_OUT: dict[str, Callable[[Any], Any]] = {
    function.__name__: function
    for function in (
        written_to_afterwards,
        written_in_the_list,
        the_first_written_to,
        swapped,
        before_and_after,
        an_iteration_later,
        written_to_in_the_next_iteration,
        in_two_lists,
        kept_as_a_view,
        read_in_a_tuple,
        read_by_a_default,
        caught,
        in_a_row_of_lists,
        reads_its_last_entry,
        reads_by_another_name,
        reads_in_a_function,
        hands_it_to_a_function,
        asks_for_its_length,
        appends_one_array_again_and_again,
        appends_its_items,
        appends_views,
        grows_what_it_goes_over,
        two_entries,
    )
}


def numbers(count: int = COUNT) -> Any:
    return np.random.default_rng(0).normal(size=count)


@pytest.mark.sampled(
    "the_first_written_to",
    "written_to_in_the_next_iteration",
    "kept_as_a_view",
    "read_in_a_tuple",
    "caught",
    every=3,
    slow=2,
)
@pytest.mark.parametrize("name", [*STAGED, *WRITTEN_OUT])
def test_the_lists_are_pythons(name: str) -> None:
    function = {**STAGED, **WRITTEN_OUT}[name]
    ours, theirs = numbers(), numbers()
    assert_same(tm.compile(function, backend="numpy")(ours), function(theirs))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.sampled("seen_by_another_variable")
@pytest.mark.parametrize("function", [seen_by_another_variable, rebound_for_some_values])
def test_entries_that_are_the_same_array_for_some_values_are_pythons(function: Callable[[Any], Any]) -> None:
    assert_same(tm.compile(function, backend="numpy")(numbers(30)), function(numbers(30)))
    with pytest.raises(tm.errors.SharedMemoryError, match=r"Bind a copy there, (kept|state) = "):
        tm.compile(tm.vmap(function), backend="numpy")(np.stack([numbers(), numbers()]))


@pytest.mark.sampled("one_way_or_the_other")
@pytest.mark.parametrize("name", STAGED)
def test_the_body_is_traced_once(name: str, c_toolchain: Toolchain) -> None:
    compiled = tm.compile(STAGED[name], backend="c")
    assert len(compiled.lower(numbers()).graph.calls) < FEW
    assert_same(compiled(numbers()), STAGED[name](numbers()))


@pytest.mark.parametrize("name", STAGED)
def test_gradients_are_differences(name: str) -> None:
    check_gradient(STAGED[name], numbers(30))  # without compilation, nothing depends on the count


@pytest.mark.parametrize("name", STAGED)
def test_a_batch_is_a_loop(name: str) -> None:
    check_batch(STAGED[name], np.random.default_rng(2).normal(size=(2, COUNT)))
