"""The findings of a check as data: the card, examples, rows; and derived results."""

from dataclasses import asdict, dataclass, field
from typing import Any

from .card import Card, Ceilings
from .row import Row, Unit
from .rows import ROWS
from .worker import OURS


@dataclass(slots=True)
class RowFinding:
    """A row with the numbers of every contestant."""

    name: str
    size: int
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """The 10th percentile, the median, and the 90th percentile of a contestant's samples."""
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Why a contestant has no number."""

    @property
    def row(self) -> Row:
        return ROWS[self.name]

    @property
    def medians(self) -> dict[str, float]:
        return {name: median for name, (_, median, _) in self.seconds.items()}

    @property
    def bytes_moved(self) -> int:
        return self.row.bytes_moved(self.size)

    @property
    def operations(self) -> float | None:
        return self.row.work(self.size) if self.row.work else None

    def spread(self, contestant: str) -> float:
        """The difference between the first and the last of `seconds`, relative to the median."""
        low, median, high = self.seconds[contestant]
        return (high - low) / median

    @property
    def ratio(self) -> float | None:
        """Tracemill's speedup over the best peer."""
        medians = self.medians
        peers = [seconds for name, seconds in medians.items() if name != OURS]
        return min(peers) / medians[OURS] if peers and OURS in medians else None


@dataclass(slots=True)
class Findings:
    """Everything that is known so far."""

    machine: str
    small: bool
    contestants: dict[str, str]
    """The versions by name, Tracemill's first."""
    card: Card | None = None
    ceilings: Ceilings | None = None
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """The error of each example; empty if there is none."""
    rows: list[RowFinding] = field(default_factory=list[RowFinding])

    @property
    def failures(self) -> list[str]:
        """The examples and rows for which Tracemill is wrong."""
        wrong = [f"{name}: {problem}" for name, problem in self.examples.items() if problem]
        return wrong + [f"{row.name}: {row.problems[OURS]}" for row in self.rows if OURS in row.problems]

    def floor(self, finding: RowFinding) -> tuple[float, str] | None:
        """A lower bound on the seconds of any program on this card, and what limits it; None before it is measured."""
        if self.card is None or self.ceilings is None:
            return None
        limits = [(finding.bytes_moved / self.ceilings.copied, "memory")]
        unit: Unit = finding.row.unit
        if finding.operations is not None:
            if unit not in self.card.peaks:
                return None
            limits.append((finding.operations / self.card.peaks[unit], unit))
        return max(limits)

    def document(self) -> dict[str, Any]:
        """All numbers, for a file of JSON."""
        rows: list[dict[str, Any]] = []
        for finding in self.rows:
            floor = self.floor(finding)
            rows.append(
                asdict(finding)
                | {
                    "about": finding.row.about,
                    "bytes": finding.bytes_moved,
                    "operations": finding.operations,
                    "floor": floor and floor[0],
                    "limit": floor and floor[1],
                    "ratio": finding.ratio,
                }
            )
        return {
            "machine": self.machine,
            "small": self.small,
            "contestants": self.contestants,
            "card": self.card and asdict(self.card),
            "ceilings": self.ceilings and asdict(self.ceilings),
            "examples": self.examples,
            "rows": rows,
        }
