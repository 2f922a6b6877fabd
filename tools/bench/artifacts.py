"""The cost of exported files: export, load, import, and size; and of the HTML report of a long program."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...runtime.artifact.export import export
from ...runtime.compilation.compile import compile
from ..demo.digit_network import PIXELS, initial_parameters, scores
from .compilation import chain
from .timing import Measurement

ABOUT: str = "Files that are exported, and the report"
NODES, REPORTED = 30, 2000
FORMATS = ("bundle", "python", "c")
_FRESH = 9
"""At most this many processes are started for a median."""

_LOAD = """
import sys, time
import numpy as np
from tracemill import load
x = np.ones(8, np.float32)
started = time.perf_counter()
load(sys.argv[1])(x)
print(time.perf_counter() - started)
"""

_IMPORT = """
import time
import numpy
started = time.perf_counter()
import function
print(time.perf_counter() - started)
"""


def measure(rounds: int) -> Iterator[Measurement]:
    """Milliseconds to export, load and import, the size of a bundle relative to its weights, and the time of the
    report."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for format in FORMATS:
            seconds = [_seconds(partial(_exported, place, format)) for _ in range(rounds)]
            yield _row(f"export, {NODES} nodes, {format}", seconds)
        starts = min(rounds, _FRESH)
        bundle = str(_exported(place, "bundle"))
        _in_fresh_process(_LOAD, bundle)  # fills the disk cache
        yield _row(
            "load and first call",
            [_in_fresh_process(_LOAD, bundle) for _ in range(starts)],
            "disk cache warm",
        )
        home = _exported(place, "python")
        imports = [_in_fresh_process(_IMPORT, folder=home) for _ in range(starts)]
        yield _row("import of a Python file", imports, "after NumPy")
        yield Measurement("artifacts", "digit network, bundle", _bundle_share(place), "×", "its weights")
        yield from _report()


def _exported(place: Path, format: str) -> Path:
    artifact = export(chain(NODES), np.ones(8, np.float32))
    return artifact.save(place / format, format=format, overwrite=True)


def _bundle_share(place: Path) -> float:
    weights = initial_parameters(seed=0)
    artifact = export(lambda images: scores(weights, images), f"f32[1, {PIXELS}]")
    stored = artifact.save(place / "digits.tmill").stat().st_size
    return stored / sum(array.nbytes for array in weights.values())


def _report() -> Iterator[Measurement]:
    lowered = compile(chain(REPORTED)).lower(np.ones(8, np.float32))
    started = time.perf_counter()
    page = lowered.html()
    taken = time.perf_counter() - started
    case = f"report, {REPORTED} nodes"
    yield Measurement("artifacts", case, 1e3 * taken, "ms", "to write the page")
    yield Measurement("artifacts", f"{case}, page", len(page.encode()) / 1e6, "MB")


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _in_fresh_process(program: str, *arguments: str, folder: Path | None = None) -> float:
    """The last line that a process prints; it imports Tracemill like this one, and the files of `folder`."""
    paths = [str(folder)] if folder is not None else []
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path)])},
    )
    return float(ran.stdout.split()[-1])


def _row(case: str, seconds: list[float], detail: str = "") -> Measurement:
    found = f"median of {len(seconds)}"
    return Measurement(
        "artifacts", case, 1e3 * median(seconds), "ms", f"{detail}, {found}" if detail else found
    )
