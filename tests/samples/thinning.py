"""Which samples a test takes, where all of them would take minutes."""

import random
from collections.abc import Iterable

from samples.sample import Sample


def taken(samples: Iterable[Sample], share: float = 0.0) -> set[Sample]:
    """The first sample of each op, and a random share of the others, always the same; the rest is slow."""
    seen: set[str] = set()
    found: set[Sample] = set()
    for sample in samples:
        if sample.op not in seen or random.Random(sample.id).random() < share:
            found.add(sample)
        seen.add(sample.op)
    return found


def some_of(samples: Iterable[Sample], share: float) -> list[Sample]:
    """The first of each op and so many of the others, for a test of a way of which the parts are tested on all."""
    all_of_them = list(samples)
    found = taken(all_of_them, share)
    return [sample for sample in all_of_them if sample in found]
