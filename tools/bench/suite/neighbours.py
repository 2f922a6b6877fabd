"""`Neighbours`: other processes that compute on every core, as on machines where people also do other things."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

_COMPUTE = """
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
"""
"""Waits to be started, and ends with the process that has started it."""


class Neighbours:
    """One process for each core, which computes inside ``with neighbours.busy():`` and is stopped otherwise."""

    def __init__(self, count: int) -> None:
        self._processes = [subprocess.Popen([sys.executable, "-c", _COMPUTE]) for _ in range(count)]

    def __enter__(self) -> Self:
        for process in self._processes:
            os.waitpid(process.pid, os.WUNTRACED)  # it is ready, and has stopped itself
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    @contextmanager
    def busy(self) -> Generator[None]:
        """They compute in the meantime."""
        self._send(signal.SIGCONT)
        try:
            yield
        finally:
            self._send(signal.SIGSTOP)

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)
