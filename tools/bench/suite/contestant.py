"""The parent's side of a contestant: starts its process, with so many threads, and asks it one thing at a time."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

PATIENCE: float = 600.0
"""Seconds after which a contestant that does not answer is ended."""

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_WORKER = f"{__package__}.worker"


class Contestant:
    """A process that computes rows with one library."""

    def __init__(self, name: str, *, threads: int, folder: Path, patience: float = PATIENCE) -> None:
        self.name = name
        self.threads = threads
        self.folder = folder
        self.patience = patience
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        """The worker's answer; with "problem" in it if there is none, and then the next request starts anew."""
        process = self._running()
        requests, answers = _pipes(process)
        alarm = threading.Timer(self.patience, process.kill)
        alarm.start()
        try:
            requests.write(json.dumps({"action": action, **arguments}) + "\n")
            requests.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        finally:
            too_long = not alarm.is_alive()
            alarm.cancel()
        if not line:
            self.stop()
            return {"problem": f"no answer in {self.patience:.0f} s" if too_long else self._last_words()}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process; the next request starts another."""
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            with self._log.open("w", encoding="utf-8") as log:
                self._process = subprocess.Popen(
                    on_cores(self.threads, f"from {_WORKER} import main\nmain({self.name!r})"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=environment(self.threads, self.folder),
                )
        return self._process

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        return "the process ended: " + next((line for line in reversed(lines) if line.strip()), "killed")


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the worker was started without pipes")
    return process.stdin, process.stdout


def environment(threads: int, folder: Path) -> dict[str, str]:
    """So many threads for every pool, the CPU alone, and caches of compiled programs that start empty."""
    return {
        **os.environ,
        **dict.fromkeys(_POOLS, str(threads)),
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        "TRACEMILL_CACHE_DIR": str(folder / "tracemill"),
        "PYTHONWARNINGS": "ignore",
    }


def on_cores(threads: int, program: str) -> list[str]:
    """The command that runs a program on the first so many cores, which is all that XLA heeds."""
    pinned = ""
    if sys.platform == "linux":
        pinned = f"import os\nos.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[:threads]})\n"
    return [sys.executable, "-c", pinned + program]


def cores_here() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
