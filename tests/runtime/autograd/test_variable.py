"""Variables are NumPy arrays that record: their values, views, updates and memory."""

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, run_numpy
from samples.grouping import in_groups, quick_first
from samples.numpy_functions import CHAPTERS, Use, arguments_of, uses_of
from tracemill.compiler.errors import NotRecordedError, ReadOnlyError, ShapeError, TransformTypeError
from tracemill.runtime.autograd import detach, enable_grad, grad, no_grad, set_grad_enabled, variable
from tracemill.runtime.evaluation.evaluated_memory import Evaluated
from tracemill.runtime.evaluation.nodes import Node

USES = uses_of(*CHAPTERS)

# NumPy asks these for an array's memory, and offers no other way: the uses that would lose a derivative.
REFUSED = {
    *("concatenate-8", "concatenate-9", "take-10", "fill_diagonal-4", "fill_diagonal-5", "full-0", "full-1"),
    *(f"array-{use}" for use in (0, 1, 2, 3, 4, 7)),
    *("asarray-0", "asarray-1", "asarray-2", "asanyarray-0", "ascontiguousarray-0", "ascontiguousarray-1"),
    *(
        "asfortranarray-0",
        "require-0",
        "require-1",
        "r_-0",
        "r_-1",
        "r_-2",
        "r_-3",
        "r_-4",
        "c_-0",
        "c_-1",
        "c_-2",
    ),
}


def started(x: Any) -> Any:
    return variable(x, requires_grad=np.asarray(x).dtype.kind in "fc")


@in_groups(quick_first(use for use in USES if use.name not in REFUSED))
def test_a_use_of_numpy_on_variables_gives_what_numpy_gives(use: Use) -> None:
    ours, theirs = [started(x) for x in arguments_of(use)], arguments_of(use)
    expected = run_numpy(use, *theirs)
    found: Any = use(*ours)
    assert_same(expected, optree.tree_map(detach, found))
    assert_same(theirs, [detach(x) for x in ours])


@in_groups(use for use in USES if use.name in REFUSED)
def test_a_use_of_numpy_that_would_lose_a_derivative_is_a_named_error(use: Use) -> None:
    with pytest.raises(NotRecordedError, match="would lose its derivative"):
        use(*map(started, arguments_of(use)))
    expected = run_numpy(use, *arguments_of(use))
    found: Any = use(*(variable(x, requires_grad=False) for x in arguments_of(use)))
    np.testing.assert_array_equal(detach(found), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "?"])
def test_a_variable_has_the_values_shape_and_dtype_of_its_array(dtype: str) -> None:
    array = np.array([[0, 1], [2, 3]]).astype(dtype)
    x = variable(array, requires_grad=False)
    assert isinstance(x, np.ndarray)
    assert (x.dtype, x.shape, x.ndim, x.size, len(x)) == (array.dtype, (2, 2), 2, 4, 2)
    np.testing.assert_array_equal(np.asarray(x), array)
    array[...] = 0
    assert x.tolist() != array.tolist()


def test_python_sees_the_numbers() -> None:
    x = variable(np.array([1.5, -2.0]))
    y = x[0] * 2
    assert float(y) == 3.0
    assert int(y) == 3
    assert bool(y > 0)
    assert y.item() == 3.0
    assert x.tolist() == [1.5, -2.0]
    assert (str(x), f"{y:.2f}", f"{y}") == ("[ 1.5 -2. ]", "3.00", "3.0")
    assert [float(entry) for entry in x] == [1.5, -2.0]
    assert 1.5 in x
    assert y.requires_grad


def test_a_variable_shows_where_it_comes_from() -> None:
    x = variable(np.array([1.0, 2.0], np.float32))
    assert repr(x) == "variable([1., 2.], dtype=float32)"
    assert repr(x * 2) == "variable([2., 4.], dtype=float32, made_by='multiply')"
    assert repr(x > 1) == "variable([False,  True], requires_grad=False)"


def test_integers_have_no_derivative() -> None:
    with pytest.raises(TransformTypeError, match="dtype i64 has no derivative"):
        variable(np.arange(3))
    with pytest.raises(TransformTypeError, match="dtype i64 has no derivative"):
        variable(np.arange(3), requires_grad=False).requires_grad = True


def test_control_flow_on_values_is_recorded_as_it_went() -> None:
    def collatz(x: Any) -> Any:
        steps = 0
        while x < 100:
            x = x * 3 if steps % 2 else x + 1
            steps += 1
        return x

    for start in (1.0, 50.0, 200.0):
        x = variable(start)
        assert grad(collatz(x) * x, x)[0] == tm.grad(lambda x: collatz(x) * x)(start)


# ---- views and updates -------------------------------------------------------------------------------


def test_views_share_memory_as_numpys_do() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y[1:][0] = 7.0
        y.T[0, :] *= y.reshape(-1)[:2]
        flat = y.ravel()
        flat[-1] = 0.5
        y.flat[0] = 3.0
        return y

    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    x = variable(array)
    y = f(x)
    np.testing.assert_array_equal(detach(y), f(array.copy()))
    np.testing.assert_array_equal(grad(np.sum(y**2), x)[0], tm.grad(lambda x: np.sum(f(x) ** 2))(array))


def test_an_update_in_place_of_a_variable_is_recorded() -> None:
    x = variable(np.array([1.0, 2.0]))
    y = x * x
    y += x
    y[0] *= 10
    np.testing.assert_array_equal(grad(np.sum(y), x)[0], [30.0, 5.0])


def test_out_may_be_a_variable_but_no_numpy_array() -> None:
    x, out = variable(np.ones(2)), variable(np.zeros(2), requires_grad=False)
    np.multiply(x, 3.0, out=out)
    np.testing.assert_array_equal(grad(np.sum(out), x)[0], [3.0, 3.0])
    array = np.zeros(2)
    with pytest.raises(NotRecordedError, match=r"writing a variable to f64\[2\](.|\n)*test_variable.py"):
        np.multiply(x, 3.0, out=array)
    with no_grad():
        np.multiply(x, 3.0, out=array)
    np.testing.assert_array_equal(array, [3.0, 3.0])


def test_an_array_cannot_store_what_is_recorded() -> None:
    x, store = variable(np.ones(2)), np.zeros(2)
    with pytest.raises(NotRecordedError, match=r"x.detach\(\)"):
        store[:] = x
    with pytest.raises(NotRecordedError, match=r"np.stack"):
        np.array([x, x])
    store[:] = x.detach()
    store[:] = variable(np.ones(2), requires_grad=False)
    zeros = variable(np.zeros(2), requires_grad=False)
    zeros[0] = x[1]
    np.testing.assert_array_equal(grad(np.sum(zeros), x)[0], [0.0, 1.0])


def test_scalars_and_read_only_views_cannot_be_written_to() -> None:
    x = variable(np.ones((2, 2)))
    with pytest.raises(TypeError, match="does not support item assignment"):
        x[0, 0][...] = 1
    with pytest.raises(ReadOnlyError):
        np.broadcast_to(x, (3, 2, 2))[...] = 1


# ---- recording or not --------------------------------------------------------------------------------


def test_no_grad_and_enable_grad_nest_and_end_with_an_exception() -> None:
    x = variable(1.0)
    with no_grad():
        assert not (x * 2).requires_grad
        with enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
        with pytest.raises(ZeroDivisionError), enable_grad():
            raise ZeroDivisionError
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


@pytest.mark.parametrize(
    "view",
    [lambda x: x[1:], lambda x: x.T, lambda x: x.reshape(3, 2), lambda x: x.mT, np.flip],
)
@pytest.mark.parametrize("made_inside", [True, False])
def test_a_view_that_is_read_without_recording_is_recorded_later(view: Any, made_inside: bool) -> None:
    x = variable(np.arange(6.0).reshape(2, 3))
    with set_grad_enabled(not made_inside):
        seen = view(x)
    with no_grad():
        assert not np.sum(seen).requires_grad
        assert not (seen * 2).requires_grad
    of_x, of_seen = grad(np.sum(seen * seen), [x, seen])
    np.testing.assert_array_equal(of_seen, 2 * seen.detach())
    np.testing.assert_array_equal(of_x, tm.grad(lambda x: np.sum(view(x) ** 2))(x.detach()))


def test_an_argument_that_is_returned_without_recording_still_records() -> None:
    x = variable(np.ones(2))
    with no_grad():
        assert x.real is x
        np.real(x)
    assert (x * 2).requires_grad


def test_modes_are_decorators_too() -> None:
    x = variable(1.0)

    @no_grad()
    def plain(x: Any) -> Any:
        return x * 2

    @set_grad_enabled(False)
    def also_plain(x: Any) -> Any:
        return x * 2

    assert not plain(x).requires_grad
    assert not also_plain(x).requires_grad
    assert (x * 2).requires_grad


def test_set_grad_enabled_holds_from_there_on() -> None:
    x = variable(1.0)
    set_grad_enabled(False)
    assert not (x * 2).requires_grad
    set_grad_enabled(True)
    assert (x * 2).requires_grad
    with set_grad_enabled(False):
        assert not tm.autograd.is_grad_enabled()
    assert tm.autograd.is_grad_enabled()
    wrong: Any = "no"
    with pytest.raises(TransformTypeError, match="mode must be True or False, not 'no'"):
        set_grad_enabled(wrong)
    assert tm.autograd.is_grad_enabled()


def test_a_mode_belongs_to_its_thread() -> None:
    x, found = variable(1.0), []
    with no_grad():
        thread = threading.Thread(target=lambda: found.append((x * 2).requires_grad))
        thread.start()
        thread.join()
    assert found == [True]


def test_a_variable_may_move_to_another_thread() -> None:
    x, found = variable(np.ones(2)), []

    def work() -> None:
        y = np.sum(x * 3)
        found.append(grad(y, x)[0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], [3.0, 3.0])


def test_variables_of_several_threads_combine() -> None:
    x, found = variable(np.ones(2)), []
    for factor in (2.0, 3.0):
        thread = threading.Thread(target=lambda factor=factor: found.append(np.sin(x * factor)))
        thread.start()
        thread.join()
    np.sum(found[0] * found[1][::-1]).backward()
    expected = 2 * np.cos(2.0) * np.sin(3.0) + 3 * np.sin(2.0) * np.cos(3.0)
    np.testing.assert_allclose(x.grad, [expected, expected])


def test_a_traced_function_asks_for_the_number_of_a_variable() -> None:
    switch = variable(2.0)
    f = tm.compile(lambda x: x * 2 if switch else x * 3)
    assert f(1.0) == 2.0
    with no_grad():
        switch -= 2
    assert f(1.0) == 3.0


def test_a_differentiated_function_may_return_a_variable() -> None:
    v = variable(2.0)
    assert tm.grad(lambda x: v)(3.0) == 0.0
    value, slope = tm.value_and_grad(lambda x: x * v)(3.0)
    assert grad(value, v, retain_graph=True) == (3.0,)
    assert grad(slope, v) == (1.0,)


def test_gradients_are_arrays_of_their_own() -> None:
    x, y, seed = variable(np.ones(2)), variable(np.ones(2)), np.ones(2)
    first, second = grad([x + y], [x, y], [seed])
    first[...] = 7.0
    np.testing.assert_array_equal([second, seed], np.ones((2, 2)))


def test_detach_gives_an_array_of_its_own() -> None:
    x = variable(np.array([1.0, 2.0]))
    values = x.detach()
    assert type(values) is np.ndarray
    values[0] = 9.0
    assert str(x) == "[1. 2.]"
    assert type((x[0] * 2).detach()) is np.float64
    assert detach(3.0) == 3.0
    assert tm.grad(lambda x: x * detach(x))(3.0) == 3.0


def test_requires_grad_can_be_switched() -> None:
    x = variable(np.ones(2), requires_grad=False)
    assert (x.requires_grad, x.is_leaf, (x * 2).requires_grad) == (False, True, False)
    x.requires_grad = True
    y = x * 2
    assert (x.requires_grad, x.is_leaf, y.is_leaf) == (True, True, False)
    np.testing.assert_array_equal(grad(np.sum(y), x)[0], [2.0, 2.0])
    x.requires_grad = False
    assert not (x * 2).requires_grad
    with pytest.raises(NotRecordedError, match=r"x.detach\(\)"):
        y.requires_grad = False
    with pytest.raises(NotRecordedError, match="of a view"):
        x[1:].requires_grad = True


def test_grad_can_be_set_and_fits_the_variable() -> None:
    x = variable(np.ones(2))
    x.grad = np.ones(2)
    np.sum(x).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])
    with pytest.raises(ShapeError, match="must have its shape"):
        x.grad = np.ones(3)
    for wrong in ("steep", 1.0, [1.0, 1.0]):
        with pytest.raises(
            TransformTypeError, match=r"\.grad of a f64\[2\] must be an array of its shape or None"
        ):
            x.grad = wrong
    with pytest.raises(NotRecordedError, match="belongs to variables"):
        (x * 2).grad = np.ones(2)


def test_variables_are_copied_and_pickled_as_leaves() -> None:
    x = variable(np.array([1.0, 2.0]))
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again.is_leaf
        assert again.requires_grad
        assert str(again) == "[1. 2.]"
    np.testing.assert_array_equal(grad(np.sum(copy.copy(x)), x)[0], [1.0, 1.0])


# ---- memory ------------------------------------------------------------------------------------------


def recorded_values() -> int:
    gc.collect()
    return sum(isinstance(x, (Node, Evaluated)) for x in gc.get_objects())


@pytest.mark.slow
def test_steps_whose_arrays_die_leave_nothing_behind() -> None:
    x, before = variable(np.ones(3)), recorded_values()
    for _ in range(2_000):
        np.sum(np.sin(x) * x)
    assert recorded_values() == before


def test_memory_is_freed_without_the_garbage_collector() -> None:
    x = variable(np.ones(3))
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(o, (Node, Evaluated)) for o in gc.get_objects())
        for _ in range(10):
            np.sum(np.sin(x) * x).backward()
        after = sum(isinstance(o, (Node, Evaluated)) for o in gc.get_objects())
    finally:
        gc.enable()
    assert after == before


def test_a_call_with_several_outputs_is_freed_without_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        lengths: Any = np.linalg.svd(variable(np.eye(2)))[1]
        held = weakref.ref(lengths.value.node.parents[0])
        del lengths
        assert held() is None
    finally:
        gc.enable()


def test_a_released_graph_frees_what_it_held() -> None:
    x = variable(np.ones(3))
    part = np.cos(x)
    held = weakref.ref(part.evaluated()[0])
    y = np.sum(np.sin(part))
    del part
    assert held() is not None
    y.backward()
    assert held() is None


@pytest.mark.slow
def test_a_deep_chain_is_differentiated_without_recursion() -> None:
    x = variable(np.array([0.5, 1.0]))
    y = x
    for _ in range(4_000):  # Python recurs a thousand times
        y = y + 0.0
    np.testing.assert_array_equal(grad(np.sum(y), x)[0], [1.0, 1.0])


@pytest.mark.slow
def test_a_deep_chain_dies_without_recursion() -> None:
    y = variable(0.5)
    for _ in range(4_000):
        y = -y
    assert float(y) == 0.5
