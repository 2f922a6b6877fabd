"""Loop nests compute what the graphs mean that they are made of, and have the form that is fast."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.loop_interpreter import Run
from graphs.random_graphs import is_for_loops, loop_graphs
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from support.recording import assert_same, drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.fusible_ops import is_elementwise
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.dtypes import FLOAT64, INT64, is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.loops.lower import lower
from tracemill.compiler.loops.nest import Block, Let, Loop, Nest, Row, Statement, Store
from tracemill.compiler.loops.walk import accumulated, statements, used

MOVING = SAMPLES.where(
    lambda sample: is_for_loops(sample.graph()) and not all(map(is_elementwise, sample.graph().calls))
)


def assert_means_the_same(graph: Graph, inputs: list[np.ndarray]) -> None:
    found = Run(lower(graph), inputs).outputs
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for x, y in zip(found, expected, strict=True):
        flat = np.ravel(y)
        if is_inexact(flat.dtype):
            np.testing.assert_allclose(x, flat, 1e-5 if flat.dtype.itemsize < 8 else 1e-12, 1e-300)
        else:
            assert_same([x], [flat])


@pytest.mark.slow
@of_each_sample(MOVING)
def test_samples_give_what_they_mean(sample: Sample) -> None:
    assert_means_the_same(sample.graph(), sample.arrays())


@settings(deadline=None)
@given(graph=loop_graphs())
def test_random_graphs_give_what_they_mean(graph: Graph) -> None:
    assert_means_the_same(graph, drawn(graph, "real"))


# ---- chains of layout and reductions -----------------------------------------------------------------


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """Values of one to three axes: layout, sums, arithmetic, several outputs."""

    def step(x: Value) -> Value:
        last = x.ndim - 1
        n = x.shape[last] if x.ndim else 0
        choices = {
            "negated": lambda: fn.negative(x),
            "doubled": lambda: fn.add(x, x),
            "reshaped": lambda: fn.reshape(
                x, draw(st.sampled_from(((x.type.size,), (1, x.type.size), x.shape)))
            ),
        }
        if x.ndim:
            choices |= {
                "flipped": lambda: fn.flip(x, (last,)),
                "padded": lambda: fn.pad(x, (0,) * last + (2,), (0,) * last + (1,), fill=3),
                "spaced": lambda: fn.pad(x, (0,) * last + (1,), (0,) * x.ndim, interior=(0,) * last + (1,)),
                "summed": lambda: fn.sum_(x, (draw(st.integers(0, last)),)),
                "centred": lambda: fn.subtract(x, fn.reshape(fn.sum_(x, (last,)), (*x.shape[:-1], 1))),
                "scaled": lambda: fn.subtract(x, fn.sum_(x, (0,))) if x.ndim > 1 else fn.square(x),
                "turned": lambda: fn.transpose(x, (last, *range(last))),
                "joined": lambda: fn.concatenate([x, fn.negative(x)], last),
                "whole": lambda: fn.add(x, fn.sum_(x, range(x.ndim))),
            }
        if n > 2:
            choices["cut"] = lambda: fn.slice_axis(x, 1, n - 1, last)
            choices["strided"] = lambda: fn.slice_axis(x, 0, n, last, 2)
            choices["updated"] = lambda: bind(
                "update_slice", x, fn.slice_axis(fn.negative(x), 0, 1, last),
                start=(0,) * last + (1,), stop=(*x.shape[:-1], 2), step=(1,) * x.ndim,
            )  # fmt: skip
            choices["found"] = lambda: fn.gather(x, [fn.constant(np.array([n - 1, 0, 9]))], (last,))
        return choices[draw(st.sampled_from(sorted(choices)))]()

    def f(*inputs: Value) -> tuple[Value, ...]:
        values = list(inputs)
        for _ in range(draw(st.integers(1, 6))):
            made = step(draw(st.sampled_from(values[-2:])))
            if made.type.size <= 400:
                values.append(made)
        return tuple(draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)))

    shape = draw(st.sampled_from(((7,), (3, 5), (6, 2), (2, 3, 5), (5, 1), (1, 6), (0, 3))))
    return recorded(f, f"f64[{', '.join(map(str, shape))}]")


@settings(deadline=None)
@given(graph=chains())
def test_chains_of_layout_and_sums_give_what_they_mean(graph: Graph) -> None:
    inputs = [np.round(x * 8) for x in drawn(graph, "real")]
    assert_means_the_same(graph, inputs)


# ---- the form of loops -------------------------------------------------------------------------------


def loops(nest: Nest) -> list[Loop]:
    return [statement for statement in statements(nest.body) if isinstance(statement, Loop)]


def test_axes_that_are_only_used_together_share_a_loop() -> None:
    nest = lower(recorded(lambda x, y: fn.multiply(fn.sin(x), y), *["f64[6, 5, 4]"] * 2))
    assert [loop.variable.extent for loop in loops(nest)] == [120]


def test_axes_that_an_operand_lacks_keep_their_loops() -> None:
    nest = lower(recorded(fn.multiply, "f64[6, 5, 8]", "f64[8]"))
    assert [loop.variable.extent for loop in loops(nest)] == [30, 8]


def test_axes_keep_their_loops_beside_a_sum_over_axes_of_the_same_lengths() -> None:
    def f(x: Value, y: Value) -> Value:
        return fn.add(fn.sum_(fn.multiply(x, y), (0, 1, 2)), fn.broadcast_to(y, x.shape))

    nest = lower(recorded(f, "f64[6, 5, 8]", "f64[5, 8]"))
    assert [loop.variable.extent for loop in loops(nest)] == [6, 40, 6, 40]


def test_sums_that_do_not_need_each_other_share_a_loop() -> None:
    def f(x: Value) -> tuple[Value, Value]:
        return fn.sum_(x, (1,)), fn.sum_(fn.square(x), (1,))

    nest = lower(recorded(f, "f64[6, 50]"))
    assert [loop.variable.extent for loop in loops(nest)] == [6, 50]


def test_a_sum_that_needs_another_has_a_loop_behind_it() -> None:
    def f(x: Value) -> Value:
        mean = fn.divide(fn.sum_(x, (1,)), 50)
        return fn.sum_(fn.square(fn.subtract(x, fn.reshape(mean, (6, 1)))), (1,))

    nest = lower(recorded(f, "f64[6, 50]"))
    assert [loop.variable.extent for loop in loops(nest)] == [6, 50, 50]


def test_what_does_not_change_in_a_loop_is_computed_before_it() -> None:
    nest = lower(recorded(lambda x, y: fn.multiply(x, fn.exp(y)), "f64[6, 50]", "f64[6, 1]"))
    (outer,) = nest.body
    assert isinstance(outer, Loop)
    assert [type(statement).__name__ for statement in outer.body] == ["Let", "Loop"]


def test_sums_of_columns_are_gathered_side_by_side() -> None:
    nest = lower(recorded(lambda x: fn.sum_(x, (0,)), "f64[60, 50]"))
    sums = [a for loop in loops(nest) for a in accumulated((loop,))]
    assert {a.size for a in sums} == {50}
    assert [loop.variable.extent for loop in loops(nest)] == [60, 50, 50]


def test_very_wide_sums_of_columns_are_gathered_in_parts() -> None:
    nest = lower(recorded(lambda x: fn.sum_(x, (0,)), "f64[6, 10000]"))
    assert {a.size for loop in loops(nest) for a in accumulated(loop.body)} == {512, 10000 % 512}


def test_pairs_are_never_stored() -> None:
    def f(p: Value) -> Value:
        difference = fn.subtract(fn.reshape(p, (1, 30, 3)), fn.reshape(p, (30, 1, 3)))
        return fn.sum_(fn.sum_(fn.square(difference), (2,)), (1,))

    nest = lower(recorded(f, "f64[30, 3]"))
    assert [loop.variable.extent for loop in loops(nest)] == [30, 30]
    assert len([statement for statement in statements(nest.body) if isinstance(statement, Store)]) == 1


def test_long_chains_of_sums_are_kept_in_rows_that_fit_on_the_stack() -> None:
    def f(x: Value) -> Value:
        for _ in range(16):
            x = fn.subtract(fn.sin(x), fn.reshape(fn.sum_(x, (1,)), (4, 1)))
        return x

    buffers = [b for loop in lower(recorded(f, "f64[4, 1500]")).body for b in used((loop,)).buffers]
    rows = [buffer for buffer in buffers if isinstance(buffer, Row)]
    assert len(rows) >= 3
    assert sum(row.size * 8 for row in rows) <= 1 << 17


def test_what_is_slow_is_read_from_the_output_that_another_loop_has_stored() -> None:
    def f(x: Value) -> tuple[Value, Value, Value]:
        slow = fn.exp(x)
        return slow, fn.transpose(slow, (1, 0)), fn.add(fn.transpose(slow, (1, 0)), 1.0)

    graph = recorded(f, "f64[9, 20]")
    nest = lower(graph)
    found = [loop.variable.extent for loop in loops(nest)]
    assert found == [180, 20, 9]
    assert str(nest).count("exp(") == 1
    (x,) = drawn(graph, "real")
    for y, expected in zip(Run(nest, [x]).outputs, evaluate(graph, x), strict=True):
        np.testing.assert_array_equal(y, np.ravel(expected))


def test_what_is_slow_is_shared_within_the_loop_that_stores_it() -> None:
    def f(x: Value, y: Value) -> tuple[Value, Value]:
        slow = fn.exp(fn.subtract(x, y))
        return slow, fn.sum_(slow, (1,))

    nest = lower(recorded(f, "f64[9, 20]", "f64[9, 1]"))
    assert [loop.variable.extent for loop in loops(nest)] == [9, 20]
    assert str(nest).count("exp(") == 1
    assert "out[20 * i + j] = exp_1" in str(nest)


@pytest.mark.parametrize("count", [4, 16])
def test_each_sum_in_a_row_begins_with_what_the_one_before_left(count: int) -> None:
    def f(x: Value) -> Value:
        for _ in range(count):
            x = fn.subtract(fn.sin(x), fn.reshape(fn.sum_(x, (1,)), (4, 1)))
        return x

    nest = lower(recorded(f, "f64[4, 100]"))
    sines = [s for s in statements(nest.body) if isinstance(s, Let) and s.call and s.call.op == "sin"]
    assert len(sines) == count


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("count", "size"), [(9, 3), (30, 3), (400, 1)])
def test_which_of_many_parts_an_index_is_in_is_found_by_halving(count: int, size: int, axis: int) -> None:
    def joined(x: Value) -> Value:
        parts = [fn.multiply(fn.slice_axis(x, 0, 1 + i % size, axis), i) for i in range(count)]
        return fn.concatenate(parts, axis)

    graph = recorded(joined, f"f64[{size}, {size}]")
    assert_means_the_same(graph, [np.arange(1.0, size * size + 1).reshape(size, size)])


def test_choices_that_depend_on_the_place_alone_cut_the_loop() -> None:
    nest = lower(recorded(lambda x, y: fn.concatenate([x, fn.negative(y)], 0), "f64[60]", "f64[40]"))
    assert [(loop.variable.low, loop.variable.high) for loop in loops(nest)] == [(0, 59), (60, 99)]


def test_the_text_of_a_nest_shows_its_loops() -> None:
    nest = lower(recorded(lambda x: fn.sum_(fn.sin(x), (1,)), "f64[6, 50]", names=["x"]))
    assert str(nest) == (
        "nest(x: f64[300], out: f64[6]):\n"
        "    for i in [0, 5]:\n"
        "        begin sum_1_so_far: sum\n"
        "        for j in [0, 49]:\n"
        "            sin_1 = sin(x[50 * i + j])\n"
        "            sum_1_so_far <- sin_1\n"
        "        sum_1 = sum_1_so_far\n"
        "        out[i] = sum_1"
    )


def test_names_are_none_that_are_reserved_and_each_once() -> None:
    def f(i: Value, double: Value) -> Value:
        return fn.sum_(fn.add(i, double), (1,))

    nest = lower(recorded(f, *["f64[6, 50]"] * 2, names=["i", "double"]), ["double"])
    assert [buffer.name for buffer in nest.inputs] == ["i", "double_2"]
    assert [loop.variable.name for loop in loops(nest)] == ["j", "k"]


def test_iota_is_the_place_itself() -> None:
    nest = lower(recorded(lambda x: fn.add(x, fn.iota(9, FLOAT64)), "f64[9]"))
    assert "f64(i)" in str(nest)
    found = Run(lower(recorded(lambda: fn.iota(5, INT64))), []).outputs
    np.testing.assert_array_equal(found[0], np.arange(5))


def test_columns_are_gathered_once_and_not_for_every_row() -> None:
    x = Value(ArrayType(FLOAT64, (20, 6)))
    with recording(Builder()) as builder:
        is_largest = fn.equal(x, fn.expand_dims(bind("max", x, axes=(0,)), 0))
        last = bind("argmax", fn.transpose(is_largest, (1, 0)), axis=1)
    nest = lower(Graph("last", (x,), tuple(builder.calls), (last,)))
    depths = [depth for depth, loop in nested_loops(nest.body) if isinstance(loop, Loop)]
    assert max(depths) == 2


def nested_loops(body: Block, depth: int = 1) -> Iterator[tuple[int, Statement]]:
    for statement in body:
        yield depth, statement
        if isinstance(statement, Loop):
            yield from nested_loops(statement.body, depth + 1)
