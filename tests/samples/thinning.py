"""Which samples or other cases a test takes, where all of them would take minutes."""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

import pytest

from samples.lazy import Lazy
from samples.sample import Sample

T = TypeVar("T")

some_and_all = pytest.mark.parametrize(
    "share", [pytest.param(0.1, id="some"), pytest.param(1.0, id="all", marks=pytest.mark.slow)]
)
"""A test that takes `thinned(cases, share)`: some of its cases in every run, and all of them as a slow test."""


def thinned(cases: Iterable[T], share: float) -> list[T]:
    """The first case, and a random share of the others, always the same."""
    rng = random.Random(0)
    return [case for number, case in enumerate(cases) if not number or rng.random() < share]


def one_in(step: int, cases: Iterable[object]) -> Sequence[Any]:
    """Parameters of a test: the first and every `step`-th after it run always, and the others are slow."""
    slow = pytest.mark.slow
    return [pytest.param(case, marks=[slow] if number % step else []) for number, case in enumerate(cases)]


def in_parts(cases: Iterable[object], parts: int, some: int) -> Sequence[Any]:
    """Parameters of a test whose cases are compiled in parts, every n-th one together: all but some parts are
    exhaustive."""
    exhaustive = pytest.mark.exhaustive
    return [
        pytest.param(case, marks=[exhaustive] if number % parts >= some else [])
        for number, case in enumerate(cases)
    ]


def mostly_on_numpy(cases: Iterable[object], step: int) -> Sequence[Any]:
    """Parameters, a case and a backend: all cases on NumPy and every `step`-th in C. Few others are slow."""
    given = list(cases)
    marks = sampled([str(number) for number in range(len(given))], (), every=step, slow=3)
    in_c = [
        pytest.param(case, "c", marks=getattr(pytest.mark, mark) if mark else ())
        for case, mark in zip(given, marks, strict=True)
    ]
    return [*((case, "numpy") for case in given), *in_c]


def sampled(
    ids: Sequence[str], names: Collection[str], *, every: int | None = None, slow: int = 1
) -> list[str | None]:
    """The marks of the cases of a test that is marked ``sampled``.

    The cases that it names, and every n-th, run always. It names a case that alone reaches some lines. Of the others,
    one in `slow` is slow, and the rest is exhaustive.
    """
    if unknown := sorted(set(names) - set(ids)):
        raise ValueError(f"sampled by the names of cases that are not there: {', '.join(unknown)}")
    others = [place for place, id in enumerate(ids) if not (id in names or (every and not place % every))]
    marks: list[str | None] = [None] * len(ids)
    for number, place in enumerate(others):
        marks[place] = "slow" if not number % slow else "exhaustive"
    return marks


def some_of(samples: Iterable[Sample], share: float = 0.0) -> Lazy[Sample]:
    """The first sample of each op, and a random share of the others, always the same."""

    def chosen() -> Iterator[Sample]:
        seen: set[str] = set()
        for sample in samples:
            if sample.op not in seen or _number(sample.id) < share:
                yield sample
            seen.add(sample.op)

    return Lazy(chosen)


@cache
def _number(id: str) -> float:
    """A number from 0 to 1 that looks random."""
    return random.Random(id).random()
