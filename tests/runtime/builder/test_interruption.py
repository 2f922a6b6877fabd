"""Ctrl-C and other signals reach Python while loops of C run, which then stop or go on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.c.function import COptions
from tracemill.compiler.backends.c.module.source import functions_text, print_function
from tracemill.compiler.builder import bind_all

pytestmark = pytest.mark.usefixtures("c_compiler")

TREE = Path(__file__).resolve().parents[2] / ".root"

SENDING = """
import os, signal, sys, threading, time
import numpy as np
import tracemill as tm

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a program in the background does not have

def send(number):
    timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
    timer.start()
    return timer

# Compiled before any signal is sent.
def in_c(f, x=1.0):
    compiled = tm.compile(f, backend="c")
    compiled.lower(x).compile()
    return compiled
"""

ENDLESS = """
more = 10**15
endless = {
    "while_loop": lambda x: tm.while_loop(lambda s: s < 1e300, lambda s: s * 0.5 + 1, x),
    "while_loop, limited": lambda x: tm.while_loop(lambda s: s < 1e300, lambda s: s * 0.5 + 1, x, max_steps=more),
    "fori_loop": lambda x: tm.fori_loop(0, np.where(x < 1e300, more, 3), lambda i, s: s * 0.5 + i % 7, x),
    "scan": lambda x: tm.scan(
        lambda s, _: (tm.cond(x < 1e300, lambda: s * 0.5 + 1, lambda: s), None), x, length=more
    )[0],
    "loops in a loop": lambda x: tm.while_loop(
        lambda s: s < 1e300, lambda s: tm.while_loop(lambda y: y < 9, lambda y: y * 1.5, s * 0.5 + 1), x
    ),
    "loops in loops in a loop": lambda x: tm.while_loop(
        lambda s: s < 1e300,
        lambda s: tm.fori_loop(
            0,
            np.where(s < 0.0, 0, 5000),
            lambda i, y: tm.while_loop(lambda z: z < 9, lambda z: z * 1.5, y * 0.5 + i % 3),
            s * 0.5 + 1,
        ),
        x,
    ),
    "loops in a condition": lambda x: tm.while_loop(
        lambda s: tm.scan(lambda y, _: (y * 0.999, None), s, length=300)[0] < 1e300, lambda s: s * 0.5 + 1, x
    ),
}
for name, f in endless.items():
    f = in_c(f, np.array(1.0))
    for _ in range(2):
        x = np.array(1.0)
        timer = send(signal.SIGINT)
        try:
            f(x)
        except KeyboardInterrupt:
            print(name)
        timer.join()
        assert x == 1.0
        if name != "scan":
            assert f(np.array(1e305)) > 1e299
"""


def said(program: str) -> list[str]:
    """The lines that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SENDING + program],
        env={**os.environ, "PYTHONPATH": str(TREE)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_ctrl_c_stops_endless_loops_which_can_be_called_again() -> None:
    names = (
        "while_loop",
        "while_loop, limited",
        "fori_loop",
        "scan",
        "loops in a loop",
        "loops in loops in a loop",
        "loops in a condition",
    )
    assert said(ENDLESS) == [name for name in names for _ in range(2)]


HANDLED = """
def steps(x, length):
    return tm.scan(lambda s, _: (np.sin(s) + x, None), x, length=length)[0]

short, long = (in_c(lambda x, n=n: steps(x, n)) for n in (10, 12_000_000))
expected, of_short = long(0.5), short(0.25)
handled = []

def handler(number, frame):
    handled.append(short(0.25))

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
assert long(0.5) == expected
signal.setitimer(signal.ITIMER_REAL, 0)
assert handled and set(handled) == {of_short}

def fails(number, frame):
    raise ValueError("the handler's")

signal.signal(signal.SIGALRM, fails)
endless = in_c(lambda x: steps(x, 10**15))
timer = send(signal.SIGALRM)
try:
    endless(0.5)
except ValueError as error:
    print(error)
timer.join()

results = []
threads = [threading.Thread(target=lambda: results.append(long(0.5))) for _ in range(2)]
for thread in threads:
    thread.start()
timer = send(signal.SIGALRM)
try:
    endless(0.5)
except ValueError as error:
    print(error, "in the main thread")
for thread in (*threads, timer):
    thread.join()
assert results == [expected] * 2
"""


@pytest.mark.slow
def test_handlers_of_signals_run_meanwhile_and_may_compute_or_raise() -> None:
    assert said(HANDLED) == ["the handler's", "the handler's in the main thread"]


@pytest.mark.parametrize(("length", "asks"), [(10, False), (1_000_000, True)])
def test_only_long_loops_ask_whether_to_stop(length: int, asks: bool) -> None:
    body = recorded(lambda s: (fn.sin(s),), "f64[]")
    graph = recorded(lambda x: tuple(bind_all("scan", x, graph=body, counts=(0, 1), length=length)), "f64[]")
    function = print_function(graph.calls[0], "loop", COptions())
    assert function
    assert ("tm_stops(" in functions_text([function])) is asks


ENTERED_AGAIN = """
from tracemill.compiler.interpreter import is_idle
from tracemill.runtime.cache import disk_cache

files, seen, found = {disk_cache.__file__}, set(), []
x = np.linspace(0.0, 1.0, 5)

def is_right(number):
    function = lambda x: np.tanh(x * number) + np.zeros(5)
    return np.allclose(tm.compile(function, backend="numpy")(x), np.tanh(x * number))

def at_each_line(frame, event, argument):
    place = frame.f_code.co_filename, frame.f_lineno
    if place[0] in files and place not in seen and is_idle():  # else it would be a part of the trace
        seen.add(place)
        found.append(is_right(float(len(seen))))
    return at_each_line if place[0] in files else None

sys.settrace(at_each_line)
for number in range(3):
    found.append(is_right(-1.0 - number))
sys.settrace(None)
print({file for file, _ in seen} == files, len(seen) > 30, all(found))
"""


@pytest.mark.slow
def test_a_handler_may_compile_in_the_middle_of_any_step_that_is_locked() -> None:
    assert said(ENTERED_AGAIN) == ["True True True"]
