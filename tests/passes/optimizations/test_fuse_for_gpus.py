"""Kernels for GPUs: as few launches and bytes as there can be, by the costs of one."""

from functools import partial

import numpy as np
import pytest

import tracemill as tm
from graphs.kernel_graphs import spread
from graphs.row_programs import CASES, optimised, softmax
from support.recording import recorded
from tracemill.compiler.backends.triton.kernels.kernel import triton_kernel
from tracemill.compiler.ir import called
from tracemill.passes.fusion.gpu import GPU
from tracemill.passes.fusion.reasons import Reason
from tracemill.passes.fusion.traffic import bytes_moved
from tracemill.passes.optimizations.fuse import fuse, fusion_report
from tracemill.passes.pipeline import apply


@pytest.mark.sampled("RMS norm gradient", "mean of the norms of rows", every=7)
@pytest.mark.parametrize("name", CASES)
def test_as_few_kernels_as_can_be_run_and_read_everything_once(name: str) -> None:
    graph = optimised(CASES[name], 4096, 2048)
    fused = apply(partial(fuse, costs=GPU), graph)
    kernels = [nested for call in fused.calls if call.op == "kernel" for nested in called((call,))]
    assert len(kernels) == len(fused.calls) == 1, fusion_report(graph, GPU)
    (kernel,) = kernels
    assert len(triton_kernel(kernel, "kernel").launches) == CASES[name].launches
    assert bytes_moved(fused) <= sum(value.type.nbytes for value in (*graph.inputs, *graph.outputs))


def test_rows_too_long_for_registers_and_sums_over_them_are_kernels_of_their_own() -> None:
    graph = optimised(CASES["RMS norm gradient"], 256, 65536)
    fused = fuse(graph, GPU)
    assert [call.op for call in fused.calls] == ["kernel", "kernel"]
    assert fuse(fused, GPU) is fused


def test_what_triton_lacks_is_in_no_kernel() -> None:
    compiled = tm.compile(lambda x: np.sin(np.tan(x)))
    graph = compiled.lower(np.ones(3, np.complex64)).after("remove_dead_code")
    assert fuse(graph, GPU) is graph


def test_numbers_of_two_bytes_are_in_kernels_of_gpus_alone() -> None:
    graph = tm.compile(softmax).lower(np.ones((64, 512), np.float16)).after("remove_dead_code")
    assert [call.op for call in fuse(graph, GPU).calls] == ["kernel"]
    assert fuse(graph) is graph


def test_kernels_read_only_as_many_arrays_as_fit_in_registers() -> None:
    graph = recorded(spread, *["f64[300000]"] * 125)
    fused = apply(partial(fuse, costs=GPU), graph)
    assert all(2 * len(call.inputs) <= GPU.registers for call in fused.calls)
    assert len(fused.calls) == 4
    assert Reason.REGISTERS in {refused.reason for refused in fusion_report(graph, GPU).not_fused}
    assert len(fuse(graph).calls) == 3
