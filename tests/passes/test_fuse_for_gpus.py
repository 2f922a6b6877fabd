"""Kernels for GPUs: as few launches and bytes as there can be, by the costs of one."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.triton.kernel import triton_kernel
from tracemill.compiler.ir import Graph, called
from tracemill.passes.fuse import fuse, fusion_report
from tracemill.passes.fusion.gpu import GPU
from tracemill.passes.fusion.traffic import bytes_moved
from tracemill.passes.pipeline import apply

ROWS, COLUMNS = 4096, 2048


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    variance = (centred * centred).mean(1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5)) * gain + bias


def rms_norm(x: Any, gain: Any) -> Any:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + np.float32(1e-5)) * gain


def gelu(x: Any) -> Any:
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3)
    return np.float32(0.5) * x * (1 + np.tanh(inner))


def adam(p: Any, g: Any, m: Any, v: Any, step: Any) -> Any:
    m = np.float32(0.9) * m + np.float32(0.1) * g
    v = np.float32(0.999) * v + np.float32(0.001) * g * g
    scale = np.sqrt(v / (1 - np.float32(0.999) ** step)) + np.float32(1e-8)
    return p - np.float32(1e-3) * (m / (1 - np.float32(0.9) ** step)) / scale, m, v


def log_sum_exp(x: Any) -> Any:
    top = x.max(1, keepdims=True)
    return np.log(np.exp(x - top).sum(1)) + top[:, 0]


def relu_gradient(x: Any, g: Any) -> Any:
    passed = g * (x > 0)
    return passed, passed.sum(0)


def pulled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of a function by all its arguments, given that of its result last."""

    def gradients(*arguments: Any) -> Any:
        *primals, cotangent = arguments
        _, pull = tm.vjp(function, *primals)
        return pull(cotangent)

    return gradients


class Case(NamedTuple):
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    launches: int
    passes: float = 1.0
    """Bytes moved, by those of inputs and outputs."""


X, G = (ROWS, COLUMNS), (COLUMNS,)
CASES = {
    "softmax": Case(softmax, (X,), 1),
    "softmax gradient": Case(pulled(softmax), (X, X), 1),
    "layer norm": Case(layer_norm, (X, G, G), 1),
    "layer norm gradient": Case(pulled(layer_norm), (X, G, G, X), 2),
    "RMS norm": Case(rms_norm, (X, G), 1),
    "RMS norm gradient": Case(pulled(rms_norm), (X, G, X), 2),
    "GELU": Case(gelu, (X,), 1),
    "GELU gradient": Case(pulled(gelu), (X, X), 1),
    "Adam": Case(adam, (X, X, X, X, ()), 1),
    "logsumexp": Case(log_sum_exp, (X,), 1),
    "relu gradient": Case(relu_gradient, (X, X), 2),
    "variance of rows": Case(partial(np.var, axis=1), (X,), 1),
    "mean over axis 0": Case(partial(np.mean, axis=0), (X,), 2),
    "mean over both axes": Case(np.mean, (X,), 2),
    "mean of the norms of rows": Case(lambda x: np.sqrt((x * x).sum(1)).mean(), (X,), 2),
}


def optimised(case: Case) -> Graph:
    arrays = (np.broadcast_to(np.float32(1), shape) for shape in case.shapes)
    return tm.compile(case.function).lower(*arrays).after("remove_dead_code")


@pytest.mark.parametrize("name", CASES)
def test_as_few_kernels_as_can_be_run_and_read_everything_once(name: str) -> None:
    case = CASES[name]
    graph = optimised(case)
    fused = apply(partial(fuse, costs=GPU), graph)
    kernels = [nested for call in fused.calls if call.op == "kernel" for nested in called((call,))]
    assert len(kernels) == len(fused.calls) == 1, fusion_report(graph, GPU)
    assert sum(len(triton_kernel(kernel, "kernel").launches) for kernel in kernels) == case.launches
    least = sum(value.type.nbytes for value in (*graph.inputs, *graph.outputs))
    assert bytes_moved(fused) <= case.passes * least


def test_rows_too_long_for_registers_and_sums_over_them_are_kernels_of_their_own() -> None:
    graph = optimised(Case(pulled(rms_norm), ((256, 65536), (65536,), (256, 65536)), 0))
    fused = fuse(graph, GPU)
    assert [call.op for call in fused.calls] == ["kernel", "kernel"]
    assert fuse(fused, GPU) is fused


def test_what_triton_lacks_is_in_no_kernel() -> None:
    graph = (
        tm.compile(lambda x: np.exp(x) * np.conj(x)).lower(np.ones(3, np.complex64)).after("remove_dead_code")
    )
    assert fuse(graph, GPU) is graph


def test_numbers_of_two_bytes_are_in_kernels_of_gpus_alone() -> None:
    graph = tm.compile(softmax).lower(np.ones((64, 512), np.float16)).after("remove_dead_code")
    assert [call.op for call in fuse(graph, GPU).calls] == ["kernel"]
    assert fuse(graph) is graph
