"""Programs without calls of NumPy's libraries, and without numbers of two bytes, mean what they did."""

import ml_dtypes
import numpy as np
import pytest

from support.recording import assert_same, ops, recorded
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import Array, DType
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.passes.lowering import without_numpy as module
from tracemill.passes.lowering.half_precision import narrowed, widened
from tracemill.passes.lowering.without_numpy import without_numpy

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
ALL: Array = np.arange(1 << 16, dtype=np.uint16)


def between(dtype: DType, wide: DType) -> Array:
    """All numbers of two bytes, the midpoints between neighbours, and numbers one bit beside these; in a wider
    dtype."""
    with np.errstate(all="ignore"):
        numbers = ALL.view(dtype).astype(wide)
        middle = (numbers + np.roll(numbers, 1)) / wide.type(2)
        return np.concatenate(
            [numbers, middle, np.nextafter(middle, wide.type(0)), np.nextafter(middle, numbers)]
        )


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_all_numbers_of_two_bytes_are_widened_exactly(name: str) -> None:
    dtype = {"f16": F16, "bf16": BF16}[name]
    graph = recorded(widened, f"{name}[65536]")
    with np.errstate(all="ignore"):
        assert_same(evaluate(graph, ALL.view(dtype)), [ALL.view(dtype).astype(np.float32)])


@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_numbers_are_rounded_to_two_bytes_as_numpy_rounds_them(name: str, wide: str) -> None:
    dtype = {"f16": F16, "bf16": BF16}[name]
    numbers = between(dtype, np.dtype({"f32": np.float32, "f64": np.float64}[wide]))
    graph = recorded(lambda x: narrowed(x, dtype), f"{wide}[{numbers.size}]")
    with np.errstate(all="ignore"):
        assert_same(evaluate(graph, numbers), [numbers.astype(dtype)])


def assert_equal_in_value(found: Graph, graph: Graph) -> None:
    inputs = [np.random.default_rng(0).normal(size=value.shape) for value in graph.inputs]
    np.testing.assert_allclose(evaluate(found, *inputs)[0], evaluate(graph, *inputs)[0], 1e-12, 1e-12)


def test_a_convolution_becomes_one_product() -> None:
    params = {"strides": (2,), "padding": ((1, -1),), "input_dilation": (2,), "kernel_dilation": (2,)}
    graph = recorded(lambda x, w: bind("conv", x, w, **params), "f64[2, 3, 4, 9]", "f64[2, 5, 4, 3]")
    found = without_numpy(graph)
    assert "conv" not in ops(found)
    assert ops(found).count("dot") == 1
    assert_equal_in_value(found, graph)


def test_a_large_convolution_takes_one_example_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WINDOWS", 0)
    params = {"strides": (1,), "padding": ((1, 1),), "input_dilation": (1,), "kernel_dilation": (1,)}
    graph = recorded(lambda x, w: bind("conv", x, w, **params), "f64[2, 3, 4, 9]", "f64[2, 5, 4, 3]")
    found = without_numpy(graph)
    assert "scan" in ops(found)
    assert_equal_in_value(found, graph)


def test_what_c_computes_stays_as_it_is() -> None:
    graph = recorded(
        lambda x, y: bind("dot", x, y, contract_x=(1,), contract_y=(0,)), "f64[2, 3]", "f64[3, 4]"
    )
    assert without_numpy(graph) is graph
