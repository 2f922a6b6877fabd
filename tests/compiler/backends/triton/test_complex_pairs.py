"""Ops on complex numbers, written as formulas of real ones, have NumPy's values; here NumPy computes the formulas."""

from functools import partial

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
from support.recording import assert_same as assert_bits
from support.recording import recorded
from tracemill.compiler.backends.triton.kernels.complex_pairs import has_pairs, in_pairs, uses_pairs
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import Array, is_complex, real_dtype
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.op import all_ops
from tracemill.compiler.value_ops import constant, convert, reshape, sum_, transpose, where

OPS = sorted(
    name for name, op in all_ops().items() if op.spelling is not None
    and any(uses_pairs((*call.inputs, *call.outputs)) and has_pairs(call) for call in calls_of(op))
)  # fmt: skip


def as_pairs(x: Array) -> Array:
    """The parts along a last axis."""
    return x[..., None].copy().view(real_dtype(x.dtype)) if is_complex(x.dtype) else x


def as_complex(x: Array, wanted: ArrayType) -> Array:
    return x.view(wanted.dtype)[..., 0] if is_complex(wanted.dtype) else x


def in_reals(graph: Graph, *arrays: Array) -> list[Array]:
    """What the graph of real numbers gives, in the dtypes of the outputs."""
    pairs = in_pairs(graph)
    values = [*pairs.inputs, *(value for call in pairs.calls for value in call.outputs)]
    assert not uses_pairs(values)
    with np.errstate(all="ignore"):
        found = evaluate(pairs, *map(as_pairs, arrays))
    return [as_complex(x, value.type) for x, value in zip(found, graph.outputs, strict=True)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPS)
def test_an_op_on_pairs_has_the_values_of_its_numpy_meaning(name: str) -> None:
    op = all_ops()[name]
    calls = [call for call in calls_of(op) if uses_pairs((*call.inputs, *call.outputs))]
    for call in calls:
        operands = operands_of(call)
        (actual,) = in_reals(graph_of(call, len(operands[0])), *operands)
        is_product = name in ("multiply", "square")
        expected = (complex_product if is_product else partial(meaning, call))(operands)
        if (op.family in ROUNDED or name in ULPS) and call.outputs[0].dtype.kind in "fc":
            assert_near(call, actual, expected, operands)
        else:
            assert_same(actual, expected)


def test_moves_sums_conversions_and_constants_apply_to_the_parts() -> None:
    def function(x: Value, y: Value) -> tuple[Value, ...]:
        numbers = bind("iota", length=3, dtype=np.dtype(np.complex64))
        known = constant(np.array([1 + 2j, 0, -3j], np.complex64))
        return (
            sum_(transpose(x, (1, 0)), (0,)), reshape(x, (6,)), where(y, x, known),
            convert(x, np.dtype(np.complex128)), convert(x, np.dtype(bool)), convert(y, np.dtype(np.complex64)),
            numbers, constant(np.array(2 - 1j)), y,
        )  # fmt: skip

    graph = recorded(function, "c64[2, 3]", "bool[3]")
    x = np.array([[1 + 1j, 0, -0j], [2j, 3, complex(np.nan, 1)]], np.complex64)
    y = np.array([True, False, True])
    assert_bits(in_reals(graph, x, y), evaluate(graph, x, y))


def test_a_conversion_to_real_numbers_takes_the_real_part() -> None:
    graph = recorded(lambda x: convert(x, np.dtype(np.float32)), "c128[3]")
    (found,) = in_reals(graph, np.array([1 + 2j, -3j, 0.5]))
    assert found.tolist() == [1.0, 0.0, 0.5]
