"""Sets and objects of the user's classes as arguments: settings by content or by identity, changed as Python does."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning


class State:
    def __init__(self, place: Any, time: Any) -> None:
        self.place, self.time = place, time


@dataclasses.dataclass
class Item:
    weight: Any
    value: Any

    @property
    def ratio(self) -> Any:
        return self.value / self.weight


@dataclasses.dataclass(frozen=True)
class Setting:
    size: Any
    scale: Any = dataclasses.field(default=1.0, compare=False)


class Named:
    """Equal to others of the same name."""

    def __init__(self, name: str, scale: Any) -> None:
        self.name, self.scale = name, scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Model:
    def __init__(self) -> None:
        self.weights, self.steps = np.ones(3), 0
        self.losses: list[float] = []
        self.seen: set[bool] = set()

    def state(self) -> Any:
        return self.weights.tolist(), self.steps, self.losses, self.seen


class Tree:
    def __init__(self, value: Any) -> None:
        self.value, self.left, self.right = value, None, None

    def state(self) -> Any:
        return self.value, self.left and self.left.state(), self.right and self.right.state()


def members(found: Any, x: Any) -> Any:
    return x in found, len(found), [one * 2 for one in found], found | {3}


def best_value(items: Any, capacity: Any) -> Any:
    total = 0.0
    for item in sorted(items, key=lambda one: one.ratio, reverse=True):
        taken = min(item.weight, capacity)
        capacity -= taken
        total += taken * item.ratio
    return total


def counted(words: Any, x: Any) -> Any:
    return words["a"] * x, words.most_common(1)


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (
            members,
            [({1, 2}, 1), ({1, 2}, 5), ({1, 7}, 7), (set(), 1), (frozenset({1.5}), 1.5), ({1.0, 2}, 2)],
        ),
        (best_value, [((Item(10, 60), Item(20, 100)), 15), ([Item(10, 60), Item(30, 120)], 35)]),
        (counted, [(Counter("aab"), 2.0), (Counter("abb"), 2.0)]),
    ],
)
def test_settings_that_cannot_be_hashed(function: Callable[..., Any], calls: list[Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for args in calls * 2:
        assert repr(compiled(*args)) == repr(function(*args))


def test_sets_with_the_same_members_share_a_program() -> None:
    compiled = tm.compile(members)
    for x in (1, 2, 3):
        assert compiled({1, 2}, x) == members({1, 2}, x)
    assert len(compiled.signatures()) == 1


def test_a_set_that_has_changed_since_is_another_setting() -> None:
    compiled, found = tm.compile(lambda found, x: sum(found) + x, on_recompile="ignore"), {1, 2}
    assert compiled(found, 1.0) == 4.0
    found.remove(1)
    found.add(10)
    assert compiled(found, 1.0) == 13.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Setting(1, 2.0), Setting(1, 5.0)),
        (Named("a", 2.0), Named("a", 5.0)),
        (Named("a", np.ones(2)), Named("a", np.zeros(2))),
    ],
)
def test_objects_that_are_equal_may_have_other_attributes(one: Any, other: Any) -> None:
    compiled = tm.compile(lambda setting, x: setting.scale * x, on_recompile="ignore")
    for setting in (one, other, one):
        np.testing.assert_array_equal(compiled(setting, 3.0), setting.scale * 3.0)


def test_frozen_dataclasses_of_plain_values_are_settings_by_content() -> None:
    compiled = tm.compile(lambda setting, x: setting.size / x)
    assert [compiled(Setting(2), x) for x in (1.0, 2.0)] == [2.0, 1.0]
    assert len(compiled.signatures()) == 1
    assert compiled(Setting(3.0), 2.0) == 1.5


# ---- changes -------------------------------------------------------------------------------------------


def set_attribute(model: Any, x: Any) -> Any:
    model.steps = 7
    return x


def train(model: Any, x: Any) -> Any:
    model.weights = model.weights - x
    model.steps += 1
    model.losses.append(float(x))
    model.seen.add(x > 1)
    return model.weights.sum()


def write(model: Any, x: Any) -> Any:
    model.weights[0] = x
    return model.weights.sum()


def then_raise(model: Any, x: Any) -> Any:
    model.steps += 1
    raise ValueError("afterwards")


@pytest.mark.parametrize("function", [set_attribute, train, write, then_raise])
def test_each_call_changes_the_object(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    model, expected = Model(), Model()
    for x in (1.0, 2.0, 3.0):
        model.steps = expected.steps = 1
        outcomes = []
        for called, one in ((compiled, model), (function, expected)):
            try:
                outcomes.append(called(one, x))
            except ValueError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert model.state() == expected.state()


def test_an_object_that_the_function_changes_may_be_its_result() -> None:
    def moved(state: State, x: Any) -> State:
        state.place = state.place + x
        return state

    compiled, state = tm.compile(moved, on_recompile="ignore"), State(np.zeros(2), 0)
    for _ in range(3):
        assert compiled(state, 0.5) is state
    np.testing.assert_array_equal(state.place, [1.5, 1.5])


def test_an_object_is_changed_where_values_decide() -> None:
    def insert(tree: Any, value: Any) -> None:
        if value < tree.value:
            if tree.left is None:
                tree.left = Tree(value)
            else:
                insert(tree.left, value)
        elif tree.right is None:
            tree.right = Tree(value)
        else:
            insert(tree.right, value)

    compiled = tm.compile(insert, on_recompile="ignore")
    tree, expected = Tree(5), Tree(5)
    for value in (3, 8, 1, 4):
        compiled(tree, value)
        insert(expected, value)
    assert tree.state() == expected.state()


def test_an_object_is_changed_in_a_program_for_the_values_of_the_call() -> None:
    def prune(tree: Any, counts: Any, least: Any) -> Any:
        for key in list(counts):
            if counts[key] < least:
                del counts[key]
        tree.value = len(counts)
        return sorted(counts)

    compiled = tm.compile(prune, on_recompile="ignore")
    for least in (2, 3, 4):
        tree, counts, other, others = Tree(5), {"a": 1, "b": 3}, Tree(5), {"a": 1, "b": 3}
        assert compiled(tree, counts, least) == prune(other, others, least)
        assert (tree.state(), counts) == (other.state(), others)


def test_a_set_is_changed_as_in_python() -> None:
    def add(found: Any, x: Any) -> Any:
        found.add(x)
        return found

    compiled = tm.compile(add, on_recompile="ignore")
    for x in (1, 5, 5, "b"):
        ours, theirs = {1, 2}, {1, 2}
        assert compiled(ours, x) is ours
        assert ours == add(theirs, x)


def test_that_it_runs_uncompiled_is_a_warning() -> None:
    compiled, model = tm.compile(set_attribute), Model()
    with pytest.warns(RecompileWarning, match="runs uncompiled: set_attribute changes the attribute `steps`"):
        compiled(model, 1.0)
    model.steps = 0
    compiled(model, 2.0)
    assert model.steps == 7


def test_a_program_for_each_object_is_worth_one_warning_with_the_fix() -> None:
    @tm.compile
    def step(state: State, x: Any) -> State:
        return State(state.place + x, state.time + 1)

    state = State(np.zeros(2), 0)
    for _ in range(8):
        state = step(state, 0.5)
    with pytest.warns(
        RecompileWarning, match=r"9th of your objects.*\n.*\n.*register_pytree\(State"
    ) as caught:
        state = step(state, 0.5)
    assert caught[0].filename == __file__
    state = step(state, 0.5)  # without another warning
    np.testing.assert_array_equal(state.place, [5.0, 5.0])
    assert state.time == 10


def test_the_fix_for_many_objects_makes_one_program() -> None:
    class Point(State):
        pass

    tm.register_pytree(Point, lambda p: ((p.place, p.time), None), lambda _, parts: Point(*parts))

    @tm.compile(on_recompile="error")
    def step(state: Point, x: Any) -> Point:
        return Point(state.place + x, state.time + 1)

    point = Point(np.zeros(2), 0)
    for _ in range(12):
        point = step(point, 0.5)
    np.testing.assert_array_equal(point.place, [6.0, 6.0])
    assert point.time == 12
    assert len(step.signatures()) == 1
