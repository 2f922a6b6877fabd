"""NumPy statements give what the ops mean."""

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from graphs.random_graphs import graphs
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.printed_graphs import assert_own, compiled, run_and_check
from support.recording import assert_same, drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.numpy.quoted_meaning import expression
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.literals import param_text
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.interpreter import evaluate, run_call
from tracemill.compiler.ir import Constant, Graph, Value, graphs_in
from tracemill.compiler.op import is_view
from tracemill.compiler.ops.composite import COMPOSITES

SUMMED = {"dot", "sum"}
"""Ops that may round in a different order from their definition."""


def assert_close(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    """Equal except for rounding."""
    for left, right in zip(actual, expected, strict=True):
        x, y = np.asarray(left), np.asarray(right)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if not is_inexact(y.dtype):
            np.testing.assert_array_equal(x, y)
            continue
        wide = np.complex128 if y.dtype.kind == "c" else np.float64
        eps = 2.0**-7 if y.dtype.name == "bfloat16" else float(np.finfo(y.dtype).eps)
        np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=50 * eps, atol=50 * eps)


@pytest.mark.sampled("conversion", "layout", "lengths", slow=2)
@of_each_sample(SAMPLES, quick=some_of(SAMPLES, share=0.1), slow=some_of(SAMPLES, share=0.4))
def test_every_sample_gives_what_the_op_means(sample: Sample) -> None:
    graph, inputs = sample.graph(), sample.arrays()
    actual = compiled(graph)(*inputs)
    expected = evaluate(graph, *inputs)
    complex_number = any(
        x.dtype.kind == "c" for x in expected
    )  # SIMD rounds them differently from single numbers
    (assert_close if sample.op in SUMMED | COMPOSITES or complex_number else assert_same)(actual, expected)
    assert_own(actual, inputs)


@pytest.mark.sampled(every=6)
@of_each_sample(SAMPLES.where(lambda sample: not any(any(graphs_in(p)) for p in sample.params.values())))
def test_only_views_share_memory_with_an_operand(sample: Sample) -> None:
    """The memory plan relies on it. A graph may return what it is given."""
    graph, inputs = sample.graph(), sample.arrays()
    with np.errstate(all="ignore"):
        results = run_call(graph.calls[0], inputs)
    shared = any(np.may_share_memory(x, y) for x in results for y in inputs)
    assert not shared or is_view(graph.calls[0])


def test_products_of_bfloat16_are_what_the_op_means() -> None:
    dims = {"contract_x": (1,), "contract_y": (0,), "batch_x": (), "batch_y": ()}
    graph = recorded(lambda x, y: bind("dot", x, y, **dims), "bf16[3, 4]", "bf16[4, 5]")
    inputs = drawn(graph, "real")
    assert_same(compiled(graph)(*inputs), evaluate(graph, *inputs))


@pytest.mark.sampled(slow=3)
@pytest.mark.parametrize("dtype", ["bool", "i8", "u16", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("shapes", ["m,x,y", "m,x,0", "m,1,y", "r,x,1", "m,r,y", "m,x,inner", "m,inner,y"])
def test_large_choices_keep_every_bit_wherever_they_are_written(shapes: str, dtype: str) -> None:
    """The operands: arrays, rows, numbers, and what the choice may overwrite."""
    types = {
        "m": "bool[40, 2500]",
        "r": f"{dtype}[2500]",
        "x": f"{dtype}[40, 2500]",
        "y": f"{dtype}[40, 2500]",
    }

    def function(m: Value, row_mask: Value, x: Value, y: Value, r: Value) -> Value:
        operands = {
            "m": m,
            "x": x,
            "y": y,
            "r": r,
            "0": fn.constant(0, x.dtype),
            "1": fn.constant(1, x.dtype),
        }
        operands["inner"] = fn.where(m, y, x)
        condition, *rest = shapes.split(",")
        return fn.where(row_mask if condition == "r" else m, *(operands[name] for name in rest))

    graph = recorded(function, types["m"], "bool[2500]", types["x"], types["y"], types["r"])
    run_and_check(graph, drawn(graph, "special"))


@pytest.mark.parametrize("type", ["f32[5000]", "f64[]", "i8[5000]", "f16[40, 500]"])
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 1), (-1, 0), (2, 1)], ids=str)
def test_clipped_numbers_keep_the_sign_of_zero(type: str, bounds: tuple[int, int]) -> None:
    def function(x: Value) -> Value:
        low, high = (fn.constant(bound, x.dtype) for bound in bounds)
        return bind("clip", fn.negative(x), low, high)

    graph = recorded(function, type)
    run_and_check(graph, drawn(graph, "special"))


@pytest.mark.parametrize(
    "types",
    [("f64[3, 20000]",), ("f32[20001, 3]",), ("f64[5, 1]", "f64[1, 9000]"), ("f64[]", "f64[20000]")],
    ids=str,
)
def test_special_functions_of_large_arrays_are_those_of_their_blocks(types: tuple[str, ...]) -> None:
    def function(*inputs: Value) -> Value:
        if len(inputs) == 2:
            return bind("xlogy", *inputs)
        return fn.add(bind("erf", *inputs), bind("sinc", fn.cos(*inputs), order=1))

    graph = recorded(function, *types)
    assert "range(0, " in print_module(graph, NUMPY)
    run_and_check(graph, drawn(graph, "special"))


@settings(deadline=None)
@given(graph=graphs())
def test_random_graphs_give_what_their_ops_mean(graph: Graph) -> None:
    inputs = drawn(graph, "real")
    assert_close(compiled(graph)(*inputs), evaluate(graph, *inputs))


def test_a_product_over_axes_of_length_1_is_a_number() -> None:
    graph = recorded(lambda x, y: fn.dot(x, y, ((0, 1), (0, 1))), "f64[1, 1]", "f64[1, 1]")
    assert compiled(graph)(np.full((1, 1), 2.0), np.full((1, 1), 3.0)) == (6.0,)


def test_integers_without_axes_overflow_and_divide_as_arrays_do() -> None:
    def f(x: Value, y: Value) -> tuple[Value, ...]:
        return tuple(bind(op, x, y) for op in ("add", "multiply", "floor_divide", "remainder", "less"))

    function = compiled(recorded(f, "i8[]", "i8[]"))
    assert_same(
        function(np.int8(127), np.int8(2)), [np.int8(-127), np.int8(-2), np.int8(63), np.int8(1), False]
    )
    assert_same(function(np.int8(127), np.int8(0)), [np.int8(127), np.int8(0), np.int8(0), np.int8(0), False])


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_divisions_by_powers_of_two_are_bits(dtype: type[np.integer[Any]]) -> None:
    ends = np.iinfo(dtype)
    x = np.array([ends.min, ends.min + 1, 0, 1, 5, 64, 127, ends.max], dtype)
    for divisor in (1, 2, 64):
        for op, function in (("remainder", np.remainder), ("floor_divide", np.floor_divide)):
            graph = recorded(
                lambda x, op=op, divisor=divisor: (bind(op, x, Constant(np.array([divisor], dtype))),),
                f"{x.dtype.kind}{8 * x.itemsize}[8]",
            )
            assert_same(compiled(graph)(x), [function(x, dtype(divisor))])
            assert (
                f"np.{function.__name__}("
                not in print_module(graph, NUMPY).split("def reference", maxsplit=1)[0]
            )


@pytest.mark.parametrize(
    "text", ["plain", "it's", 'a "b"', "both ' and \"", '\\"', '"); open("x"); ("', "\n\0"]
)
def test_a_text_among_parameters_stays_one_text_in_a_quoted_meaning(text: str) -> None:
    quoted = expression("qr", ["x"], {"mode": param_text(text)})
    assert quoted is not None
    constants = [node.value for node in ast.walk(ast.parse(quoted)) if isinstance(node, ast.Constant)]
    assert constants == [text]


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "i32"])
@pytest.mark.parametrize("is_own", [False, True])
def test_signs_of_large_arrays_are_numpys(dtype: str, is_own: bool) -> None:
    """Of special numbers, too, whether the signs replace what a call has made or not."""
    graph = recorded(lambda x: bind("sign", fn.negative(x) if is_own else x), f"{dtype}[16384]")
    (value,) = graph.inputs
    x = np.random.default_rng(0).integers(-2, 3, 16384).astype(value.dtype)
    if value.dtype.kind == "f":
        info = np.finfo(value.dtype)
        special = [0.0, -0.0, np.nan, np.inf, info.max, info.tiny, info.smallest_subnormal]
        x[: 2 * len(special)] = [*special, *(-number for number in special)]
    (found,) = compiled(graph)(x)
    assert_same([found], [np.sign(-x if is_own else x)])


@pytest.mark.parametrize("op", ["maximum", "minimum"])
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_extrema_of_large_arrays_and_numbers_are_numpys(
    op: str, is_first: bool, number: float, dtype: str
) -> None:
    def extremum(x: Value) -> Value:
        bound = fn.constant(number, x.dtype)
        return bind(op, *((bound, x) if is_first else (x, bound)))

    graph = recorded(extremum, f"{dtype}[32768]")
    (value,) = graph.inputs
    x = np.random.default_rng(0).integers(-2, 3, 32768).astype(value.dtype)
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0]
    x[: len(special)] = special
    (found,) = compiled(graph)(x)
    bound = np.array(number, x.dtype)
    assert_same([found], [getattr(np, op)(*((bound, x) if is_first else (x, bound)))])
