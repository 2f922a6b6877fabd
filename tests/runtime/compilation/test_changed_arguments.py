"""Lists and dicts of the caller, which compiled functions change as in Python."""

import copy
from collections import OrderedDict, deque
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


def test_a_new_object_in_several_places_is_one_object() -> None:
    def added(v: Any, w: Any, x: Any) -> Any:
        y, row = x * 2, [x]
        v.append(y)
        v.append(y)
        w.append(row)
        v.append(row)
        return row

    v: list[Any] = []
    w: list[Any] = []
    row = tm.compile(added, backend="numpy")(v, w, np.ones(2))
    assert v[0] is v[1]
    assert v[2] is w[0]
    assert row is w[0]


def test_a_list_that_is_returned_is_the_callers_own() -> None:
    def unchanged(v: Any) -> Any:
        return v

    for function in (unchanged, first, grown):
        v = [1.0, 2.0]
        found = tm.compile(function, backend="numpy")(v)
        assert (found is v) == (function is not grown)


def test_none_is_put_into_a_dict() -> None:
    def cleared(d: Any) -> None:
        d["a"] = None
        d["b"] = [None, d["c"]]

    d: dict[str, Any] = {"a": 1.0, "c": 2.0}
    tm.compile(cleared, backend="numpy")(d)
    assert d == {"a": None, "c": 2.0, "b": [None, 2.0]}


def test_the_order_of_keys_is_that_of_python() -> None:
    def last(d: Any) -> None:
        d["a"] = d.pop("a")

    def first_of_three(d: Any) -> Any:
        d["c"] = 3.0
        d.move_to_end("c", last=False)
        return d

    plain = {"a": 1.0, "b": 2.0}
    tm.compile(last, backend="numpy")(plain)
    assert list(plain) == ["b", "a"]
    ordered = OrderedDict(b=1.0, a=2.0)
    assert tm.compile(first_of_three, backend="numpy")(ordered) is ordered
    assert list(ordered.items()) == [("c", 3.0), ("b", 1.0), ("a", 2.0)]


@pytest.mark.parametrize("transform", [tm.compile, tm.vmap, tm.grad])
def test_an_ordered_dict_whose_keys_were_moved_keeps_its_order(transform: Callable[..., Any]) -> None:
    def first_value(d: Any) -> Any:
        return next(iter(d.values())) * 3.0

    x = np.array([1.0, 2.0]) if transform is tm.vmap else 1.0
    d = OrderedDict(b=x, a=x * 5)
    d.move_to_end("b")
    found = transform(first_value)(d)
    if transform is tm.grad:
        assert list(found.items()) == [("a", 3.0), ("b", 0.0)]
    else:
        np.testing.assert_array_equal(found, first_value(d))


def test_a_list_that_the_function_reaches_otherwise_is_one_list() -> None:
    names = [1.0, 2.0]

    def added(v: Any, x: Any) -> Any:
        v.append(x)
        return len(names)

    def replaced(v: Any, x: Any) -> Any:
        v[0] = x
        return names[0]

    def is_names(v: Any) -> Any:
        return v is names

    for function, call in ((added, ([1.0], 2.0)), (replaced, ([1.0], 3.0)), (is_names, ([1.0, 2.0],))):
        compiled = tm.compile(function, backend="numpy")
        assert compiled(*call) == function(*copy.deepcopy(call))
        found = []
        for one in (compiled, function):
            names[:] = [1.0, 2.0]
            found.append((one(names, *call[1:]), list(names)))
        assert found[0] == found[1]


def test_one_list_in_two_places_is_itself() -> None:
    def are_same(v: Any, w: Any) -> Any:
        return v is w

    compiled = tm.compile(are_same, backend="numpy")
    one = [2.0]
    assert [compiled([2.0], [2.0]), compiled(one, one)] == [False, True]


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


def test_writes_to_arrays_in_containers_do_not_change_the_containers() -> None:
    def halve(parameters: Any) -> Any:
        parameters["w"] *= 0.5
        return parameters["w"].sum()

    given = {"w": np.ones(3)}
    array = given["w"]
    assert tm.compile(halve, backend="numpy")(given) == 1.5
    assert given["w"] is array
    np.testing.assert_array_equal(array, np.full(3, 0.5))


def test_an_int_that_is_a_size_leaves_the_callers_lists_themselves() -> None:
    def added(n: int, a: Any, b: Any) -> Any:
        for i in range(n):
            a.append(float(i))
        b.append(np.zeros(n).sum())
        return len(a)

    def changed(state: Any, x: float) -> Any:
        state["history"].append(np.full(state["n"], x).sum())
        state["last"] = x
        return state["n"]

    compiled = tm.compile(added, backend="numpy", on_recompile="ignore")
    assert compiled(2, [1.0], [2.0]) == 3
    ours, theirs = [1.0], [1.0]
    assert compiled(3, ours, ours) == added(3, theirs, theirs)
    assert ours == theirs
    compiled = tm.compile(changed, backend="numpy", on_recompile="ignore")
    ours_too: dict[str, Any] = {"n": 3, "history": []}
    theirs_too = copy.deepcopy(ours_too)
    history = ours_too["history"]
    for n in (3, 3, 5):
        ours_too["n"] = theirs_too["n"] = n
        assert compiled(ours_too, 2.0) == changed(theirs_too, 2.0)
    assert ours_too == theirs_too
    assert ours_too["history"] is history


def test_a_container_that_holds_a_size_may_be_passed_twice() -> None:
    def counted(d: Any, e: Any) -> Any:
        d["n"] += 1
        return d is e, np.zeros(e["n"]).shape[0]

    compiled = tm.compile(counted, backend="numpy", on_recompile="ignore")
    ours, theirs = {"n": 2}, {"n": 2}
    assert compiled({"n": 2}, {"n": 5}) == (False, 5)
    assert compiled(ours, ours) == counted(theirs, theirs)
    assert ours == theirs


def test_errors_while_tracing_and_with_sizes_leave_what_python_leaves() -> None:
    def missing(v: Any) -> Any:
        v.append(5.0)
        return v[2]

    def limited(n: int, v: Any) -> None:
        for i in range(n):
            v[0] = v[0] + i
            if v[0] > 5:
                raise ValueError("too large")
        v.append(np.zeros(n).sum())

    v = [1.0]
    with pytest.raises(IndexError):
        tm.compile(missing, backend="numpy")(v)
    assert v == [1.0, 5.0]
    compiled = tm.compile(limited, backend="numpy", on_recompile="ignore")
    compiled(2, [1.0])
    v = [4.0]
    with pytest.raises(ValueError, match="too large"):
        compiled(5, v)
    assert v == [7.0]
