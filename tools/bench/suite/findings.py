"""The measurements as data: cases with the numbers of every contestant, and derived results."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import exp, log
from statistics import median

from .frameworks import OURS, PEERS
from .rows import GROUPS

TABLES: tuple[str, ...] = ("rows", "starts", "calls", "compile", "memory")


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

    def aim(self, contestant: str) -> float | None:
        """The goal of the row's group for the speedup of a Tracemill backend."""
        backend = contestant.removeprefix(OURS)
        return GROUPS[self.group].aims.get(backend) if self.group else None


@dataclass(frozen=True, slots=True)
class Summary:
    """The rows of one group, for one backend."""

    group: str
    contestant: str
    mean: float
    """Geometric mean of the speedups."""
    worst: float
    worst_row: str
    met: int
    """Rows that reach the goal."""
    rows: int
    aim: float


def summaries(cases: Iterable[Case], ours: Iterable[str]) -> Iterator[Summary]:
    """Per group and backend, if there is anything to compare."""
    rows = [case for case in cases if case.table == "rows"]
    for group in GROUPS:
        for contestant in ours:
            speedups = {
                case.name: speedup
                for case in rows
                if case.group == group and (speedup := case.speedup(contestant)) is not None
            }
            aim = GROUPS[group].aims.get(contestant.removeprefix(OURS))
            if not speedups or aim is None:
                continue
            worst = min(speedups, key=speedups.__getitem__)
            mean = exp(sum(map(log, speedups.values())) / len(speedups))
            met = sum(speedup >= aim for speedup in speedups.values())
            yield Summary(group, contestant, mean, speedups[worst], worst, met, len(speedups), aim)
