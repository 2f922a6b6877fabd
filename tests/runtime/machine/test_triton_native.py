"""Compiled Triton functions compute what the graphs mean: run on the CPU, where the interpreter is not asked."""

from collections.abc import Generator, Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import assume, given, settings

from gpu.triton_elsewhere import Elsewhere, NativeError
from graphs.kernel_graphs import SMALL
from graphs.random_graphs import graphs
from samples.grouping import of_each_sample
from samples.lazy import Lazy
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.recording import drawn
from tracemill.compiler.backends.triton.kernels import blocks, kernel
from tracemill.compiler.backends.triton.kernels.kernel import (
    Launch,
    TritonKernel,
    is_in_triton,
    triton_kernel,
)
from tracemill.compiler.dtypes import Array, dtype_name, is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed; it is for Linux on x86"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

RELATIVE = {2: 1e-2, 4: 3e-6, 8: 1e-12}
"""By the bytes of a number: AMD's functions are some units of the last place from NumPy's."""

ORDINARY = ("f64",)
SPECIAL = ("bool", "i64", "bf16", "f32")
"""Dtypes in which each op is run at ordinary numbers, and at NaN, infinities, the ends of the integers."""


@pytest.fixture(scope="module")
def native(c_toolchain: Toolchain) -> Generator[Elsewhere]:
    process = Elsewhere(c_toolchain.command[0])
    try:
        process.start()
    except NativeError as error:
        pytest.skip(f"this Triton does not compile for CPUs: {error}")
    yield process
    process.stop()


SIZES = (
    (blocks, "POINTWISE", 8),
    (blocks, "LEAST", 4),
    (blocks, "THREADS", 1),
    (blocks, "RESIDENT", 1024),
    (blocks, "STREAMED", 32),
    (blocks, "ROWS", 32),
    (blocks, "TILE", 8),
    (blocks, "COLUMNS", 8),
    (kernel, "TILE", 8),
)


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Generator[None]:
    """Blocks of few elements: each of them is instructions of its own here, which take long to compile."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, size in SIZES:
            patch.setattr(module, name, size)
        yield


def chosen() -> Iterator[Sample]:
    """Of each op, the first sample of some dtypes at ordinary numbers, and of some at special ones."""
    seen: set[tuple[str, str, bool]] = set()
    for sample in SAMPLES:
        dtype = dtype_name(sample.types[0].dtype) if sample.types else "f64"
        is_special = "special" in sample.domains
        kind = (sample.op, dtype, is_special)
        if dtype not in (SPECIAL if is_special else ORDINARY) or kind in seen:
            continue
        if is_in_triton(sample.graph()):
            seen.add(kind)
            yield sample


CHOSEN = Lazy(chosen)


def assert_means_the_same(
    native: Elsewhere, graph: Graph, inputs: list[Array], *, of_largest: float = 0.0
) -> None:
    found = native.run(triton_kernel(graph, "kernel"), inputs)
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        if y.dtype.kind == "c":
            assert_close(np.real(x), np.real(y), of_largest)
            assert_close(np.imag(x), np.imag(y), of_largest)
        elif is_inexact(y.dtype):
            assert_close(x, y, of_largest)
        else:
            np.testing.assert_array_equal(x, y)


def assert_close(x: Array, y: Array, of_largest: float) -> None:
    """Real numbers that are equal but for rounding, or less than a part of the largest of them apart."""
    ours, wanted = np.asarray(x, np.float64), np.asarray(y, np.float64)
    largest = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0)
    relative = RELATIVE[y.dtype.itemsize]
    steps = 2 * float(np.nextafter(np.zeros((), y.dtype), np.ones((), y.dtype)))
    np.testing.assert_allclose(ours, wanted, relative, relative * of_largest * largest + steps)


@of_each_sample(CHOSEN, slow=some_of(CHOSEN, share=0)[::5])
def test_samples_give_what_they_mean(sample: Sample, native: Elsewhere) -> None:
    assert_means_the_same(native, sample.graph(), sample.arrays())


@pytest.mark.sampled(slow=10)
@pytest.mark.parametrize("name", [name for name, graph in SMALL.items() if is_in_triton(graph)])
def test_kernels_give_what_they_mean(native: Elsewhere, name: str) -> None:
    # Small blocks make long chains of sums, with terms that are larger than the result.
    assert_means_the_same(native, SMALL[name], drawn(SMALL[name], "real"), of_largest=1)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(graph=graphs(depth=0))
def test_random_graphs_give_what_they_mean(native: Elsewhere, graph: Graph) -> None:
    assume(is_in_triton(graph))
    assert_means_the_same(native, graph, drawn(graph, "real"), of_largest=0.1)


# ---- the means itself -----------------------------------------------------------------------------------

F32 = ArrayType(np.dtype(np.float32), (4,))


def written(body: str) -> TritonKernel:
    """A function of an input and an output, of four numbers each."""
    text = f"@triton.jit\ndef kernel(x_ptr, out_ptr):\n    i = tl.arange(0, 4)\n{body}"
    return TritonKernel((text,), frozenset(), (Launch("kernel", 1, 4, (0, 1)),), (F32, F32), 1)


def test_what_triton_refuses_is_said(native: Elsewhere) -> None:
    with pytest.raises(NativeError, match="CompilationError"):
        native.run(written("    tl.no_such_function(i)\n"), [np.zeros(4, np.float32)])


def test_an_instruction_without_a_function_is_named(native: Elsewhere) -> None:
    body = "    tl.store(out_ptr + i, tl.program_id(1).to(tl.float32))\n"
    with pytest.raises(NativeError, match=r"triton_native\.c has no amdgcn\.workgroup\.id\.y"):
        native.run(written(body), [np.zeros(4, np.float32)])


@pytest.mark.parametrize(
    ("place", "what"), [("out_ptr + 4 + i", "behind buffer 1"), ("x_ptr + i", "input 0 is")]
)
def test_numbers_where_none_belong_are_found(native: Elsewhere, place: str, what: str) -> None:
    with pytest.raises(NativeError, match=what):
        native.run(written(f"    tl.store({place}, i.to(tl.float32))\n"), [np.full(4, 7, np.float32)])


def test_a_process_that_ends_is_replaced(native: Elsewhere) -> None:
    with pytest.raises(NativeError, match="the process ended with"):
        native.run(written("    tl.store(out_ptr + i + 100000000000, 1.0)\n"), [np.zeros(4, np.float32)])
    ones = native.run(written("    tl.store(out_ptr + i, 1.0)\n"), [np.zeros(4, np.float32)])
    np.testing.assert_array_equal(ones[0], np.ones(4, np.float32))
