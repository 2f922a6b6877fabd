"""Shared libraries are loaded from the bytes that were checked, and unloaded when none of their functions is left."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import CompilerError
from tracemill.runtime.machine.loaded_library import LoadedLibrary
from tracemill.runtime.machine.toolchain import Toolchain

pytestmark = [pytest.mark.usefixtures("c_compiler")]
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what is mapped")
TREE = Path(__file__).resolve().parents[2] / ".root"
X = np.linspace(0.0, 1.0, 7)


def program(number: float, **options: Any) -> Callable[[Any], Any]:
    return tm.compile(lambda x: np.cos(x) * number + x, backend="c", **options)


def mappings() -> int:
    gc.collect()
    return len(Path("/proc/self/maps").read_text().splitlines())


def is_mapped(path: Path) -> bool:
    gc.collect()
    return str(path) in Path("/proc/self/maps").read_text()


def library_of(function: Any) -> Path:
    (variant,) = function._compiler.variants
    return Path(variant.build.path).with_suffix(".so")


@ON_LINUX
def test_a_library_is_mapped_as_long_as_its_function_lives() -> None:
    f: Any = program(101.25)
    f(X)
    again: Any = program(101.25)
    again(X)
    path = library_of(again)
    assert is_mapped(path)
    del f
    assert is_mapped(path)
    np.testing.assert_allclose(again(X), np.cos(X) * 101.25 + X)
    del again
    assert not is_mapped(path)


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize("cache", ["0", "1"])
def test_mappings_do_not_pile_up(cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", cache)
    for number in (201.5, 202.5):
        program(number)(X)
    before = mappings()
    for number in range(5):
        f = program(200.25 + number)
        np.testing.assert_allclose(f(X), np.cos(X) * (200.25 + number) + X)
        del f
    assert mappings() < before + 16, "a library is at least four mappings"


@ON_LINUX
def test_programs_that_are_forgotten_are_unloaded() -> None:
    f = program(301.25, max_variants=1, dynamic=False, on_recompile="ignore")
    f(np.ones(2))
    path = library_of(f)
    assert is_mapped(path)
    f(np.ones(3))
    assert not is_mapped(path)
    np.testing.assert_allclose(f(np.ones(2)), np.cos(1.0) * 301.25 + 1.0)


@ON_LINUX
def test_a_function_of_c_that_is_held_alone_holds_its_library() -> None:
    f: Any = program(401.25)
    f(X)
    path = library_of(f)
    (variant,) = f._compiler.variants
    (c,) = (v for n, v in variant.build.function.__globals__.items() if n.startswith("c_kernel"))
    del f, variant
    assert is_mapped(path)
    out = np.empty(7)
    c(X, out)
    np.testing.assert_allclose(out, np.cos(X) * 401.25 + X)
    assert c.__name__ in repr(c)
    del c
    assert not is_mapped(path)


@pytest.mark.slow
def test_threads_may_call_what_others_drop() -> None:
    """Each call holds what it runs in; large arrays wake threads, which stay behind."""
    code = """
import gc, threading, numpy as np, tracemill as tm
tm.set_num_threads(2)
x = np.linspace(0.0, 1.0, 200_000)
made = {}
def use():
    for turn in range(6):
        made[turn % 3] = tm.compile(lambda x: np.sin(x) * (turn % 4) + x, backend="c", dynamic=False)
        for f in list(made.values()):
            assert f(x).shape == x.shape
        gc.collect()
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
made.clear(); gc.collect()
import time; time.sleep(0.1)
f = tm.compile(lambda x: np.exp(x) + 1, backend="c")
assert f(x)[0] == 2.0
print("done")
"""
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_function_may_be_dropped_while_it_runs() -> None:
    f: Any = program(501.25)
    f(X)
    held = [f]
    del f
    results: list[Any] = []

    def call() -> None:
        results.append(held.pop()(np.linspace(0, 1, 7)))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    gc.collect()
    np.testing.assert_allclose(results[0], np.cos(X) * 501.25 + X)


# ---- from where --------------------------------------------------------------------------------------


@pytest.fixture
def content(c_toolchain: Toolchain) -> Callable[[int], bytes]:
    return lambda number: c_toolchain.compile(f"int number(void) {{ return {number}; }}")


@ON_LINUX
def test_a_file_that_holds_other_bytes_than_those_that_were_checked_is_not_loaded(
    content: Callable[[int], bytes], tmp_path: Path
) -> None:
    (tmp_path / "program.so").write_bytes(content(666))
    loaded = LoadedLibrary(content(1), tmp_path / "program.so")
    assert loaded.library.number() == 1
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


@ON_LINUX
def test_a_link_in_the_place_of_a_library_is_not_followed(
    content: Callable[[int], bytes], tmp_path: Path
) -> None:
    (tmp_path / "other.so").write_bytes(content(3))
    (tmp_path / "program.so").symlink_to("other.so")
    loaded = LoadedLibrary(content(3), tmp_path / "program.so")
    assert loaded.library.number() == 3
    assert "other.so" not in Path("/proc/self/maps").read_text()


def test_libraries_that_are_loaded_together_are_not_taken_for_one(content: Callable[[int], bytes]) -> None:
    loaded = [LoadedLibrary(content(number)) for number in range(5)]
    assert [one.library.number() for one in loaded] == [0, 1, 2, 3, 4]


def test_where_no_file_without_a_name_can_be_made_a_private_copy_is_loaded(
    content: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert LoadedLibrary(content(4)).library.number() == 4
    monkeypatch.setattr("tracemill.runtime.machine.loaded_library._HAS_DESCRIPTOR_PATHS", False)
    assert LoadedLibrary(content(5)).library.number() == 5


def test_a_copy_is_not_loaded_from_a_temporary_folder_that_others_can_exchange(
    content: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = content(5)
    monkeypatch.setattr("tracemill.runtime.machine.loaded_library._HAS_DESCRIPTOR_PATHS", False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(OSError, match="can be written by other users"):
        LoadedLibrary(found)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_loaded_is_an_error_with_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise OSError("cannot allocate memory")

    monkeypatch.setattr("tracemill.runtime.machine.loaded_library._loaded", refuse)
    with pytest.raises(CompilerError, match=r"cannot be loaded: cannot allocate memory\. .*backend='numpy'"):
        program(601.25)(X)
