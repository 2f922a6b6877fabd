"""Products of matrices of any size: tiles read no element that is not there, and give what NumPy does."""
# ruff: noqa: E501  (a line of a graph is a line)

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.triton.kernels.kernel import TritonKernel
from tracemill.compiler.backends.triton.planning.module import graph_kernel
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.compiler.text.printer import HEADER
from tracemill.passes.lowering.fix_sizes import fix_sizes

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from triton.runtime.interpreter import InterpreterBuilder

from gpu.triton_interpreter import run

PRODUCTS = {
    "stacked": """
def f(x: bf16[B, N, K], y: bf16[B, K, M]) -> bf16[B, N, M]:  # B in 1.., N in 1.., K in 0.., M in 1..
    p: bf16[B, N, M] = dot(x, y, contract_x=(2,), contract_y=(1,), batch_x=(0,), batch_y=(0,))
    return p
""",
    "turned": """
def f(x: f16[K, N], y: f16[M, K], b: f32[M, N]) -> f32[N, M]:  # N in 1.., K in 0.., M in 1..
    p: f16[N, M] = dot(x, y, contract_x=(0,), contract_y=(1,))
    q: f32[N, M] = convert(p, dtype=f32)
    t: f32[N, M] = transpose(b, axes=(1, 0))
    s: f32[N, M] = add(q, t)
    return s
""",
    "made of elements": """
def f(x: f32[N, K], s: f32[N], y: f32[B, K, M]) -> f32[N, B, M]:  # B in 1.., N in 1.., K in 0.., M in 1..
    c: f32[N, 1] = reshape(s, shape=(N, 1))
    d: f32[N, K] = broadcast_to(c, shape=(N, K))
    u: f32[N, K] = multiply(x, d)
    p: f32[N, B, M] = dot(u, y, contract_x=(1,), contract_y=(1,))
    return p
""",
    "widened": """
def f(x: f32[N, K], y: bf16[K, M]) -> f32[N, M]:  # N in 1.., K in 0.., M in 1..
    w: f32[K, M] = convert(y, dtype=f32)
    p: f32[N, M] = dot(x, w, contract_x=(1,), contract_y=(0,))
    return p
""",
    "planes": """
def f(x: f16[1, 2, 3, N, B], w: f16[1, 8, 3, 3, 2]) -> f16[1, 2, 8, N, (B + 1) // 2]:  # B in 1.., N in 1..
    y: f16[1, 2, 8, N, (B + 1) // 2] = conv(x, w, strides=(1, 2), padding=((1, 1), (0, 1)), input_dilation=(1, 1), kernel_dilation=(1, 1))
    return y
""",
    "points": """
def f(x: f32[1, 2, 24, N, B], w: f32[1, 8, 24, 1, 1]) -> f32[1, 2, 8, N, B]:  # B in 1.., N in 1..
    y: f32[1, 2, 8, N, B] = conv(x, w, strides=(1, 1), padding=((0, 0), (0, 0)), input_dilation=(1, 1), kernel_dilation=(1, 1))
    return y
""",
}

HINTS = ({"B": 3, "N": 512, "K": 640, "M": 264}, {"B": 3, "N": 101, "K": 77, "M": 99})
SIZES = (
    {"B": 1, "N": 8, "K": 64, "M": 8},
    {"B": 2, "N": 72, "K": 128, "M": 136},
    {"B": 3, "N": 64, "K": 192, "M": 64},
    {"B": 2, "N": 16, "K": 32, "M": 24},
    {"B": 1, "N": 1, "K": 1, "M": 1},
    {"B": 2, "N": 65, "K": 33, "M": 63},
    {"B": 1, "N": 63, "K": 2, "M": 5},
    {"B": 2, "N": 66, "K": 95, "M": 129},
)
"""Below, at and behind the ends of tiles, where rows begin at multiples of 16 bytes, and where they do not."""


def made(name: str, scope: Observed | Declared) -> tuple[Graph, TritonKernel]:
    with answering(scope):
        graph = tm.parse(f"{HEADER}{PRODUCTS[name]}")
        kernel = graph_kernel(graph, "kernel")
    assert kernel is not None
    return graph, kernel


def drawn(graph: Graph, sizes: Mapping[str, int]) -> list[Array]:
    """Whole numbers of which all sums of products are exact, in memory of their own."""
    rng = np.random.default_rng(0)
    values = fix_sizes(graph, sizes).inputs
    return [
        np.require(rng.integers(-2, 3, value.shape).astype(value.dtype), requirements=("C", "A"))
        for value in values
    ]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The first and the last byte of what each load of a block reads."""
    found: list[tuple[int, int]] = []
    load = InterpreterBuilder.create_masked_load

    def noted(self: Any, pointers: Any, mask: Any, *others: Any) -> Any:
        size = pointers.get_element_ty().primitive_bitwidth // 8
        places = pointers.data[mask.data]
        if places.size:
            found.append((int(places.min()), int(places.max()) + size - 1))
        return load(self, pointers, mask, *others)

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", noted)
    return found


def assert_right(
    graph: Graph, kernel: TritonKernel, sizes: Mapping[str, int], read: list[tuple[int, int]]
) -> None:
    arrays = drawn(graph, sizes)
    read.clear()
    found = run(kernel, arrays, sizes)
    for x, y in zip(found, evaluate(fix_sizes(graph, sizes), *arrays), strict=True):
        np.testing.assert_array_equal(x, y)
    ends = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays]
    for first, last in read:
        assert any(low <= first <= last < high for low, high in ends), sizes


@pytest.mark.sampled("points", every=6)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_of_any_size_reads_its_operands_alone(name: str, read: list[tuple[int, int]]) -> None:
    for hints in HINTS:
        scope = Observed(hints)
        graph, kernel = made(name, scope)
        source = scope.guards.source({size: size for size in hints})
        allowed = [sizes for sizes in SIZES if eval(source, dict(sizes))]
        assert len(allowed) >= 2, source
        for sizes in allowed:
            assert_right(graph, kernel, sizes, read)
        assert read


@pytest.mark.slow
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_of_declared_sizes_is_right_for_all_of_them(name: str, read: list[tuple[int, int]]) -> None:
    """With places of eight bytes, and where nothing is added up."""
    graph, kernel = made(name, Declared())
    assert all(number.is_wide for launch in kernel.launches for number in launch.numbers)
    assert "tl.assume(N > 0)" in kernel.text
    assert "tl.assume(K > 0)" not in kernel.text
    for sizes in (*SIZES[1::2], {"B": 2, "N": 5, "K": 0, "M": 70}):
        assert_right(graph, kernel, sizes, read)
