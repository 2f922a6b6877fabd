"""Memory, disk, descriptors or permissions run out. What can be computed is right, and the rest fails by name."""

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Final

import pytest

import tracemill as tm
from faults.harness import Place
from faults.inside import (
    RIGHT,
    cache_folder,
    called,
    forked,
    import_all,
    outcome,
    temporary_folder,
    workload,
)

pytestmark = pytest.mark.faults

NOBODY: Final = 65534


def limited(kind: int, limit: int, number: int, backend: str) -> str:
    """The outcome of a first call in a process with a limit, and that of one after the limit is lifted."""

    def work() -> str:
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit, hard))
        function, x = workload(number)
        compiled = tm.compile(function, backend=backend)
        first = outcome(lambda: compiled(x), function(x), MemoryError)
        resource.setrlimit(kind, (hard, hard))
        then = outcome(lambda: compiled(x), function(x))
        assert then.startswith(RIGHT), then
        return first

    return forked(work)


def address_space() -> int:
    """Bytes of addresses that this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def little_memory(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    called()
    for number in range(count):
        limit = address_space() + random.randrange(1 << 14, 1 << 26)
        yield limited(resource.RLIMIT_AS, limit, number + 2, random.choice(("c", "numpy", "auto")))


def test_memory_runs_out(place: Place) -> None:
    allowed = {RIGHT, f"{RIGHT}, CompilerWarning", f"{RIGHT}, CacheWarning", "CompilerError", "MemoryError"}
    assert set(place.run(little_memory, 8)) <= allowed


def small_files(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    called()
    for number in range(count):
        limit = random.choice((0, 1, 500, 3000, 10_000, 100_000))
        yield limited(resource.RLIMIT_FSIZE, limit, number + 2, random.choice(("c", "numpy", "auto")))


def test_files_may_not_grow(place: Place) -> None:
    assert all(found.startswith(RIGHT) or found == "CompilerError" for found in place.run(small_files, 8))


@contextmanager
def mounted(folder: Path, options: str) -> Generator[None]:
    """A file system in memory at a folder. Skips where this process may mount none."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("no file system can be mounted here: run as root to see what a full disk does")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def first_calls(random: Random, count: int) -> Iterator[str]:
    import_all()
    for number in range(count):
        backend = ("c", "numpy", "auto")[number % 3]
        yield f"{backend}: {forked(partial(called, number + 2, backend))}"


def test_the_disk_of_the_cache_is_full(place: Place) -> None:
    with mounted(place.root / "cache", "size=8k"):
        found = place.run(first_calls, 3)
    assert all(f": {RIGHT}" in name for name in found)


def test_the_disk_of_temporary_files_is_full(place: Place) -> None:
    with mounted(place.root / "temporary", "size=8k"):
        found = place.run(first_calls, 3)
    assert all(f": {RIGHT}" in name or name == "c: CompilerError" for name in found)


def test_the_disk_of_temporary_files_is_mounted_with_noexec(place: Place) -> None:
    with mounted(place.root / "temporary", "size=64m,noexec"):
        found = place.run(first_calls, 3, TRACEMILL_CACHE="0")
    assert all(f": {RIGHT}" in name for name in found)


def test_the_disk_of_the_cache_is_mounted_with_noexec(place: Place) -> None:
    with mounted(place.root / "cache", "size=64m,noexec"):
        found = place.run(first_calls, 3)
    assert all(f": {RIGHT}" in name for name in found)


def exports_to_a_full_disk(random: Random, count: int) -> Iterator[str]:
    function, x = workload()
    artifact = tm.export(function, x)
    folder = temporary_folder() / "full"
    for number in range(count):
        for format, name in (("bundle", "a.tmill"), ("python", "a.py"), ("c", "a")):
            (folder / "filler").write_bytes(bytes(random.randrange(8192)))
            try:
                artifact.save(folder / f"{number}{name}", format)
                yield f"{format}: written"
            except OSError as error:
                yield f"{format}: OSError that names {'the file' if str(folder) in str(error) else 'nothing'}"
            assert not list(folder.rglob(".tmp-*"))
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_an_export_fills_the_disk(place: Place) -> None:
    full = place.folder("temporary") / "full"
    try:
        with mounted(full, "size=12k"):
            found = place.run_without_checking(exports_to_a_full_disk, 3)
    finally:
        full.rmdir()
    assert {name.partition(": ")[0] for name in found} == {"bundle", "python", "c"}


def odd_homes(random: Random, count: int) -> Iterator[str]:
    """The cache is nowhere, below a file, in a device, or under a name that no file can have."""
    Path("file").touch()
    homes: tuple[dict[str, str], ...] = (
        {"HOME": "/nonexistent"},
        {"HOME": ""},
        {"TRACEMILL_CACHE_DIR": "/dev/null/cache"},
        {"TRACEMILL_CACHE_DIR": str(Path("file").resolve() / "cache")},
        {"TRACEMILL_CACHE_DIR": "/proc/cache"},
        {"TRACEMILL_CACHE_DIR": "/" + "x" * 300},
        {"TRACEMILL_CACHE_DIR": "relative/../.."},
    )
    import_all()
    for number in range(count):
        settings = homes[number % len(homes)]

        def work(settings: dict[str, str] = settings, number: int = number) -> str:
            for name in ("HOME", "TRACEMILL_CACHE_DIR", "XDG_CACHE_HOME"):
                os.environ.pop(name, None)
            os.environ["XDG_CACHE_HOME"] = str(Path("xdg").resolve())
            if "HOME" in settings:
                del os.environ["XDG_CACHE_HOME"]
                os.environ["XDG_CACHE_HOME"] = "/nonexistent" if os.geteuid() else "/proc/nonexistent"
            os.environ.update(settings)
            return called(number + 2, ("c", "numpy", "auto")[number % 3])

        yield forked(work)


def test_there_is_no_place_for_a_cache(place: Place) -> None:
    assert set(place.run(odd_homes, 7)) <= {RIGHT, f"{RIGHT}, CacheWarning"}


def clocks_set_back(random: Random, count: int) -> Iterator[str]:
    """All files in the cache are from the future, as after the clock has been set back."""
    called()
    for number in range(count):
        future = time.time() + random.choice((60, 10**5, 10**9))
        for path in cache_folder().rglob("*"):
            os.utime(path, (future, future))
        yield forked(partial(called, number // 2 + 1, random.choice(("c", "numpy"))))
    assert tm_cache_is_whole()


def tm_cache_is_whole() -> bool:
    from tracemill.runtime.cache.disk_cache import default_cache

    cache = default_cache()
    return cache.verify() == [] and cache.prune(1) >= 1 and cache.info().bytes <= 1


def test_the_clock_is_set_back(place: Place) -> None:
    assert set(place.run(clocks_set_back, 3)) == {RIGHT}


def few_descriptors(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    called()
    for number in range(count):
        limit = random.randrange(3, 20)
        yield limited(resource.RLIMIT_NOFILE, limit, number + 2, random.choice(("c", "numpy", "auto")))


def test_descriptors_run_out(place: Place) -> None:
    allowed = {"CompilerError", "OSError", "ImportError"}
    assert all(found.startswith(RIGHT) or found in allowed for found in place.run(few_descriptors, 8))


def closed_streams(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    for number in range(count):
        closed = random.sample(range(3), random.randrange(1, 4))

        def work(number: int = number, closed: Sequence[int] = tuple(closed)) -> str:
            for descriptor in closed:
                os.close(descriptor)
            return called(number + 2, ("c", "auto")[number % 2])

        yield forked(work)


def test_standard_streams_are_closed(place: Place) -> None:
    assert set(place.run(closed_streams, 6)) == {RIGHT}


def removed_folders(random: Random, count: int) -> Iterator[str]:
    import_all()
    for number in range(count):

        def work(number: int = number) -> str:
            folder = Path(f"removed-{number}")
            folder.mkdir()
            os.chdir(folder)
            Path("../" + folder.name).rmdir()
            os.environ["TRACEMILL_CACHE_DIR"] = "cache"
            return called(number + 2, ("c", "numpy", "auto")[number % 3])

        yield forked(work)


def test_the_working_folder_is_removed(place: Place) -> None:
    assert set(place.run(removed_folders, 3)) == {RIGHT}


ODD_OUTPUTS: Final = {
    "a pipe": "mkfifo $o",
    "a folder": "mkdir $o",
    "a link": "ln -s /etc/passwd $o",
    "a link to itself": "ln -s $o $o",
    "a device": "ln -s /dev/zero $o",
    "other bytes": "head -c 5000 /dev/urandom > $o",
    "nothing": ":",
    "an empty file": ": > $o",
}
"""What a command that is no C compiler leaves where the library should be."""


def odd_compilers(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    for number, commands in zip(range(count), cycle(ODD_OUTPUTS.values())):
        script = Path("odd-compiler")
        find_output = 'while [ $# -gt 0 ]; do [ "$1" = -o ] && o=$2; shift; done'
        script.write_text(f"#!/bin/sh\n{find_output}\n{commands}\n", encoding="ascii")
        script.chmod(0o700)

        def work(number: int = number, script: Path = script) -> str:
            os.environ["TRACEMILL_CC"] = str(script.resolve())
            return called(number + 2, "auto")

        yield forked(work)


def test_the_compiler_leaves_something_else(place: Place) -> None:
    assert set(place.run(odd_compilers, len(ODD_OUTPUTS))) == {f"{RIGHT}, CompilerWarning"}


def damaged_facts(random: Random, count: int) -> Iterator[str]:
    """What is remembered of this machine is cut off, changed, or belongs to another one."""
    called()
    (facts,) = cache_folder().glob("toolchain*.json")
    whole = facts.read_bytes()
    for number in range(count):
        facts.write_bytes(
            random.choice(
                (
                    whole[: random.randrange(len(whole))],
                    b"[]",
                    b"{}",
                    b"\xff" * 100,
                    whole.replace(b"true", b"[[]]").replace(b"gcc", b"\x00"),
                    b'{"a": ' * 10_000,
                )
            )
        )
        yield forked(partial(called, number + 2))


def test_facts_about_the_machine_are_damaged(place: Place) -> None:
    assert set(place.run(damaged_facts, 6)) == {RIGHT}


def test_the_disk_of_the_cache_is_read_only(place: Place) -> None:
    with mounted(place.root / "cache", "size=64m"):
        place.run(first_calls, 3)
        subprocess.run(["mount", "-o", "remount,ro", place.root / "cache"], check=True)
        found = place.run(first_calls, 6)
    assert all(f": {RIGHT}" in name for name in found)
