"""C functions of single calls compute what the NumPy meaning of the op says, on one thread and on several."""

from typing import Any

import numpy as np
import pytest

from compiling import Compiled, compiled
from recording import assert_same
from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.backends.c_function import CFunction
from tracemill.compiler.backends.c_steps import step_function
from tracemill.compiler.op import lookup
from tracemill.compiler.trace import as_tuple


def function_of(sample: Sample, name: str) -> CFunction | None:
    (call,) = sample.graph().calls
    return step_function(call, name)


def meaning(sample: Sample, arrays: list[Any]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        return as_tuple(lookup(sample.op).numpy(*arrays, **sample.params))


WITH_C = [
    (sample, function)
    for number, sample in enumerate(SAMPLES)
    if (function := function_of(sample, f"step_{number}"))
]


@pytest.fixture(scope="module")
def steps(c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compiled]:
    functions = [function for _, function in WITH_C]
    made = compiled(functions, c_compiler, tmp_path_factory.mktemp("steps"))
    return {function.name: run for function, run in zip(functions, made, strict=True)}


@pytest.mark.parametrize(("sample", "function"), WITH_C, ids=[sample.id for sample, _ in WITH_C])
def test_samples_give_what_the_meaning_gives(
    sample: Sample, function: CFunction, steps: dict[str, Compiled]
) -> None:
    arrays = sample.arrays()
    expected = meaning(sample, arrays)
    for threads in (1, 2):
        assert_same(steps[function.name](*arrays, threads=threads)[: len(expected)], expected)
