"""What trials do in their own process: ``python -m faults.inside`` starts one for each line of JSON that it reads.

Such a process is a fork, so it has imported what campaigns need, and has called nothing yet. A campaign is a generator
that takes a `Random` and a number of trials, and yields the outcome of each as a few words. Whatever it raises makes it
fail.
"""

import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import tracemill as tm

type_of_campaign = Callable[[Random, int], Iterator[str]]

RIGHT: Final = "right numbers"


def workload(number: int = 1, size: int = 40) -> tuple[Callable[[Any], Any], Any]:
    """A function that has another program for each number, and its argument."""

    def computed(x: Any) -> Any:
        return np.tanh(x * float(number)) + np.cumsum(x) * 2

    return computed, np.linspace(0.0, 1.0, size)


def called_from_file(path: Path, x: Any) -> Any:
    return tm.load(path)(x)


def called(number: int = 1, backend: str = "c", size: int = 40) -> str:
    """The outcome of compiling and calling a workload."""
    function, x = workload(number, size)
    return outcome(lambda: tm.compile(function, backend=backend)(x), function(x))


def import_all() -> None:
    """Import what a first call imports, without a cache: forked children then start with it."""
    with patch.dict(os.environ, TRACEMILL_CACHE="0"):
        assert called(backend="numpy") == RIGHT


def outcome(compute: Callable[[], Any], expected: Any, *also: type[Exception]) -> str:
    """What happens: right numbers, perhaps with a warning, or a named error of Tracemill, or one of `also`."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = compute()
        except Exception as error:
            if not isinstance(error, (tm.errors.TracemillError, *also)):
                raise
            return type(error).__name__
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    names = sorted({warning.category.__name__ for warning in said})
    return ", ".join([RIGHT, *names])


def forked(work: Callable[[], str], seconds: float = 30.0) -> str:
    """The outcome of some work in a forked child, which must end in time, by itself, and without a traceback."""
    process, reading = started(work)
    ready, _, _ = select.select([reading], [], [], seconds)
    said = b""
    while ready and (part := os.read(reading, 65536)):
        said += part
    os.close(reading)
    if not ready:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    assert ready, f"hangs: a child has not ended within {seconds} s"
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"a child ended with {code}: {said.decode()}"
    return said.decode()


def started(work: Callable[[], str]) -> tuple[int, int]:
    """A forked child, and the end of a pipe on which it says the outcome of its work."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:
        said = work()
        code = 0
    except BaseException:
        said = traceback.format_exc()
    os.write(writing, said.encode()[-60_000:])  # a pipe holds that much before anybody reads it
    os._exit(code)


def killed(work: Callable[[], str], seconds: float) -> str:
    """Kill a forked child after some time, unless it has ended by then."""
    process, reading = started(work)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(reading)
    return "killed"


def cache_folder() -> Path:
    return Path(os.environ["TRACEMILL_CACHE_DIR"])


def temporary_folder() -> Path:
    return Path(tempfile.gettempdir())


def open_files() -> int:
    """How many descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))


def run(module: str, name: str, count: int) -> None:
    """Run a campaign, and print the number of trials with each outcome."""
    campaign: type_of_campaign = getattr(import_module(module), name)
    outcomes: Counter[str] = Counter()
    for number, found in enumerate(campaign(Random(f"{name} 1"), count)):
        outcomes[found] += 1
        print(f"trial {number}: {found}", flush=True)
    print(json.dumps(outcomes))


def enter(folder: str, environment: dict[str, str], outputs: Sequence[str]) -> None:
    """Make this child as independent as a process that was started there, with its outputs in files."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, path in enumerate((os.devnull, *outputs)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)


def modules_of_a_call() -> str:
    import_all()
    return " ".join(name for name in sys.modules if name.startswith("tracemill."))


def serve() -> None:
    """Run the campaigns that are asked for, and print the number and the exit status of each process."""
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        import_module(f"faults.{file.stem}")
    for module in forked(modules_of_a_call).split():  # of a child: what a first call keeps stays there
        import_module(module)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            enter(request["folder"], request["environment"], request["outputs"])
            run(*request["campaign"])
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
