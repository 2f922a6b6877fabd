"""The vocabulary of batch rules: what is logical, what is physical, and the way between them."""

from collections.abc import Callable

import numpy as np
import pytest

from tracemill.compiler.batching import (
    Batched,
    align_ranks,
    broadcast_to_physical,
    leading,
    shifted,
    to_logical,
)
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import FLOAT64, Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value
from tracemill.compiler.value_ops import sum_


def array(*shape: int) -> Value:
    return Value(ArrayType(FLOAT64, shape))


def run(function: Callable[[Value], Value], x: Array) -> Array:
    """What `function` on values does to an array."""
    given = array(*x.shape)
    with recording(Builder()) as builder:
        out = function(given)
    return evaluate(Graph("run", (given,), tuple(builder.calls), (out,)), x)[0]


def physical_shapes(*values: Batched) -> tuple[tuple[int, ...], list[Shape]]:
    with recording(Builder()):
        levels, physical = broadcast_to_physical(*values)
    return levels, [value.shape for value in physical]


STANDARD = ((1, 0), (2, 1))


def test_the_logical_shape_leaves_out_the_batch_axes() -> None:
    batched = Batched(array(2, 3, 5, 7), STANDARD)
    assert batched.logical_shape == (5, 7)
    assert batched.logical_ndim == 2
    assert batched.levels == (1, 2)


def test_a_logical_sum_over_axis_0_reduces_physical_axis_2() -> None:
    x = np.arange(210.0).reshape(2, 3, 5, 7)

    def logical_sum(value: Value) -> Value:
        batched = Batched(value, STANDARD)
        assert batched.physical_axis(0) == 2
        return sum_(batched.to_physical(), (batched.physical_axis(0),))

    np.testing.assert_array_equal(run(logical_sum, x), x.sum(2))


def test_with_two_levels_logical_axes_0_and_1_are_physical_2_and_3() -> None:
    batched = Batched(array(2, 3, 5, 7), STANDARD)
    assert {batched.physical_axis(axis) for axis in (0, 1)} == {2, 3}
    assert [batched.physical_axis(axis) for axis in (-1, -2)] == [3, 2]


def test_a_physical_shape_has_the_batch_sizes_in_front() -> None:
    assert Batched(array(2, 3, 5, 7), STANDARD).physical_shape((9,)) == (2, 3, 9)
    assert Batched(array(5, 2, 7, 3), ((1, 1), (2, 3))).physical_shape(()) == (2, 3)


@pytest.mark.parametrize("axes", [((1, 3), (2, 1)), ((1, 2), (3, 0)), ((1, 1), (2, 0)), ((2, 2),), ()])
def test_batch_axes_anywhere_move_to_the_front_by_rising_level(axes: tuple[tuple[int, int], ...]) -> None:
    x = np.arange(210.0).reshape(2, 3, 5, 7)
    expected = np.moveaxis(x, [axis for _, axis in axes], range(len(axes)))
    np.testing.assert_array_equal(run(lambda value: Batched(value, axes).to_physical(), x), expected)
    assert Batched(array(*x.shape), axes).logical_shape == expected.shape[len(axes) :]


def test_to_logical_is_the_way_back() -> None:
    physical = array(2, 3, 5)
    batched = to_logical(physical, (1, 3))
    assert batched == Batched(physical, ((1, 0), (3, 1)))
    assert batched.logical_shape == (5,)
    assert batched.to_physical() is physical


def test_broadcasting_fills_missing_logical_axes_behind_the_batch() -> None:
    left, right = Batched(array(4, 2), ((1, 0),)), Batched(array(4, 3, 2), ((1, 0),))
    assert physical_shapes(left, right) == ((1,), [(4, 1, 2), (4, 3, 2)])


def test_a_missing_level_becomes_an_axis_of_length_1() -> None:
    left, right = Batched(array(4, 2), ((1, 0),)), Batched(array(2, 6), ((2, 1),))
    assert physical_shapes(left, right) == ((1, 2), [(4, 1, 2), (1, 6, 2)])
    assert physical_shapes(left, Batched(array(), ())) == ((1,), [(4, 2), (1, 1)])


def test_levels_may_have_gaps() -> None:
    left, right = Batched(array(5, 4, 7), ((1, 1), (3, 0))), Batched(array(9, 7, 4), ((1, 2), (2, 0)))
    assert physical_shapes(left, right) == ((1, 2, 3), [(4, 1, 5, 7), (4, 9, 1, 7)])


def test_one_level_in_front_is_the_same_in_short() -> None:
    x, y = array(4, 2), array(4, 3, 2)
    with recording(Builder()):
        assert [value.shape for value in align_ranks((x, y), (True, True))] == [(4, 1, 2), (4, 3, 2)]
        assert [value.shape for value in align_ranks((x, array(3, 2)), (True, False))] == [(4, 1, 2), (3, 2)]
        assert leading(x, False, 6).shape == (6, 4, 2)
        assert leading(x, True, 4) is x
    assert shifted((0, 2)) == (1, 3)
