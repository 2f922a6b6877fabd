"""Every op gives through C what it means. Many samples are one program, and the compiler is called once for them.

Their functions are called on their own in `test_c_steps`, `test_c_kernels` and `test_c_expressions`.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pytest

from c.through_c import Run, assert_means_the_same_through_c
from samples.lazy import Lazy
from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.op import lookup

pytestmark = pytest.mark.usefixtures("c_compiler", "lightly_optimised")

QUICK, SLOW = 16, 8
"""Every 16th sample of an op is tested always, and every 8th in the slow run."""

MOST_QUICK, MOST = 60, 120
"""Samples in one program."""


def programs(samples: Sequence[Sample], most: int) -> Iterator[tuple[str, Sequence[Sample]]]:
    """The samples in parts, by the first and the last op."""
    for start in range(0, len(samples), most):
        part = samples[start : start + most]
        yield f"{part[0].op}-{part[-1].op}-{start}", part


def groups() -> list[Any]:
    """Ops of a family are neighbours; a part of each op's samples is for the quick run."""
    ordered = sorted(SAMPLES, key=lambda sample: (lookup(sample.op).family, sample.op))
    quick: list[Sample] = []
    slow: list[Sample] = []
    for _, of_op in groupby(ordered, lambda sample: sample.op):
        for number, sample in enumerate(of_op):
            if number % SLOW == 0:
                (slow if number % QUICK else quick).append(sample)
    return [
        *(pytest.param(part, id=name) for name, part in programs(quick, MOST_QUICK)),
        *(pytest.param(part, id=name, marks=pytest.mark.slow) for name, part in programs(slow, MOST)),
    ]


@pytest.mark.sampled(every=2, slow=4)
@pytest.mark.parametrize("samples", Lazy(groups))
def test_samples_give_through_c_what_they_mean(samples: Sequence[Sample]) -> None:
    assert_means_the_same_through_c([Run(s.graph(), s.arrays(), s.id) for s in samples])
