"""Triton expressions of elementwise ops give NumPy's values on special numbers, as Triton's interpreter runs them."""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from graphs.elementwise_calls import (
    ROUNDED,
    ULPS,
    assert_near,
    assert_same,
    calls_of,
    complex_product,
    graph_of,
    meaning,
    operands_of,
)
from samples.sample import special_values
from support.recording import assert_same as assert_bits
from support.recording import recorded
from tracemill.compiler.backends.triton.choice import Choice
from tracemill.compiler.backends.triton.kernels.kernel import is_in_triton, triton_kernel
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.op import all_ops

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.triton_interpreter import run

FAMILIES = ("arithmetic", "comparison", "complex", "control", "elementary", "gamma", "incomplete")
"""What libdevice has is played by NumPy here, which tells nothing where NumPy has it from elsewhere, too."""


IN_FEW_BLOCKS = Choice(elements=2048)
"""The interpreter takes hardly longer for large blocks than for small ones."""

PRODUCTS = ("multiply", "square")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_expression_of_an_op_has_the_values_of_its_numpy_meaning(family: str, more: int) -> None:
    """Of the calls of each op, one in five, and with ``--more`` all."""
    ops = [op for op in all_ops().values() if op.family == family and op.spelling is not None]
    step = 1 if more > 1 else 5
    for call in (
        call
        for place, op in enumerate(ops)
        for call in list(calls_of(op))[place % step :: step] or calls_of(op)
    ):
        operands = operands_of(call)
        graph = graph_of(call, len(operands[0]))
        if not is_in_triton(graph):
            assert call.inputs[0].dtype.kind == "c" or call.op == "power", call
            continue
        (actual,) = run(triton_kernel(graph, "kernel", IN_FEW_BLOCKS), operands)
        is_complex = call.inputs[0].dtype.kind == "c"
        expected = (complex_product if is_complex and call.op in PRODUCTS else partial(meaning, call))(
            operands
        )
        if (family in ROUNDED or call.op in ULPS) and call.outputs[0].dtype.kind in "fc":
            assert_near(call, actual, expected, operands)
        else:
            assert_same(actual, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_neighbours_of_numbers_of_two_bytes_are_counted_in_their_bits(dtype: str) -> None:
    values = np.append(special_values(dtype_named(dtype)), np.arange(1, 9, 0.7).astype(dtype_named(dtype)))
    first, second = (x.ravel() for x in np.meshgrid(values, values))
    kind = f"{dtype}[{len(first)}]"
    graph = recorded(lambda x, y: (bind("nextafter", x, y), bind("spacing", x)), kind, kind)
    assert_bits(run(triton_kernel(graph, "kernel"), [first, second]), evaluate(graph, first, second))
