"""Every op that C computes gives in exported programs what it means: called by what the header says."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from c.exported_c import loaded, program_of_graph, sanitized
from c.sanitizing import SANITIZERS
from c.through_c import Run, assert_close, merged
from samples.lazy import Lazy
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.errors import ExportError
from tracemill.compiler.interpreter import evaluate
from tracemill.runtime.artifact.c_export import as_c

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("c_compiler")]

COMPLEX = frozenset({"complex64", "complex128"})
HALVES = frozenset({"float16", "bfloat16"})
SIGNED = frozenset({"int8", "int16", "int32", "int64"})

REFUSED = frozenset(
    "adjugate all_gather callback debug_print eig eigh eigvals eigvalsh expect expect_size expm fft "
    "ifft irfft length lstsq lyapunov matrix_function matrix_function_slope "
    "nuclear_norm pinv pmax pmin polar_factor ppermute psum psum_scatter qr rfft scipy_special solve_banded "
    "solve_sylvester svd svdvals".split()
)
"""The ops that C never computes."""

REFUSED_DTYPES = {
    **dict.fromkeys("cholesky det inv lu slogdet solve sort top_k triangular_solve".split(), COMPLEX),
    **dict.fromkeys(("nextafter", "spacing"), HALVES),
    "power": SIGNED,
}
"""The ops that C does not compute for some dtypes."""

MOST = 150
"""Samples in one program."""


def groups(chosen: Iterable[Sample], *marks: pytest.MarkDecorator) -> Iterator[Any]:
    for part, samples in enumerate(batched(chosen, MOST)):
        yield pytest.param(
            samples, id="-".join([samples[0].op, str(part), *(m.name for m in marks)]), marks=marks
        )


def batched(samples: Iterable[Sample], count: int) -> Iterator[list[Sample]]:
    rest = iter(samples)
    while part := list(islice(rest, count)):
        yield part


FIRST = some_of(SAMPLES, share=0)
OTHERS = SAMPLES.where(lambda sample: sample not in FIRST)


def is_refused(sample: Sample) -> bool:
    """Whether C computes no such sample."""
    dtypes = {value.dtype.name for value in sample.graph().inputs}
    return sample.op in REFUSED or not dtypes.isdisjoint(REFUSED_DTYPES.get(sample.op, ()))


def can_be_exported(sample: Sample) -> bool:
    try:
        as_c(program_of_graph(sample.graph()))
    except ExportError:
        return False
    return True


@pytest.mark.parametrize("samples", Lazy(lambda: [*groups(FIRST), *groups(OTHERS, pytest.mark.exhaustive)]))
def test_samples_give_what_they_mean_as_exported_c(
    samples: list[Sample], c_compiler: str, tmp_path: Path
) -> None:
    taken = [sample for sample in samples if not is_refused(sample)]
    assert not [sample.id for sample in samples if is_refused(sample) and can_be_exported(sample)]
    if not taken:
        return
    runs = [Run(sample.graph(), sample.arrays(), sample.id) for sample in taken]
    files = as_c(program_of_graph(merged([run.graph for run in runs])))
    library = loaded(files, tmp_path, f"CC={c_compiler}", "CFLAGS=-O1")
    outputs = iter(library(*(x for run in runs for x in run.inputs)))
    for run in runs:
        with np.errstate(all="ignore"):
            expected = evaluate(run.graph, *run.inputs)
        for value in expected:
            assert_close(next(outputs), value, run.note, 50)


EVERY = 50
"""One in this many samples runs in each program that detects misuse."""


@pytest.mark.sampled(slow=EVERY)
@pytest.mark.parametrize("part", range(EVERY))
def test_samples_run_clean(part: int, tmp_path: Path) -> None:
    some = [sample for sample in SAMPLES[part::EVERY] if not is_refused(sample)]
    arrays = [x for sample in some for x in sample.arrays()]
    files = as_c(program_of_graph(merged([sample.graph() for sample in some])))
    done = sanitized(files, arrays, tmp_path, SANITIZERS["address"])
    assert not done.returncode, done.stderr[-4000:]
    assert not done.stderr
