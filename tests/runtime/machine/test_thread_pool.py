"""The pool of threads: every chunk is computed once, whoever calls, whatever happens to threads and processes."""

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from c.sanitizing import SANITIZERS
from support.kept_files import compiler_facts, kept
from tracemill.compiler.backends.c.threads.pool_text import pool_text
from tracemill.compiler.errors import CompilerWarning
from tracemill.runtime.cache.disk_cache import default_cache
from tracemill.runtime.machine import thread_pool
from tracemill.runtime.machine.toolchain import Toolchain

TREE = Path(__file__).resolve().parents[2] / ".root"
CALLS = Path(__file__).resolve().parents[2] / "c" / "pool_calls.c"
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the threads of a process")
HAS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
pytestmark = pytest.mark.usefixtures("c_compiler")
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    before = tm.get_num_threads()
    yield
    tm.set_num_threads(before)


# ---- in C --------------------------------------------------------------------------------------------


def said_by_calls(compiler: str, folder: Path, *flags: str, leaves_out: str = "none") -> str:
    """What the program of calls says, with the pool in the same file. It is named what it leaves out."""
    text = pool_text() + CALLS.read_text()

    def program() -> bytes:
        (folder / "calls.c").write_text(text)
        command = [
            compiler,
            "-std=c11",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            *flags,
            "calls.c",
            "-o",
            "calls",
        ]
        subprocess.run([*command, "-lm", "-pthread"], cwd=folder, check=True)
        return (folder / "calls").read_bytes()

    ready = kept("", [compiler_facts([compiler]), flags, text], program)
    done = subprocess.run(
        [str(ready), leaves_out],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def test_calls_in_c_compute_every_chunk_once(c_compiler: str, tmp_path: Path) -> None:
    assert said_by_calls(c_compiler, tmp_path, "-O2") == "done\n"


@pytest.mark.slow
@pytest.mark.parametrize("system", [(), ("-U__linux__",)], ids=["this system", "others"])
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_calls_in_c_run_clean(
    c_compiler: str, tmp_path: Path, sanitizer: str, system: tuple[str, ...]
) -> None:
    """Without forks, in whose children the sanitizers' own locks may stay locked."""
    flags = ["-O1", *SANITIZERS[sanitizer].split(), *system]
    assert said_by_calls(c_compiler, tmp_path, *flags, leaves_out="forks") == "done\n"


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_systems_without_a_futex_use_condition_variables(c_compiler: str, tmp_path: Path, level: str) -> None:
    assert said_by_calls(c_compiler, tmp_path, level, "-U__linux__") == "done\n"


# ---- from Python -------------------------------------------------------------------------------------

X = RNG.standard_normal((400, 600))
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: np.tanh(x) * x,
    "rows": lambda x: np.exp(x - x.max(axis=1, keepdims=True)),
    "one sum": lambda x: np.sum(np.sin(x)),
    "sums of columns": lambda x: np.sum(x * x, axis=0),
    "largest": lambda x: np.argmax(np.abs(x)),
    "in order": lambda x: np.cumsum(x, axis=1),
    "sorted": lambda x: np.sort(x, axis=1),
    "products": lambda x: x.reshape(10, 40, 600) @ x.reshape(10, 600, 40),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_same_bits_for_any_number_of_threads(name: str) -> None:
    function = tm.compile(PROGRAMS[name], backend="c")
    results: list[bytes] = []
    for count in (1, 2, 3, 8):
        tm.set_num_threads(count)
        results += [np.asarray(function(X)).tobytes() for _ in range(3)]
    assert len(set(results)) == 1
    np.testing.assert_allclose(function(X), PROGRAMS[name](X), rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True])
def test_threads_may_call_while_others_set_their_number(dynamic: bool) -> None:
    function = tm.compile(PROGRAMS["one sum"], backend="c", dynamic=dynamic)
    expected, wrong = function(X), list[Any]()

    def call(number: int) -> None:
        for turn in range(30):
            tm.set_num_threads(1 + (number + turn) % 8)
            found = function(X)
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def ran(program: str, **environment: str) -> str:
    """What a fresh interpreter prints, which has no pool yet."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        env={**os.environ, "PYTHONPATH": str(TREE), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


BEGIN = """
import os, threading, time, warnings, numpy as np, tracemill as tm
warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of a fork in a process with threads
f = tm.compile(lambda x: np.cumsum(np.sin(x), axis=1), backend="c")
x = np.random.default_rng(0).standard_normal((500, 2000))
tm.set_num_threads(1)
expected = f(x)
def is_right(): return np.array_equal(f(x), expected)
def count(): return len(os.listdir("/proc/self/task"))
"""


@pytest.mark.slow
@ON_LINUX
def test_threads_start_when_they_are_needed_and_only_as_many() -> None:
    program = """
before = count()
for threads in (1, 4, 2):
    tm.set_num_threads(threads)
    print(is_right(), count() - before)
"""
    assert ran(program).split() == ["True", "0", "True", "3", "True", "3"]


@HAS_FORK
def test_a_child_that_is_forked_while_kernels_run_starts_its_own_threads() -> None:
    program = """
tm.set_num_threads(4)
is_over = threading.Event()
def call():
    while not is_over.is_set(): assert is_right()
callers = [threading.Thread(target=call) for _ in range(2)]
for caller in callers: caller.start()
for _ in range(8):
    child = os.fork()
    if not child:
        before = count()
        os._exit(0 if is_right() and is_right() and count() == before + 3 else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
is_over.set()
for caller in callers: caller.join()
print(is_right())
"""
    assert ran(program).split() == [*["0"] * 8, "True"]


@ON_LINUX
def test_a_process_that_gets_no_threads_computes_alone() -> None:
    program = """
import resource
before = count()
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.getuid() == 0: os.setgid(65534), os.setuid(65534)  # whom limits do not concern
tm.set_num_threads(4)
print(is_right(), is_right(), count() - before)
"""
    assert ran(program).split() == ["True", "True", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["sys.exit()", "os._exit(0)", "raise SystemExit"])
def test_a_process_may_end_while_kernels_run(ends: str) -> None:
    program = f"""
import sys
tm.set_num_threads(4)
def call():
    while True: f(x)
for _ in range(3): threading.Thread(target=call, daemon=True).start()
time.sleep(0.1)
print("ends", flush=True)
{ends}
"""
    assert ran(program) == "ends"


@ON_LINUX
def test_a_process_may_change_its_cores() -> None:
    program = """
cores = sorted(os.sched_getaffinity(0))
tm.set_num_threads(4)
print(is_right())
os.sched_setaffinity(0, cores[:1])
print(is_right())
os.sched_setaffinity(0, cores)
print(is_right())
"""
    assert ran(program).split() == ["True"] * 3


def test_threads_round_as_the_caller_does() -> None:
    """Chunks depend on neither the number of threads nor on which of them computes them."""
    program = """
import ctypes, ctypes.util
library = ctypes.CDLL(ctypes.util.find_library("m"))
upward = {"x86_64": 0x800, "aarch64": 0x400000}.get(os.uname().machine)
g = tm.compile(lambda x: x / 3.0, backend="c")
y = np.random.default_rng(0).standard_normal(1 << 20)
tm.set_num_threads(4)
usual = g(y)
if upward is not None:
    library.fesetround(upward)
    here = y / 3.0
    found = g(y)
    library.fesetround(0)
    print(np.array_equal(here, usual), np.array_equal(here, found), np.array_equal(usual, g(y)))
else:
    print("False True True")
"""
    assert ran(program).split() == ["False", "True", "True"]


# ---- its library -------------------------------------------------------------------------------------


@pytest.fixture
def nothing_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without a pool, on a machine whose cache is empty."""
    monkeypatch.setattr(thread_pool, "_loaded", {})
    monkeypatch.setattr(thread_pool, "_failed", set())
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.usefixtures("nothing_loaded")
def test_it_is_compiled_once_per_machine(c_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_pool.address_of_pool(c_toolchain)
    (entry,) = default_cache().entries()
    assert (entry.function, entry.backend) == ("threads", "c")
    assert default_cache().statistics.stores == 0
    monkeypatch.setattr(thread_pool, "_loaded", {})

    def refused(*_: Any, **__: Any) -> bytes:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(Toolchain, "compile", refused)
    assert thread_pool.address_of_pool(c_toolchain)


@pytest.mark.usefixtures("nothing_loaded")
def test_without_a_cache_each_process_compiles_it(
    c_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    assert thread_pool.address_of_pool(c_toolchain)
    assert default_cache().entries() == []


@pytest.mark.usefixtures("nothing_loaded")
def test_programs_compute_alone_if_it_cannot_be_made(
    c_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_pool, "library_text", lambda: "int f( {")
    function = tm.compile(lambda x: np.tanh(x) - 1.5 * x, backend="c")
    tm.set_num_threads(4)
    with pytest.warns(CompilerWarning, match="programs compute on one thread: the C compiler failed"):
        found = function(X)
    np.testing.assert_allclose(found, np.tanh(X) - 1.5 * X, rtol=1e-12, atol=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert thread_pool.address_of_pool(c_toolchain) is None


def test_cached_programs_are_for_one_way_to_call_it(
    c_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = c_toolchain.identity()
    monkeypatch.setattr("tracemill.runtime.machine.toolchain.ABI", 99)
    assert c_toolchain.identity() != before
