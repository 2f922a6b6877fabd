"""What a function that `vmap` maps can know of the axis: which example it is called for, and what all update."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import TransformArgumentError
from tracemill.runtime.eager.mapped_axes import mapped_axes, update_in_step


def index() -> Any:
    return mapped_axes()[-1].index


@pytest.mark.parametrize("flag", ["unknown", None, 0, "Same"])
def test_an_unknown_flag_is_an_error_when_wrapping(flag: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=r"vmap\(sin\): randomness must be one of 'error', 'same', 'd"
    ):
        tm.vmap(np.sin, randomness=flag)


def test_each_example_knows_its_number() -> None:
    out = tm.vmap(lambda x: x + index())(np.zeros(3))
    np.testing.assert_array_equal(out, [0.0, 1.0, 2.0])
    assert out.dtype == np.float64


def test_an_example_index_is_mapped_even_if_no_argument_is() -> None:
    assert tm.vmap(index, axis_size=3)().tolist() == [0, 1, 2]
    with pytest.raises(TransformArgumentError, match="depends on the batch"):
        tm.vmap(index, out_dims=None, axis_size=3)()


def test_nested_functions_know_the_example_indices_of_all_axes() -> None:
    def place(x: Any) -> Any:
        outer, inner = mapped_axes()
        return 10 * outer.index + inner.index

    nested = tm.vmap(tm.vmap(place))
    expected = [[0, 1, 2], [10, 11, 12]]
    assert nested(np.zeros((2, 3))).tolist() == expected
    assert tm.compile(nested)(np.zeros((2, 3))).tolist() == expected
    assert tm.vmap(tm.vmap(tm.compile(place)))(np.zeros((2, 3))).tolist() == expected
    slopes = tm.vmap(tm.grad(lambda x: x * index()))(np.zeros(3))
    np.testing.assert_array_equal(slopes, [0.0, 1.0, 2.0])
    chosen = tm.vmap(lambda x: tm.cond(x > 1, index, lambda: -index()))(np.arange(3.0))
    assert chosen.tolist() == [0, -1, 2]


def test_an_unused_example_index_leaves_no_trace() -> None:
    graph = tm.compile(tm.vmap(np.sin)).lower(np.zeros(3)).graph
    assert [call.op for call in graph.calls] == ["sin"]


def test_no_axis_is_mapped_outside_of_vmap_also_after_an_error() -> None:
    def fail(x: Any) -> Any:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        tm.vmap(fail)(np.zeros(3))
    assert mapped_axes() == ()


def test_what_all_examples_update_in_step_is_updated_once() -> None:
    count = np.array(5)

    def step(x: Any, n: int) -> Any:
        update_in_step(count)
        inside = np.asarray(count)
        inside += n
        return x + inside

    assert tm.vmap(lambda x: step(x, 2))(np.zeros(3)).tolist() == [7, 7, 7]
    assert count == 7
    tm.vmap(tm.vmap(lambda y: step(y, 1)))(np.zeros((2, 3)))
    assert count == 8
    twice = tm.compile(tm.vmap(lambda x: step(x, 1)))
    for total in (9, 10):
        assert twice(np.zeros(3)).tolist() == [total] * 3
        assert count == total


def test_the_largest_counts_where_examples_come_to_differ() -> None:
    count = np.array(5)

    def step(x: Any) -> Any:
        update_in_step(count)
        inside = np.asarray(count)
        inside += index()
        return x + inside

    assert tm.vmap(step)(np.zeros(3)).tolist() == [5, 6, 7]
    assert count == 7
    tm.vmap(step)(np.zeros(0))
    assert count == 7
