"""The vocabulary of batch rules: what is logical, what is physical, and the way between them."""

import pytest

from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import FLOAT64
from tracemill.compiler.ir import ArrayType, Shape, Value
from tracemill.compiler.ops.batch_axes import (
    Batched,
    align_ranks,
    broadcast_to_physical,
    in_front,
    leading,
    on_one_axis,
    shifted,
)


def array(*shape: int) -> Value:
    return Value(ArrayType(FLOAT64, shape))


def test_logical_axes_go_around_the_batch_axis() -> None:
    x = Batched(array(2, 3, 5, 7), 1)
    assert (x.logical_ndim, x.logical_shape) == (3, (2, 5, 7))
    assert x.physical_axes((0, 1, 2)) == (0, 2, 3)
    assert x.physical_entries((1, 2, 3), 0) == (1, 0, 2, 3)
    assert x.axis_without((0, 3)) == 0


def test_axes_of_two_nested_batches_are_found_one_batch_at_a_time() -> None:
    """ones(2, 3, 5, 7) with the outer batch along 0 and the inner one along 1 is logically (5, 7)."""
    outer = Batched(array(2, 3, 5, 7), 0)
    inner = Batched(Value(ArrayType(FLOAT64, outer.logical_shape)), 0)
    assert inner.logical_shape == (5, 7)
    assert outer.physical_axes(inner.physical_axes((0, 1))) == (2, 3)


def test_a_value_that_all_examples_share_is_physical_as_it_is() -> None:
    x = Batched(array(2, 3), None)
    assert (x.logical_shape, x.physical_axes((0, 1)), x.physical_entries((4, 5), 0)) == (
        (2, 3),
        (0, 1),
        (4, 5),
    )
    with recording(Builder()):
        assert x.to_physical(1) is x.value
        assert x.on_axis(1, 6).shape == (2, 6, 3)


@pytest.mark.parametrize(
    ("inputs", "shapes", "axis"),
    [
        ([((4, 2), 0), ((4, 3, 2), 0)], [(4, 1, 2), (4, 3, 2)], 0),
        ([((4, 2), 0), ((3, 2), None)], [(4, 1, 2), (3, 2)], 0),
        ([((3, 4, 2), 1), ((2,), None)], [(3, 4, 2), (2,)], 1),
        ([((3, 2, 4), 2), ((2,), None)], [(3, 2, 4), (2, 1)], 2),
        ([((4,), 0), ((3, 4, 2), 1)], [(4, 1), (3, 4, 2)], 1),
        ([((4, 3, 2), 0), ((3, 4, 2), 1)], [(4, 3, 2), (4, 3, 2)], 0),
        ([((3, 4, 2), 1), ((4, 3, 2), 0)], [(3, 4, 2), (3, 4, 2)], 1),
        ([((2, 4), 1), ((5, 3, 2), None)], [(2, 4), (5, 3, 2, 1)], 3),
    ],
)
def test_operands_are_aligned_around_the_batch_axis_of_the_largest(
    inputs: list[tuple[Shape, int | None]], shapes: list[Shape], axis: int
) -> None:
    with recording(Builder()):
        values, found = broadcast_to_physical([Batched(array(*shape), place) for shape, place in inputs])
    assert ([value.shape for value in values], found) == (shapes, axis)


def test_arrays_that_are_joined_have_the_batch_where_the_first_mapped_one_has_it() -> None:
    with recording(Builder()):
        x, y, z = on_one_axis(
            [Batched(array(3, 2), None), Batched(array(3, 4, 2), 1), Batched(array(4, 3, 2), 0)], 4
        )
    assert [(x.value.shape, x.axis), (y.value.shape, y.axis)] == [((3, 4, 2), 1)] * 2
    assert (z.value.shape, z.axis) == ((3, 4, 2), 1)


def test_rules_that_need_it_get_the_batch_in_front() -> None:
    seen = []

    def rule(inputs: tuple[Value, ...], mapped: tuple[bool, ...], size: int) -> Value:
        seen.append(([x.shape for x in inputs], mapped, size))
        return inputs[0]

    with recording(Builder()):
        (out,) = in_front(rule)([Batched(array(3, 4), 1), Batched(array(3), None)], 4)
    assert seen == [([(4, 3), (3,)], (True, False), 4)]
    assert (out.value.shape, out.axis) == ((4, 3), 0)


def test_in_front_operands_of_fewer_axes_get_axes_of_length_1_behind_the_batch() -> None:
    x, y = array(4, 2), array(4, 3, 2)
    with recording(Builder()):
        assert [value.shape for value in align_ranks((x, y), (True, True))] == [(4, 1, 2), (4, 3, 2)]
        assert [value.shape for value in align_ranks((x, array(3, 2)), (True, False))] == [(4, 1, 2), (3, 2)]


def test_what_is_not_mapped_is_repeated_along_a_leading_axis() -> None:
    x = array(4, 2)
    with recording(Builder()):
        assert leading(x, False, 6).shape == (6, 4, 2)
        assert leading(x, True, 4) is x


def test_logical_axes_come_after_a_batch_in_front() -> None:
    assert shifted((0, 2)) == (1, 3)
