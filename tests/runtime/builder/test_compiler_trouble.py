"""Whatever befalls the compiler, ``auto`` computes by NumPy and says so once, and ``c`` raises a named error."""

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import CompilerError, CompilerWarning
from tracemill.runtime.machine import toolchain as module
from tracemill.runtime.machine.machine_facts import recall
from tracemill.runtime.machine.toolchain import toolchain

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the C backend is for Linux and macOS")
TREE = Path(__file__).resolve().parents[2] / ".root"
X = np.linspace(0.0, 1.0, 5)

PROGRAMS = """
import sys, warnings
import numpy as np, tracemill as tm
from tracemill.compiler.errors import CompilerError, CompilerWarning
x = np.linspace(0.0, 1.0, 5)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for number in range(3):
        f = tm.compile(lambda x: np.cos(x) * (number + 0.25))
        np.testing.assert_allclose(f(x), np.cos(x) * (number + 0.25))
print([one.category.__name__ for one in caught if issubclass(one.category, CompilerWarning)])
try:
    tm.compile(lambda x: np.sin(x) * 3.5, backend="c")(x)
except CompilerError as error:
    print("CompilerError", "choose backend='numpy'" in error.message or error.message)
"""
WARNED = "['CompilerWarning']\nCompilerError True\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for its version, a compiler runs where the caller is, and those of this file write there."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder, a cache folder, and no settings of the user's."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACEMILL_BACKEND", "auto")
    for name in ("TRACEMILL_CC", "CC"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def named(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a shell script the compiler."""

    def make(text: str) -> Path:
        path = tmp_path / "some-cc"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("TRACEMILL_CC", str(path))
        return path

    return make


def outcome(limit: Callable[[], object] | None = None, **environment: str) -> str:
    """What a fresh process prints that compiles three programs with ``auto``, and one with ``c``."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS],
        env={**os.environ, "PYTHONPATH": str(TREE), **environment},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.stdout + done.stderr


def assert_numpy_does_without() -> None:
    """One warning for all programs; `CompilerError` where C is asked for."""
    with pytest.warns(CompilerWarning, match="NumPy does without C"):
        np.testing.assert_allclose(tm.compile(lambda x: np.sin(x) * 2.5)(X), np.sin(X) * 2.5)
    np.testing.assert_allclose(tm.compile(lambda x: np.sin(x) * 3.5)(X), np.sin(X) * 3.5)
    with pytest.raises(CompilerError):
        tm.compile(lambda x: np.sin(x) * 4.5, backend="c")(X)


# ---- a compiler that does not do what it should ------------------------------------------------------

FAILING = {
    "fails": "echo 'out of licences' >&2; exit 3",
    "is killed": "kill -9 $$",
    "prints garbage": r"head -c 5000 /dev/urandom; head -c 5000 /dev/urandom >&2; exit 1",
    "makes nothing": "exit 0",
    "makes garbage": "echo garbage > program.so",
    "makes a folder": "mkdir program.so",
    "makes a library without functions": "echo > empty.c; exec {cc} -shared -o program.so empty.c",
}


@pytest.mark.sampled("makes nothing", "makes garbage", "makes a folder")
@pytest.mark.parametrize("what", FAILING)
def test_a_compiler_that_never_works_is_no_compiler(
    named: Callable[[str], Path], temporary: Path, c_compiler: str, what: str
) -> None:
    named(FAILING[what].replace("{cc}", c_compiler))
    assert_numpy_does_without()
    assert not list(temporary.iterdir())
    assert not recall("toolchain")


@pytest.mark.slow
@pytest.mark.parametrize("what", FAILING)
def test_a_compiler_that_stops_working_lets_numpy_compute(
    named: Callable[[str], Path], temporary: Path, c_compiler: str, tmp_path: Path, what: str
) -> None:
    failing = FAILING[what].replace("{cc}", c_compiler)
    named(f'if [ -e {tmp_path}/broken ]; then {failing}; exit $?; fi\nexec {c_compiler} "$@"')
    toolchain()
    (tmp_path / "broken").touch()
    assert_numpy_does_without()
    (tmp_path / "broken").unlink()
    np.testing.assert_allclose(tm.compile(lambda x: np.sin(x) * 4.5, backend="c")(X), np.sin(X) * 4.5)


def test_a_compiler_that_vanishes_lets_numpy_compute(
    named: Callable[[str], Path], temporary: Path, c_compiler: str
) -> None:
    path = named(f'exec {c_compiler} "$@"')
    toolchain()
    path.unlink()
    assert_numpy_does_without()


def test_a_compiler_that_hangs_is_stopped_with_its_children_and_not_waited_for_again(
    named: Callable[[str], Path],
    temporary: Path,
    c_compiler: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named(
        f"if [ -e {tmp_path}/hanging ]; then echo call >> {tmp_path}/calls; sleep 1000 & echo $! > {tmp_path}/pid; "
        f'wait; fi\nexec {c_compiler} "$@"'
    )
    toolchain()
    (tmp_path / "hanging").touch()
    monkeypatch.setattr(module, "SECONDS", 1.0)
    with pytest.warns(
        CompilerWarning, match=r"has not ended after 1 seconds and was stopped: .*TRACEMILL_CC"
    ):
        np.testing.assert_allclose(tm.compile(lambda x: np.sin(x) * 2.5)(X), np.sin(X) * 2.5)
    np.testing.assert_allclose(tm.compile(lambda x: np.sin(x) * 3.5)(X), np.sin(X) * 3.5)
    assert (tmp_path / "calls").read_text() == "call\n"
    child = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    for _ in range(200):  # a busy machine takes its time to end what was killed
        if not child.exists() or child.read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the compiler's child still runs")
    assert not list(temporary.iterdir())


def test_what_a_compiler_prints_of_its_version_may_be_anything(
    named: Callable[[str], Path], c_compiler: str
) -> None:
    named(
        f'[ "$1" = --version ] && {{ printf "\\377\\000\\033[31mgcc\\n"; exit 0; }}\nexec {c_compiler} "$@"'
    )
    assert toolchain().version.isprintable()
    assert "gcc" in toolchain().version


# ---- resources that run out --------------------------------------------------------------------------


@pytest.mark.usefixtures("temporary", "c_compiler")
def test_without_a_temporary_folder_numpy_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    monkeypatch.setenv("TRACEMILL_CC", "cc -DNO_FOLDER")
    assert_numpy_does_without()


@pytest.mark.slow
@pytest.mark.usefixtures("temporary", "c_compiler")
def test_files_that_must_not_grow_let_numpy_compute() -> None:
    limit = (1000, 1000)
    assert outcome(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)) == WARNED


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process of root in this way")
@pytest.mark.usefixtures("temporary", "c_compiler")
def test_memory_that_runs_out_for_compilers_lets_numpy_compute(tmp_path: Path, c_compiler: str) -> None:
    """The limit is the compiler's alone: Python and NumPy would need to be measured first."""
    path = tmp_path / "small-cc"
    path.write_text(f'#!/bin/sh\nulimit -v 40000\nexec {c_compiler} "$@"\n')
    path.chmod(0o700)
    assert outcome(TRACEMILL_CC=str(path)) == WARNED


@pytest.mark.usefixtures("temporary")
def test_processes_that_cannot_be_made_let_numpy_compute(
    monkeypatch: pytest.MonkeyPatch, c_compiler: str
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setenv("TRACEMILL_CC", f"{c_compiler} -DNO_PROCESSES")
    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    assert_numpy_does_without()
    assert not recall("toolchain")


@pytest.mark.slow
@pytest.mark.usefixtures("temporary")
def test_a_library_that_cannot_be_loaded_lets_numpy_compute(
    monkeypatch: pytest.MonkeyPatch, c_compiler: str
) -> None:
    def refuse(*args: object) -> None:
        raise OSError("failed to map segment from shared object")

    monkeypatch.setenv("TRACEMILL_CC", f"{c_compiler} -DNO_MAPPINGS")
    toolchain()
    monkeypatch.setattr("tracemill.runtime.machine.loaded_library._loaded", refuse)
    assert_numpy_does_without()


# ---- what is remembered ------------------------------------------------------------------------------


@pytest.mark.slow
def test_flags_that_fail_while_a_plain_program_fails_too_are_not_remembered(
    named: Callable[[str], Path], temporary: Path, c_compiler: str, tmp_path: Path
) -> None:
    """A disk that is full now and then: what fails is asked again by the next process."""
    trouble = tmp_path / "trouble"
    failing = 'echo "error: disk full" >&2; exit 1'
    path = named(
        f"""if [ -e {trouble} ]; then case " $* " in
            *" -fopenmp-simd "*) echo 1 >> {trouble}; {failing};;
            *" --version "*|*" -march=native "*) ;;
            *) [ $(wc -l < {trouble}) -ge 3 ] && {{ {failing}; }};;
        esac; fi
        exec {c_compiler} "$@\""""
    )
    trouble.touch()
    found = toolchain()
    assert "-fopenmp-simd" not in found.flags
    assert "vector loops" in found.unasked
    assert not recall("toolchain")
    trouble.unlink()
    module._known.cache_clear()
    again = toolchain()
    assert "-fopenmp-simd" in again.flags
    assert again.unasked == ()
    assert recall("toolchain")["command"] == [str(path)]


@pytest.mark.slow
def test_a_flag_that_fails_once_alone_is_used(
    named: Callable[[str], Path], c_compiler: str, tmp_path: Path
) -> None:
    """As when the system kills a compiler for want of memory."""
    named(
        f'[ -e {tmp_path}/killed ] || case "$*" in *-march*) touch {tmp_path}/killed; kill -9 $$;; esac\n'
        f'exec {c_compiler} "$@"'
    )
    assert "-march=native" in toolchain().flags
    assert toolchain().why_not == ()
    assert recall("toolchain")


def test_a_place_that_does_not_let_code_run_teaches_nothing(
    temporary: Path, c_compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where TMPDIR is mounted with noexec, and the system has no files without names."""

    def refuse(*args: object) -> None:
        raise OSError("failed to map segment from shared object: Operation not permitted")

    monkeypatch.setenv("TRACEMILL_CC", f"{c_compiler} -DNO_EXECUTION")
    with monkeypatch.context() as patch:
        patch.setattr("tracemill.runtime.machine.loaded_library._loaded", refuse)
        with pytest.raises(
            CompilerError, match=r"cannot be loaded .*Operation not permitted.*backend='numpy'"
        ):
            toolchain()
    assert not recall("toolchain")
    module._known.cache_clear()
    assert toolchain().why_not == ()


# ---- what is left behind -----------------------------------------------------------------------------


@pytest.mark.slow
def test_an_interrupted_compiler_is_killed_and_leaves_nothing(
    named: Callable[[str], Path], temporary: Path, c_compiler: str, tmp_path: Path
) -> None:
    named(
        f"if [ -e {tmp_path}/hanging ]; then echo > cc0.s; echo > {tmp_path}/ready; exec sleep 1000; fi\n"
        f'exec {c_compiler} "$@"'
    )
    toolchain()
    (tmp_path / "hanging").touch()
    os.mkfifo(tmp_path / "ready")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{PROGRAMS}",
        ],
        env={**os.environ, "PYTHONPATH": str(TREE)},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process, open(tmp_path / "ready") as ready:
        ready.read()
        assert list(temporary.iterdir())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert not list(temporary.iterdir())


def test_temporary_files_of_a_compiler_are_in_the_folder_that_is_removed(
    named: Callable[[str], Path], temporary: Path, c_compiler: str
) -> None:
    named(f'echo > "${{TMPDIR:-/tmp}}/cc-left.s"\nexec {c_compiler} "$@"')
    np.testing.assert_allclose(tm.compile(lambda x: np.sin(x) * 5.5, backend="c")(X), np.sin(X) * 5.5)
    assert [path.name for path in temporary.iterdir()] in ([], ["cc-left.s"]), (
        "asked its version, it has no folder"
    )
