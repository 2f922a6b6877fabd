"""Which samples the fast tests of every day take, where all of them would take minutes."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from samples.sample import Sample


def thinned(samples: Iterable[Sample], share: float = 0.0) -> list[Any]:
    """Parameters: the first sample of each op, and a random share of the others, always the same; the rest is slow."""
    seen: set[str] = set()
    parameters: list[Any] = []
    for sample in samples:
        is_taken = sample.op not in seen or random.Random(sample.id).random() < share
        seen.add(sample.op)
        parameters.append(pytest.param(sample, id=sample.id, marks=[] if is_taken else [pytest.mark.slow]))
    return parameters
