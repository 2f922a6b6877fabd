"""Computed indices out of bounds raise in compiled functions that check them, and nowhere else."""

import re
from collections import deque
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from samples.thinning import mostly_on_numpy, one_in
from tracemill.compiler.errors import ArgumentTypeError, ArgumentValueError, OutOfBoundsError
from tracemill.compiler.interpreter import evaluate
from tracemill.runtime.programs.built import statistics

pytestmark = pytest.mark.usefixtures("lightly_optimised")

TABLE = np.arange(12.0).reshape(3, 4)
ROW = np.arange(5.0)


@pytest.fixture(params=["numpy", "c", "triton"])
def backend(request: pytest.FixtureRequest, stub_gpu: StubGpu) -> Iterator[str]:
    if request.param != "triton":
        yield request.param
        return
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed; it is for Linux on x86")
    from gpu.interpreted_gpu import interpreted

    with interpreted(stub_gpu):
        yield request.param


# ---- every place that takes an index -----------------------------------------------------------------


def read(x: Any, i: Any) -> Any:
    return x[i]


def read_columns(x: Any, i: Any) -> Any:
    return x[:, i]


def read_pairs(x: Any, i: Any) -> Any:
    return x[i, i]


def read_flat(x: Any, i: Any) -> Any:
    return x.flat[i]


def take(x: Any, i: Any) -> Any:
    return np.take(x, i, axis=1)


def take_flat(x: Any, i: Any) -> Any:
    return x.take(i)


def take_along(x: Any, i: Any) -> Any:
    return np.take_along_axis(x, i[:, None], axis=0)


def write(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i] = 7.0
    return x


def write_rows(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i, 1:] *= 2.0
    return x


def put(x: Any, i: Any) -> Any:
    x = x.copy()
    np.put(x, i, 1.0)
    return x


def put_along(x: Any, i: Any) -> Any:
    x = x.copy()
    np.put_along_axis(x, i[:, None], 5.0, axis=0)
    return x


def add_at(x: Any, i: Any) -> Any:
    x = x.copy()
    np.add.at(x, i, 1.0)
    return x


def multiply_at(x: Any, i: Any) -> Any:
    x = x.copy()
    np.multiply.at(x, i, 2.0)
    return x


def maximum_at(x: Any, i: Any) -> Any:
    x = x.copy()
    np.maximum.at(x, (i, 1), 2.0)
    return x


PLACES: dict[Callable[[Any, Any], Any], tuple[int, int]] = {
    read: (0, 3), read_columns: (1, 4), read_pairs: (0, 3), read_flat: (0, 12), take: (1, 4), take_flat: (0, 12),
    take_along: (0, 3), write: (0, 3), write_rows: (0, 3),
    put: (0, 12), put_along: (0, 3), add_at: (0, 3), multiply_at: (0, 3), maximum_at: (0, 3),
}  # fmt: skip
"""By function the axis that it indexes, and the size of that."""


def at_line_of(function: Callable[..., Any]) -> str:
    return f"test_check_bounds.py:{function.__code__.co_firstlineno}"


@pytest.mark.sampled(slow=2)
@pytest.mark.parametrize("function", PLACES, ids=lambda f: f.__name__)
def test_an_index_out_of_bounds_raises_with_index_size_axis_and_line(
    function: Callable[..., Any], backend: str
) -> None:
    axis, size = PLACES[function]
    checked = tm.compile(function, backend=backend, check_bounds=True)
    right = np.array([0, size - 1, -size])
    found = checked(TABLE, right)
    for got, expected in zip(np.atleast_1d(found), np.atleast_1d(function(TABLE, right)), strict=True):
        np.testing.assert_array_equal(np.asarray(got), expected)
    for wrong in (size, -size - 1, 2**40, -(2**40)):
        with pytest.raises(IndexError) as raised:
            checked(TABLE, np.array([0, wrong, 1]))
        assert isinstance(raised.value, OutOfBoundsError)
        assert f"index {wrong} is out of bounds for axis {axis} with size {size}" in str(raised.value)
        first = function.__code__.co_firstlineno
        line = int(re.search(r"test_check_bounds\.py:(\d+)", str(raised.value))[1])  # type: ignore[index]
        assert first < line <= first + 3


@pytest.mark.sampled("numpy-uint64-read", every=7, slow=3)
@pytest.mark.parametrize("function", [read, write], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", one_in(4, "int8 int16 int32 int64 uint64 uint8 uint16 uint32".split()))
def test_indices_of_every_integer_dtype_are_checked(
    function: Callable[..., Any], dtype: str, backend: str
) -> None:
    checked = tm.compile(function, backend=backend, check_bounds=True)
    info = np.iinfo(dtype)
    wrong = [5, info.max] + ([-6, info.min] if info.min else [])
    if dtype == "uint64":
        wrong[1] = 2**63 + 1  # as int64 this is below all
        np.testing.assert_array_equal(
            checked(ROW, np.array([2**64 - 1, 0], "uint64")), function(ROW, np.array([-1, 0]))
        )
    for entry in wrong:
        index = np.array([1, entry], dtype)
        with pytest.raises(IndexError):
            function(ROW, index)
        with pytest.raises(OutOfBoundsError):
            checked(ROW, index)
    right = np.array([4, 0], dtype)
    np.testing.assert_array_equal(checked(ROW, right), function(ROW, right))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_modes_that_bring_indices_into_the_axis_are_not_checked(mode: Any, backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        y = x.copy()
        np.put(y, i, 9.0, mode=mode)
        return np.take(x, i, mode=mode), y, np.choose(i, [x, -x], mode=mode)

    index = np.array([-7, 0, 3, 9, 99])
    checked = tm.compile(f, backend=backend, check_bounds=True)
    for got, expected in zip(checked(ROW, index), f(ROW, index), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert "check_index" not in str(checked.lower(ROW, index).graph)


def test_indices_that_functions_of_numpy_compute_are_not_checked() -> None:
    def f(x: Any) -> Any:
        return (
            np.sort(x), np.argsort(x), np.pad(x, 2, mode="reflect"), np.roll(x, 2), np.median(x), np.diff(x),
            np.quantile(x, 0.3), np.convolve(x, x), np.searchsorted(x, x), np.interp(x, x, x), np.repeat(x, 2),
        )  # fmt: skip

    assert "check_index" not in str(tm.compile(f, check_bounds=True).lower(ROW).graph)


def test_the_error_names_the_largest_index_above_or_the_smallest_below_of_the_first_line() -> None:
    @tm.compile(check_bounds=True)
    def f(x: Any, i: Any, j: Any) -> Any:
        first = x[i]
        return first + x[j]

    with pytest.raises(OutOfBoundsError, match="index 9 is"):
        f(ROW, np.array([7, 9, -9]), np.array([11, 0, 0]))
    with pytest.raises(OutOfBoundsError, match="index -9 is"):
        f(ROW, np.array([0, -7, -9]), np.array([0, 0, 0]))


def test_an_index_that_broadcasts_to_nothing_is_not_checked() -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        return x[i, j]

    checked = tm.compile(f, check_bounds=True)
    arguments = TABLE, np.array([7]), np.zeros((0,), np.int64)
    np.testing.assert_array_equal(checked(*arguments), f(*arguments))


NUMBERS = (4, np.int64(4), np.array(4))
ARRAYS = (np.array([4]), np.array([[4]]))
EMPTY = np.zeros(0, np.int64)


@pytest.mark.parametrize("index", [*NUMBERS, *ARRAYS], ids=repr)
@pytest.mark.parametrize("is_closed_over", [False, True])
@pytest.mark.parametrize("function", [lambda x, i, j: x[i, j], lambda x, i, j: x[None, i, j].sum()])
def test_beside_an_empty_index_array_numbers_are_checked_and_arrays_are_not(
    function: Callable[..., Any], is_closed_over: bool, index: Any
) -> None:
    f: Callable[..., Any] = (lambda x, j: function(x, index, j)) if is_closed_over else function
    arguments = (TABLE, EMPTY) if is_closed_over else (TABLE, index, EMPTY)
    checked: Any = tm.compile(f, check_bounds=True)
    if np.ndim(index):
        np.testing.assert_array_equal(checked(*arguments), f(*arguments))
        return
    for call in (f, checked):
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 3"):
            call(*arguments)


def test_an_index_array_beside_one_that_is_empty_for_some_sizes_is_checked_for_the_others() -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        return x[i, j]

    checked = tm.compile(f, check_bounds=True, dynamic=True)
    wrong = np.array([4])
    for count in (2, 3, 4):
        with pytest.raises(OutOfBoundsError, match="index 4 is out of bounds for axis 0 with size 3"):
            checked(TABLE, wrong, np.zeros(count, np.int64))
    assert checked(TABLE, wrong, EMPTY).shape == (0,)


def test_take_from_no_rows_looks_at_no_index() -> None:
    checked = tm.compile(take, check_bounds=True)
    for index in (9, np.array([9, -9])):
        assert checked(TABLE[:0], index).shape == take(TABLE[:0], index).shape


# ---- branches, loops, transforms ---------------------------------------------------------------------


def test_an_index_of_a_branch_that_is_not_taken_does_not_raise(backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return tm.cond(i < 5, lambda: x[i], lambda: x[i - 5] - 1.0)

    checked = tm.compile(f, backend=backend, check_bounds=True)
    assert checked(ROW, 4) == 4.0
    assert checked(ROW, 9) == 3.0
    with pytest.raises(OutOfBoundsError, match="index 5 is"):
        checked(ROW, 10)


GUARDED: dict[str, Callable[[Any, Any], Any]] = {
    "cond": lambda x, i: tm.cond(i < x.shape[0], lambda: x[i], lambda: -1.0),
    "switch": lambda x, i: tm.switch(i < x.shape[0], [lambda: -1.0, lambda: x[i]]),
    "a number": lambda x, i: tm.cond(i < x.shape[0], lambda: x[-1], lambda: -1.0),
    "while_loop": lambda x, i: tm.while_loop(
        lambda k: k < x.shape[0], lambda k: k + 1 + (0 * x[k]).astype(int), i
    ),
    "condition": lambda x, i: tm.while_loop(
        lambda k: tm.cond(k < x.shape[0], lambda: x[k] >= 0, lambda: False), lambda k: k + 1, i
    ),
    "fori_loop": lambda x, i: tm.fori_loop(i, x.shape[0], lambda k, total: total + x[k], 0.0),
    "scan": lambda x, i: tm.scan(lambda total, _: (total + x[i], None), 0.0, x)[0],
    "write": lambda x, i: tm.cond(i < x.shape[0], lambda: write(x, i).sum(), lambda: -1.0),
    "batch": lambda x, i: tm.vmap(lambda i: tm.cond(i < x.shape[0], lambda: x[i], lambda: -1.0))(
        i + np.arange(2)
    ).sum(),
}


@pytest.mark.sampled("True-fori_loop", every=6, slow=3)
@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_branch_that_indexes_an_empty_array_raises_only_if_it_runs(name: str, dynamic: bool) -> None:
    f = GUARDED[name]
    checked = tm.compile(f, check_bounds=True, dynamic=dynamic)
    expected = {"scan": 0.0, "fori_loop": 0.0, "while_loop": 0.0, "condition": 0.0, "batch": -2.0}
    for size in (3, 5, 0):
        x = np.arange(float(size))
        found = checked(x, 0)
        if not size:
            assert found == expected.get(name, -1.0)
    if name not in ("scan", "while_loop"):
        with pytest.raises(OutOfBoundsError, match=r"index -\d is out of bounds for axis 0 with size 0"):
            checked(np.zeros(0), -1)


def test_a_constant_index_out_of_bounds_raises_only_if_its_branch_runs(backend: str) -> None:
    def f(x: Any) -> Any:
        return tm.cond(np.sum(x) > 5, lambda: x[7], lambda: -1.0)

    checked = tm.compile(f, backend=backend, check_bounds=True)
    assert checked(np.zeros(3)) == -1.0
    assert checked(np.ones(8)) == 1.0
    with pytest.raises(OutOfBoundsError, match="index 7 is out of bounds for axis 0 with size 3"):
        checked(np.full(3, 2.0))
    with pytest.raises(OutOfBoundsError, match="index 7 is out of bounds for axis 0 with size 3"):
        tm.compile(f, backend=backend)(np.zeros(3))


def test_without_checks_a_branch_on_an_empty_array_that_is_not_taken_does_not_raise() -> None:
    for name in ("cond", "switch", "while_loop", "write"):
        assert tm.compile(GUARDED[name], check_bounds=False)(np.zeros(0), 0) <= 0


def total_at(x: Any, k: Any) -> Any:
    total = 0.0
    for q in range(k.shape[0]):
        total = total + x[k[q]]
    return total


def total_taken(x: Any, k: Any) -> Any:
    total = 0.0
    for q in range(k.shape[0]):
        total = total + np.take(x, k[q])
    return total


def total_of_rows(x: Any, k: Any) -> Any:
    total = 0.0
    for row in k:
        total = total + x[row]
    return total


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("function", [total_at, total_taken, total_of_rows])
def test_a_python_loop_over_a_named_size_checks_what_it_indexes(
    function: Callable[..., Any], backend: str
) -> None:
    checked = tm.compile(function, backend=backend, check_bounds=True, dynamic=True)
    assert checked(ROW, np.array([0, 1])) == 1.0
    assert checked(ROW, np.array([0, 1, 4])) == 5.0
    for wrong in ([0, 7, 1], [0, 1, 2, 7]):
        with pytest.raises(OutOfBoundsError, match="index 7 is out of bounds for axis 0 with size 5"):
            checked(ROW, np.array(wrong))
    assert len(checked.signatures()) == 1


@pytest.mark.sampled("c-vmap", every=5)
@pytest.mark.parametrize("wrap", [tm.vmap, lambda f, in_dims: tm.vmap(tm.vmap(f, in_dims), in_dims)])
def test_each_example_of_a_batch_checks_the_branch_that_it_takes(wrap: Any, backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return tm.switch(i // 5, [lambda: x[i], lambda: x[i - 5], lambda: 0.0])

    checked: Any = tm.compile(wrap(f, in_dims=(None, 0)), backend=backend, check_bounds=True)
    index = np.array([[4, 9, 3], [14, 11, 0]])
    if wrap is tm.vmap:
        index = index[0]
    expected = np.where(index >= 10, 0.0, ROW[index % 5])
    np.testing.assert_array_equal(checked(ROW, index), expected)
    with pytest.raises(OutOfBoundsError, match="index -6 is"):
        checked(ROW, np.where(index == 9, -6, index))


def test_a_loop_checks_the_steps_that_run(backend: str) -> None:
    def f(x: Any, lo: Any, hi: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            return total + x[i]

        return tm.fori_loop(lo, hi, body, 0.0)

    checked = tm.compile(f, backend=backend, check_bounds=True)
    assert checked(ROW, 0, 5) == 10.0
    assert checked(ROW, 9, 9) == 0.0
    with pytest.raises(OutOfBoundsError, match="index 5 is"):
        checked(ROW, 0, 6)


def test_a_scan_checks_every_step_and_one_of_no_steps_nothing(backend: str) -> None:
    def f(x: Any, index: Any) -> Any:
        return tm.scan(lambda total, i: (total + x[i], x[i - 1]), 0.0, index)

    checked = tm.compile(f, backend=backend, check_bounds=True, dynamic=False)
    total, entries = checked(ROW, np.array([1, 4, 2]))
    assert total == 7.0
    np.testing.assert_array_equal(entries, [0.0, 3.0, 1.0])
    with pytest.raises(OutOfBoundsError, match="index -6 is"):
        checked(ROW, np.array([1, -5, 2]))
    assert checked(ROW, np.zeros((0,), np.int64))[0] == 0.0


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("max_steps", [None, 3, 9])
def test_a_condition_is_checked_as_often_as_it_is_asked(max_steps: int | None, backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return tm.while_loop(lambda k: x[k] > 0, lambda k: k + 1, i, max_steps=max_steps)

    checked = tm.compile(f, backend=backend, check_bounds=True)
    assert checked(np.array([1.0, 1.0, 0.0]), 0) == 2
    if max_steps == 3:
        assert checked(np.ones(3), 0) == 3
    else:
        with pytest.raises(OutOfBoundsError, match="index 3 is"):
            checked(np.ones(3), 0)


@pytest.mark.slow
def test_a_batched_while_loop_checks_each_example_while_it_runs(backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return tm.while_loop(lambda k: x[k] > 0, lambda k: k + 1, i)

    checked = tm.compile(tm.vmap(f, in_dims=(None, 0)), backend=backend, check_bounds=True)
    x = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(checked(x, np.array([0, 2, 1])), [2, 2, 2])
    with pytest.raises(OutOfBoundsError, match="index 5 is"):
        checked(x, np.array([0, 3, 1]))


@pytest.mark.sampled("triton-checkpoint", every=6, slow=3)
@pytest.mark.parametrize("of", [lambda f: f, tm.checkpoint])
def test_a_gradient_raises_what_the_function_raises(of: Any, backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return np.sum(x[i] ** 2)

    checked = tm.compile(tm.grad(of(f)), backend=backend, check_bounds=True)
    np.testing.assert_array_equal(checked(ROW, np.array([1, 1, -1])), [0.0, 4.0, 0.0, 0.0, 8.0])
    with pytest.raises(OutOfBoundsError, match="index 5 is out of bounds for axis 0 with size 5"):
        checked(ROW, np.array([1, 5]))
    graph = str(checked.lower(ROW, np.array([1, 5])).graph)
    assert graph.count("check_index") == 1


def test_the_gradient_of_a_loop_checks_its_indices() -> None:
    def f(x: Any, index: Any) -> Any:
        return tm.scan(lambda total, i: (total * x[i], None), 1.0, index)[0]

    checked = tm.compile(tm.grad(f), check_bounds=True)
    np.testing.assert_allclose(checked(ROW, np.array([1, 2, 3])), [0.0, 6.0, 3.0, 2.0, 0.0])
    with pytest.raises(OutOfBoundsError, match="index 7 is"):
        checked(ROW, np.array([1, 7, 3]))


def test_a_function_with_a_rule_of_its_own_checks_its_indices_and_those_of_its_rule() -> None:
    @tm.custom_rule(nondiff="i")
    def pick(x: Any, i: Any) -> Any:
        return x[i]

    def backward(saved: Any, ct: Any, i: Any) -> Any:
        found = np.zeros_like(saved)
        found[i + 1] = ct
        return (found,)

    pick.vjp(lambda x, i: (x[i], x), backward)
    assert tm.compile(pick, check_bounds=True)(ROW, 4) == 4.0
    with pytest.raises(OutOfBoundsError, match="index 5 is"):
        tm.compile(pick, check_bounds=True)(ROW, 5)
    slope = tm.compile(tm.grad(pick), check_bounds=True)
    np.testing.assert_array_equal(slope(ROW, 1), [0.0, 0.0, 1.0, 0.0, 0.0])
    with pytest.raises(OutOfBoundsError, match="index 5 is"):
        slope(ROW, 4)


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor


TWO_SCALES = (Scale(2.0), Scale(3.0))


def write_to_list(x: Any, i: Any) -> Any:
    entries = [0.0, 1.0, 2.0]
    entries[int(i)] = 7.0
    return entries[0] + 10 * entries[1] + 100 * entries[2]


def add_to_array_in_list(x: Any, i: Any) -> Any:
    entries = [x * 1, x * 2, x * 3]
    entries[int(i)] += x
    return entries[0] + entries[1] * entries[2]


def pop_from_list(x: Any, i: Any) -> Any:
    entries = [1.0, 2.0, 3.0]
    return entries.pop(int(i)) * x + entries[0]


def count_in_loop(x: Any, i: Any) -> Any:
    counts = [0.0, 0.0, 0.0]
    for k in np.stack([i, i]):
        counts[int(k)] += 1.0
    return counts[0] + 10 * counts[1] + 100 * counts[2]


PLAIN: dict[str, Callable[..., Any]] = {
    "list": lambda x, i: [1.0, 2.0, 3.0][int(i)] * x,
    "tuple of arrays": lambda x, i: (x, x * 2, x * 3)[int(i)],
    "list of lists": lambda x, i: [[x, x * 2], [x * 3, x * 4], [x, x]][int(i)][1],
    "deque": lambda x, i: deque([1.0, 2.0, 3.0])[int(i)] * x,
    "range": lambda x, i: range(1, 7, 2)[int(i)] * x,
    "one object, thrice": lambda x, i: (TWO_SCALES[0], TWO_SCALES[0], TWO_SCALES[0])[int(i)].factor * x,
    "objects": lambda x, i: (*TWO_SCALES, TWO_SCALES[0])[int(i)].factor * x,
    "functions": lambda x, i: [np.sin, np.cos, np.tan][int(i)](x),
    "functions of Python's": lambda x, i: [lambda v: v + 1, lambda v: v * 2, lambda v: v][int(i)](x),
    "list that is written to": write_to_list,
    "array in a list that is added to": add_to_array_in_list,
    "pop": pop_from_list,
    "counts in a loop": count_in_loop,
    "derivative": lambda x, i: tm.grad(lambda x: np.sum([1.0, 2.0, 3.0][int(i)] * x))(x),
}
"""Tables of Python's with three entries, at a place that values decide."""


@pytest.mark.sampled("list of lists-numpy", "range-numpy", "one object, thrice-numpy", "pop-numpy")
@pytest.mark.usefixtures("c_compiler")
@pytest.mark.parametrize(("name", "backend"), mostly_on_numpy(PLAIN, 6))
def test_places_in_tables_of_python_are_always_checked_from_both_ends(name: str, backend: Any) -> None:
    function = PLAIN[name]
    checked = tm.compile(function, backend=backend, check_bounds=False)
    for place in (0, 2, -1, -3):
        np.testing.assert_allclose(checked(ROW, np.int64(place)), function(ROW, place), rtol=1e-14)
    for place in (3, -4, -6, 99):
        with pytest.raises(IndexError) as python:
            function(ROW, place)
        with pytest.raises(IndexError, match=re.escape(str(python.value))):
            checked(ROW, np.int64(place))


def test_tables_of_python_are_checked_without_being_asked_where_functions_are_interpreted() -> None:
    with pytest.raises(IndexError, match="list index out of range"):
        tm.vmap(lambda i: [1.0, 2.0, 3.0][int(i)])(np.array([0, -4]))


def test_without_checks_a_table_of_python_gives_its_nearest_entry() -> None:
    look_up = tm.compile(lambda i: [1.0, 2.0, 3.0][int(i)], checks=False)
    assert [look_up(np.int64(place)) for place in (-9, -4, -3, 2, 3)] == [1, 1, 1, 3, 3]


@pytest.mark.slow
def test_only_the_places_that_python_reads_are_checked() -> None:
    def look_up(i: Any, x: Any) -> Any:
        table = [x, 2 * x]
        total = table[i] if 0 <= i < 2 else -1.0
        if i < 2 and table[i] > 1:
            total += 10
        for k in range(40):
            if k == i:
                total += table[k % 2] + table[-1]
        return total

    compiled = tm.compile(look_up)
    assert [compiled(i, 3.0) for i in (0, 1, 2, 7)] == [look_up(i, 3.0) for i in (0, 1, 2, 7)]
    assert len(compiled.signatures()) == 1
    np.testing.assert_array_equal(tm.vmap(look_up)(np.array([1, 7]), np.full(2, 3.0)), [28.0, 11.0])
    with pytest.raises(IndexError, match="list index out of range"):
        compiled(-3, 3.0)


def test_a_handler_sees_that_a_place_in_a_list_is_out_of_bounds() -> None:
    def look_up(i: Any) -> Any:
        try:
            return [1.0, 2.0, 3.0][i]
        except IndexError:
            return -1.0

    compiled = tm.compile(look_up, on_recompile="ignore")
    assert [compiled(i) for i in (0, 2, 3, -3, -4)] == [1.0, 3.0, -1.0, 1.0, -1.0]


def test_exported_files_check_places_in_lists() -> None:
    exported = tm.export(lambda i: [1.0, 2.0, 3.0][int(i)], "i: i64[]").function()
    assert exported(np.int64(-1)) == 3.0
    with pytest.raises(IndexError, match="list index out of range"):
        exported(np.int64(3))


def test_an_unrolled_loop_checks_every_turn() -> None:
    @tm.compile(check_bounds=True)
    def f(x: Any, index: Any) -> Any:
        total = 0.0
        for k in range(40):
            total = total + x[index[k]]
        return total

    index = np.arange(40) % 5
    assert f(ROW, index) == 80.0
    index[33] = 8
    with pytest.raises(OutOfBoundsError, match="index 8 is"):
        f(ROW, index)


def test_programs_for_many_sizes_name_the_size_of_the_call(backend: str) -> None:
    checked = tm.compile(read, backend=backend, check_bounds=True, dynamic=True)
    for size in (4, 6, 9):
        x = np.arange(float(size))
        np.testing.assert_array_equal(checked(x, np.array([size - 1, -size])), [size - 1, 0])
        with pytest.raises(
            OutOfBoundsError, match=f"index {size} is out of bounds for axis 0 with size {size}"
        ):
            checked(x, np.array([size, 0]))
    assert len(checked.signatures()) == 1


# ---- what is left as it was --------------------------------------------------------------------------


def test_arrays_of_the_caller_have_what_numpy_writes_before_a_check_fails(backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        x += 1.0
        x[i] = 0.0
        return np.sum(x)

    checked = tm.compile(f, backend=backend, check_bounds=True)
    x = ROW.copy()
    with pytest.raises(OutOfBoundsError):
        checked(x, np.array([1, 9]))
    np.testing.assert_array_equal(x, ROW + 1.0)
    x = ROW.copy()
    checked(x, np.array([1, 0]))
    np.testing.assert_array_equal(x, [0.0, 0.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize("name", ["numpy", "c", "triton"])
def test_without_the_option_the_program_is_what_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "triton" and find_spec("triton") is None:
        pytest.skip("Triton is not installed; it is for Linux on x86")
    monkeypatch.delenv("TRACEMILL_CHECK", raising=False)
    index = np.array([0, 1])
    plain = tm.compile(add_at, backend=name).lower(TABLE, index)
    off = tm.compile(add_at, backend=name, check_bounds=False).lower(TABLE, index)
    on = tm.compile(add_at, backend=name, check_bounds=True).lower(TABLE, index)
    assert plain.source == off.source
    assert plain.c_source == off.c_source
    assert "check_index" not in str(plain.graph)
    assert "check_index" in str(on.graph)
    assert on.source != plain.source
    assert on.identity != plain.identity


def test_programs_with_and_without_checks_have_entries_of_their_own_in_the_cache() -> None:
    def made(*, check_bounds: bool) -> int:
        before = statistics.compiled
        tm.compile(read, backend="numpy", check_bounds=check_bounds)(TABLE[:, :3], np.array([0, 1, 2, 0, 1]))
        return statistics.compiled - before

    first = [made(check_bounds=True), made(check_bounds=False)]
    again = [made(check_bounds=True), made(check_bounds=False)]
    assert (first, again) == ([1, 1], [0, 0])
    with pytest.raises(OutOfBoundsError, match=at_line_of(read)[:-3]):
        tm.compile(read, backend="numpy", check_bounds=True)(TABLE[:, :3], np.array([0, 1, 2, 0, 9]))


# ---- options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["bounds", "1,bounds", " bounds , 1"])
def test_the_environment_asks_for_checks(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CHECK", setting)
    with pytest.raises(OutOfBoundsError):
        tm.compile(read)(ROW, np.array([9]))
    assert tm.compile(read, check_bounds=False)(ROW, np.array([9]))[0] == 4.0


@pytest.mark.parametrize("setting", ["", "0", "1"])
def test_other_checks_leave_bounds_alone(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CHECK", setting)
    assert tm.compile(read)(ROW, np.array([9]))[0] == 4.0


def test_what_no_check_is_called_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CHECK", "1,bonds")
    with pytest.raises(ArgumentValueError, match="TRACEMILL_CHECK=1,bonds is unknown: 'bonds' is none of"):
        tm.compile(read)(ROW, np.array([0]))
    with pytest.raises(ArgumentTypeError, match="check_bounds must be True or False"):
        tm.compile(read, check_bounds="yes")  # type: ignore[call-overload]


def test_a_function_compiled_inside_another_checks_as_that_one_does_unless_it_says() -> None:
    usual, never, always = (tm.compile(read, check_bounds=check) for check in (None, False, True))

    def calling(inner: Any, *, check_bounds: bool) -> Any:
        return tm.compile(lambda x, i: inner(x, i) + 1.0, check_bounds=check_bounds)(ROW, np.array([9]))[0]

    for inner, check_bounds in ((usual, True), (always, True), (always, False)):
        with pytest.raises(OutOfBoundsError):
            calling(inner, check_bounds=check_bounds)
    assert calling(usual, check_bounds=False) == calling(never, check_bounds=True) == 5.0


def test_exports_check() -> None:
    inner = tm.compile(read, check_bounds=True)
    x, outside = np.arange(3.0), np.array([0, 3])
    functions: tuple[Callable[..., Any], ...] = (inner, lambda x, i: inner(x, i) + 1.0)
    for function in functions:
        exported = tm.export(function, "x: f64[3]", "i: i64[2]").function()
        np.testing.assert_array_equal(exported(x, np.array([0, 2])), function(x, np.array([0, 2])))
        with pytest.raises(OutOfBoundsError):
            exported(x, outside)


# ---- functions that are not compiled -------------------------------------------------------------------


INTERPRETED: dict[str, Callable[[Any, Any], Any]] = {
    "vmap": tm.vmap(lambda x, i: x[i], in_dims=(None, 0)),
    "grad": lambda x, i: tm.grad(lambda x: np.sum(x[i]))(x),
    "scan": lambda x, i: tm.scan(lambda total, k: (total + np.take(x, k), None), 0.0, i)[0],
    "fori_loop": lambda x, i: tm.fori_loop(0, i[1] + 1, lambda k, total: total + np.take(x, k), 0.0),
    "while_loop": lambda x, i: tm.while_loop(lambda k: np.take(x, k) < i[1], lambda k: k + 1, 0),
    "a graph": lambda x, i: evaluate(tm.compile(read, check_bounds=True).lower(x, i).graph, x, i),
}


@pytest.mark.parametrize("name", INTERPRETED)
def test_functions_that_are_interpreted_check_without_being_asked(name: str) -> None:
    INTERPRETED[name](ROW, np.array([0, 4]))
    is_loop = name in ("scan", "fori_loop", "while_loop")  # which run in Python
    error = IndexError if is_loop else OutOfBoundsError
    with pytest.raises(error, match=r"index [59] is out of bounds for axis 0 with size 5") as raised:
        INTERPRETED[name](ROW, np.array([0, 9]))
    assert is_loop or "test_check_bounds.py" in str(raised.value)


# ---- random programs ---------------------------------------------------------------------------------


def random_program(rng: np.random.Generator) -> tuple[Callable[..., Any], list[Any]]:
    """A function of an array and two index arrays, and arguments that are out of bounds now and then."""
    x = rng.normal(size=(int(rng.integers(1, 5)), int(rng.integers(1, 5))))
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 4, int(rng.integers(0, 3))))
    dtype = rng.choice(["int8", "int32", "int64", "uint8", "uint64"])
    reach = int(rng.choice([0, 0, 0, 1, 3]))

    def index(length: int) -> Any:
        low = 0 if dtype.startswith("u") else -length - (reach if rng.random() < 0.3 else 0)
        return rng.integers(low, length + (reach if rng.random() < 0.3 else 0), shape).astype(dtype)

    kind = int(rng.integers(0, 9))

    def f(x: Any, i: Any, j: Any) -> Any:
        x = x.copy()
        match kind:
            case 0:
                return x[i]
            case 1:
                return x[i, j]
            case 2:
                return x[:, j] * 2.0
            case 3:
                x[i, j] = 4.0
            case 4:
                np.add.at(x, (i, j), 1.0)
            case 5:
                return np.take(x, j, axis=1) + np.take(x, j, axis=-1, mode="wrap")
            case 6:
                return x[i][..., ::2] if x.shape[1] else x[i]
            case 7:
                x[::2, j] += 1.0
            case _:
                return x.ravel()[i * x.shape[1]]
        return x

    return f, [x, index(x.shape[0]), index(x.shape[1])]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "c"])
def test_random_programs_raise_where_numpy_does(name: str) -> None:
    rng = np.random.default_rng(7)
    raised = 0
    for _ in range(60 if name == "numpy" else 8):
        f, arguments = random_program(rng)
        checked = tm.compile(f, backend=name, check_bounds=True)
        try:
            expected = f(*arguments)
        except IndexError:
            raised += 1
            with pytest.raises(OutOfBoundsError):
                checked(*arguments)
            continue
        np.testing.assert_array_equal(checked(*arguments), expected)
    assert raised
