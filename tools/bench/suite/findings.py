"""The measurements as data: cases with the numbers of every contestant, and derived results."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import exp, log
from statistics import median

from .frameworks import OURS, PEERS, PLAIN
from .rows import GROUPS

TABLES: tuple[str, ...] = ("rows", "starts", "calls", "compile", "memory", "busy")
LEAST_GAIN: float = 1.0
"""No row should be slower than as written."""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a table: all contestants at the same task."""

    table: str
    name: str
    about: str
    unit: str
    """"s" or "bytes"."""
    group: str = ""
    """For a row: the group with its goals."""
    size: float = 0.0
    """The position of this point on a curve: nodes, or elements."""
    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """All measured numbers, by contestant."""
    idle: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """In the table "busy": Tracemill's numbers in the same rounds without neighbours."""
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Why a contestant has no number, or one that does not count."""

    @property
    def medians(self) -> dict[str, float]:
        return {name: median(values) for name, values in self.values.items() if values}

    @property
    def best_peer(self) -> str | None:
        """The peer with the smallest median."""
        medians = self.medians
        return min((name for name in medians if name in PEERS), key=medians.__getitem__, default=None)

    def speedup(self, contestant: str) -> float | None:
        """How many times faster, or smaller, a contestant is than the best peer."""
        peer, medians = self.best_peer, self.medians
        if peer is None or contestant not in medians:
            return None
        return medians[peer] / medians[contestant]

    def gain(self, contestant: str) -> float | None:
        """How many times faster, or smaller, a contestant is than the function as written."""
        medians = self.medians
        if PLAIN not in medians or contestant not in medians:
            return None
        return medians[PLAIN] / medians[contestant]

    def aim(self, contestant: str) -> float | None:
        """The goal of the row's group for the speedup of a Tracemill backend."""
        if not self.group:
            return None
        group, backend = GROUPS[self.group], contestant.removeprefix(OURS)
        return (group.busy_aims if self.table == "busy" else group.aims).get(backend)

    def slowdown(self, contestant: str) -> float | None:
        """How many times as long a contestant takes beside busy neighbours."""
        if contestant not in self.idle or contestant not in self.medians:
            return None
        return self.medians[contestant] / median(self.idle[contestant])


@dataclass(frozen=True, slots=True)
class Summary:
    """The ratios of the rows of one group, for one backend."""

    group: str
    contestant: str
    mean: float
    """Geometric mean."""
    worst: float
    worst_row: str
    met: int
    """Rows that reach the goal."""
    rows: int
    aim: float


def summaries(cases: Iterable[Case], ours: Iterable[str]) -> Iterator[Summary]:
    """Per group and backend, for the cases of one table, if there is anything to compare."""
    grouped = [case for case in cases if case.group]
    for group in GROUPS:
        for contestant in ours:
            compared = [case for case in grouped if case.group == group and case.speedup(contestant)]
            aim = compared[0].aim(contestant) if compared else None
            if aim is not None:
                speedups = {case.name: case.speedup(contestant) for case in compared}
                yield from _summary(group, contestant, speedups, aim)


def gains(cases: Iterable[Case], ours: Iterable[str]) -> Iterator[Summary]:
    """Per backend: all rows of one table that plain NumPy can compute, compared with it. It has no derivatives."""
    grouped = [case for case in cases if case.group]
    for contestant in ours:
        found = {case.name: case.gain(contestant) for case in grouped}
        yield from _summary("all rows", contestant, found, LEAST_GAIN)


def _summary(group: str, contestant: str, found: Mapping[str, float | None], aim: float) -> Iterator[Summary]:
    """The summary of the rows that have a ratio, if there are any."""
    ratios = {name: ratio for name, ratio in found.items() if ratio is not None}
    if not ratios:
        return
    worst = min(ratios, key=ratios.__getitem__)
    mean = exp(sum(map(log, ratios.values())) / len(ratios))
    met = sum(ratio >= aim for ratio in ratios.values())
    yield Summary(group, contestant, mean, ratios[worst], worst, met, len(ratios), aim)
