"""Programs for GPUs that are made once run, on a driver without GPUs, for all sizes that their guards allow."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from graphs import symbolic_steps
from graphs.symbolic_kernels import HINTS, KERNELS
from graphs.symbolic_steps import SORTED, STEPS, WHOLE_HINTS, WHOLE_SIZES
from symbolic.sized_samples import allowed
from symbolic.texts import TEXTS
from tracemill.compiler.backends.triton.planning.plan_document import arrays_of, document, plan_of
from tracemill.compiler.backends.triton.planning.program import TritonProgram, triton_program
from tracemill.compiler.dtypes import Array, is_inexact, real_dtype
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.compiler.text.printer import HEADER
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.runtime.cache.guard_codec import guards_read, guards_text
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu.fixed_plan import fixed_plan
from tracemill.runtime.gpu.loading import loaded_kernels
from tracemill.runtime.gpu.program import MOST, GpuProgram
from tracemill.runtime.gpu_programs import gpu_strategy
from tracemill.runtime.machine.triton_compiler import target_named
from tracemill.runtime.programs.canonicalize import canonicalize
from tracemill.runtime.programs.optimize import optimize

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.interpreted_gpu import interpreted

OTHERS = {"i": 3, "idle": 2, "K": 24, "len": 4, "memory": 3, "np": 3}
SIZES = (
    (2, 2, 2),
    (3, 5, 9),
    (33, 64, 31),
    (40, 115, 129),
    (32, 66, 3),
    (17, 127, 20),
    (64, 36, 4),
    (96, 5, 7),
    (5, 44, 3),
    (7, 70, 6),
    (6, 122, 5),
)
"""Of B, N and M."""

CASES = {f"{name} alone": text for name, text in KERNELS.items() if name != "places"} | TEXTS


@pytest.fixture
def card(stub_gpu: StubGpu) -> Iterator[StubGpu]:
    with interpreted(stub_gpu):
        yield stub_gpu


def made(text: str, scope: Observed | Declared) -> tuple[Graph, TritonProgram]:
    """The graph of a text, and the program that is made of it within a scope."""
    with answering(scope):
        graph = tm.parse(f"{HEADER}{text}")
        return graph, triton_program(optimize(canonicalize(graph, "triton"), "triton"))


def loaded(program: TritonProgram) -> GpuProgram:
    device = gpu(0)
    kernels = vars(gpu_strategy)["build_program"](program, target_named(device.target))
    return GpuProgram(program.plan, loaded_kernels(device, kernels), device)


def drawn(graph: Graph, sizes: Mapping[str, int]) -> list[Array]:
    """Arguments for these sizes, always the same."""
    rng = np.random.default_rng(crc32(repr(sorted(sizes.items())).encode()))
    arrays: list[Array] = []
    for value in fix_sizes(graph, sizes).inputs:
        numbers = (
            rng.integers(0, 3, value.shape) if value.dtype.kind in "iu" else rng.normal(size=value.shape)
        )
        arrays.append(np.asarray(numbers).astype(value.dtype))
    return arrays


def assert_close(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Integers equal; numbers as near as the order of additions lets them be."""
    for x, y in zip(found, map(np.asarray, expected), strict=True):
        assert (x.dtype, np.shape(x)) == (y.dtype, y.shape)
        if not is_inexact(y.dtype):
            np.testing.assert_array_equal(x, y)
            continue
        real = real_dtype(y.dtype)
        eps = 2**-13 if real.itemsize == 2 else float(np.finfo(real).eps)
        if real.itemsize == 2:
            x, y = x.astype(np.float64), y.astype(np.float64)
        np.testing.assert_allclose(x, y, rtol=64 * eps, atol=64 * eps * float(np.abs(y).max(initial=1)))


SOFTMAX, COLUMNS = KERNELS["softmax"], KERNELS["column_statistics"]


def with_sizes(names: Iterable[str]) -> list[Any]:
    """The names with a few sizes, and every sixth with all: the interpreter takes long for each."""
    slow, exhaustive = pytest.mark.slow, pytest.mark.exhaustive
    return [
        *(pytest.param(name, 2, id=f"{name}-few") for name in names),
        *(
            pytest.param(name, 99, id=f"{name}-all", marks=exhaustive if number % 6 else slow)
            for number, name in enumerate(names)
        ),
    ]


@pytest.mark.sampled(
    "side_by_side_flat alone-few",
    "long_pairs alone-few",
    "taken alone-few",
    "places-few",
    "sums-few",
    "loops and branches-few",
    slow=4,
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "count"), with_sizes(CASES))
def test_one_program_gives_what_it_means_for_each_size_that_it_is_for(
    name: str, count: int, card: StubGpu
) -> None:
    scope = Observed(HINTS | OTHERS)
    graph, program = made(CASES[name], scope)
    run = loaded(program)
    candidates = [HINTS | OTHERS, *({**OTHERS, "B": b, "N": n, "M": m, "K": 6 * m} for b, n, m in SIZES)]
    found = [sizes for sizes in candidates if allowed(scope.guards, sizes)]
    for sizes in sorted(found, key=lambda sizes: sizes["B"] * sizes["N"])[:count]:
        arrays = drawn(graph, sizes)
        assert_close(run(*arrays), evaluate(fix_sizes(graph, sizes), *arrays))
    assert len(found) >= 3, str(scope.guards)


@pytest.mark.sampled(
    "False-gradient_of_attention-few",
    "False-counted-few",
    "False-convolution_with_long_kernels-few",
    "True-attention_in_order-few",
    "True-counted-few",
    every=8,
    slow=4,
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "count"), with_sizes(STEPS))
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_step_is_one_program_for_sizes_at_the_ends_of_its_blocks(
    name: str, is_whole: bool, count: int, card: StubGpu
) -> None:
    scope = Observed(WHOLE_HINTS if is_whole else symbolic_steps.HINTS)
    graph, program = made(STEPS[name], scope)
    run = loaded(program)
    wanted = WHOLE_SIZES if is_whole else symbolic_steps.SIZES
    found = [sizes for sizes in wanted if allowed(scope.guards, sizes)]
    assert len(found) >= (1 if is_whole else 3), str(scope.guards)
    for sizes in sorted(found, key=lambda sizes: sizes["B"] * sizes["N"] * sizes["M"])[:count]:
        arrays = drawn(graph, sizes)
        assert_close(run(*arrays), evaluate(fix_sizes(graph, sizes), *arrays))


@pytest.mark.sampled(every=6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SORTED)
def test_what_is_sorted_is_one_program_up_to_a_declared_maximum(name: str, card: StubGpu) -> None:
    graph, program = made(SORTED[name], Declared())
    run = loaded(program)
    for sizes in symbolic_steps.SIZES[:2]:
        arrays = drawn(graph, sizes)
        assert_close(run(*arrays), evaluate(fix_sizes(graph, sizes), *arrays))
    assert "\n# For rows of up to " in program.text
    text = SORTED[name].replace("..700", "..")
    with pytest.raises(tm.errors.UndecidedDimError, match=r'a maximum, such as tm.Dim\("\w", max=4096\)'):
        made(text, Declared())
    scope = Observed(symbolic_steps.HINTS)
    made(text, scope)
    assert not any("==" in guard for guard in str(scope.guards).split(" and ")), str(scope.guards)


def test_sizes_are_arguments_behind_the_arrays(card: StubGpu) -> None:
    scope = Observed({"B": 64, "N": 1024})
    _, program = made(SOFTMAX, scope)
    assert "(x_ptr, out_ptr, B, N):\n" in program.text
    assert "i = tl.program_id(0) * 2 + tl.arange(0, 2)[:, None]\n    i_in = i < B\n" in program.text
    assert "tl.load(x_ptr + N * i + j, mask=i_in & j_in, other=0)" in program.text
    assert "[(B + 1) // 2 × 4 warps](x, kernel_1, B, N)" in str(program.plan)
    assert [(n.type, n.multiple_of) for step in program.plan.launches for n in step.numbers] == [
        ("i32", 1),
        ("i32", 16),
    ]
    guards = ["N % 16 == 0", "B*N <= 2147483648", "N <= 1024", "N >= 257"]
    assert str(scope.guards) == " and ".join(guards)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("dtype", "size", "guards", "multiple"),
    [
        ("bf16", 1000, "N % 8 == 0 and B*N", 8),
        ("f32", 1000, "N % 4 == 0 and B*N", 4),
        ("f32", 1024, "N % 32 == 0 and B*N", 16),
        ("f32", 1001, "N % 4 != 0", 1),
    ],
)
def test_products_load_16_bytes_at_once_if_the_rows_of_the_call_begin_so(
    dtype: str, size: int, guards: str, multiple: int
) -> None:
    text = symbolic_steps.LARGE["product"].replace("f32", dtype)
    scope = Observed({"B": 4096, "N": size})
    _, program = made(text, scope)
    assert guards in str(scope.guards)
    assert "B %" not in str(scope.guards)
    (launch,) = program.plan.launches
    assert next(number.multiple_of for number in launch.numbers if str(number) == "N") == multiple


@pytest.mark.sampled("2147483664-4-softmax", slow=2)
@pytest.mark.parametrize("name", ["softmax", "columns"])
@pytest.mark.parametrize(
    ("rows", "columns"), [(64, 1024), (1 << 16, 1 << 16), ((1 << 31) + 16, 4), ((1 << 20) + 1, 1 << 11)]
)
def test_places_have_eight_bytes_only_if_four_are_too_few(name: str, rows: int, columns: int) -> None:
    scope = Observed({"B": rows, "N": columns})
    _, program = made({"softmax": SOFTMAX, "columns": COLUMNS}[name], scope)
    wide = {number.is_wide for step in program.plan.launches for number in step.numbers}
    is_far = rows * columns > 1 << 31
    assert is_far in wide
    assert (".to(tl.int64)" in program.text) == is_far
    assert all(guard.comparison.holds(scope.hints) for guard in scope.guards.guards)
    far = {"B": 1 << 24, "N": columns}  # reaches beyond 4 bytes, with rows that are as long
    if not is_far:
        assert not all(guard.comparison.holds(far) for guard in scope.guards.guards)


def test_a_kernel_of_declared_sizes_is_for_all_of_them(card: StubGpu) -> None:
    scope = Declared()
    running = (STEPS[name] for name in ("running_sums", "running_largest", "running_products_of_columns"))
    for text in (SOFTMAX, COLUMNS, KERNELS["transposed"], *running):
        graph, program = made(text, scope)
        run = loaded(program)
        assert all(number.is_wide for step in program.plan.launches for number in step.numbers)
        for sizes in ({"B": 3, "N": 5, "M": 7}, {"B": 40, "N": 700, "M": 1}):
            arrays = drawn(graph, sizes)
            assert_close(run(*arrays), evaluate(fix_sizes(graph, sizes), *arrays))


def test_a_program_for_other_kernels_is_explained_by_their_line(card: StubGpu) -> None:
    def doubled(x: Any) -> Any:
        return np.exp(x[:, ::-1])

    f = tm.compile(doubled, backend="triton", dynamic=True)
    for columns in (64, 63):
        np.testing.assert_allclose(f(np.ones((8, columns))), np.exp(np.ones((8, columns))))
    text = f.explain_recompile()
    assert "is for x_1 % 16 == 0, and x_1 is 63, by the kernel of test_symbolic_triton.py:" in text
    assert "\nfix: none needed: kernels on GPUs" in text


def test_guards_of_kernels_say_the_line_that_the_kernel_computes_also_when_they_are_read_again() -> None:
    def centred(x: Any) -> Any:
        return x - x.mean(axis=1, keepdims=True)

    lowered = tm.compile(centred, backend="triton", dynamic=True).lower(np.ones((64, 1024), np.float32))
    guards = lowered.guards
    assert len(guards.guards) >= 3
    for guard in guards.described():
        assert re.search(
            r"  # test_symbolic_triton\.py:\d+  return x - x\.mean\(.*\); the kernel that computes", guard
        )
    again = guards_read(guards_text(guards.guards), lowered.graph)
    assert again.described() == guards.described()
    assert [guard.location.code for guard in again.guards] == [guard.location.code for guard in guards.guards]


def test_declared_limits_choose_blocks_and_loads() -> None:
    _, program = made(
        SOFTMAX.replace("N in 2..", "N in 16..4096, N % 16 == 0").replace("B in 2..", "B in 1..4096"),
        Declared(),
    )
    (launch,) = program.plan.launches
    assert [(n.type, n.multiple_of) for n in launch.numbers] == [("i32", 1), ("i32", 16)]
    assert "j = tl.arange(0, 4096)\n" in program.text


def test_launches_are_kept_for_the_last_shapes_and_memory_grows_as_needed(card: StubGpu) -> None:
    graph, program = made(COLUMNS, Observed({"B": 3000, "N": 9}))
    run = loaded(program)
    for rows in (1100, 2000, 1100, 9000):
        arrays = drawn(graph, {"B": rows, "N": 9})
        assert_close(run(*arrays), evaluate(fix_sizes(graph, {"B": rows, "N": 9}), *arrays))
    card.quiet()
    for columns in range(MOST + 40, 2, -1):  # the first needs most memory
        if columns % 16:
            run(np.ones((1100, columns), np.float32))
    assert len(run._kept) == MOST
    with pytest.raises(tm.errors.DimMismatchError, match="dim N is 1 in this call"):
        run(np.ones((1100, 1), np.float32))


@pytest.mark.parametrize("name", ["softmax", "names that are taken", "loops and branches", "a scan"])
def test_a_symbolic_plan_is_read_back_from_its_document(name: str) -> None:
    _, program = made(TEXTS[name], Observed(HINTS | OTHERS))
    text = json.dumps(document(program.plan), allow_nan=False)
    again = plan_of(json.loads(text), arrays_of(program.plan))
    assert str(again) == str(program.plan)
    assert document(again) == document(program.plan)
    assert str(fixed_plan(again, HINTS | OTHERS)) == str(fixed_plan(program.plan, HINTS | OTHERS))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("sizes",), ["N in 9..3"]),
        (("sizes",), 5),
        (("steps", 0, "programs"), "Q + 1"),
        (("steps", 0, "programs"), "B +"),
        (("steps", 0, "programs"), "__import__('os')"),
        (("steps", 0, "numbers", 0, "value"), None),
        (("steps", 0, "numbers", 0, "is_wide"), 1),
        (("steps", 0, "numbers", 0, "multiple_of"), 0),
        (("steps", 0, "slots", 0, "shape"), ["B", -1]),
    ],
)
def test_a_document_that_is_not_a_symbolic_plan_is_refused(path: tuple[Any, ...], wrong: object) -> None:
    _, program = made(SOFTMAX, Observed(HINTS))
    given = document(program.plan)
    *ahead, last = path
    place: Any = given
    for key in ahead:
        place = place[key]
    place[last] = wrong
    with pytest.raises(tm.errors.ParseError):
        plan_of(given, {})


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("steps", 0, "slots", 0, "shape"), ["B", "N + 1"]),
        (("steps", 0, "slots", 1, "at"), "B"),
        (("steps", 0, "slots", 0, "shape"), ["B - 9", "N"]),
        (("steps", 0, "numbers", 1, "multiple_of"), 16),
        (("steps", 0, "numbers", 1, "value"), "N*4294967296"),
    ],
)
def test_what_a_plan_may_touch_is_checked_for_the_sizes_of_a_call(
    path: tuple[Any, ...], wrong: object
) -> None:
    _, program = made(SOFTMAX, Observed(HINTS))
    given = document(program.plan)
    *ahead, last = path
    place: Any = given
    for key in ahead:
        place = place[key]
    place[last] = wrong
    plan = plan_of(given, {})
    with pytest.raises(tm.errors.ParseError):
        fixed_plan(plan, HINTS)


def test_a_network_is_compiled_once_for_all_batches(card: StubGpu) -> None:
    def network(x: Any, w: Any, b: Any) -> Any:
        h = np.tanh(x @ w + b)
        return h / h.sum(axis=-1, keepdims=True), h.mean(axis=0)

    compiled = tm.compile(network, backend="triton", dynamic={"x": "f64[B, 32]", "w": None, "b": None})
    rng = np.random.default_rng(0)
    w, b = np.abs(rng.normal(size=(32, 48))), np.ones(48)
    for batch in (2, 3, 17, 64, 200):
        x = np.abs(rng.normal(size=(batch, 32)))
        assert_close(compiled(x, w, b), network(x, w, b))
    assert len(compiled.signatures()) == 1
