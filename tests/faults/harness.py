"""`Place`: a cache, temporary files and a home of their own, where a campaign runs as a process with a time limit."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parent.parent
Campaign = Callable[[Random, int], Iterator[str]]


@dataclass(frozen=True)
class Place:
    """Where a campaign runs, and how its outcomes get into the table."""

    root: Path
    more: int
    """A factor for the number of trials."""
    record: Callable[[str, object], None]

    def folder(self, name: str) -> Path:
        made = self.root / name
        made.mkdir(mode=0o700, exist_ok=True)
        return made

    def environment(self) -> dict[str, str]:
        """Nothing of the settings of whoever runs the tests."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACEMILL_")}
        return kept | {
            "PYTHONPATH": os.pathsep.join(map(str, (TESTS / ".root", TESTS))),
            "TRACEMILL_CACHE_DIR": str(self.folder("cache")),
            "TMPDIR": str(self.folder("temporary")),
            "HOME": str(self.folder("home")),
            "TRACEMILL_NUM_THREADS": "2",
        }

    def run(self, campaign: Campaign, trials: int, *, seconds: float = 120, **settings: str) -> Counter[str]:
        """The outcomes of a campaign that runs in a fresh process, and leaves no temporary files."""
        outcomes = self.run_without_checking(campaign, trials, seconds=seconds, **settings)
        left = self.left_overs()
        assert left == [], left
        return outcomes

    def run_without_checking(
        self, campaign: Campaign, trials: int, *, seconds: float = 120, **settings: str
    ) -> Counter[str]:
        """The outcomes of a campaign, whatever files it leaves."""
        words = [campaign.__module__.removeprefix("tests."), campaign.__name__, "1", str(trials * self.more)]
        process = subprocess.Popen(
            [sys.executable, "-m", "faults.inside", *words],
            env=self.environment() | settings,
            cwd=self.folder("work"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said, complaints = process.communicate(timeout=seconds * self.more)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, complaints = process.communicate()
            pytest.fail(f"hangs after {said[-300:]}\n{complaints[-3000:]}")
        assert process.returncode == 0, (
            f"exit status {process.returncode} after {said[-300:]}\n{complaints[-4000:]}"
        )
        outcomes: Counter[str] = Counter(json.loads(said.splitlines()[-1]))
        self.record("fault", dict(outcomes))
        return outcomes

    def left_overs(self) -> list[str]:
        """Files that should be gone: temporary ones, and unfinished entries of the cache."""
        temporary = list(self.folder("temporary").iterdir())
        return sorted(map(str, [*temporary, *self.folder("cache").rglob(".tmp-*")]))
