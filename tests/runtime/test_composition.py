"""Every ordered pair of transforms, and a random sample of triples, over the samples of every op."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import pytest

from samples.composition import TRANSFORMS, case_of, check, check_narrow
from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.errors import NotDifferentiableError

pytestmark = pytest.mark.filterwarnings("ignore::tracemill.compiler.errors.CallbackLoopWarning")

Composition: TypeAlias = tuple[str, ...]
PAIRS: Sequence[Composition] = tuple(product(TRANSFORMS, repeat=2))
TRIPLES: Sequence[Composition] = tuple(product(TRANSFORMS, repeat=3))


def subjects() -> Iterator[Sample]:
    """Calls with inputs at generic points, whose derivatives differences can tell; or without derivatives."""
    for sample in SAMPLES:
        is_plain = sample.shapes and not sample.coupled and sample.layout == "contiguous" and sample.generic
        if is_plain and (sample.smooth or not any(sample.differentiated)):
            yield sample


def narrow_subjects() -> Iterator[Sample]:
    """The same in single precision throughout."""
    for sample in SAMPLES:
        floating = {t.dtype.name for t in sample.types if is_inexact(t.dtype)}
        made = {v.dtype.name for v in sample.graph().outputs if is_inexact(v.dtype)}
        is_single = floating | made <= {"float32", "complex64"}
        if (
            is_single
            and not sample.coupled
            and sample.layout == "contiguous"
            and sample.generic
            and any(sample.differentiated)
        ):
            yield sample


def marked(samples: Iterator[Sample]) -> list[object]:
    """The first of each op, and, as slow ones, all others."""
    seen: set[str] = set()
    out: list[object] = []
    for sample in samples:
        marks = [pytest.mark.slow] if sample.op in seen else []
        seen.add(sample.op)
        out.append(pytest.param(sample, id=sample.id, marks=marks))
    return out


SUBJECTS, NARROW_SUBJECTS = marked(subjects()), marked(narrow_subjects())


def check_all(
    check_one: Callable[[Composition, Sample], object], compositions: Sequence[Composition], sample: Sample
) -> None:
    failed: list[str] = []
    for names in compositions:
        try:
            check_one(names, sample)
        except Exception as error:  # all of them are reported, not the first alone
            failed.append(f"{' of '.join(names)}: {type(error).__name__}: {error}")
    if failed:
        pytest.fail(f"{len(failed)} of {len(compositions)}\n" + "\n".join(failed))


def chosen(compositions: Sequence[Composition], count: int, sample: Sample) -> Sequence[Composition]:
    """A random sample, the same for the same call."""
    return random.Random(sample.id).sample(compositions, count)


def check_sample(names: Composition, sample: Sample) -> None:
    """Reverse mode does not go through a loop without a limit, whatever comes before and after it."""
    if sample.reversible or not {"grad", "vjp"} & {*names}:
        check(names, case_of(sample))
        return
    with pytest.raises(NotDifferentiableError, match="max_steps"):
        check(names, case_of(sample))


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", "0")


@pytest.mark.parametrize("sample", SUBJECTS)
def test_every_pair_of_transforms_composes(sample: Sample) -> None:
    check_all(check_sample, PAIRS, sample)


@pytest.mark.parametrize("sample", SUBJECTS)
def test_triples_of_transforms_compose(sample: Sample) -> None:
    check_all(check_sample, chosen(TRIPLES, 4, sample), sample)


@pytest.mark.parametrize("sample", NARROW_SUBJECTS)
def test_pairs_of_transforms_compose_in_single_precision(sample: Sample) -> None:
    check_all(check_narrow, chosen(PAIRS, 12, sample), sample)
