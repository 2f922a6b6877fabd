"""Triton functions of kernels compute what the graphs mean, as Triton's interpreter runs them."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import assume, given, settings

from graphs.kernel_graphs import LARGE, POINTWISE, SMALL
from graphs.random_graphs import graphs
from graphs.row_programs import CASES, optimised
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.error_bounds import assert_within, with_bounds
from support.recording import drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.fusible_ops import REDUCTIONS, is_elementwise
from tracemill.compiler.backends.triton.kernels.kernel import goes_over_rows_once, is_in_triton, triton_kernel
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import is_complex, is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value, called
from tracemill.compiler.op import is_move
from tracemill.passes.fusion.gpu import GPU
from tracemill.passes.optimizations.fuse import fuse

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.triton_interpreter import run

RELATIVE = {2: 1e-2, 4: 3e-6, 8: 1e-12}
"""Libdevice is played by NumPy here, so the order of sums is all that differs."""


def fits(graph: Graph) -> bool:
    loops = REDUCTIONS | {"iota"}
    return all(
        is_elementwise(call) or is_move(call) or call.op in loops for call in graph.calls
    ) and is_in_triton(graph)


FITTING = SAMPLES.where(lambda sample: fits(sample.graph()))


def assert_means_the_same(graph: Graph, inputs: list[np.ndarray], *, of_largest: float = 0.0) -> None:
    found = run(triton_kernel(graph, "kernel"), inputs)
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        if is_inexact(y.dtype):
            if is_complex(y.dtype):
                x, y = (np.stack([np.real(z), np.imag(z)]) for z in (x, y))
            ours, wanted = np.asarray(x, np.float64), np.asarray(y, np.float64)
            largest = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0)
            relative = RELATIVE[y.dtype.itemsize]
            steps = 2 * float(np.nextafter(np.zeros((), y.dtype), np.ones((), y.dtype)))
            np.testing.assert_allclose(ours, wanted, relative, relative * of_largest * largest + steps)
        else:
            np.testing.assert_array_equal(x, y)


@pytest.mark.sampled("conversion", "reduction", "error_functions", slow=2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@of_each_sample(FITTING, quick=some_of(FITTING), slow=some_of(FITTING, share=0.15))
def test_samples_give_what_they_mean(sample: Sample) -> None:
    assert_means_the_same(sample.graph(), sample.arrays())


@pytest.mark.sampled("losses", "short columns", "in pieces", "counted", "turned", slow=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SMALL)
def test_kernels_give_what_they_mean(name: str) -> None:
    assert_means_the_same(SMALL[name], drawn(SMALL[name], "real"), of_largest=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_kernels_of_programs_as_people_write_them_give_what_they_mean(name: str) -> None:
    graph = fuse(optimised(CASES[name], 21, 130), GPU)
    (call,) = graph.calls
    (kernel,) = called((call,))
    inputs = drawn(kernel, "real")
    labels = np.random.default_rng(0).integers(-130, 130, 21)
    assert_means_the_same(kernel, [labels if x.dtype == np.int64 else x for x in inputs], of_largest=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(deadline=None)
@given(graph=graphs(depth=0))
def test_random_graphs_give_what_they_mean(graph: Graph) -> None:
    assume(fits(graph))
    inputs = drawn(graph, "real")
    assert_within(run(triton_kernel(graph, "kernel"), inputs), with_bounds(graph, inputs))


def test_a_softmax_loads_its_row_once_and_computes_exponentials_once() -> None:
    text = triton_kernel(SMALL["softmax"], "softmax").text
    assert text.count("tl.load(") == 1
    assert text.count("tl.exp(") == 1


def test_what_all_rows_make_together_is_computed_before_what_needs_it() -> None:
    kernel = triton_kernel(SMALL["whole"], "whole")
    before, after = [launch for launch in kernel.launches if len(kernel.buffers) - 1 in launch.buffers]
    assert before.programs == 1 < after.programs


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith("long ")])
def test_long_reductions_of_few_rows_are_shared_among_programs(name: str) -> None:
    parts, rest = triton_kernel(SMALL[name], "kernel").launches
    assert parts.programs > rest.programs


def test_what_is_computed_once_for_a_row_keeps_no_sum_from_being_shared() -> None:
    def near(x: Value, y: Value) -> Value:
        rows = fn.reshape(fn.exp(x), (*x.shape, 1))
        return fn.sum_(fn.multiply(rows, y), (0, 1))

    graph = recorded(near, "f64[700]", "f64[900]")
    parts, rest = triton_kernel(graph, "kernel").launches
    assert parts.programs > 10 > rest.programs
    assert_means_the_same(graph, drawn(graph, "real"))


@pytest.mark.slow
@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize(
    ("dtype", "extremes"),
    [("f32", "same"), ("f64", "nan"), ("f32", "infinite"), ("i64", "same"), ("u8", "same"), ("f16", "same")],
)
def test_of_equal_extremes_in_several_parts_the_first_is_found(op: str, dtype: str, extremes: str) -> None:
    graph = recorded(lambda x: bind(op, x, axis=0), f"{dtype}[70001]")
    x = np.random.default_rng(0).integers(3, 100, 70001).astype(graph.inputs[0].dtype)
    if extremes == "infinite":
        x[:] = -np.inf if op == "argmax" else np.inf
    else:
        x[[20000, 45000, 45001, 70000]] = np.nan if extremes == "nan" else 101 if op == "argmax" else 1
    assert_means_the_same(graph, [x])


@pytest.mark.parametrize("name", ["layer_norm gradient", "columns", "relu gradient"])
def test_rows_and_sums_over_all_of_them_are_computed_in_one_pass(name: str) -> None:
    graph = LARGE[name]
    kernel = triton_kernel(graph, "kernel")
    assert goes_over_rows_once(graph)
    rows, rest = kernel.launches
    inputs = range(len(graph.inputs))
    assert [buffer for buffer in inputs if buffer in rows.buffers] == list(inputs)
    assert not any(buffer in rest.buffers for buffer in inputs)
    loads = [line for line in kernel.functions[0].splitlines() if "tl.load(" in line]
    assert len(loads) == len(inputs)


def test_rows_that_registers_cannot_hold_leave_what_they_give_to_sums_over_them() -> None:
    graph = SMALL["columns of long rows"]
    assert not goes_over_rows_once(graph)
    assert len(triton_kernel(graph, "kernel").launches) == 3


def test_transposes_run_in_tiles() -> None:
    kernel = triton_kernel(SMALL["turned"], "kernel")
    assert [launch.programs for launch in kernel.launches] == [2 * 3]
    assert kernel.text.count("tl.arange(0, 32)") == 2


def test_all_blocks_but_the_last_have_no_mask_if_the_number_of_elements_is_odd() -> None:
    text = triton_kernel(POINTWISE["odd"], "kernel").functions[0]
    assert "if tl.program_id(0) < 292:" in text
    assert text.count("mask=") == 3
    assert "mask=" not in text.partition("else:")[0]
    assert "mask=" not in triton_kernel(recorded(fn.add, "f32[4096]", "f32[4096]"), "kernel").text


def test_a_short_row_is_found_by_a_remainder_and_kept_in_the_cache() -> None:
    text = triton_kernel(POINTWISE["row"], "kernel").functions[0]
    assert "tl.load(x0_ptr + row, mask=row_in, other=0)" in text
    assert 'tl.load(x1_ptr + (row) % 96, mask=row_in, other=0, eviction_policy="evict_last")' in text


def test_arrays_that_no_cache_holds_are_given_up_once_they_are_read() -> None:
    assert 'eviction_policy="evict_first"' in triton_kernel(POINTWISE["streamed"], "kernel").text


@pytest.mark.parametrize(
    ("types", "is_far"),
    [
        (("f32[2147483647]",), False),
        (("f32[2147483648]",), False),
        (("f32[2147483649]",), True),
        (("f32[40000, 60000]",), True),
    ],
)
def test_places_are_as_wide_as_the_largest_index_needs(types: tuple[str, ...], is_far: bool) -> None:
    assert (".to(tl.int64)" in triton_kernel(recorded(fn.exp, *types), "kernel").text) == is_far


def test_a_part_behind_the_largest_index_of_four_bytes_has_wide_places() -> None:
    def last(x: Value) -> Value:
        return fn.slice_(x, (x.type.size - 5,), (x.type.size,))

    assert ".to(tl.int64)" in triton_kernel(recorded(last, "u8[3000000000]"), "kernel").text


def test_what_places_are_quotients_of_may_be_larger_than_all_arrays() -> None:
    def diagonal(x: Value) -> Value:
        products = fn.multiply(fn.reshape(x, (*x.shape, 1)), x)
        return fn.slice_(fn.reshape(products, (products.type.size,)), (0,), (1 << 32,), (65537,))

    assert ".to(tl.int64)" in triton_kernel(recorded(diagonal, "f32[65536]"), "kernel").text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "graph",
    [
        recorded(lambda x: fn.exp(fn.transpose(x, (2, 0, 1))), "f64[35, 3, 40]"),
        recorded(lambda x: fn.exp(fn.transpose(x, (1, 2, 0))), "f64[35, 4, 33]"),
        recorded(lambda x: fn.exp(fn.transpose(x, (2, 1, 0))), "f32[33, 5, 47]"),
        recorded(
            lambda x, y, z: fn.add(fn.add(fn.transpose(x, (2, 1, 0)), fn.transpose(y, (1, 0, 2))), z),
            "f64[33, 4, 40]", "f64[4, 40, 33]", "f64[40, 4, 33]",
        ),
    ],
    ids=["last first", "first last", "reversed", "several"],
)  # fmt: skip
def test_permuted_axes_give_what_they_mean(graph: Graph) -> None:
    assert_means_the_same(graph, drawn(graph, "real"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("count", [1, 7, 256, 257, 1024, 131_077])
def test_elements_of_all_counts_give_what_they_mean(count: int) -> None:
    graph = recorded(lambda x, y: fn.multiply(fn.add(x, y), 2), f"f32[{count}]", f"f32[{count}]")
    assert_means_the_same(graph, drawn(graph, "real"))


def test_complex_numbers_are_computed_once_for_both_parts() -> None:
    text = triton_kernel(recorded(lambda x: fn.exp(fn.multiply(x, x)), "c64[4096]"), "kernel").functions[0]
    assert text.count("tl.load(") == text.count("tl.store(") == 2
    assert "tl.store(out_ptr + 2 * i, " in text
    assert "tl.store(out_ptr + 2 * i + 1, " in text
