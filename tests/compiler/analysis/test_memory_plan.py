"""The memory plan: values that are alive together do not overlap, dead ones are reused, returned ones are new."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.memory_plan import (
    ALIGNMENT,
    Block,
    CallMemory,
    MemoryPlan,
    Numbers,
    place_blocks,
    plan_memory,
)
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.form import memory_of
from tracemill.compiler.builder import bind_all
from tracemill.compiler.ir import Call, Graph, Value
from tracemill.compiler.op import is_view
from tracemill.compiler.shapes import Observed, answering

SIZES = (1, 3, 40, 1000)


def plan_of(graph: Graph) -> MemoryPlan:
    return plan_memory(graph, lambda call: replace(memory_of(NUMPY, call), smallest=0))


def written_anywhere(call: Call) -> CallMemory:
    """Like C functions: every result, even a number, goes to a given place, and may replace any operand."""
    overwrites = dict.fromkeys(range(len(call.outputs)), range(len(call.inputs)))
    return CallMemory(True, overwrites, is_view=is_view(call), numbers=Numbers.READ_AT_ONCE)


def wave(x: Value, steps: int) -> Value:
    """A chain in which every result is needed once more after the next."""
    before = fn.sin(x)
    for _ in range(steps):
        x, before = before, fn.add(fn.sin(before), x)
    return fn.sum_(before, range(before.ndim))


def test_a_chain_is_written_in_place() -> None:
    graph = recorded(lambda x: fn.sum_(fn.exp(fn.negative(fn.sin(x))), (0,)), "f64[100]")
    plan = plan_of(graph)
    assert plan.arena_bytes == 832  # 800 bytes in whole cache lines
    assert [plan.overwritten.get(call.outputs[0]) is not None for call in graph.calls] == [
        False,
        True,
        True,
        False,
    ]


def test_a_long_program_needs_memory_only_for_values_that_are_alive_together() -> None:
    plan = plan_of(recorded(lambda x: wave(x, 500), "f64[8]"))
    assert plan.arena_bytes <= 4 * 64


def test_inputs_are_never_overwritten_and_outputs_are_not_in_the_arena() -> None:
    graph = recorded(lambda x: (fn.negative(x), fn.sin(fn.exp(x))), "f64[100]")
    plan = plan_of(graph)
    assert graph.inputs[0] not in plan.overwritten.values()
    assert not any(plan.block[plan.root[output]].in_arena for output in graph.outputs)


def test_what_another_view_still_reads_is_not_overwritten() -> None:
    def f(x: Value) -> Value:
        y = fn.sin(x)
        return fn.dot(fn.negative(y), fn.transpose(y, (1, 0)), ((1,), (0,)))

    graph = recorded(f, "f64[8, 8]")
    assert not plan_of(graph).overwritten


@pytest.mark.parametrize("twice", [True, False])
def test_an_operand_that_is_read_twice_is_not_overwritten(twice: bool) -> None:
    graph = recorded(lambda x: (y := fn.sin(x), fn.add(y, y if twice else x))[1], "f64[8]")
    assert bool(plan_of(graph).overwritten) is not twice


@st.composite
def programs(draw: st.DrawFn) -> Graph:
    def f(*inputs: Value) -> tuple[Value, ...]:
        values = list(inputs)
        for _ in range(draw(st.integers(1, 30))):
            x = draw(st.sampled_from(values))
            y = draw(st.sampled_from([v for v in values if v.type == x.type]))
            values.append(draw(st.sampled_from((fn.add(x, y), fn.flip(x, (0,)), fn.concatenate([x, y], 0)))))
        return tuple(draw(st.lists(st.sampled_from(values), max_size=2)))

    return recorded(f, *(f"f64[{size}]" for size in SIZES))


def test_each_result_of_a_kernel_has_memory_of_its_own() -> None:
    kernel = recorded(lambda x: (fn.sin(x), fn.cos(x), fn.sum_(x, (0,))), "f64[100]")

    def f(x: Value) -> Value:
        y = fn.exp(x)
        first, second, total = bind_all("kernel", y, graph=kernel)
        return fn.sum_(fn.multiply(fn.add(first, second), total), (0,))

    graph = recorded(f, "f64[100]")
    plan = plan_memory(graph, written_anywhere)
    first, second, total = graph.calls[1].outputs
    assert plan.overwritten[first] is graph.calls[0].outputs[0]
    assert second not in plan.overwritten
    blocks = [plan.block_of(value) for value in (first, second, total)]
    assert all(block is not None and block.in_arena for block in blocks)
    assert len(set(blocks)) == 3
    assert plan.arena_bytes == 832 + 832 + 64


def test_numbers_are_read_before_their_memory_is_used_again() -> None:
    graph = recorded(lambda x: (s := fn.sum_(x, (0,)), fn.sum_(fn.multiply(x, s), (0,)), s), "f64[100]")
    plan = plan_memory(graph, written_anywhere)
    assert all(plan.block[call.outputs[0]].in_arena for call in graph.calls)
    assert not plan.overwritten
    assert plan.arena_bytes == 832 + 64


def test_numbers_that_stay_in_memory_are_replaced_and_live_as_arrays_do() -> None:
    def f(x: Value) -> tuple[Value, Value]:
        total = fn.sin(fn.sum_(x, (0,)))
        return fn.multiply(fn.exp(x), total), fn.cos(total)

    graph = recorded(f, "f64[100]")
    plan = plan_memory(graph, lambda call: replace(written_anywhere(call), numbers=Numbers.IN_MEMORY))
    total, sine, exponential, product, cosine = (call.outputs[0] for call in graph.calls)
    assert plan.overwritten == {sine: total, product: exponential, cosine: sine}
    assert plan.arena_bytes == 0  # both are where the outputs are


def test_what_a_call_works_in_is_free_for_others_before_and_after() -> None:
    graph = recorded(lambda x: fn.exp(fn.sin(x)), "f64[8]")
    plan = plan_memory(graph, lambda call: CallMemory(True, {}, work=1000))
    (intermediate,) = (block for block in plan.block.values() if block.in_arena)
    assert [plan.work[index].first for index in (0, 1)] == [0, 1]
    assert plan.arena_bytes == 1024 + 64
    assert plan.work[0].offset == plan.work[1].offset != intermediate.offset


def test_a_result_that_replaces_an_input_uses_its_memory() -> None:
    graph = recorded(lambda x: fn.exp(fn.sin(x)), "f64[8]")
    (x,) = graph.inputs
    sine, exponential = (call.outputs[0] for call in graph.calls)
    plan = plan_memory(graph, written_anywhere, replacing={exponential: sine, sine: x})
    assert plan.root[exponential] is plan.root[sine] is x
    assert not plan.block


@settings(deadline=None)
@given(graph=programs(), anywhere=st.booleans())
def test_blocks_that_live_at_the_same_time_do_not_overlap(graph: Graph, anywhere: bool) -> None:
    plan = plan_memory(graph, written_anywhere) if anywhere else plan_of(graph)
    assert_apart([block for block in plan.block.values() if block.in_arena], plan.arena_bytes)


def assert_apart(placed: Sequence[Block], end: int) -> None:
    for block in placed:
        assert block.offset % ALIGNMENT == 0
        assert 0 <= block.offset <= block.offset + block.nbytes <= end
    for a, b in combinations(placed, 2):
        together = a.nbytes and b.nbytes and a.first <= b.last and b.first <= a.last
        apart = a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
        assert apart or not together


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 8, 64, 200]), st.integers(0, 3)), min_size=4, max_size=20))
def test_blocks_do_not_overlap_and_some_are_empty(blocks: list[tuple[int, int]]) -> None:
    made = [Block(nbytes, first, first + long, True) for first, (nbytes, long) in enumerate(blocks)]
    assert_apart(made, place_blocks(made))


# ---- symbolic sizes --------------------------------------------------------------------------------

B, N = tm.Dim("B", min=2), tm.Dim("N", min=2)
OF_MODELS: dict[str, list[Any]] = {
    "layers": [4 * B * 784, 4 * B * 128, 4 * B * 10, 4 * B, 4 * 784 * 128, 4 * 128 * 10, 40],
    "attention": [256 * B * N, 4 * B * N * N, 1024 * B * N, 4 * B * N, 4 * 64 * 64],
    "matrices": [8 * B * N, 16 * B * N, 8 * B, 8 * N, B * N, 8 * B * (N - 1)],
}
"""Bytes of arrays."""
OTHERS: list[Any] = [
    B // 2,
    12 * (N // 3) + 1,
    8 * (B - 2) * N,
    tm.Dim.maximum(B, N) * 4,
    (N - 1) // 2 * B,
    0,
]
SYMBOLIC: list[Any] = [*OTHERS, *(nbytes for kind in OF_MODELS.values() for nbytes in kind)]


def at(size: Any, sizes: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else int(size.at(sizes))


def placed_at(blocks: Sequence[Block], sizes: Mapping[str, int]) -> list[Block]:
    """The blocks for these sizes."""
    return [
        replace(block, nbytes=at(block.nbytes, sizes), offset=at(block.offset, sizes)) for block in blocks
    ]


@settings(deadline=None)
@given(
    blocks=st.lists(st.tuples(st.sampled_from(SYMBOLIC), st.integers(0, 9)), min_size=1, max_size=20),
    hints=st.fixed_dictionaries({"B": st.integers(2, 2000), "N": st.integers(2, 2000)}),
    sizes=st.lists(
        st.fixed_dictionaries({"B": st.integers(2, 2000), "N": st.integers(2, 2000)}), min_size=1, max_size=4
    ),
)
def test_blocks_of_symbolic_sizes_do_not_overlap_for_any_size(
    blocks: list[tuple[Any, int]], hints: dict[str, int], sizes: list[dict[str, int]]
) -> None:
    made = [Block(nbytes, first, first + long, True) for first, (nbytes, long) in enumerate(blocks)]
    scope = Observed(hints)
    with answering(scope):
        end = place_blocks(made)
    assert str(scope.guards) == "True"
    for one in (hints, {"B": 2, "N": 2}, *sizes):
        assert_apart(placed_at(made, one), at(end, one))


@pytest.mark.parametrize("kind", OF_MODELS)
@pytest.mark.parametrize("count", [10, 60])
def test_an_arena_of_symbolic_sizes_is_hardly_larger_than_one_for_each(kind: str, count: int) -> None:
    rng = random.Random(count)
    made = [
        Block(rng.choice(OF_MODELS[kind]), i, i + rng.choice([1, 1, 2, 2, 3, 5, 20]), True)
        for i in range(count)
    ]
    with answering(Observed({"B": 32, "N": 50})):
        end = place_blocks(made)
    for sizes in ({"B": 32, "N": 50}, {"B": 20, "N": 90}, {"B": 100, "N": 64}, {"B": 90, "N": 100}):
        assert at(end, sizes) <= 1.25 * place_blocks(placed_at(made, sizes))


def test_a_remainder_of_rows_has_at_most_the_rows_of_a_tile() -> None:
    rest = N - (N - 1) // 16 * 16
    made = [Block(8 * rest * count, first, first + 3, True) for first, count in enumerate((N, B, N, 1, B))]
    with answering(Observed({"B": 32, "N": 50})):
        end = place_blocks(made)
    for sizes in ({"B": 2, "N": 2}, {"B": 7, "N": 16}, {"B": 3000, "N": 2999}):
        assert_apart(placed_at(made, sizes), at(end, sizes))
        assert at(end, sizes) <= 8 * 16 * (2 * sizes["N"] + 2 * sizes["B"] + 1) + 5 * 64
