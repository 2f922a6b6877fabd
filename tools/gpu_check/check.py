"""The whole check, contestant by contestant, each in its own process, until the time is up."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import Any, Final

from ...compiler.errors import GpuError
from ..bench.json_worker import JsonWorker
from .card import Card, Ceilings
from .examples import EXAMPLES
from .findings import Findings, RowFinding
from .rows import ROWS
from .worker import LOST, OURS

PATIENCE: Final = 90.0
"""A contestant that does not answer within this many seconds is killed."""
LEAST: Final = 1.0
"""With less time left, nothing new is started."""

PROGRAM: Final = f"import sys\nfrom {__package__}.worker import main\nmain(*sys.argv[1:])"
TOO_LATE: Final = "no time was left"

CEILINGS: Final = "what the card reaches at best"
"""Listed with the examples if the card cannot be measured."""


class Contestant(JsonWorker):
    """A process that computes rows on the GPU with one library, until a deadline."""

    def __init__(self, name: str, folder: Path, until: float) -> None:
        command = [sys.executable, "-c", PROGRAM, name, str(folder)]
        super().__init__(command, _environment(folder), folder / f"{name}.log", PATIENCE)
        self.name = name
        self._until = until

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        left = self._until - monotonic()
        if left < LEAST:
            return {"problem": TOO_LATE}
        self.patience = min(PATIENCE, left)
        answer = super().ask(action, **arguments)
        if answer.pop(LOST, False):
            self.stop()
        return answer


def check(
    findings: Findings, rows: Iterable[str], folder: Path, *, seconds: float, report: Callable[[str], None]
) -> None:
    """Fill in the findings. Tracemill gets half of the time; the rest is divided evenly among the other contestants.

    Args:
        findings: of which machine and contestants.
        rows: names among `ROWS`.
        folder: for logs, results and caches.
        seconds: when to end.
        report: told what has been added, each time.

    Raises:
        GpuError: the card cannot be used, so nothing is known.
    """
    end = monotonic() + seconds
    findings.rows = [
        RowFinding(name, ROWS[name].small if findings.small else ROWS[name].size) for name in rows
    ]
    for number, name in enumerate(findings.contestants):
        now, others = monotonic(), len(findings.contestants) - number - 1
        shares = min(others, 1) if name == OURS else others
        with Contestant(name, folder, now + (end - now) / (1 + shares)) as contestant:
            if name == OURS:
                _look(contestant, findings, report)
            for row in findings.rows:
                answer = contestant.ask("row", name=row.name, small=findings.small)
                if "problem" in answer:
                    row.problems[name] = answer["problem"]
                else:
                    row.seconds[name] = answer["seconds"]
                report(f"{name}: {row.name}")


def _look(ours: Contestant, findings: Findings, report: Callable[[str], None]) -> None:
    """The card, and whether examples give NumPy's results."""
    answer = ours.ask("card")
    if "problem" in answer:
        raise GpuError(f"the GPU cannot be used: {answer['problem']}")
    findings.card = Card(**answer)
    report("the card")
    answer = ours.ask("ceilings", small=findings.small)
    if "problem" in answer:
        findings.examples[CEILINGS] = answer["problem"]
    else:
        findings.ceilings = Ceilings(**answer)
    report(CEILINGS)
    for example in EXAMPLES:
        findings.examples[example.name] = ours.ask("example", name=example.name).get("problem", "")
        report(f"example: {example.name}")


def _environment(folder: Path) -> dict[str, str]:
    """Free memory for the next contestant, and empty caches of compiled programs."""
    return {
        **os.environ,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        "TRACEMILL_CACHE_DIR": str(folder / "tracemill"),
        "PYTHONWARNINGS": "ignore",
    }
