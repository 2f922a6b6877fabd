"""Kernels are compiled for GPUs that are not here: they fit into registers and load several numbers at once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracemill as tm
from graphs import product_graphs, step_graphs, symbolic_steps
from graphs.elementwise_calls import DTYPES
from graphs.kernel_graphs import MANY, POINTWISE
from test_golden import EXAMPLES
from tracemill.compiler.dtypes import dtype_name
from tracemill.runtime.machine.cubin import KernelFacts, kernels_in
from tracemill.runtime.machine.triton_compiler import BuiltKernel, target_named
from tracemill.tools.gpu_check.rows import ROWS

TESTS = Path(__file__).resolve().parents[2]
TARGETS = ("cuda:sm_80", "cuda:sm_90", "cuda:sm_100", "hip:gfx942")
NAMES = (
    "softmax",
    "softmax of long rows",
    "softmax of wide rows",
    "layer_norm",
    "layer_norm gradient",
    "layer_norm gradient of wide rows",
    "losses",
    "relu gradient",
    "pulls",
    "nearest",
    "columns",
    "complex columns",
    "complex whole",
    "whole",
    "stencil",
    "found",
    "random words",
    "random pairs",
    "running sum of rows",
    "running sum in parts",
    "running product in parts",
    "running log-sum",
    "short rows",
    "rows of doubles",
    "loop",
    "loop of 16-bit floats",
    "long rows",
    "largest",
    "sums of rows",
    "last ones",
    "counts",
    *MANY,
    *POINTWISE,
    "small long place",
    "small long sum of short numbers",
)
ROWS_OF_FOURS = ("softmax", "softmax of wide rows", "layer_norm", "running sum of rows")
LOOKED_AT = (*ROWS_OF_FOURS, *POINTWISE)
"""Those of which the test asks more."""
OTHERS = tuple(target for target in TARGETS if target != "cuda:sm_90")

EVEN = ("16-bit floats", "doubles", "mixed", "long functions")
"""Elements of which no block has only a part, or a mask is the same for all that a thread loads at once."""

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed; it is for Linux on x86"
)


FEWER = 9
"""Triton takes seconds for many a kernel: without ``--more``, one in nine is compiled."""


def shared_out(target: str, names: Sequence[str], more: int) -> Sequence[str]:
    """A ninth for sm_90, and a few for each other GPU.

    With ``--more``, all for sm_90, and every sixth for each other: together, the others have half of them.
    """
    step = 1 if more > 1 else FEWER
    return names[OTHERS.index(target) :: 2 * len(OTHERS) * step] if target in OTHERS else names[::step]


def targets(*slow: str, all_of: Sequence[str] = TARGETS) -> pytest.MarkDecorator:
    """The GPUs for which a test with large kernels compiles one, and, with ``--more``, the others."""
    return pytest.mark.parametrize(
        "target",
        [
            pytest.param(name, marks=pytest.mark.slow if name in slow else pytest.mark.exhaustive)
            for name in all_of
        ],
    )


Facts = dict[str, list[dict[str, Any]]]
"""What is known of the functions of each kernel."""


class Compiler:
    """A process that compiles kernels, each once, for all tests that ask for them. It takes seconds to start."""

    def __init__(self) -> None:
        self._known: dict[str, Facts] = {}
        self._process: subprocess.Popen[str] | None = None

    def built(self, target: str, *names: str) -> Facts:
        """What is known of these kernels. No function needs more registers than there are."""
        known = self._known.setdefault(target, {})
        if missing := [name for name in names if name not in known]:
            answer = self.answer(target, *missing)
            assert "error" not in answer, answer["error"]
            known |= answer["facts"]
        spilled = {(name, kernel["name"]): kernel["spilled"] for name in names for kernel in known[name]}
        assert not {which: count for which, count in spilled.items() if count}
        return {name: known[name] for name in names}

    def answer(self, target: str, *names: str) -> dict[str, Any]:
        process = self._process = self._process or self._started()
        assert process.stdin
        assert process.stdout
        print(json.dumps([target, names]), file=process.stdin, flush=True)
        line = process.stdout.readline()
        assert line, f"the process ended with {process.wait()}: see the standard error"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[str]:
        variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        return subprocess.Popen(
            [sys.executable, str(TESTS / "gpu" / "triton_facts.py")],
            env={**variables, "PYTHONPATH": f"{TESTS / '.root'}{os.pathsep}{TESTS}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()


@pytest.fixture(scope="module")
def compiler() -> Iterator[Compiler]:
    compiler = Compiler()
    yield compiler
    compiler.stop()


@needs_triton
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_kernels_stay_in_registers_and_load_several_numbers_at_once(
    target: str, compiler: Compiler, more: int
) -> None:
    looked_at = LOOKED_AT if target == "cuda:sm_90" else ()
    found = compiler.built(target, *dict.fromkeys([*shared_out(target, NAMES, more), *looked_at]))
    for name, kernels in found.items():
        for kernel in kernels:
            if target.startswith("cuda"):
                assert kernel["threads"] == 32 * kernel["warps"]
                assert kernel["registers"] * kernel["threads"] <= 65536, (name, kernel)
    if target == "cuda:sm_90":
        assert_rows_that_are_multiples_of_four_are_loaded_and_stored_several_numbers_at_once(found)
        assert_elements_are_loaded_16_bytes_at_once_and_the_cache_is_told_what_is_read_again(found)


def assert_rows_that_are_multiples_of_four_are_loaded_and_stored_several_numbers_at_once(
    found: Facts,
) -> None:
    for name in ROWS_OF_FOURS:
        for kernel in found[name]:
            assert kernel["wide loads"] > 0
            assert kernel["wide stores"] > 0


def assert_elements_are_loaded_16_bytes_at_once_and_the_cache_is_told_what_is_read_again(
    found: Facts,
) -> None:
    assert all(facts["loads of 16 bytes"] > 0 for name in POINTWISE for facts in found[name])
    (odd,), (row,), (streamed,) = found["odd"], found["row"], found["streamed"]
    assert odd["loads"] > odd["loads of 16 bytes"] == 4, "the last block has a mask"
    assert row["loads"] == row["loads of 16 bytes"] == 2 * row["kept"]
    assert streamed["loads"] == streamed["given up"]
    assert all(found[name][0]["loads"] == found[name][0]["loads of 16 bytes"] for name in EVEN)


@needs_triton
@pytest.mark.slow
def test_kernels_for_many_sizes_have_hardly_more_instructions_than_those_for_one(
    compiler: Compiler, more: int
) -> None:
    """In the whole text; for a product, those that run on the GPU: the ones in its loop once per iteration."""
    names = shared_out("cuda:sm_90", ("softmax", "layer_norm", *symbolic_steps.LARGE), more)
    found = compiler.built("cuda:sm_90", *(f"{kind} {name}" for name in names for kind in ("sized", "fixed")))
    for name in names:
        iterations = symbolic_steps.ITERATIONS.get(name)
        count = "machine instructions" if iterations else "instructions"
        for sized, fixed in zip(found[f"sized {name}"], found[f"fixed {name}"], strict=True):
            assert 0 < sized[count] <= 1.15 * fixed[count], (name, sized, fixed)
            assert sized["loads of 16 bytes"] == fixed["loads of 16 bytes"]
            assert (fixed["loads of 16 bytes"] > 0) is (iterations is None)
            if iterations:
                assert 0 < run(sized, iterations) <= 1.1 * run(fixed, iterations), (name, sized, fixed)


def run(kernel: dict[str, Any], iterations: int) -> int:
    """The instructions that a thread runs if its loop has this many iterations."""
    once: int = kernel["machine instructions"]
    repeated: int = kernel["machine instructions in loops"]
    assert repeated > 0
    return once + (iterations - 1) * repeated


@needs_triton
@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1, 2])
def test_operations_with_known_operands_compile(place: int, compiler: Compiler, more: int) -> None:
    """The first operand of all dtypes; the second and the third of every other one."""
    dtypes = [dtype for dtype in DTYPES if dtype.kind != "c"]
    dtypes = dtypes if place == 0 else dtypes[place - 1 :: 2]
    names = [f"known operand {place} of {dtype_name(dtype)}" for dtype in dtypes]
    found = compiler.built("cuda:sm_90", *shared_out("cuda:sm_90", names, more))
    assert all(found.values())


PRODUCTS = tuple(f"product of {name}" for name in product_graphs.LARGE)
MULTIPLIES = {
    "cuda:sm_80": "mma.sync",
    "cuda:sm_90": "wgmma.mma_async",
    "cuda:sm_100": "tcgen05.mma",
    "hip:gfx942": "v_mfma",
}
SHARED = {"cuda:sm_80": 160, "cuda:sm_90": 227, "cuda:sm_100": 227, "hip:gfx942": 64}
"""KiB of memory that the threads of a program may share."""


@needs_triton
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_products_run_on_tensor_cores_within_registers_and_shared_memory(
    target: str, compiler: Compiler, more: int
) -> None:
    found = compiler.built(target, *shared_out(target, PRODUCTS, more))
    for name, kernels in found.items():
        for kernel in kernels:
            assert kernel["shared"] <= SHARED[target] * 1024, (name, kernel)
            assert not kernel["tf32"], (name, kernel)
    for name in (
        "16-bit brain floats",
        "16-bit floats",
        "turned",
        "odd",
        "relu layer",
        "gelu layer",
        "widened",
        "long",
        "heads",
        "convolution",
    ):
        if f"product of {name}" in found:
            assert found[f"product of {name}"][0][MULTIPLIES[target]] > 0, name
    if target == "cuda:sm_90":
        assert_products_store_several_numbers_at_once_where_rows_are_multiples_of_eight(found)


def assert_products_store_several_numbers_at_once_where_rows_are_multiples_of_eight(found: Facts) -> None:
    for name, kernels in found.items():
        if name not in ("product of odd", "product of vector"):
            assert kernels[0]["wide stores"] > 0, name


@needs_triton
@targets("cuda:sm_80", "cuda:sm_90")
def test_attention_runs_on_tensor_cores_within_registers_and_shared_memory(
    target: str, compiler: Compiler, more: int
) -> None:
    names = [name for name in step_graphs.LARGE if not name.startswith("gradient")]
    for name, kernels in compiler.built(target, *shared_out(target, names, more)).items():
        for kernel in kernels:
            assert kernel["shared"] <= SHARED[target] * 1024, (name, kernel)
            assert not kernel["tf32"], (name, kernel)
            if "16-bit" in name:
                assert kernel[MULTIPLIES[target]] > 0, (name, kernel)


@needs_triton
@pytest.mark.long
@targets("cuda:sm_80", "cuda:sm_90", "cuda:sm_100")
def test_golden_examples_and_all_that_is_compared_stay_in_registers(
    target: str, compiler: Compiler, more: int
) -> None:
    names = [*(f"row {name}" for name in ROWS), *(f"example {example.name}" for example in EXAMPLES)]
    names = names if more > 1 else names[::4]
    assert all(compiler.built(target, *shared_out(target, names, more)).values())


@needs_triton
@targets("cuda:sm_90", "hip:gfx942")
def test_gradients_of_attention_run_on_tensor_cores_within_registers_and_shared_memory(
    target: str, compiler: Compiler, more: int
) -> None:
    names = [name for name in step_graphs.LARGE if name.startswith("gradient")]
    for name, kernels in compiler.built(target, *shared_out(target, names, more)).items():
        for kernel in kernels:
            assert kernel["shared"] <= SHARED[target] * 1024, (name, kernel)
            assert not kernel["tf32"], (name, kernel)
            if "16-bit" in name and "256" not in name:
                assert kernel[MULTIPLIES[target]] > 0, (name, kernel)


COPIED = tuple(
    f"copied product of {name}"
    for name in ("16-bit brain floats", "16-bit floats", "turned", "relu layer", "gelu layer", "widened")
)


@needs_triton
@targets("cuda:sm_90", all_of=("cuda:sm_90", "cuda:sm_100"))
def test_products_whose_operands_the_hardware_copies_stay_in_registers(
    target: str, compiler: Compiler, more: int
) -> None:
    """With ``--more``, all for sm_90, which shares what copies with sm_100, and every other one there."""
    names = COPIED if target == "cuda:sm_90" else COPIED[::2]
    names = names if more > 1 else names[::FEWER]
    for name, (kernel,) in compiler.built(target, *names).items():
        assert kernel["copies"] > 0, name
        assert kernel[MULTIPLIES[target]] > 0, name
        assert kernel["shared"] <= SHARED[target] * 1024, (name, kernel)
        assert kernel["scratch"] == 2 * 128, "a description of each operand"


FAST = (
    "product of singles",
    "product of batch",
    "product of convolution layer",
    *(name for name in step_graphs.LARGE if "singles" in name),
)


@needs_triton
@targets("cuda:sm_80", "cuda:sm_90", all_of=[name for name in TARGETS if name.startswith("cuda")])
def test_fast_products_of_f32_run_on_tensor_cores_within_registers(
    target: str, compiler: Compiler, more: int
) -> None:
    names = FAST if more > 1 else FAST[::FEWER]
    found = compiler.built(target, "product of singles", *(f"fast {name}" for name in names))
    for name, kernels in found.items():
        for kernel in kernels:
            assert kernel["shared"] <= SHARED[target] * 1024, (name, kernel)
            assert (kernel["tf32"] > 0) is name.startswith("fast "), (name, kernel)
    multiplies = found["fast product of singles"][0]
    assert multiplies[MULTIPLIES[target]] > 0
    assert multiplies["wide loads"] == found["product of singles"][0]["wide loads"]


@needs_triton
@pytest.mark.slow
def test_fast_products_of_f32_are_refused_where_tensor_cores_have_no_tf32(compiler: Compiler) -> None:
    error = compiler.answer("hip:gfx942", "fast product of batch")["error"]
    assert "KernelError: Triton cannot compile f: AMD's GPUs have no tf32x3, which fast_math" in error


@needs_triton
@pytest.mark.slow
def test_multiplications_are_fused_with_additions_and_quotients_are_short_where_fast_math_is_on(
    compiler: Compiler,
) -> None:
    found = compiler.built("cuda:sm_90", "layer_norm", "fast layer_norm")
    (exact,), (fast,) = found["layer_norm"], found["fast layer_norm"]
    names = "fma\\.rn\\.f32", "div\\.rn\\.f32", "div\\.full\\.f32"
    assert [exact[name] > 0 for name in names] == [False, True, False]
    assert [fast[name] > 0 for name in names] == [True, False, True]


@given(st.binary(max_size=300))
def test_bytes_that_are_not_a_cubin_are_refused(content: bytes) -> None:
    for start in (b"", b"\x7fELF\x02\x01\x01"):
        with pytest.raises(tm.errors.CubinError):
            kernels_in(start + content)


@pytest.mark.parametrize(
    ("assembly", "local", "spilled"),
    [
        ("", 24, 24),
        ("\t.local .align 4 .b8 \tdepot[28];\n", 24, 24),  # an array that has become registers
        (".func f()\n\t.local .align 8 .b8 \tdepot[40];\n", 48, 0),
        (".func f()\n\t.local .align 8 .b8 \tdepot[40];\n", 40, 0),
        (".func f()\n\t.local .align 8 .b8 \tdepot[40];\n", 64, 16),
    ],
)
def test_arrays_that_functions_are_given_are_not_spilled(assembly: str, local: int, spilled: int) -> None:
    facts = KernelFacts(registers=40, local_bytes=local, shared_bytes=0, threads=128, parameters=())
    assert BuiltKernel("kernel", b"", assembly, 4, 0, 0, facts).spilled_bytes == spilled


@pytest.mark.parametrize(
    ("name", "warps"), [("cuda:sm_90", [8, 1]), ("hip:gfx942", [4, 1]), ("hip:gfx1100", [8, 1])]
)
def test_programs_have_as_many_threads_on_all_gpus(name: str, warps: list[int]) -> None:
    assert [target_named(name).warps(count) for count in (8, 1)] == warps


@pytest.mark.parametrize("name", ["cuda", "cuda:90", "cuda:sm_", "hip:90", "sm_90", "cpu"])
def test_an_unknown_target_is_named(name: str) -> None:
    with pytest.raises(tm.errors.ArgumentValueError, match="cuda:sm_90 or hip:gfx942"):
        target_named(name)
