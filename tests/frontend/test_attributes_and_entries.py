"""Branches and loops on values set attributes of objects and entries of lists and dicts, as in Python."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from tracemill.compiler.errors import RandomStateError, SideEffectError


class Controller:
    """An object with state that a branch changes."""

    def __init__(self) -> None:
        self.total = 0.0
        self.steps = 0
        self.weights = np.zeros(3)

    def step(self, error: Any) -> Any:
        if abs(error) > 1:
            self.total += error
            self.steps += 1
        else:
            self.reset()
        return 0.5 * self.total + self.steps

    def reset(self) -> None:
        self.total = 0.0


@dataclass(slots=True)
class Point:
    """An object without a dict of attributes."""

    x: Any
    y: Any = 0.0


def test_a_branch_sets_attributes_in_a_method() -> None:
    def function(errors: Any) -> Any:
        controller = Controller()
        out = [controller.step(errors[0]), controller.step(errors[1]), controller.step(errors[2])]
        return np.stack(out), controller.total, controller.steps

    check(function, (np.array([2.0, 0.5, 3.0]),), (np.array([2.0, 4.0, -3.0]),), (np.zeros(3),))


def test_a_loop_carries_attributes() -> None:
    def function(x: Any) -> Any:
        controller = Controller()
        while controller.total < x:
            controller.total += 1.5
            controller.steps += 2
        return controller.total, controller.steps

    check(function, (10.0,), (-1.0,))


def test_a_long_loop_carries_attributes_that_a_branch_in_it_sets() -> None:
    def function(errors: Any) -> Any:
        controller = Controller()
        out = np.zeros(len(errors))
        for i in range(len(errors)):
            out[i] = controller.step(errors[i])
        return out, controller.total

    check(function, (np.linspace(-3, 3, 40),), (np.linspace(0, 2, 40),), dynamic=False)


def test_slots_lists_dicts_and_deques_keep_new_values() -> None:
    def function(x: Any) -> Any:
        point, row, table, window = Point(1.0), [1.0, 2.0], {"a": 1.0, "b": 2.0}, deque([1.0, 2.0])
        if x > 0:
            point.x = x
            row[1] = row[0] + x
            table["b"] = x * 3
        else:
            point.y = -x
            window[0] = x
        return point.x, point.y, row[0], row[1], table["a"], table["b"], window[0], window[1]

    check(function, (2.0,), (-2.0,))


def test_branches_in_branches_and_jumps_set_attributes() -> None:
    def function(x: Any) -> Any:
        point = Point(x)
        for k in [1.0, 2.0, 3.0]:
            if point.x > 10:
                point.y = k
                break
            if point.x > 2:
                point.x = point.x * k if point.x < 5 else point.x + 7
            else:
                point.x += k
        return point.x, point.y

    check(function, (0.0,), (3.0,), (6.0,), (20.0,))


def test_a_row_of_numbers_is_written_to_at_a_traced_place() -> None:
    def function(place: Any, x: Any) -> Any:
        row = [1.0, 2.0, 3.0]
        row[place] = x
        row[-1] += 1
        return row[0], row[1], row[2]

    def wrapped(x: Any) -> Any:
        return function(np.where(x > 0, 1, np.where(x < 0, -1, 0))[()], x)

    check(wrapped, (2.0,), (-2.0,), (0.0,))


def test_an_entry_that_a_branch_restores_is_not_changed() -> None:
    table = {"n": 1.0}

    def function(x: Any) -> Any:
        before = table["n"]
        if x > 0:
            table["n"] = 5.0
            y = x * table["n"]
            table["n"] = before
        else:
            y = x
        return y

    check(function, (2.0,), (-2.0,))
    assert table == {"n": 1.0}


@pytest.mark.parametrize("change", ["rows.append(x)", "table['new'] = x", "point.new = x", "kinds.add(1)"])
def test_growth_outside_that_depends_on_values_happens_once_in_a_call(change: str, tmp_path: Any) -> None:
    text = f"def function(x, rows, table, point, kinds):\n    if x > 0:\n        {change}\n    return x\n"
    path = tmp_path / "growing.py"
    path.write_text(text)
    module: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), module)
    rows, table, point, kinds = [1.0], {"a": 1.0}, Controller(), set[int]()
    compiled = tm.compile(lambda x: module["function"](x, rows, table, point, kinds))
    compiled(-1.0)
    assert (rows, table, kinds, hasattr(point, "new")) == ([1.0], {"a": 1.0}, set(), False)
    assert compiled(2.0) == 2.0
    changed = (rows[1:], table.get("new"), kinds, getattr(point, "new", None))
    nothing: tuple[Any, ...] = ([], None, set(), None)
    assert sum(one != other for one, other in zip(changed, nothing, strict=True)) == 1
    assert rows in ([1.0], [1.0, 2.0])


def test_a_draw_in_a_branch_on_values_is_refused() -> None:
    generator = np.random.default_rng(0)

    def function(x: Any) -> Any:
        return x if x > 0 or generator.random() < 0.5 else -x

    with pytest.raises(RandomStateError, match="frozen into the graph"):
        tm.compile(function)(-1.0)
    with pytest.raises(SideEffectError, match="something new at each call"):
        tm.compile(tm.vmap(function))(np.array([1.0, -1.0]))


def test_attributes_have_batches_and_derivatives() -> None:
    def function(x: Any) -> Any:
        point = Point(x)
        if x > 1:
            point.x = x * x
        return point.x

    rows = np.array([0.5, 2.0])
    np.testing.assert_allclose(tm.vmap(function)(rows), [0.5, 4.0])
    np.testing.assert_allclose([tm.grad(function)(x) for x in rows], [1.0, 4.0])


def test_an_entry_at_a_traced_place_may_hold_several_arrays() -> None:
    def function(x: Any) -> Any:
        layers = [(x, {"bias": x + 1}), (x * 2, {"bias": x + 5})]
        weights, rest = layers[int(x[0] > 0)]
        total: Any = weights @ rest["bias"]
        return total

    check(function, (np.array([1.0, 2.0]),), (np.array([-1.0, 2.0]),))


@pytest.mark.parametrize("change", ["rows[k][0] = 9.0", "rows[k] *= 2"])
def test_a_write_to_an_entry_at_a_traced_place_is_seen(change: str, tmp_path: Any) -> None:
    function = _changing(change, tmp_path)
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(tm.compile(function)(x), function(x))


def test_an_item_appended_to_one_of_several_lists_is_for_the_call_at_hand(tmp_path: Any) -> None:
    function = _changing("tables[k].append(x[0])", tmp_path)
    compiled = tm.compile(function, on_recompile="ignore")
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        np.testing.assert_array_equal(compiled(x), function(x))
    with pytest.raises(SideEffectError, match="an entry of a list at a traced place"):
        tm.compile(tm.vmap(function))(np.ones((2, 2)))


def _changing(change: str, tmp_path: Any) -> Any:
    """A function that changes an entry at a place that depends on values, in a file."""
    text = (
        "def function(x):\n    rows, tables = [x + 0, x + 1], [[x[0]], [x[1]]]\n    k = (x[0] > 0) * 1\n"
        f"    {change}\n    return rows[0] + rows[1] + len(tables[0])\n"
    )
    path = tmp_path / "writing.py"
    path.write_text(text)
    module: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), module)
    return module["function"]
