"""Whatever is chosen of a kernel, it computes the same; what is proposed can be built, and is known by a stable key."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from graphs import product_graphs
from graphs.kernel_graphs import LARGE, POINTWISE, SMALL
from support.recording import drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.choice import NAMES, RULES, Choice, choice_of
from tracemill.compiler.backends.triton.kernels.kernel_key import kernel_key, kernel_text, known_graph
from tracemill.compiler.backends.triton.planning.candidates import candidates, check_choice, fields_of
from tracemill.compiler.backends.triton.planning.module import call_kernel, graph_kernel
from tracemill.compiler.backends.triton.planning.program import triton_program
from tracemill.compiler.builder import bind
from tracemill.compiler.errors import ArgumentValueError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.text.parser import parse

RELATIVE = {2: 1e-2, 4: 1e-5, 8: 1e-12}

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


def attention(size: int, entries: int, *, causal: bool = False) -> Graph:
    def weighted(query: Value, key: Value, value: Value) -> Value:
        return bind("attention", query, key, value, scale=0.25, causal=causal)

    return recorded(weighted, *[f"f32[2, {size}, {entries}]"] * 3)


def assert_means_the_same(graph: Graph, choice: Choice) -> None:
    from gpu.triton_interpreter import run

    kernel = graph_kernel(graph, "kernel", choice)
    assert kernel is not None
    inputs = drawn(graph, "real")
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for x, y in zip(run(kernel, inputs), expected, strict=True):
        assert x.dtype == y.dtype
        largest = np.max(np.abs(y.astype(np.float64)), initial=0)
        near = RELATIVE[y.dtype.itemsize] * largest if y.dtype.kind == "f" else 0
        np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), 0, near)


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize(
    "choice", [Choice(elements=64, warps=1), Choice(elements=8192, columns=16, programs=3)], ids=str
)
@pytest.mark.parametrize(
    "name", ["softmax", "layer_norm gradient", "columns", "whole of integers", "stencil"]
)
def test_loops_in_other_blocks_give_what_they_mean(name: str, choice: Choice) -> None:
    assert_means_the_same(SMALL[name], choice)


@pytest.mark.sampled("widened-parts 3")
@needs_triton
@pytest.mark.parametrize(
    "choice", [Choice(rows=16, columns=32, depth=16, warps=2, stages=2), Choice(parts=3)], ids=str
)
@pytest.mark.parametrize("name", ["gelu layer", "widened"])
def test_products_in_other_tiles_give_what_they_mean(name: str, choice: Choice) -> None:
    assert_means_the_same(product_graphs.SMALL[name], choice)


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize(
    "name", ["relu layer of 16-bit floats", "two results", "convolution layer", "left widened"]
)
def test_strips_of_tiles_that_need_more_registers_than_there_are_give_what_they_mean(name: str) -> None:
    graph, choice = product_graphs.SMALL[name], Choice(rows=64, columns=64, depth=16, warps=1)
    tight, ample = (graph_kernel(graph, "kernel", x) for x in (choice, replace(choice, warps=4)))
    assert tight is not None
    assert ample is not None
    assert "for strip in tl.static_range(4):" in tight.text
    assert "strip" not in ample.text
    assert_means_the_same(graph, choice)


@pytest.mark.slow
@needs_triton
def test_products_of_whole_numbers_in_other_tiles_give_what_they_mean() -> None:
    graph = recorded(lambda x, y: fn.dot(x, y, ((1,), (0,)), ((), ())), "i32[30, 21]", "i32[21, 40]")
    assert_means_the_same(graph, Choice(rows=4, columns=8, warps=2))


@needs_triton
@pytest.mark.parametrize(
    ("choice", "causal"),
    [(Choice(rows=32, columns=16, warps=2), False), (Choice(rows=16, columns=64, stages=1), True)],
)
def test_attention_in_other_tiles_gives_what_it_means(choice: Choice, causal: bool) -> None:
    assert_means_the_same(attention(50, 16, causal=causal), choice)


# ---- what is proposed ----------------------------------------------------------------------------------

PROPOSED = {
    **{name: LARGE[name] for name in ("softmax", "layer_norm gradient", "wide columns", "whole", "turned")},
    "attention": attention(4096, 64),
    **{name: POINTWISE[name] for name in ("odd", "long functions")},
    **{
        name: product_graphs.LARGE[name]
        for name in ("16-bit floats", "gelu layer", "integers", "long", "vector", "convolution")
    },
}


@pytest.mark.sampled("vector", every=5)
@pytest.mark.parametrize("name", PROPOSED)
def test_a_few_choices_are_proposed_that_differ_and_can_be_used(name: str) -> None:
    graph = PROPOSED[name]
    found = candidates(graph, "sm_90")
    assert found[0] == RULES
    assert len(found) <= 6
    kernels = [graph_kernel(graph, "kernel", choice) for choice in found]
    assert all(one != other for place, one in enumerate(kernels) for other in kernels[:place])
    for choice in found:
        check_choice(graph, choice)


def test_tiles_are_proposed_that_fit_into_the_memory_of_a_gpu() -> None:
    graph = product_graphs.LARGE["16-bit floats"]
    large, small = ([c for c in candidates(graph, target) if c.rows] for target in ("sm_90", "sm_89"))
    assert max(c.rows * c.columns for c in large) > max(c.rows * c.columns for c in small)  # type: ignore[operator]


def test_nothing_is_proposed_for_kernels_that_take_as_long_as_their_launch() -> None:
    assert candidates(recorded(fn.exp, "f32[100]"), "sm_90") == (RULES,)


# ---- what can be chosen --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"blocks": 3}, "'blocks' cannot be chosen: what can is elements, rows"),
        ({"warps": 3}, "warps is a power of two, not 3"),
        ({"warps": 64}, "warps is a whole number from 1 to 32, not 64"),
        ({"stages": 0}, "stages is a whole number from 1 to 8, not 0"),
        ({"rows": "16"}, "not '16'"),
        ({"elements": True}, "not True"),
        ({"elements": 1 << 21}, "from 1 to 1048576"),
    ],
)
def test_what_no_kernel_can_have_is_refused(found: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        choice_of(found)


def test_a_choice_is_what_its_fields_say() -> None:
    choice = choice_of({"warps": 8, "elements": 2048})
    assert choice.fields == {"elements": 2048, "warps": 8}
    assert str(choice) == "elements 2048, warps 8"
    assert str(RULES) == "by the rules"
    assert set(fields_of(LARGE["softmax"])) | set(fields_of(product_graphs.LARGE["16-bit floats"])) == set(
        NAMES
    )


@pytest.mark.parametrize(
    ("graph", "choice", "message"),
    [
        (LARGE["softmax"], Choice(depth=32), "depth cannot be chosen of this kernel: what can is elements"),
        (product_graphs.LARGE["16-bit floats"], Choice(elements=64), "elements cannot be chosen"),
        (attention(50, 16), Choice(rows=8), "16 rows and columns at least: rows 8"),
        (attention(50, 16), Choice(parts=2), "parts cannot be chosen"),
        (
            product_graphs.LARGE["16-bit floats"],
            Choice(depth=8),
            "16 rows, columns and products at least: depth 8",
        ),
    ],
)
def test_what_this_kernel_cannot_have_is_refused(graph: Graph, choice: Choice, message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        check_choice(graph, choice)


# ---- keys ----------------------------------------------------------------------------------------------


def test_a_kernel_is_known_by_what_it_computes_not_by_its_names() -> None:
    graph = SMALL["softmax"]
    renamed = replace(graph, name="other", input_names=("y",))
    assert kernel_key(renamed) == kernel_key(graph) != kernel_key(SMALL["columns"])


def test_the_text_of_a_kernel_reads_back_with_the_same_key() -> None:
    table = fn.constant(np.arange(300, dtype=np.float32))
    graph = recorded(lambda x: fn.add(fn.exp(x), table), "f32[300]")
    text = kernel_text(known_graph(graph))
    assert kernel_key(parse(text)) == kernel_key(graph)


@pytest.mark.slow
def test_keys_are_equal_in_other_processes() -> None:
    text = kernel_text(known_graph(SMALL["softmax"]))
    program = (
        "import sys; from tracemill.compiler.text.parser import parse;"
        "from tracemill.compiler.backends.triton.kernels.kernel_key import kernel_key;"
        "print(kernel_key(parse(sys.stdin.read())))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == kernel_key(SMALL["softmax"])


def test_a_program_has_what_was_chosen_for_the_kernels_of_that_key() -> None:
    graph = recorded(fn.exp, "f32[100000]")
    (kernel,) = triton_program(graph).kernels
    chosen = triton_program(graph, {kernel_key(kernel): Choice(warps=8), "0" * 32: Choice(warps=1)})
    assert [step.warps for step in chosen.plan.launches] == [8]
    assert call_kernel(graph.calls[0], "exp", Choice(warps=8)) != call_kernel(graph.calls[0], "exp")
