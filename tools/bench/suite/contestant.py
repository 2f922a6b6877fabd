"""The parent's side of a contestant: its process and its number of threads."""

import os
import sys
from pathlib import Path

from ..json_worker import JsonWorker

PATIENCE: float = 600.0
"""A contestant that does not answer within this many seconds is killed."""

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_WORKER = f"{__package__}.worker"


class Contestant(JsonWorker):
    """A process that computes rows with one library, and has imported other modules before."""

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        folder: Path,
        patience: float = PATIENCE,
        modules: tuple[str, ...] = (),
    ) -> None:
        imports = "".join(f"import {module}\n" for module in modules)
        command = on_cores(threads, f"{imports}from {_WORKER} import main\nmain({name!r})")
        super().__init__(command, environment(threads, folder), folder / f"{name}.log", patience)
        self.name = name
        self.threads = threads
        self.folder = folder


def environment(threads: int, folder: Path) -> dict[str, str]:
    """The environment: this many threads for every pool, only the CPU, and empty caches of compiled programs."""
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
    """The command that runs a program on the first cores, the only limit that XLA obeys."""
    pinned = ""
    if sys.platform == "linux":
        pinned = f"import os\nos.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[:threads]})\n"
    return [sys.executable, "-c", pinned + program]


def cores_here() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
