"""Signals arrive at random moments: while a function is traced, compiled, or runs in C. The process stays usable."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from types import FrameType

import pytest

import tracemill as tm
from faults.harness import Place
from faults.inside import RIGHT, called, forked, open_files, outcome, temporary_folder, workload

pytestmark = pytest.mark.faults


class StoppedError(Exception):
    """What the handler of a signal raises."""


@contextmanager
def signal_after(seconds: float) -> Generator[None]:
    """SIGALRM after some time, unless the block is over."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def raises(number: int, frame: FrameType | None) -> None:
    raise StoppedError


def stopped(seconds: float, backend: str, number: int) -> str:
    """Whether a signal stopped a first call. Then the same function is called again."""
    function, x = workload(number)
    compiled = tm.compile(function, backend=backend)
    stops = "not stopped"
    try:
        with signal_after(seconds):
            compiled(x)
    except StoppedError:
        stops = "stopped"
    again = outcome(lambda: compiled(x), function(x))
    return f"{stops}, then {again}"


def stopped_first_calls(random: Random, count: int) -> Iterator[str]:
    signal.signal(signal.SIGALRM, raises)
    called(backend="numpy")
    called()
    before = open_files()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(count):
            backend, longest = random.choice((("numpy", 0.03), ("numpy", 0.01), ("c", 0.2)))
            yield stopped(random.uniform(1e-4, longest), backend, number + 2)
            assert not list(temporary_folder().glob("tracemill*")), "a temporary folder stays"
    # Python loses a descriptor if the handler raises between the system call and the assignment, which is rare; code
    # that did not close its files would leave one at every stop.
    assert open_files() <= before + 4


def test_a_handler_raises_during_a_first_call(place: Place) -> None:
    found = place.run(stopped_first_calls, 30)
    assert all(name.endswith(RIGHT) for name in found)
    assert any(name.startswith("stopped") for name in found)


def handled_first_calls(random: Random, count: int) -> Iterator[str]:
    """The handler itself compiles and calls: it runs between any two instructions of a trace."""
    inner: list[str] = []
    called(backend="numpy")  # a handler cannot use a module that is just being imported
    called()

    def handler(number: int, frame: FrameType | None) -> None:
        inner.append(called(1000 + len(inner), "numpy"))

    signal.signal(signal.SIGALRM, handler)
    for number in range(count):
        with signal_after(random.uniform(1e-4, 0.02)):
            found = called(number + 2, random.choice(("numpy", "numpy", "c")))
        assert set(inner) <= {RIGHT}, inner
        yield f"{found}, inside and outside"


def test_a_handler_compiles_during_a_first_call(place: Place) -> None:
    assert set(place.run(handled_first_calls, 12)) == {f"{RIGHT}, inside and outside"}


def endless_loops(random: Random, count: int) -> Iterator[str]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    endless = tm.compile(lambda x: tm.while_loop(lambda s: s < 1e300, lambda s: s * 0.5 + 1, x), backend="c")
    endless.lower(1.0).compile()
    for _ in range(count):
        timer = threading.Timer(random.uniform(0.01, 0.1), os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            endless(1.0)
        except KeyboardInterrupt:
            yield f"stopped, then {called()}"
        timer.join()


def test_ctrl_c_stops_a_loop_in_c(place: Place) -> None:
    assert place.run(endless_loops, 3) == {f"stopped, then {RIGHT}": 3 * place.more}


def ended_processes(random: Random, count: int) -> Iterator[str]:
    """SIGTERM and SIGINT end a process that has no handlers of its own, and its compiler with it."""

    def compiling() -> str:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            while True:
                called(random.randrange(10**6))
        except KeyboardInterrupt:
            return "KeyboardInterrupt"

    for _ in range(count):
        number = random.choice((signal.SIGINT, signal.SIGTERM))

        def interrupted(number: int = number) -> str:
            child = os.fork()
            if not child:
                os._exit(0 if compiling() == "KeyboardInterrupt" else 1)
            time.sleep(random.uniform(0.05, 0.4))
            os.kill(child, number)
            _, status = os.waitpid(child, 0)
            return str(os.waitstatus_to_exitcode(status))

        assert forked(interrupted) == ("0" if number == signal.SIGINT else str(-signal.SIGTERM))
        yield f"ended by {signal.Signals(number).name}, then {forked(called)}"
    deadline = time.monotonic() + 10
    while list(temporary_folder().iterdir()) and time.monotonic() < deadline:
        forked(partial(called, random.randrange(10**6)))  # a process that compiles removes what others left
        time.sleep(0.5)


def test_a_process_that_compiles_is_ended(place: Place) -> None:
    assert all(found.endswith(RIGHT) for found in place.run(ended_processes, 2))
