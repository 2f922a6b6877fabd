"""Products of matrices share a kernel with what is made of their elements, on GPUs."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from graphs.product_graphs import (
    SMALL,
    gelu_layer,
    matmul,
    relu_layer,
    row_sums,
    turned_result,
    two_results,
    widened,
)
from support.recording import drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value, called
from tracemill.passes.fusion.gpu import GPU
from tracemill.passes.fusion.reasons import Reason
from tracemill.passes.optimizations.fuse import fuse, fusion_report
from tracemill.passes.pipeline import apply

MATRICES = "f32[64, 32]", "f32[32, 128]"


def fused(graph: Graph) -> Graph:
    return apply(partial(fuse, costs=GPU), graph)


def in_kernels(graph: Graph) -> list[list[str]]:
    """The ops of each kernel; of other calls, their own."""
    return [ops(*called((call,))) if call.op == "kernel" else [call.op] for call in graph.calls]


def test_bias_activation_and_residual_are_in_the_kernel_of_the_product() -> None:
    graph = fused(recorded(relu_layer, *MATRICES, "f32[128]", "f32[64, 128]"))
    assert in_kernels(graph) == [["dot", "add", "maximum", "add"]]
    (call,) = graph.calls
    (kernel,) = called((call,))
    assert kernel.name == "kernel_dot"
    assert [value.type for value in kernel.inputs] == [value.type for value in graph.inputs]


def test_a_product_that_others_need_is_a_further_result() -> None:
    graph = recorded(two_results, *MATRICES, "f32[]")
    (call,) = fused(graph).calls
    assert call.op == "kernel"
    assert set(call.outputs) == set(graph.outputs)


def test_what_reads_it_later_reads_a_product_from_memory() -> None:
    def both(x: Value, y: Value) -> tuple[Value, ...]:
        product = matmul(x, y)
        return fn.exp(product), matmul(product, fn.transpose(product, (1, 0)))

    first, *_, second = in_kernels(fused(recorded(both, *MATRICES)))
    assert first == ["dot", "exp"]
    assert second == ["dot"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (row_sums, Reason.NOT_BY_TILES),
        (lambda x, y: fn.exp(turned_result(x, y)), Reason.NOT_BY_TILES),
        (lambda x, y: fn.exp(fn.slice_(matmul(x, y), (0, 0), (64, 64))), Reason.NOT_BY_TILES),
        (lambda x, y: fn.add(matmul(x, y), matmul(fn.exp(x), y)), Reason.TWO_PRODUCTS),
    ],
)
def test_why_a_product_is_apart_is_said(function: Callable[..., Value], reason: Reason) -> None:
    graph = recorded(function, *MATRICES)
    found = [pair for pair in fusion_report(graph, GPU).not_fused if pair.producer.startswith("dot")]
    assert reason in [pair.reason for pair in found]
    assert "dot" in ops(fused(graph))


def test_products_in_one_kernel_have_no_reason_against_it() -> None:
    report = fusion_report(recorded(gelu_layer, *MATRICES, "f32[128]"), GPU)
    assert not report.not_fused


def test_numbers_of_two_bytes_are_widened_in_the_kernel() -> None:
    def several(x: Value, y: Value) -> tuple[Value, ...]:
        return widened(x, y), fn.exp(fn.convert(x, np.dtype(np.float32)))

    first, second = in_kernels(fused(recorded(several, "bf16[64, 32]", "bf16[32, 128]")))
    assert first == ["convert", "convert", "dot"]
    assert second == ["convert", "exp"]


def test_what_makes_numbers_of_two_bytes_for_a_product_stores_them_so() -> None:
    def two_layers(x: Value, y: Value, z: Value) -> Value:
        hidden = fn.convert(fn.exp(widened(x, y)), x.dtype)
        return fn.exp(widened(hidden, z))

    graph = fused(recorded(two_layers, "bf16[64, 32]", "bf16[32, 128]", "bf16[128, 16]"))
    first, second = graph.calls
    assert [value.dtype.name for value in first.outputs] == ["bfloat16"]
    assert in_kernels(graph)[1] == ["convert", "convert", "dot", "exp"]
    assert second.inputs[0] is first.outputs[0]


def test_one_operand_is_widened_in_the_kernel_too() -> None:
    for x, y in (("f16", "f32"), ("f32", "bf16"), ("f16", "bf16")):
        (kernel,) = in_kernels(fused(recorded(widened, f"{x}[64, 32]", f"{y}[32, 128]")))
        assert kernel[-1] == "dot"


def test_what_is_made_of_a_convolution_is_in_its_kernel() -> None:
    assert in_kernels(fused(SMALL["convolution layer"])) == [["conv", "reshape", "add", "maximum"]]


def test_complex_products_are_in_no_kernel() -> None:
    graph = fused(recorded(lambda x, y: fn.exp(matmul(x, y)), "c64[64, 32]", "c64[32, 128]"))
    assert "dot" in ops(graph)


@pytest.mark.parametrize("name", SMALL)
def test_kernels_mean_what_the_calls_did(name: str) -> None:
    graph = SMALL[name]
    inputs = drawn(graph, "real")
    for x, y in zip(evaluate(fused(graph), *inputs), evaluate(graph, *inputs), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", SMALL)
def test_fusing_again_changes_nothing(name: str) -> None:
    once = fused(SMALL[name])
    assert fuse(once, GPU) is once
