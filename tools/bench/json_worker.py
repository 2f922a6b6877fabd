"""`JsonWorker`: a child process that answers lines of JSON, and is killed if it takes too long."""

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self


class JsonWorker:
    """Starts a command on the first request, and handles one request at a time.

    Args:
        command: what is run. It reads requests and writes answers, a line of JSON each.
        variables: its environment.
        log: a file for what it writes to the standard error.
        patience: seconds after which a process that does not answer is ended.
    """

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str], log: Path, patience: float
    ) -> None:
        self.patience = patience
        self._command = command
        self._variables = variables
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        """The answer. It contains "problem" if the process failed; then the next request starts a new process."""
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
        """End the process; the next request starts another one."""
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            with self._log.open("w", encoding="utf-8") as log:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=self._variables,
                )
        return self._process

    def _last_words(self) -> str:
        return "the process ended: " + last_words(self._log.read_text(encoding="utf-8", errors="replace"))


def last_words(errors: str) -> str:
    """The message at the end of what a process wrote to the standard error. Lines that explain it are indented."""
    lines = [line for line in errors.split("\n") if line[:1].strip()]
    return lines[-1] if lines else "killed"


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the worker was started without pipes")
    return process.stdin, process.stdout
