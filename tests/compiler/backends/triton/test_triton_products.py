"""Triton functions of kernels with products compute what the graphs mean, as Triton's interpreter runs them."""

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphs.product_graphs import LARGE, SMALL
from support.recording import drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.planning.module import call_kernel, operands
from tracemill.compiler.backends.triton.steps.products.products import product_kernel
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Call, Constant, Graph, Value
from tracemill.passes.fusion.gpu import GPU
from tracemill.passes.optimizations.fuse import fuse
from tracemill.passes.pipeline import apply

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.triton_interpreter import run

RELATIVE = {2: 1e-2, 4: 1e-5, 8: 1e-12}
FUSED = (
    "gelu layer",
    "two results",
    "rows of two axes",
    "widened",
    "row sums",
    "turned result",
    "convolution layer",
    "left widened",
    "right widened",
    "both widened",
    "batch of right widened",
    "long right widened",
    "vector of widened",
)


def assert_runs(graph: Graph) -> None:
    """Its kernels, one after another, compute what it means."""
    inputs = drawn(graph, "real")
    env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for call in graph.calls:
        kernel = call_kernel(call, "kernel")
        assert kernel is not None
        given = [v.array if isinstance(v, Constant) else env[v] for v in operands(call)]
        env.update(zip(call.outputs, run(kernel, given), strict=True))
    for value, y in zip(graph.outputs, evaluate(graph, *inputs), strict=True):
        x = env[value]
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if is_inexact(y.dtype):
            ours, wanted = x.astype(np.float64), y.astype(np.float64)
            largest = np.max(np.abs(wanted), initial=0)
            np.testing.assert_allclose(ours, wanted, 0, RELATIVE[y.dtype.itemsize] * largest)
        else:
            np.testing.assert_array_equal(x, y)


@pytest.mark.sampled("batch of right widened", "row sums", "of sums", slow=3)
@pytest.mark.parametrize("name", SMALL)
def test_products_give_what_they_mean(name: str) -> None:
    graph = SMALL[name]
    kernel = Graph("kernel", graph.inputs, graph.calls, graph.outputs)
    outputs = tuple(Value(value.type) for value in graph.outputs)
    inputs = tuple(Value(value.type) for value in graph.inputs)
    assert_runs(Graph("whole", inputs, (Call("kernel", inputs, {"graph": kernel}, outputs),), outputs))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUSED)
def test_fused_products_give_what_they_mean(name: str) -> None:
    assert_runs(apply(partial(fuse, costs=GPU), SMALL[name]))


@st.composite
def layers(draw: st.DrawFn) -> Graph:
    """A product of matrices turned in any way, and some of what networks do behind one."""
    dtype = draw(st.sampled_from(("f32", "f64", "bf16", "f16", "i32")))
    rows, columns = (draw(st.sampled_from((1, 2, 7, 16, 31, 64, 65))) for _ in range(2))
    length = draw(st.sampled_from((0, 1, 4, 5, 16, 33, 64, 100)))
    turns = draw(st.tuples(st.booleans(), st.booleans()))
    steps = draw(
        st.lists(st.sampled_from(("bias", "relu", "scale", "residual", "rows", "flat", "turn")), max_size=5)
    )

    def layer(x: Value, y: Value, bias: Value, residual: Value) -> Value:
        value = fn.dot(x, y, ((0 if turns[0] else 1,), (1 if turns[1] else 0,)))
        for step in steps:
            shape = value.shape
            if step in ("bias", "residual"):
                value = fn.reshape(value, (rows, columns))
            match step:
                case "bias":
                    value = fn.add(value, bias)
                case "relu":
                    value = fn.maximum(value, 0)
                case "scale":
                    value = fn.multiply(value, 2)
                case "residual":
                    value = fn.subtract(residual, value)
                case "rows":
                    value = fn.reshape(value, (1, *shape))
                case "flat":
                    value = fn.reshape(value, (rows * columns,))
                case _:
                    value = fn.flip(value, (0,))
        return value

    x = (length, rows) if turns[0] else (rows, length)
    y = (columns, length) if turns[1] else (length, columns)
    shapes = (x, y, (columns,), (rows, columns))
    return recorded(layer, *(f"{dtype}[{', '.join(map(str, shape))}]" for shape in shapes))


@pytest.mark.slow
@settings(deadline=None)
@given(graph=layers())
def test_random_layers_give_what_they_mean(graph: Graph) -> None:
    fused = apply(partial(fuse, costs=GPU), graph)
    assume(all(call_kernel(call, "kernel") for call in fused.calls))
    assert_runs(fused)


@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("16-bit brain floats", [32 * 16]),  # of 128 × 256
        ("relu layer", [64 * 16]),
        ("gelu layer", [64 * 32]),  # of 128 × 128, which leaves registers for an expression
        ("left widened", [32 * 32]),
        ("right widened", [32 * 32]),
        ("odd", [65 * 64]),  # of 64 × 64, by way of registers
        ("singles", [32 * 32]),
        ("long", [16 * 16, 1024]),  # 16 tiles of 64 × 64, with sums cut into 16 parts
        ("vector", [8192]),
    ],
)
def test_tiles_are_large_and_enough_for_all_processors(name: str, programs: list[int]) -> None:
    kernel = product_kernel(LARGE[name], "kernel")
    assert kernel is not None
    assert [launch.programs for launch in kernel.launches] == programs


def test_operands_are_not_masked_where_tiles_fit() -> None:
    kernel = product_kernel(LARGE["16-bit brain floats"], "kernel")
    assert kernel is not None
    assert "mask" not in kernel.text
