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
from samples.thinning import some_of
from support.recording import drawn
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.backends.c.steps import step_function
from tracemill.compiler.backends.c.threads.pool_text import CALL
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


def starts_threads(case: Case) -> bool:
    """Whether threads may share the work of a function. Nothing else can have a data race."""
    function, _ = case
    return CALL in function.text


def assert_clean(
    cases: Sequence[Case],
    toolchain: Toolchain,
    folder: Path,
    sanitizer: str,
    sizes: Sequence[Mapping[str, int]] = (),
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


def test_functions_of_single_calls_run_clean(
    sanitizer: str, c_toolchain: Toolchain, tmp_path: Path, more: int
) -> None:
    samples = SAMPLES if more > 1 else some_of(SAMPLES, share=0)
    cases = step_cases([*samples, *PARALLEL_STEPS])
    threaded = [case for case in cases if starts_threads(case)]
    assert len(threaded) >= len(PARALLEL_STEPS)
    assert_clean(threaded if sanitizer == "thread" else cases, c_toolchain, tmp_path, sanitizer)


def test_loops_whose_steps_share_memory_run_clean(
    sanitizer: str, c_toolchain: Toolchain, tmp_path: Path, more: int
) -> None:
    cases: list[Case] = []
    loops = list(LOOPS.values())
    for number, make in enumerate(loops if more > 1 else loops[::10]):
        graph = make()
        function = print_function(graph.calls[0], f"loop_{number}", COptions())
        assert function
        cases.append((function, arrays_for(graph)))
    if sanitizer == "thread":
        assert not any(map(starts_threads, cases)), "run those that start threads, too"
    else:
        assert_clean(cases, c_toolchain, tmp_path, sanitizer)


FAULTS = {
    "address": {
        "heap-buffer-overflow": "out[2] = x[0];",
        "shift exponent": "out[0] = 1 << (40 + threads);",
    },
    "thread": {"data race": "out[0] += x[0]; tm_share(add_one, out, 99, threads);"},
}
"""What each sanitizer says of a statement."""


def test_faults_are_found(sanitizer: str, c_toolchain: Toolchain, tmp_path: Path) -> None:
    type_ = ArrayType(FLOAT64, (2,))
    for report, fault in FAULTS[sanitizer].items():
        text = (
            "static inline void add_one(void *number, long chunk)\n{\n    *(double *)number += 1;\n"
            "    (void)chunk, usleep(2000);  // so that others run\n}\n\n"
            "static void faulty(const double *restrict x, double *restrict out, long threads)\n"
            f"{{\n    (void)threads;\n    {fault}\n}}\n"
        )
        function = CFunction("faulty", text, (type_,), (type_,), frozenset(), 1)
        done = sanitized([(function, [np.ones(2)])], c_toolchain, tmp_path, sanitizer)
        assert done.returncode
        assert report in done.stderr


def test_kernels_run_clean(sanitizer: str, c_toolchain: Toolchain, tmp_path: Path, more: int) -> None:
    names = list(LARGE) if more > 1 else list(LARGE)[::5]
    cases = [(large_function(name), drawn(LARGE[name], "real")) for name in names]
    assert_clean(cases, c_toolchain, tmp_path, sanitizer)


def test_functions_for_any_size_run_clean(
    sanitizer: str, c_toolchain: Toolchain, tmp_path: Path, more: int
) -> None:
    """Each at the first and the last of its sizes; without ``--more``, one in five."""
    cases: list[Case] = []
    sizes: list[Mapping[str, int]] = []
    names = (*KERNELS, *STEPS)
    for name in names if more > 1 else names[::5]:
        graph, function, _ = printed(name)
        all_sizes = OTHER_SIZES.get(name, SIZES)
        for size in (all_sizes[0], all_sizes[-1]):
            sizes.append(size)
            cases.append((function, drawn_for(graph, size, name)))
    assert_clean(cases, c_toolchain, tmp_path, sanitizer, sizes)
