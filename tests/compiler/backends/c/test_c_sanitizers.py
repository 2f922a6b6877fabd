"""Generated C runs clean under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from c.sanitizing import SANITIZERS, sanitized
from graphs.kernel_graphs import LARGE, large_function
from graphs.loop_steps import LOOPS, arrays_for
from graphs.symbolic_kernels import KERNELS, OTHER_SIZES, SIZES, STEPS, printed
from graphs.symbolic_kernels import drawn as drawn_for
from samples.sample import Sample
from samples.table import SAMPLES
from support.recording import drawn
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.backends.c.steps import step_function
from tracemill.compiler.dtypes import FLOAT64
from tracemill.compiler.ir import ArrayType
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("sanitizer", SANITIZERS)]

PARALLEL_STEPS = (
    Sample(
        "random_bits", ((2,), (4,)), "u32", {"shape": (200_001,), "dtype": np.dtype(np.uint32)}, "special"
    ),
    *(
        Sample("cumsum", (shape,), "f64", {"axis": axis, "reverse": False}, "real")
        for shape, axis in (((67, 1_100), 1), ((3, 40, 2_500), 1))
    ),
    Sample(
        "sort",
        ((400, 60), (400, 60)),
        ("f64", "i64"),
        {"axis": 1, "num_keys": 1, "descending": False},
        "real",
    ),
    Sample("top_k", ((400, 90),), "f64", {"k": 9, "axis": 1}, "special"),
)

Case = tuple[CFunction, Sequence[Any]]


def assert_clean(
    cases: Sequence[Case],
    toolchain: Toolchain,
    folder: Path,
    sanitizer: str,
    sizes: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    assert cases
    done = sanitized(cases, toolchain, folder, sanitizer, sizes)
    assert not done.returncode, done.stderr[-4000:]
    assert not done.stderr


def step_cases(samples: Iterable[Sample]) -> list[Case]:
    """The samples that are calls with a C function of their own, and their arrays."""
    cases: list[Case] = []
    for number, sample in enumerate(samples):
        graph = sample.graph()
        if len(graph.calls) == 1 and (function := step_function(graph.calls[0], f"step_{number}")):
            cases.append((function, sample.arrays()))
    return cases


def test_functions_of_single_calls_run_clean(sanitizer: str, c_toolchain: Toolchain, tmp_path: Path) -> None:
    assert_clean(step_cases([*SAMPLES, *PARALLEL_STEPS]), c_toolchain, tmp_path, sanitizer)


def test_loops_whose_steps_share_memory_run_clean(
    sanitizer: str, c_toolchain: Toolchain, tmp_path: Path
) -> None:
    cases: list[Case] = []
    for number, graph in enumerate(LOOPS.values()):
        function = print_function(graph.calls[0], f"loop_{number}", COptions())
        assert function
        cases.append((function, arrays_for(graph)))
    assert_clean(cases, c_toolchain, tmp_path, sanitizer)


FAULTS = {
    "address": "out[2] = x[0];",
    "thread": "\n#pragma omp parallel for num_threads(threads)\n    for (int i = 0; i < 99; i++) out[0] += x[0];",
}


def test_faults_are_found(sanitizer: str, c_toolchain: Toolchain, tmp_path: Path) -> None:
    type_ = ArrayType(FLOAT64, (2,))
    text = (
        "static void faulty(const double *restrict x, double *restrict out, long threads)\n"
        f"{{\n    (void)threads;\n    {FAULTS[sanitizer]}\n}}\n"
    )
    function = CFunction("faulty", text, (type_,), (type_,), frozenset(), 1)
    done = sanitized([(function, [np.ones(2)])], c_toolchain, tmp_path, sanitizer)
    assert done.returncode
    assert "runtime error" in done.stderr or "data race" in done.stderr


def test_kernels_run_clean(sanitizer: str, c_toolchain: Toolchain, tmp_path: Path) -> None:
    cases = [(large_function(name), drawn(graph, "real")) for name, graph in LARGE.items()]
    assert_clean(cases, c_toolchain, tmp_path, sanitizer)


@pytest.mark.parametrize("turn", [0, -1])
def test_functions_for_any_size_run_clean(
    sanitizer: str, c_toolchain: Toolchain, tmp_path: Path, turn: int
) -> None:
    cases: list[Case] = []
    sizes: dict[str, Mapping[str, int]] = {}
    for name in (*KERNELS, *STEPS):
        graph, function, _ = printed(name)
        sizes[function.name] = OTHER_SIZES.get(name, SIZES)[turn]
        cases.append((function, drawn_for(graph, sizes[function.name], name)))
    assert_clean(cases, c_toolchain, tmp_path, sanitizer, sizes)
