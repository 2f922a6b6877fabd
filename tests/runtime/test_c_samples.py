"""Every op gives through C what it means. A family is one program, so that the compiler is called once for it."""

from itertools import groupby
from typing import Any

import pytest

from samples.sample import Sample
from samples.table import SAMPLES
from through_c import Run, assert_means_the_same_through_c
from tracemill.compiler.op import lookup

pytestmark = pytest.mark.usefixtures("c_compiler")

QUICK = 12
"""Every so manieth sample of an op is tested always, the others in the slow run."""

MOST = 120
"""Samples in one program."""


def groups() -> list[Any]:
    """The samples by family, a part of each op's for the quick run."""
    ordered = sorted(SAMPLES, key=lambda sample: (lookup(sample.op).family, sample.op))
    found: list[Any] = []
    for family, of_family in groupby(ordered, lambda sample: lookup(sample.op).family):
        quick: list[Sample] = []
        slow: list[Sample] = []
        for _, of_op in groupby(of_family, lambda sample: sample.op):
            for number, sample in enumerate(of_op):
                (slow if number % QUICK else quick).append(sample)
        found += [pytest.param(quick, id=family)] if quick else []
        found += [
            pytest.param(slow[start : start + MOST], id=f"{family}-{start}", marks=pytest.mark.slow)
            for start in range(0, len(slow), MOST)
        ]
    return found


@pytest.mark.parametrize("samples", groups())
def test_samples_give_through_c_what_they_mean(samples: list[Sample]) -> None:
    assert_means_the_same_through_c([Run(s.graph(), s.arrays(), s.id) for s in samples])
