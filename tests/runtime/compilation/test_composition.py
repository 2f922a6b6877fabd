"""Ordered pairs of transforms, all of them for each family, and random triples, over samples of every op."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import TypeAlias

import pytest

import tracemill as tm
from c.through_c import Run, assert_means_the_same_through_c
from samples.composition import TRANSFORMS, case_of, check, check_narrow, composed
from samples.grouping import of_each_sample
from samples.lazy import Lazy
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.op import lookup

pytestmark = pytest.mark.filterwarnings("ignore::tracemill.compiler.errors.CallbackLoopWarning")

Composition: TypeAlias = tuple[str, ...]
PAIRS: Sequence[Composition] = tuple(product(TRANSFORMS, repeat=2))
TRIPLES: Sequence[Composition] = tuple(product(TRANSFORMS, repeat=3))


def subjects() -> Iterator[Sample]:
    """Calls with inputs at generic points, where finite differences give the derivatives; or without derivatives."""
    for sample in SAMPLES:
        is_plain = (
            sample.shapes
            and not (sample.coupled or sample.single)
            and sample.layout == "contiguous"
            and sample.generic
        )
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


SUBJECTS, NARROW_SUBJECTS = Lazy(subjects), Lazy(narrow_subjects)
FIRST, NARROW_FIRST = some_of(SUBJECTS, 0), some_of(NARROW_SUBJECTS, 0)
"""One of each op."""


def check_all(check_one: Callable[[Composition], object], compositions: Sequence[Composition]) -> None:
    failed: list[str] = []
    for names in compositions:
        try:
            check_one(names)
        except Exception as error:  # all of them are reported, not the first alone
            failed.append(f"{' of '.join(names)}: {type(error).__name__}: {error}")
    if failed:
        raise AssertionError(f"{len(failed)} of {len(compositions)}\n" + "\n".join(failed))


def chosen(compositions: Sequence[Composition], count: int, sample: Sample) -> Sequence[Composition]:
    """A random sample, the same for the same call."""
    return random.Random(sample.id).sample(compositions, count)


def check_sample(compositions: Sequence[Composition], sample: Sample) -> None:
    case = case_of(sample)
    check_all(lambda names: check(names, case), compositions)


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", "0")


SHARES, FEW = 8, 64
"""Ops that share the pairs, where many are tried, in each family, and where few are, in all."""


@cache
def places_in_families() -> dict[str, int]:
    """The number of each op among those of its family."""
    counts: Counter[str] = Counter()
    places: dict[str, int] = {}
    for sample in FIRST:
        family = lookup(sample.op).family
        places[sample.op] = counts[family]
        counts[family] += 1
    return places


def shared_out(place: int, shares: int) -> Sequence[Composition]:
    """A share of all pairs: the ops before or after take others."""
    return PAIRS[place % shares :: shares]


@pytest.mark.slow
@of_each_sample(FIRST)
def test_every_pair_of_transforms_composes(sample: Sample, more: int) -> None:
    """A few pairs for each op. With ``--more``, all pairs for each family: its first op takes them all."""
    if more == 1:
        pairs = shared_out(FIRST.index(sample), FEW)
    else:
        place = places_in_families()[sample.op]
        pairs = shared_out(place, SHARES) if place else PAIRS
    check_sample(pairs, sample)


@pytest.mark.exhaustive
@of_each_sample(some_of(SUBJECTS, share=0.05))
def test_pairs_of_transforms_compose_for_other_dtypes_and_parameters(sample: Sample) -> None:
    check_sample(chosen(PAIRS, 1, sample), sample)


@pytest.mark.slow
@of_each_sample(FIRST, slow=FIRST[::8])
def test_triples_of_transforms_compose(sample: Sample) -> None:
    check_sample(chosen(TRIPLES, 1, sample), sample)


@pytest.mark.slow
@of_each_sample(NARROW_SUBJECTS, slow=NARROW_FIRST[::4])
def test_pairs_of_transforms_compose_in_single_precision(sample: Sample) -> None:
    check_all(lambda names: check_narrow(names, sample), chosen(PAIRS, 1, sample))


# ---- the same programs through C, many at a time ---------------------------------------------------------

TOGETHER = 60


def through_c(names: Composition, sample: Sample) -> Run | None:
    """The composition as one graph; None if one of the transforms refuses."""
    case = composed(names, case_of(sample))
    if case is None:
        return None
    args = case.draw(0)
    return Run(tm.compile(case.function).lower(*args).graph, args, f"{' of '.join(names)}: {sample.id}")


def groups() -> Iterator[object]:
    """A pair for each op."""
    drawn = [(names, sample) for sample in FIRST for names in chosen(PAIRS, 1, sample)]
    for start in range(0, len(drawn), TOGETHER):
        yield pytest.param(drawn[start : start + TOGETHER], id=str(start))


@pytest.mark.sampled(slow=4)
@pytest.mark.usefixtures("c_compiler", "lightly_optimised")
@pytest.mark.parametrize("compositions", Lazy(groups))
def test_compositions_give_through_c_what_they_mean(
    compositions: Sequence[tuple[Composition, Sample]],
) -> None:
    runs = [through_c(names, sample) for names, sample in compositions]
    assert_means_the_same_through_c([run for run in runs if run is not None], ulps=5000)
