"""Kernels contain what can run in one loop nest, nothing expensive is computed twice, and results do not change."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracemill as tm
from graphs.random_graphs import graphs
from graphs.row_programs import softmax
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.fusible_ops import is_loop_call
from tracemill.compiler.backends.c.function import COptions
from tracemill.compiler.backends.c.module.library import CLibrary
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.builder import bind_all
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value, called
from tracemill.compiler.op import has_effect, is_view
from tracemill.compiler.text.naming import Naming
from tracemill.passes.fusion import recompute_upstream
from tracemill.passes.fusion.cost import CPU, LARGEST, SHARED_STAGES, STAGES, Costs, operations
from tracemill.passes.fusion.group import Group
from tracemill.passes.fusion.kernels import CHEAP_NUMBERS
from tracemill.passes.fusion.plan import Plan, group_calls
from tracemill.passes.fusion.reasons import Reason
from tracemill.passes.fusion.traffic import bytes_moved
from tracemill.passes.lowering.decompose import decompose_composites
from tracemill.passes.optimizations.fuse import fuse, fusion_report
from tracemill.passes.simplification.share_subexpressions import share_subexpressions


def kernels(graph: Graph) -> list[list[str]]:
    """The ops of each kernel, without those that move elements."""
    moves = {"broadcast_to", "reshape", "slice", "transpose", "convert"}
    return [
        [op for op in ops(nested) if op not in moves]
        for call in graph.calls
        if call.op == "kernel"
        for nested in called((call,))
    ]


def optimised(function: Callable[..., Any], *arguments: Any) -> Graph:
    """What the passes before fusion make of a function."""
    return tm.compile(function).lower(*arguments).after("remove_dead_code")


def fused(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Graph:
    """The kernels of a function of float64 arrays, checked for what holds of all."""
    graph = optimised(function, *(np.ones(shape) for shape in shapes))
    return checked(graph, drawn(graph, "unit"))


def checked(graph: Graph, inputs: list[Array] | None = None) -> Graph:
    """`graph` with kernels, which give the same bits, move fewer bytes, and are complete."""
    result = fuse(graph)
    result.lint()
    assert bytes_moved(result) <= bytes_moved(graph)
    assert_complete(result)
    assert fuse(result) is result
    if inputs is not None:
        assert_same(evaluate(result, *inputs), evaluate(graph, *inputs))
    return result


def assert_complete(graph: Graph) -> None:
    """Loop calls are in kernels, but for views and cheap operations on single numbers."""
    for call in graph.calls:
        if call.op == "kernel":
            (kernel,) = called((call,))
            assert kernel.calls
            assert all(map(is_loop_call, kernel.calls))
            continue
        is_number = all(value.ndim == 0 for value in (*call.inputs, *call.outputs))
        assert (
            not CPU.is_fusible(call) or is_view(call) or (is_number and operations(call) <= CHEAP_NUMBERS)
        ), call.op
        for nested in called((call,)) if call.op != "tiled" else ():  # tiles have been fused before
            assert_complete(nested)


# ---- what holds of every graph -----------------------------------------------------------------------


@of_each_sample(SAMPLES, quick=some_of(SAMPLES), slow=some_of(SAMPLES, share=0.15))
def test_the_kernels_of_every_sample_give_the_same_bits(sample: Sample) -> None:
    graph = decompose_composites(sample.graph())
    if any(has_effect(call) for call in graph.calls):
        fuse(graph).lint()
    else:
        checked(graph, sample.arrays(0))


@settings(deadline=None)
@given(graph=graphs())
def test_kernels_keep_the_meaning_of_random_graphs(graph: Graph) -> None:
    checked(graph, drawn(graph, "special"))


# ---- single numbers ----------------------------------------------------------------------------------


def newton(square: Any) -> Any:
    return tm.while_loop(lambda x: abs(x * x - square) > 1e-12, lambda x: (x + square / x) / 2, square)


def test_the_numbers_of_a_loop_s_step_are_one_kernel() -> None:
    graph = fused(newton, ())
    (loop,) = graph.calls
    assert [ops(step) for step in called((loop,))] == [["kernel"], ["kernel"]]


def test_a_few_numbers_outside_of_loops_are_left_to_python() -> None:
    assert kernels(fused(lambda x: abs(x * x - 2.0) > 1e-12, ())) == []


def test_a_single_operation_on_a_number_is_no_kernel_in_a_loop_either() -> None:
    (loop,) = fused(lambda x: tm.fori_loop(0, 9, lambda i, x: x * 2.0, x), ()).calls
    assert not any("kernel" in ops(step) for step in called((loop,)))


# ---- one kernel --------------------------------------------------------------------------------------


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def cross_entropy(logits: Any, labels: Any) -> Any:
    top = logits.max(-1)
    log_sum = np.log(np.exp(logits - top[:, None]).sum(-1)) + top
    return (log_sum - (logits * labels).sum(-1)).mean()


def forces(p: Any, m: Any) -> Any:
    d = p[None] - p[:, None]
    r2 = (d**2).sum(-1) + 1e-3
    return (m[None, :, None] * d / (r2**1.5)[:, :, None]).sum(1)


def distances(x: Any, y: Any) -> Any:
    return np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))


def test_the_rows_of_a_softmax_are_one_kernel() -> None:
    assert kernels(fused(softmax, (400, 300))) == [["max", "subtract", "exp", "sum", "divide"]]


def test_the_rows_of_a_layer_norm_are_one_kernel() -> None:
    assert len(kernels(fused(layer_norm, (400, 300), (300,), (300,)))) == 1


def test_the_mean_of_a_cross_entropy_is_one_kernel() -> None:
    assert len(kernels(fused(cross_entropy, (400, 300), (400, 300)))) == 1


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (forces, [(500, 3), (500,)]),
        (distances, [(300, 3), (400, 3)]),
        (lambda x, y: distances(x, y).sum(), [(300, 3), (400, 3)]),
        (lambda x: np.exp(-((x[None] - x[:, None]) ** 2)).sum(1), [(700,)]),
        (lambda x: np.exp(-((x[None] - x[:, None]) ** 2)).sum(), [(700,)]),
    ],
)
def test_pairs_are_never_stored(function: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    graph = fused(function, *shapes)
    assert len(graph.calls) == 1


def test_a_long_formula_is_one_kernel() -> None:
    def gelu(x: Any) -> Any:
        return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))

    assert len(fused(gelu, (1000,)).calls) == 1


# ---- several kernels ---------------------------------------------------------------------------------


def test_statistics_of_columns_are_kernels_of_their_own() -> None:
    def batch_norm(x: Any) -> Any:
        return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)

    assert [ops[-1] for ops in kernels(fused(batch_norm, (400, 300)))] == ["divide", "sqrt", "divide"]


def test_sums_over_the_same_columns_share_a_kernel() -> None:
    graph = fused(lambda x: (x.sum(0), (x**2).sum(0)), (400, 300))
    assert kernels(graph) == [["sum", "square", "sum"]]


def test_a_full_sum_is_not_followed_by_large_loops_that_need_it() -> None:
    large, small = (fused(lambda x: x / x.sum(), shape) for shape in [(400, 300), (40, 30)])
    assert kernels(large) == [["sum"], ["divide"]]
    assert kernels(small) == [["sum", "divide"]]


def test_the_gradient_of_a_layer_norm_is_one_kernel_of_rows_and_one_of_columns() -> None:
    def loss(x: Any, gain: Any, bias: Any) -> Any:
        return (layer_norm(x, gain, bias) * x).sum()

    graph = fused(tm.grad(loss, argnums=(0, 1, 2)), (400, 300), (300,), (300,))
    assert len(kernels(graph)) == 2


def test_what_is_dear_is_computed_once_for_rows_that_share_it() -> None:
    graph = fused(lambda x, w: (x * np.exp(w)).sum(1), (400, 300), (300,))
    assert kernels(graph) == [["exp"], ["multiply", "sum"]]


def test_what_is_dear_is_computed_where_outer_loops_need_it_once() -> None:
    assert len(kernels(fused(lambda x, w: x * np.exp(w)[:, None], (400, 300), (400,)))) == 1


def test_what_is_dear_is_computed_once_for_several_shifts_of_it() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return y[2:] - 2 * y[1:-1] + y[:-2]

    assert [names.count("exp") for names in kernels(fused(f, (10_000,)))] == [1, 0]


def test_a_long_chain_of_shifts_is_not_computed_all_over_again_for_each() -> None:
    def f(x: Any) -> Any:
        for i in [*range(20)]:
            x = np.tanh(np.roll(x, i % 5 + 1) + x) * (i + 1)
        return x

    assert max(names.count("tanh") for names in kernels(fused(f, (1000,)))) <= 2


def test_halves_of_halves_are_added_in_kernels_of_bounded_length() -> None:
    def f(x: Any) -> Any:
        while len(x) > 1:
            x = x[: len(x) // 2] + x[len(x) // 2 :]
        return x

    report = fusion_report(optimised(f, np.ones(1 << 20)))
    assert 2 <= len(report.kernels) <= 4
    assert Reason.TOO_LARGE in {pair.reason for pair in report.not_fused}


def test_matrix_products_run_between_kernels_and_read_views() -> None:
    graph = fused(lambda x, w: np.tanh((x @ w.T) + 1.0) @ w, (40, 30), (20, 30))
    assert [call.op for call in graph.calls if call.op != "transpose"] == ["dot", "kernel", "dot"]


def test_the_gradient_of_a_network_has_a_kernel_between_products() -> None:
    def loss(w1: Any, b1: Any, w2: Any, x: Any, y: Any) -> Any:
        return ((np.tanh(x @ w1 + b1) @ w2 - y) ** 2).mean()

    graph = fused(tm.grad(loss, argnums=(0, 1, 2)), (50, 60), (60,), (60, 40), (70, 50), (70, 40))
    assert sum(op == "dot" for op in ops(graph)) == 5
    assert [names for names in kernels(graph) if "tanh" in names] == [["add", "tanh"]]


def test_a_cheap_result_of_two_kernels_is_computed_in_both() -> None:
    graph = fused(lambda x: ((x - 2.0).sum(0), (x - 2.0).sum(1)), (400, 300))
    assert kernels(graph) == [["subtract", "sum"], ["subtract", "sum"]]


def test_the_gradient_of_forces_computes_pairs_for_both_of_its_sums_and_stores_none() -> None:
    def loss(p: Any, m: Any, w: Any) -> Any:
        dx, dy = p[:, 0] - p[:, 0, None], p[:, 1] - p[:, 1, None]
        r2 = dx**2 + dy**2 + 1e-3
        pull = m / (r2 * np.sqrt(r2))
        return ((dx * pull).sum(1) * w).sum() + ((dy * pull).sum(1) * w).sum()

    graph = fused(tm.grad(loss), (500, 2), (500,), (500,))
    assert len(kernels(graph)) == 2
    assert bytes_moved(graph) < 8 * 500 * 50


def test_what_the_coordinates_of_a_pair_share_is_computed_once_for_them() -> None:
    def loss(p: Any, m: Any, w: Any) -> Any:
        return (forces(p, m) * w).sum()

    graph = fused(tm.grad(loss), (300, 3), (300,), (300, 3))
    assert len(kernels(graph)) == 2
    assert bytes_moved(graph) < 2.1 * 8 * 300 * 300


def test_pairs_that_are_read_and_not_computed_are_stored_for_the_sums_over_both_axes() -> None:
    def sums(pairs: Any, weights: Any) -> Any:
        value = np.exp(pairs) * weights
        return value.sum(0), value.sum(1)

    graph = fused(sums, (500, 500), (500, 500))
    assert sum(names.count("exp") for names in kernels(graph)) == 1


def test_centred_columns_are_computed_by_every_kernel_that_reads_them() -> None:
    def loss(x: Any, gain: Any, w: Any) -> Any:
        centred = x - x.mean(0)
        return (centred / np.sqrt((centred**2).mean(0) + 1e-5) * gain * w).sum()

    graph = fused(tm.grad(loss), (600, 500), (500,), (600, 500))
    assert len(kernels(graph)) == 5
    assert [call.outputs[0].shape for call in graph.calls].count((600, 500)) == 1


def test_the_gradient_of_a_cross_entropy_is_one_kernel_that_labels_are_scattered_into() -> None:
    def loss(logits: Any, labels: Any) -> Any:
        shifted = logits - logits.max(-1, keepdims=True)
        log_probabilities = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        return -log_probabilities[np.arange(400), labels].mean()

    graph = fuse(optimised(tm.grad(loss), np.ones((400, 300)), np.zeros(400, int)))
    assert [names for names in kernels(graph) if "exp" in names and "max" in names] != []
    assert [call.op for call in graph.calls if call.outputs[0].shape == (400, 300)] == ["kernel", "scatter"]


def test_a_dear_result_of_two_kernels_is_stored() -> None:
    graph = fused(lambda x: (np.exp(x).sum(0), np.exp(x).sum(1)), (400, 300))
    assert sum(names.count("exp") for names in kernels(graph)) == 1


def test_a_result_that_is_returned_is_stored_by_the_kernel_that_uses_it() -> None:
    graph = fused(lambda x: (y := np.exp(x), np.sin(y)), (400, 300))
    assert kernels(graph) == [["exp", "sin"]]


def test_a_path_through_a_library_call_is_never_closed_to_a_cycle() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return y + y @ y

    graph = fused(f, (30, 30))
    assert ops(graph) == ["kernel", "dot", "kernel"]


def test_sums_are_not_put_off_while_products_are_computed() -> None:
    def total(x: Any) -> Any:
        result = np.zeros(400)
        for _ in range(5):
            x = x @ x
            result = result + x.sum(1)
        return result

    graph = fused(total, (400, 400))
    assert ops(graph).count("dot") == 5
    assert ops(graph) == ["dot", "kernel"] * 5


def test_a_diamond_is_one_kernel() -> None:
    graph = fused(lambda x: (y := np.exp(x), np.sin(y) * np.cos(y))[1], (400,))
    assert kernels(graph) == [["exp", "sin", "cos", "multiply"]]


def test_a_transpose_that_only_a_product_reads_stays_a_view() -> None:
    graph = fused(lambda x: np.exp(x).T @ x, (40, 30))
    assert "transpose" not in [op for call in graph.calls for kernel in called((call,)) for op in ops(kernel)]


@pytest.mark.parametrize(
    "function", [tm.vmap(lambda column: np.exp(column) * 2.0, 1), lambda x: np.flip(np.exp(x) * 2.0)]
)
def test_a_kernel_writes_its_result_in_the_order_in_which_it_is_returned(function: Any) -> None:
    assert ops(fused(function, (40, 30))) == ["kernel"]


def test_a_result_that_is_also_returned_in_another_order_is_computed_once() -> None:
    graph = fused(tm.vmap(lambda column: (np.exp(column),) * 2, 1, (1, 0)), (40, 30))
    assert kernels(graph) == [["exp"]]
    assert ops(graph) == ["kernel", "transpose"]


def test_bodies_of_loops_have_kernels() -> None:
    def f(x: Any) -> Any:
        return tm.scan(lambda c, _: (np.sin(c) * 2.0, None), x, length=3)[0]

    graph = fuse(optimised(f, np.ones(100)))
    (scan,) = graph.calls
    assert [ops(body) for body in called((scan,))] == [["kernel"]]


@pytest.mark.slow
@pytest.mark.parametrize("length", [10, 10_000])
def test_a_long_chain_becomes_kernels_of_bounded_length(length: int) -> None:
    def chain(x: Value) -> Value:
        for _ in range(length):
            x = fn.sin(x)
        return x

    graph = fuse(recorded(chain, "f64[8]"))
    assert len(graph.calls) == -(-length // LARGEST)


@pytest.mark.parametrize("length", [4, 40])
def test_sums_in_turn_are_computed_in_kernels_that_repeat_little(length: int) -> None:
    def chain(x: Value) -> Value:
        for _ in range(length):
            x = fn.divide(fn.sin(x), fn.sum_(x, (0,)))
        return x

    graph = fuse(recorded(chain, "f64[64]"))
    sums = [sum(op == "sum" for op in ops(kernel)) for call in graph.calls for kernel in called((call,))]
    assert max(sums) <= STAGES + 1
    assert sum(len(ops(kernel)) for call in graph.calls for kernel in called((call,))) <= 8 * length


@pytest.mark.parametrize("length", [10, 40])
def test_sums_of_rows_in_turn_are_few_in_a_kernel(length: int) -> None:
    def chain(x: Value) -> Value:
        for _ in range(length):
            sums = fn.reshape(fn.sum_(fn.sin(x), (1,)), (64, 1))
            x = fn.subtract(x, fn.broadcast_to(sums, (64, 32)))
        return x

    sums = [ops.count("sum") for ops in kernels(checked(recorded(chain, "f64[64, 32]")))]
    assert sum(sums) == length
    assert max(sums) <= SHARED_STAGES + 1
    assert len(sums) <= -(-length // (SHARED_STAGES - 1))


def test_what_is_dear_is_not_computed_for_each_of_sums_in_turn() -> None:
    def chain(x: Value) -> Value:
        for _ in range(4):
            x = fn.subtract(fn.sin(x), fn.sum_(fn.sin(x), (0,)))
        return x

    graph = share_subexpressions(recorded(chain, "f64[1000]"))
    library = CLibrary(partial(print_function, options=COptions()))
    print_module(checked(graph), NUMPY, library=library)
    computed = sum(function.text.count("= tm_sin_f64(") for function in library.functions)
    assert 4 <= computed <= 6


def test_plans_for_long_chains_try_only_what_a_kernel_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    def chain(x: Value) -> Value:
        for number in range(600):
            x = fn.subtract(fn.sin(x), fn.sum_(x, (0,)) if number % 2 else x)
        return x

    tried: list[int] = []

    def counted(graph: Graph, costs: Costs, **options: Any) -> Plan:
        plan = group_calls(graph, costs, **options)
        tried.append(sum(len(unit.calls) for unit in plan.units if isinstance(unit, Group)))
        return plan

    monkeypatch.setattr(recompute_upstream, "group_calls", counted)
    graph = recorded(chain, "f64[100000]")
    fuse(graph)
    assert sum(tried) < 10 * len(graph.calls)


def test_a_kernel_has_the_name_of_what_it_computes() -> None:
    graph = fused(lambda x: np.log(np.exp(x).sum(1)), (400, 300))
    assert [kernel.name for call in graph.calls for kernel in called((call,))] == ["kernel_exp_sum_log"]


def test_calls_with_effects_keep_their_order() -> None:
    def f(x: Value) -> Value:
        for _ in range(2):
            bind_all("callback", x, function=np.sin, types=())
            x = fn.sin(x)
        return x

    graph = recorded(f, "f64[8]")
    assert [op for op in ops(fuse(graph)) if op == "callback"] == ["callback", "callback"]


# ---- what was not fused, and why -----------------------------------------------------------------------

LARGE = (400, 300)


def total_of_totals(x: Any) -> Any:
    for _ in range(6):
        x = x - x.sum()
    return x


@pytest.mark.parametrize(
    ("function", "shapes", "reason", "number"),
    [
        (lambda x: np.exp(x @ x.T), [LARGE], Reason.LIBRARY_CALL, 400 * 400 * 8),
        (lambda x, w: (x * np.exp(w)).sum(1), [LARGE, (300,)], Reason.RECOMPUTED, 400),
        (lambda x: x / x.sum(), [LARGE], Reason.SERIAL, 1),
        (lambda x: x - x.sum(0)[:, None], [(400, 400)], Reason.STRIDED, 400 * 400),
        (lambda x: (y := np.exp(x), y.sum(0)), [LARGE], Reason.NOT_ALIGNED, 400 * 300),
        (lambda x: ((y := np.exp(x)) @ y, np.sin(y)), [(400, 400)], Reason.STORED, 400 * 400 * 8),
        (lambda x: ((y := np.exp(x)).T @ y, y[::-1]), [LARGE], Reason.VIEW, 400 * 300),
        (lambda x: (x @ x).sum(1) + (x @ x @ x).sum(1), [(400, 400)], Reason.MEMORY, 399 * 400 * 8),
        (lambda x, y: ((x * y).sum(0), (x * y).sum(1)), [LARGE, LARGE], Reason.COSTLY, 11_750),
        (total_of_totals, [(100,)], Reason.STAGES, STAGES + 1),
        (
            lambda x, y, z: (np.clip(x, y, z).sum(0), np.clip(x, y, z).sum(1)),
            [LARGE] * 3,
            Reason.MORE_BYTES,
            960_000,
        ),
    ],
)
def test_what_is_not_fused_has_a_reason_and_a_number(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], reason: Reason, number: float
) -> None:
    found = fusion_report(optimised(function, *map(np.ones, shapes))).not_fused
    assert (reason, number) in [(pair.reason, pair.number) for pair in found], list(map(str, found))


def test_a_report_shows_kernels_bytes_and_reasons() -> None:
    report = fusion_report(optimised(lambda x: (y := np.exp(np.sin(x))) / y.sum(), np.ones(LARGE)))
    assert [kernel.calls for kernel in report.kernels] == [("sin_1", "exp_1"), ("sum_1",), ("divide_1",)]
    last = report.not_fused[-1]
    assert (last.producer, last.consumer, last.reason, last.number) == ("sum_1", "divide_1", Reason.SERIAL, 1)
    assert last.value in last.user.inputs
    assert "sum_1 → divide_1: serial: it would leave 1 parallel iterations" in str(report)


@settings(deadline=None)
@given(graph=graphs())
def test_every_pair_is_in_one_kernel_or_has_a_reason(graph: Graph) -> None:
    report = fusion_report(graph)
    naming = Naming(graph)
    names = {
        value: name
        for call in graph.calls
        for value, name in zip(call.outputs, naming.make(call), strict=True)
    }
    together = [set(kernel.calls) for kernel in report.kernels]
    apart = {(pair.producer, pair.consumer) for pair in report.not_fused}
    for call in graph.calls:
        for value in call.inputs:
            if value in names and CPU.is_fusible(call):
                pair = names[value], names[call.outputs[0]]
                assert pair in apart or any(kernel.issuperset(pair) for kernel in together)
