"""Products with programs that compute tile after tile, and operands that are copied as blocks by descriptors."""

from importlib.util import find_spec

import numpy as np
import pytest

from graphs.product_graphs import (
    LARGE,
    batched,
    gelu_layer,
    left_turned,
    matmul,
    of_layer,
    relu_layer,
    right_turned,
    widened,
)
from support.recording import drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.choice import Choice
from tracemill.compiler.backends.triton.planning.candidates import candidates, check_choice
from tracemill.compiler.backends.triton.planning.module import graph_kernel
from tracemill.compiler.errors import ArgumentValueError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")

COPIED = {
    "16-bit floats": recorded(matmul, "f16[70, 40]", "f16[40, 88]"),
    "16-bit brain floats": recorded(matmul, "bf16[64, 64]", "bf16[64, 128]"),
    "left turned": recorded(left_turned, "f16[40, 72]", "f16[40, 88]"),
    "right turned": recorded(right_turned, "bf16[33, 72]", "bf16[50, 72]"),
    "both turned": recorded(lambda x, y: fn.dot(x, y, ((0,), (1,))), "f16[40, 72]", "f16[50, 40]"),
    "squared": recorded(lambda x: matmul(x, x), "f16[40, 40]"),
    "relu layer": recorded(relu_layer, "bf16[50, 40]", "bf16[40, 72]", "bf16[72]", "bf16[50, 72]"),
    "gelu layer": recorded(gelu_layer, "f16[50, 40]", "f16[40, 80]", "f16[80]"),
    "rows of two axes": recorded(of_layer, "f16[5, 7, 40]", "f16[40, 64]", "f16[64]"),
    "widened": recorded(widened, "bf16[50, 40]", "bf16[40, 72]"),
    "with its own operand": recorded(lambda x, y: fn.add(matmul(x, y), x), "f16[40, 40]", "f16[40, 40]"),
}
CHOICE = Choice(rows=16, columns=32, depth=16, warps=2, programs=3)


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize("name", COPIED)
def test_programs_that_take_tiles_in_turn_give_what_they_mean(name: str) -> None:
    from gpu.triton_interpreter import run

    graph = COPIED[name]
    kernel = graph_kernel(graph, "kernel", CHOICE)
    assert kernel is not None
    (launch,) = kernel.launches
    assert launch.programs == 3
    assert kernel.text.count("tl.make_tensor_descriptor(") == 2
    inputs = drawn(graph, "real")
    for x, y in zip(run(kernel, inputs), evaluate(graph, *inputs), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        ours, wanted = x.astype(np.float64), y.astype(np.float64)
        np.testing.assert_allclose(ours, wanted, 0, 1e-2 * np.max(np.abs(wanted)))


@needs_triton
def test_at_most_one_program_runs_per_tile() -> None:
    kernel = graph_kernel(COPIED["16-bit brain floats"], "kernel", Choice(rows=64, columns=64, programs=132))
    assert kernel is not None
    assert [launch.programs for launch in kernel.launches] == [2]


REFUSED: dict[str, Graph] = {
    "rows of 90 numbers": recorded(matmul, "f16[70, 40]", "f16[40, 90]"),
    "of four bytes": recorded(matmul, "f32[70, 40]", "f32[40, 88]"),
    "made before": recorded(lambda x, y: matmul(fn.exp(x), y), "f16[70, 40]", "f16[40, 88]"),
    "backwards": recorded(lambda x, y: matmul(fn.flip(x, (0,)), y), "f16[70, 40]", "f16[40, 88]"),
    "repeated rows": recorded(lambda x, y: matmul(fn.broadcast_to(x, (70, 40)), y), "f16[40]", "f16[40, 88]"),
    "batch": recorded(batched, "f16[3, 40, 40]", "f16[3, 40, 40]"),
    "convolution": LARGE["convolution"],
    "heads": LARGE["heads"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_hardware_does_not_copy_is_refused(name: str) -> None:
    with pytest.raises(
        ArgumentValueError, match="programs cannot be chosen of this product: that is for two matrices"
    ):
        check_choice(REFUSED[name], Choice(programs=132))


def test_sums_in_parts_are_refused_and_otherwise_whole() -> None:
    with pytest.raises(ArgumentValueError, match="sums in one part"):
        check_choice(LARGE["long"], Choice(programs=132, parts=2))
    kernel = graph_kernel(LARGE["long"], "kernel", Choice(programs=132))
    assert kernel is not None
    assert len(kernel.launches) == 1


@pytest.mark.sampled("turned", "gelu layer")
@pytest.mark.parametrize("name", ["16-bit brain floats", "turned", "gelu layer"])
def test_large_products_of_two_bytes_are_proposed_where_the_hardware_copies(name: str) -> None:
    wanted = {"sm_90": Choice(programs=132), "sm_100": Choice(programs=148)}
    for target, choice in wanted.items():
        assert choice in candidates(LARGE[name], target)
    for target in ("sm_80", "sm_89", "gfx942"):
        assert not any(choice.programs for choice in candidates(LARGE[name], target))


def test_tiles_of_results_of_four_bytes_are_halved_so_that_they_fit_beside_operands() -> None:
    assert Choice(columns=128, programs=132) in candidates(LARGE["widened"], "sm_90")


@pytest.mark.sampled("long", every=6)
@pytest.mark.parametrize("name", ["odd", "singles", "small 16-bit floats", "long", "convolution", "heads"])
def test_others_are_not(name: str) -> None:
    assert not any(choice.programs for choice in candidates(LARGE[name], "sm_90"))


def test_the_rules_give_each_tile_a_program() -> None:
    kernel = graph_kernel(LARGE["16-bit brain floats"], "kernel")
    assert kernel is not None
    assert "descriptor" not in kernel.text
