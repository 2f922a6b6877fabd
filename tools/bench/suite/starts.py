"""A small gradient in a fresh process: with empty caches of compiled programs, and with the caches of that run."""

import subprocess
import time
from pathlib import Path

from ..json_worker import last_words
from .contestant import environment, on_cores
from .findings import Case
from .frameworks import OURS

_TIMED = """
import time
started = time.perf_counter()
print(gradient(x))
print(time.perf_counter() - started)
"""

_PROGRAMS = {
    "jax": """
import jax
import jax.numpy as jnp
x = jnp.linspace(0.0, 1.0, 100)
gradient = lambda x: jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)))(x).block_until_ready()
""",
    "torch": """
import torch
x = torch.linspace(0.0, 1.0, 100)
gradient = torch.compile(torch.func.grad(lambda x: torch.sum(torch.sin(x) ** 2)), fullgraph=True)
""",
}

_OURS = """
import numpy as np
import tracemill as tm
x = np.linspace(0.0, 1.0, 100)
gradient = tm.compile(tm.grad(lambda x: np.sum(np.sin(x) ** 2)), backend={backend!r})
"""


def program(contestant: str) -> str:
    """The program: its last line of output is the seconds of the first call."""
    own = _PROGRAMS.get(contestant) or _OURS.format(backend=contestant.removeprefix(OURS))
    return own + _TIMED


def starts(contestants: list[str], *, rounds: int, threads: int, folder: Path) -> list[Case]:
    """Cold: from the start of a process to its result. Warm: the first call after the imports."""
    cold = Case("starts", "cold", "process start to a small gradient, caches empty", "s")
    warm = Case("starts", "warm", "first call after import, caches filled", "s")
    for number in range(rounds):
        for contestant in contestants:
            caches = folder / f"{number}_{contestant.split()[-1]}"  # torch's compiler does not accept blanks
            caches.mkdir()
            whole, _ = _run(contestant, threads, caches)
            _, first = _run(contestant, threads, caches)
            for case, found in ((cold, whole), (warm, first)):
                if isinstance(found, str):
                    case.problems[contestant] = found
                else:
                    case.values.setdefault(contestant, []).append(found)
    return [cold, warm]


def _run(contestant: str, threads: int, folder: Path) -> tuple[float, float] | tuple[str, str]:
    """Seconds of the process, and of its first call; or the error, twice."""
    started = time.perf_counter()
    ran = subprocess.run(
        on_cores(threads, program(contestant)),
        capture_output=True,
        text=True,
        check=False,
        env=environment(threads, folder),
    )
    whole = time.perf_counter() - started
    if ran.returncode:
        reason = last_words(ran.stderr)
        return reason, reason
    return whole, float(ran.stdout.strip().splitlines()[-1])
