"""Large results of programs in C: NumPy's own arrays, whose memory serves the next one when nothing refers to it."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.large_arrays import LARGE
from tracemill.compiler.errors import CompilerWarning
from tracemill.runtime.machine import result_memory
from tracemill.runtime.machine.result_memory import array_maker
from tracemill.runtime.machine.toolchain import Toolchain

COUNT = LARGE // 8


@pytest.fixture
def make(c_toolchain: Toolchain) -> Callable[..., Any]:
    return array_maker(c_toolchain)


def doubled() -> Any:
    return tm.compile(lambda x: x * 2.0, backend="c")


@pytest.mark.slow
@pytest.mark.usefixtures("c_toolchain")
def test_the_next_result_takes_the_memory_of_one_that_is_gone() -> None:
    x, double = np.ones(COUNT), doubled()
    first = double(x)
    assert (first.flags.owndata, first.base, first.flags.writeable) == (True, None, True)
    place = first.__array_interface__["data"][0]
    view = first[3:]
    del first
    assert double(x).__array_interface__["data"][0] != place, "a view lives"
    assert view[0] == 2.0
    del view
    gc.collect()
    before = tm.memory_stats()
    again = [double(x), double(x)]
    after = tm.memory_stats()
    assert place in {one.__array_interface__["data"][0] for one in again}
    assert (after.made, after.reused) == (before.made, before.reused + 2)
    assert after.in_use - before.in_use >= 2 * LARGE
    del again
    assert tm.memory_stats().in_use == before.in_use
    assert tm.memory_stats().waiting >= 2 * LARGE


@pytest.mark.usefixtures("c_toolchain")
def test_small_results_are_as_always_and_sizes_may_be_named() -> None:
    double = tm.compile(lambda x: x * 2.0, backend="c", dynamic=True)
    begin = tm.memory_stats()
    np.testing.assert_array_equal(double(np.ones(COUNT - 1)), np.full(COUNT - 1, 2.0))
    now = tm.memory_stats()
    assert now.made + now.reused == begin.made + begin.reused
    np.testing.assert_array_equal(double(np.ones(COUNT)), np.full(COUNT, 2.0))
    now = tm.memory_stats()
    assert now.made + now.reused == begin.made + begin.reused + 1


def test_blocks_serve_arrays_that_are_a_little_smaller(make: Callable[..., Any]) -> None:
    del (held := [make((COUNT * 2,), np.float64)])[:]
    before = tm.memory_stats()
    held = [make((COUNT * 2 - COUNT // 4,), np.float64)]
    assert tm.memory_stats().reused == before.reused + 1
    other = make((COUNT,), np.float64)
    assert other.nbytes == LARGE
    del held, other


def test_what_waits_is_limited(make: Callable[..., Any]) -> None:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    held = [make((LARGE,), np.uint8) for _ in range(40)]  # whose pages nobody touches
    assert tm.memory_stats().in_use >= 40 * LARGE
    held.clear()
    stats = tm.memory_stats()
    assert stats.waiting <= min(total // 8, 16 * (LARGE + (4 << 20)) * 3)


def test_arrays_grow_and_shrink(make: Callable[..., Any]) -> None:
    x = make((COUNT,), np.float64)
    x[:] = np.arange(COUNT)
    x.resize(3 * COUNT, refcheck=False)
    np.testing.assert_array_equal(x[:COUNT], np.arange(COUNT))
    x.resize(10, refcheck=False)
    np.testing.assert_array_equal(x, np.arange(10))


def test_numpy_itself_asks_elsewhere(make: Callable[..., Any]) -> None:
    before = tm.memory_stats()
    x = make((COUNT,), np.float64)
    copies = [x.copy(), np.zeros(COUNT), np.empty(COUNT)]
    assert tm.memory_stats().in_use - before.in_use < 2 * LARGE
    del x, copies


def test_threads_get_blocks_of_their_own(make: Callable[..., Any]) -> None:
    wrong: list[int] = []

    def use(number: int) -> None:
        for turn in range(30):
            x = make((LARGE + turn * 4096,), np.uint8)
            x[:: 1 << 20] = number
            if (x[:: 1 << 20] != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_children_use_and_free_what_their_parent_made(make: Callable[..., Any]) -> None:
    code = """
import os, threading
import numpy as np, tracemill as tm
x = np.ones(1 << 22)
f = tm.compile(lambda x: x * 2.0, backend="c")
y = f(x)
stop = threading.Event()
def busy():
    while not stop.is_set():
        f(x)
threads = [threading.Thread(target=busy) for _ in range(2)]
for one in threads: one.start()
for _ in range(5):
    child = os.fork()
    if not child:
        ok = bool(y[-1] == 2.0)
        del globals()["y"]
        ok &= all(tm.memory_stats().made >= 1 for _ in range(3))
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for one in threads: one.join()
keep = f(x)
print("done")
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr


def test_without_its_library_numpy_makes_large_arrays(
    c_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_memory, "_text", lambda: "int f( {")
    monkeypatch.setattr(result_memory, "_libraries", [])
    with pytest.warns(CompilerWarning, match="results of 32 MiB and more are slower"):
        assert array_maker.__wrapped__(c_toolchain) is np.empty
    assert array_maker(None) is np.empty
    assert tm.memory_stats().made == 0
