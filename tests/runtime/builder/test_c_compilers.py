"""Programs mean the same whichever compiler makes them: clang, where it is installed."""

import shutil
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from c.compiling import compiled
from c.through_c import Run, assert_means_the_same_through_c
from graphs.loop_steps import LOOPS, arrays_for
from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.backends.c.function import COptions
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.op import lookup
from tracemill.runtime.machine.toolchain import Toolchain, toolchain

FAMILIES = (
    "conversion",
    "cumulative",
    "elementary",
    "gamma",
    "indexing",
    "normalization",
    "random",
    "reduction",
    "scan",
    "softmax",
    "sort",
    "while_loop",
)
"""Of which one sample of each op is run."""


@pytest.fixture
def clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """Clang, as the compiler that the environment asks for."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    monkeypatch.setenv("TRACEMILL_CC", "clang")
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))  # which remembers one compiler
    return toolchain()


def one_of_each_op() -> Sequence[Sample]:
    chosen = [sample for sample in SAMPLES if lookup(sample.op).family in FAMILIES]
    return [next(samples) for _, samples in groupby(chosen, lambda sample: sample.op)]


@pytest.mark.usefixtures("clang")
def test_samples_give_through_clang_what_they_mean() -> None:
    assert_means_the_same_through_c([Run(s.graph(), s.arrays(), s.id) for s in one_of_each_op()])


def test_loops_whose_steps_write_where_others_have_read_are_compiled_by_clang_as_they_are_meant(
    clang: Toolchain, tmp_path: Path
) -> None:
    loops = {name: make() for name, make in LOOPS.items() if name.startswith("writes to what it made")}
    functions = [
        print_function(graph.calls[0], f"loop_{number}", COptions())
        for number, graph in enumerate(loops.values())
    ]
    made = compiled([function for function in functions if function], clang, tmp_path, level=2)
    for (name, graph), run in zip(loops.items(), made, strict=True):
        arrays = arrays_for(graph)
        for ours, expected in zip(run(*arrays), evaluate(graph, *arrays), strict=False):
            np.testing.assert_array_equal(ours, expected, name)
