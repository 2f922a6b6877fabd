"""The process of one contestant: reads requests as lines of JSON, and answers each with a line."""

import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..compilation import chain
from .frameworks import Framework, Program, framework
from .more_rows import ALL_ROWS
from .rows import CALLS, ROWS, Row

ROUND_SECONDS = 0.05
"""The number of seconds that the timed calls of a round should take."""


class Worker:
    """Handles the parent's requests."""

    def __init__(self, contestant: Framework) -> None:
        self.contestant = contestant
        self.program: Program = lambda: None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call the method that the request names; an error becomes an answer, too."""
        actions: dict[str, Callable[..., dict[str, Any]]] = {
            "prepare": self.prepare,
            "time": self.time,
            "compile": self.compile,
            "memory": self.memory,
        }
        action = actions[request.pop("action")]
        try:
            return action(**request)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            return {"problem": f"{type(error).__name__}: {lines[0]}"}

    def prepare(self, row: str, size: int, file: str) -> dict[str, Any]:
        """Prepare a row, write its result to a file, and return how many calls to time in a round."""
        self.program = lambda: None  # so that the arrays of the last row are freed first
        wanted = (ALL_ROWS | CALLS)[row]
        self.program = self.contestant.program(wanted, wanted.arguments(size))
        result = self.contestant.to_numpy(self.program())
        np.savez(file, *result)
        del result
        self.program()
        return {"calls": max(1, int(ROUND_SECONDS / max(_seconds(self.program, 1), 1e-7)))}

    def time(self, calls: int) -> dict[str, Any]:
        """Seconds of one call: the mean of this many, after one that warms up threads and caches."""
        self.program()
        return {"seconds": _seconds(self.program, calls) / calls}

    def compile(self, nodes: int) -> dict[str, Any]:
        """Seconds of the first call of a function with this many operations."""
        row = _chain_row(nodes)
        started = time.perf_counter()
        self.contestant.program(row, row.arguments(row.size))()
        return {"seconds": time.perf_counter() - started}

    def memory(self, row: str, size: int) -> dict[str, Any]:
        """The maximum number of bytes that a call uses in addition to its arguments; results count."""
        wanted = ROWS[row]
        self.contestant.program(wanted, wanted.arguments(wanted.small))()  # loads the compiler's modules
        program = self.contestant.program(wanted, wanted.arguments(size))
        _trim()
        before = _status("VmRSS")
        program()
        _trim()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is measured from here on
        program()
        return {"bytes": max(0, _status("VmHWM") - before)}


def _chain_row(nodes: int) -> Row:
    return Row(
        name="chain",
        group=ROWS["gelu"].group,
        function=lambda xp, x: chain(nodes, xp)(x),
        arrays=lambda rng, size: (rng.normal(size=size).astype("f4"),),
        size=8,
        small=8,
        about="operations one after the other",
    )


def _seconds(program: Program, calls: int) -> float:
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    for _ in range(calls):
        program()
    passed = time.perf_counter() - started
    gc.enable()
    return passed


def _trim() -> None:
    """Return freed memory to the system, so that the resident memory is the memory in use."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> int:
    """A number of bytes that Linux reports for this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kibibytes,) = (line.split()[1] for line in lines if line.startswith(field + ":"))
    return 1024 * int(kibibytes)


def main(contestant: str) -> None:
    """Answer until the requests end. The output of libraries goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(framework(contestant))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)
