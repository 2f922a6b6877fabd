"""The vocabulary of batch rules: what is logical, what is physical, and the way between them."""

from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import FLOAT64
from tracemill.compiler.ir import ArrayType, Value
from tracemill.compiler.ops.batch_axes import align_ranks, leading, shifted


def array(*shape: int) -> Value:
    return Value(ArrayType(FLOAT64, shape))


def test_operands_of_fewer_axes_get_axes_of_length_1_behind_the_batch() -> None:
    x, y = array(4, 2), array(4, 3, 2)
    with recording(Builder()):
        assert [value.shape for value in align_ranks((x, y), (True, True))] == [(4, 1, 2), (4, 3, 2)]
        assert [value.shape for value in align_ranks((x, array(3, 2)), (True, False))] == [(4, 1, 2), (3, 2)]


def test_what_is_not_mapped_is_repeated_along_a_leading_axis() -> None:
    x = array(4, 2)
    with recording(Builder()):
        assert leading(x, False, 6).shape == (6, 4, 2)
        assert leading(x, True, 4) is x


def test_logical_axes_come_after_the_batch() -> None:
    assert shifted((0, 2)) == (1, 3)
