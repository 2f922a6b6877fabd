"""`Place`: a cache, temporary files and a home of their own, where a campaign runs as a process with a time limit.

`Campaigns` starts these processes.
"""

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
from threading import Timer
from typing import Final

TESTS: Final = Path(__file__).resolve().parent.parent
Campaign = Callable[[Random, int], Iterator[str]]


class Campaigns:
    """A process that forks into a process for each campaign. To import what it needs takes longer than most of them."""

    def __init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACEMILL_")}
        self._environment = kept | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS / ".root", TESTS)))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.inside"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, campaign: Campaign, trials: int, folder: Path, settings: dict[str, str], seconds: float
    ) -> tuple[int, str, str]:
        """The exit status of its process, and what it printed."""
        outputs = folder.with_name("said"), folder.with_name("complaints")
        for output in outputs:
            output.write_text("")
        request = {
            "campaign": (campaign.__module__.removeprefix("tests."), campaign.__name__, trials),
            "folder": str(folder),
            "environment": self._environment | settings,
            "outputs": tuple(map(str, outputs)),
        }
        assert self._process.stdin
        print(json.dumps(request), file=self._process.stdin, flush=True)
        killing = Timer(seconds, os.killpg, (int(self._line()), signal.SIGKILL))
        killing.start()
        status = int(self._line())
        killing.cancel()
        said, complaints = (output.read_text() for output in outputs)
        return status, said, complaints

    def _line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, f"the process that starts campaigns has ended with {self._process.wait()}"
        return line

    def stop(self) -> None:
        self._process.communicate()


@dataclass(frozen=True)
class Place:
    """Where a campaign runs, and how its outcomes get into the table."""

    root: Path
    campaigns: Campaigns
    more: int
    """A factor for the number of trials."""
    record: Callable[[str, object], None]

    def folder(self, name: str) -> Path:
        made = self.root / name
        made.mkdir(mode=0o700, exist_ok=True)
        return made

    def settings(self) -> dict[str, str]:
        """The environment, but for what all campaigns share: nothing of the settings of whoever runs the tests."""
        return {
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
        status, said, complaints = self.campaigns.run(
            campaign,
            trials * self.more,
            self.folder("work"),
            self.settings() | settings,
            seconds * self.more,
        )
        assert status != -signal.SIGKILL, f"hangs after {said[-300:]}\n{complaints[-3000:]}"
        assert status == 0, f"exit status {status} after {said[-300:]}\n{complaints[-4000:]}"
        outcomes: Counter[str] = Counter(json.loads(said.splitlines()[-1]))
        self.record("fault", dict(outcomes))
        return outcomes

    def left_overs(self) -> list[str]:
        """Files that should be gone: temporary ones, and unfinished entries of the cache."""
        temporary = list(self.folder("temporary").iterdir())
        return sorted(map(str, [*temporary, *self.folder("cache").rglob(".tmp-*")]))
