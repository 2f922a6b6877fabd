"""Lists and dicts of the caller, which compiled functions change as in Python."""

import copy
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import SideEffectError


def first(v: Any) -> Any:
    v[0] = v[1] + 1
    return v


def grown(v: Any) -> Any:
    v.append(v[0] * 2)
    v.insert(0, 5.0)
    return len(v)


def shortened(v: Any) -> Any:
    return v.pop() + v.pop(0)


def sorted_in_place(v: Any) -> None:
    v.sort()


def exchanged_by_value(v: Any) -> None:
    for i in range(len(v)):
        for j in range(len(v) - 1 - i):
            if v[j] > v[j + 1]:
                v[j], v[j + 1] = v[j + 1], v[j]


def inserted_by_value(v: Any) -> None:
    for i in range(1, len(v)):
        x, j = v[i], i - 1
        while j >= 0 and v[j] > x:
            v[j + 1] = v[j]
            j -= 1
        v[j + 1] = x


def nested(v: Any) -> Any:
    v.append([v[0], v[1]])
    v[3][1] = 7.0
    return v[3]


def counted(v: Any, n: int = 3) -> None:
    for t in range(n):
        v[t] = v[t] + t


def stepped(parameters: Any) -> Any:
    for name in parameters:
        parameters[name] = parameters[name] * 0.9
    parameters["steps"] = 1
    return parameters["w"].sum()


LISTS: list[Callable[[Any], Any]] = [
    first, grown, shortened, sorted_in_place, exchanged_by_value, inserted_by_value, nested, counted,
]  # fmt: skip


@pytest.mark.parametrize("change", LISTS)
def test_a_list_is_changed_as_in_python(change: Callable[[Any], Any]) -> None:
    compiled = tm.compile(change, backend="numpy", on_recompile="ignore")
    for given in ([3.0, 1.0, 2.0], [-1.0, 8.0, 0.5]):
        ours, theirs = list(given), list(given)
        assert compiled(ours) == change(theirs)
        assert ours == theirs


def test_an_int_that_is_a_size_may_come_with_the_list() -> None:
    compiled = tm.compile(counted, backend="c", on_recompile="ignore")
    for n in (1, 3, 2):
        ours, theirs = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]
        compiled(ours, n)
        counted(theirs, n)
        assert ours == theirs


def test_a_dict_is_changed_as_in_python() -> None:
    ours: Any = {"w": np.ones(3), "b": 2.0}
    theirs = copy.deepcopy(ours)
    assert tm.compile(stepped, backend="numpy")(ours) == stepped(theirs)
    assert list(ours) == list(theirs) == ["w", "b", "steps"]
    np.testing.assert_array_equal(ours["w"], theirs["w"])
    assert (ours["b"], ours["steps"]) == (theirs["b"], theirs["steps"])


def test_what_only_moves_stays_the_callers_own_object() -> None:
    def moved(rows: Any, x: Any, queue: Any) -> None:
        rows[0], rows[1] = rows[1], rows[0]
        rows.append(x)
        queue.rotate(1)

    rows, x, queue = [np.zeros(2), [1.0, 2.0]], np.ones(3), deque([1.0, 2.0, 3.0])
    zeros, inner = rows
    tm.compile(moved, backend="numpy")(rows, x, queue)
    assert rows[0] is inner
    assert rows[1] is zeros
    assert rows[2] is x
    assert queue == deque([3.0, 1.0, 2.0])


def test_one_list_in_two_places_is_one_list() -> None:
    def added(v: Any, w: Any) -> Any:
        v.append(1.0)
        return len(w)

    compiled = tm.compile(added, backend="numpy")
    one = [2.0]
    assert compiled([2.0], [2.0]) == 1
    assert compiled(one, one) == 2
    assert one == [2.0, 1.0]


def test_a_call_that_raises_leaves_what_python_leaves() -> None:
    def checked(v: Any) -> None:
        v[0] = 9.0
        if v[1] < 0:
            raise ValueError("negative")

    compiled = tm.compile(checked, backend="numpy")
    ours = [1.0, 2.0]
    compiled(ours)
    assert ours == [9.0, 2.0]
    ours = [1.0, -2.0]
    with pytest.raises(ValueError, match="negative"):
        compiled(ours)
    assert ours == [9.0, -2.0]


@pytest.mark.parametrize("transform", [tm.grad, tm.vmap, lambda f: tm.compile(tm.grad(f), backend="numpy")])
def test_transforms_refuse_changes_that_the_caller_would_not_see(transform: Callable[..., Any]) -> None:
    def changing(parameters: Any) -> Any:
        parameters["w"] = parameters["w"] * 2
        return parameters["w"].sum()

    given = {"w": np.ones(3)}
    with pytest.raises(SideEffectError, match=r"changing changes args\[0\], a dict, .* copy\.copy"):
        transform(changing)(given)
    np.testing.assert_array_equal(given["w"], np.ones(3))


def test_writes_to_arrays_in_containers_are_no_changes_of_these() -> None:
    def halve(parameters: Any) -> Any:
        parameters["w"] *= 0.5
        return parameters["w"].sum()

    given = {"w": np.ones(3)}
    array = given["w"]
    assert tm.compile(halve, backend="numpy")(given) == 1.5
    assert given["w"] is array
    np.testing.assert_array_equal(array, np.full(3, 0.5))
