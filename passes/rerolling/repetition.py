"""Where the calls of a graph may repeat: candidates found by op and source line, in linear time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.dtypes import Array
from ...compiler.ir import Call

FEWEST = 8
"""The number of repetitions that make a loop."""

FEWEST_CALLS = 300
"""The repetitions must have this many calls in total. A loop saves about 0.1 ms of compile time per call, but its
steps cannot share work: in straight-line code, elementwise calls of neighbouring steps become one kernel."""

LONGEST_CONTEXT = 16
"""Periods are found by comparing each call, and this many calls after it, with the last occurrence of the same
calls."""

MOST_PERIODS = 32
"""How many periods are tried; those that would explain the most calls come first."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """`count` times `period` calls, starting at the call `start`."""

    start: int
    period: int
    count: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count

    def is_loop(self, fewest_calls: int) -> bool:
        """Whether it is long enough to become a loop."""
        return self.count >= FEWEST and self.period * self.count >= fewest_calls

    def part(self, first: int, last: int) -> "Repetition":
        """The repetitions from `first` up to but not including `last`."""
        return Repetition(self.start + first * self.period, self.period, last - first)


def candidates(calls: Sequence[Call], fewest_calls: int) -> Iterator[Repetition]:
    """Where each call has the same op, source line and number of inputs as the call one period later; short periods
    first."""
    if len(calls) < fewest_calls:
        return
    kinds: dict[tuple[str, int, int], int] = {}
    lines = (0 if call.location is None else call.location.line for call in calls)
    tokens = np.array(
        [
            kinds.setdefault((call.op, line, len(call.inputs)), len(kinds))
            for call, line in zip(calls, lines, strict=True)
        ]
    )
    for period in _periods(tokens):
        least = max(FEWEST, -(-fewest_calls // period)) - 1
        for start, stop in _stretches(tokens[period:] == tokens[:-period], period * least):
            yield Repetition(start, period, (stop - start) // period + 1)


def _periods(tokens: Array) -> list[int]:
    """Distances at which the same context recurs often enough for a loop, ascending."""
    gaps = np.zeros(len(tokens), int)
    contexts, width = tokens, 1
    while True:
        order = np.argsort(contexts, kind="stable")
        again = contexts[order[1:]] == contexts[order[:-1]]
        gaps = np.maximum(gaps, np.bincount(np.diff(order)[again], minlength=len(tokens)))
        if width == LONGEST_CONTEXT:
            break
        pairs = contexts[:-width] * (contexts.max() + 1) + contexts[width:]
        contexts = np.unique(pairs, return_inverse=True)[1]
        width *= 2
    gaps[gaps < FEWEST - 1] = 0
    explained = gaps * np.arange(len(gaps))
    best = np.argsort(-explained, kind="stable")[:MOST_PERIODS]
    return sorted(int(period) for period in best if explained[period])


def _stretches(marks: Any, least: int) -> list[tuple[int, int]]:
    """Runs of at least this many marks that are all set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.view(np.int8), [0]]))).reshape(-1, 2)
    return [(int(start), int(stop)) for start, stop in edges[edges[:, 1] - edges[:, 0] >= least]]
