"""The disk cache: what is stored comes back, what is wrong is a miss, and a sick disk costs only speed."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.cache_entries import ABOUT, KEY, MEMBERS, ON_POSIX, key_of, stored
from tracemill.runtime.cache import eviction as cache_eviction
from tracemill.runtime.cache.disk_cache import CacheWarning, DiskCache, Statistics, cache_key, default_cache
from tracemill.runtime.cache.key import versions_in_use

TREE = Path(__file__).resolve().parents[2] / ".root"


def run_python(program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A fresh interpreter that runs a program which warns of nothing."""
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    variables = {**os.environ, "PYTHONPATH": str(TREE), **environment}
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)


# Keys


def test_a_key_is_the_same_in_every_process() -> None:
    program = (
        "from tracemill.runtime.cache.disk_cache import cache_key\n"
        "print(cache_key(ir='x', backend='c', options={'b': 1, 'a': True, 'c': 'é'}))"
    )
    process = run_python(program, PYTHONHASHSEED="1")
    key = cache_key(ir="x", backend="c", options={"c": "é", "a": True, "b": 1})
    assert process.communicate(timeout=60)[0].strip() == key


def test_a_key_differs_when_anything_does() -> None:
    keys = [
        cache_key(ir="x", backend="numpy", versions={}),
        cache_key(ir="y", backend="numpy", versions={}),
        cache_key(ir="x", backend="c", versions={}),
        cache_key(ir="x", backend="numpy"),
        cache_key(ir="x", backend="numpy", versions={"numpy": "2.0"}),
        cache_key(ir="x", backend="numpy", options={"numpy": "2.0"}, versions={}),
        *(cache_key(ir="x", backend="numpy", options={"a": value}, versions={}) for value in (1, True, "1")),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)


@pytest.mark.parametrize("name", ["compiler/ir.py", "compiler/backends/c/functions/number.h"])
def test_keys_change_with_every_source_file_of_tracemill(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / name
    for folder in ("compiler", "passes", "runtime"):
        (tmp_path / folder).mkdir()
    source.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("tracemill.runtime.cache.key._PACKAGE", tmp_path)
    found = []
    for text in ("one", "another"):
        source.write_text(text)
        versions_in_use.cache_clear()
        found.append(versions_in_use()["tracemill"])
    monkeypatch.undo()
    versions_in_use.cache_clear()
    assert len(set(found)) == 2


@pytest.mark.parametrize("key", ["", "../" + KEY[3:], KEY[:-1], KEY.upper(), KEY + "\n"])
def test_what_is_not_a_key_is_refused(cache: DiskCache, key: str) -> None:
    with pytest.raises(ValueError, match="is not a cache key"):
        cache.load(key)


# Loading and storing


def test_what_is_stored_comes_back(cache: DiskCache) -> None:
    assert cache.load(KEY) is None
    folder = stored(cache)
    assert folder == cache.path_of(KEY)
    assert (folder / "program.py").read_bytes() == MEMBERS["program.py"]
    for reader in (cache, DiskCache(cache.folder)):
        entry = reader.load(KEY)
        assert entry is not None
        assert (entry.key, entry.folder) == (KEY, folder)
        assert (entry.members, entry.about) == (MEMBERS, ABOUT)
        assert entry.text("graph.txt") == "αβγ\n"
        assert abs(entry.created - time.time()) < 60
    assert cache.statistics == Statistics(hits=1, misses=1, stores=1, bad=0)


@ON_POSIX
def test_the_folder_and_its_entries_are_closed_to_others(cache: DiskCache) -> None:
    folder = stored(cache)
    assert [os.stat(path).st_mode & 0o777 for path in (cache.folder, folder)] == [0o700, 0o700]


def test_the_first_to_store_wins(cache: DiskCache) -> None:
    stored(cache)
    assert cache.store(KEY, {"program.py": b"other"}, ABOUT) == cache.path_of(KEY)
    entry = cache.load(KEY)
    assert entry is not None
    assert entry.members == MEMBERS
    assert cache.statistics.stores == 1
    assert {path.name for path in cache.folder.iterdir()} <= {KEY, ".lock"}


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "/etc/passwd", ".hidden", "entry.json", "Entry.JSON", "a\n"]
)
def test_a_member_needs_a_plain_name(cache: DiskCache, name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a file"):
        cache.store(KEY, {name: b""}, ABOUT)


def test_names_of_members_differ_on_every_file_system(cache: DiskCache) -> None:
    with pytest.raises(ValueError, match="differ only in case"):
        cache.store(KEY, {"a.py": b"", "A.py": b""}, ABOUT)


def test_an_entry_that_is_too_large_is_not_stored(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", max_bytes=100)
    with pytest.warns(CacheWarning, match="did not store 90 bytes .* may have 87"):
        assert cache.store(KEY, {"program.py": bytes(90)}, ABOUT) is None
    assert cache.statistics.stores == 0


# Room


def test_the_least_recently_used_entry_is_evicted_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", max_bytes=20_000)
    for number in range(4):
        cache.store(key_of(number), {"program.py": bytes(4000)}, ABOUT)
        os.utime(cache.path_of(key_of(number)) / "entry.json", (1000 + number, 1000 + number))
    assert cache.load(key_of(0)) is not None  # which makes it the last used
    cache.store(key_of(4), {"program.py": bytes(4000)}, ABOUT)
    assert [cache.load(key_of(number)) is not None for number in range(5)] == [True, False, False, True, True]


def test_the_cap_holds_with_many_entries(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", max_bytes=20_000)
    for number in range(40):
        assert cache.store(key_of(number), {"program.py": bytes(1000)}, ABOUT)
        assert cache.info().bytes <= cache.max_bytes
    assert cache.info().count >= 10
    assert cache.load(key_of(39)) is not None


def test_a_hit_is_noted_at_most_once_a_minute(cache: DiskCache) -> None:
    manifest = stored(cache) / "entry.json"
    for age, is_noted in ((30, False), (90, True)):
        then = time.time() - age
        os.utime(manifest, (then, then))
        assert cache.load(KEY) is not None
        assert (abs(manifest.stat().st_mtime - then) > 1) is is_noted


def test_pruning_keeps_what_was_used_last(cache: DiskCache) -> None:
    for number in range(4):
        stored(cache, key_of(number))
    size = cache.info().bytes // 4
    assert cache.prune() == 0
    assert cache.prune(2 * size + 10) == 2
    assert [entry.key for entry in cache.entries()] == [key_of(3), key_of(2)]
    assert cache.prune(0) == 2


def test_leftovers_of_killed_processes_are_deleted_when_they_are_old(cache: DiskCache) -> None:
    stored(cache)
    leftovers = [cache.folder / name for name in (".tmp-1-old", ".tmp-2-new")]
    for leftover in leftovers:
        leftover.mkdir()
        (leftover / "program.py").write_bytes(b"")
    os.utime(leftovers[0], (0, 0))
    cache.prune()
    assert [leftover.exists() for leftover in leftovers] == [False, True]
    assert cache.load(KEY) is not None


def test_eviction_is_left_to_the_process_that_is_at_it(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(cache)
    monkeypatch.setattr(cache_eviction, "_LOCK_SECONDS", 0.05)
    program = (
        "import filelock, sys\n"
        "with filelock.FileLock(sys.argv[1]):\n"
        "    print('locked', flush=True)\n"
        "    sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(cache.folder / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        assert cache.clear() == 0
        process.communicate(timeout=60)
    assert cache.clear() == 1


# For the command line


def test_the_list_of_entries_says_what_each_is(cache: DiskCache) -> None:
    assert cache.entries() == []
    folder = stored(cache)
    (entry,) = cache.entries()
    assert (entry.key, entry.folder, entry.function, entry.backend) == (KEY, folder, "f", "numpy")
    assert entry.bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert abs(entry.created - time.time()) < 60
    assert abs(entry.last_used - time.time()) < 60


def test_the_info_says_where_and_how_much(cache: DiskCache) -> None:
    for number in range(3):
        stored(cache, key_of(number))
    info = cache.info()
    assert (info.folder, info.enabled, info.why_not, info.count) == (cache.folder, True, None, 3)
    assert info.bytes == sum(entry.bytes for entry in cache.entries())
    assert info.max_bytes == 2**30


def test_clearing_deletes_entries_and_nothing_else(cache: DiskCache) -> None:
    stored(cache)
    broken = stored(cache, key_of(1))
    (broken / "entry.json").unlink()
    (cache.folder / "notes.txt").write_text("mine", encoding="utf-8")
    assert cache.clear() == 2
    assert {path.name for path in cache.folder.iterdir()} <= {"notes.txt", ".lock"}
    assert cache.clear() == 0


def test_verifying_names_the_bad_entries(cache: DiskCache) -> None:
    stored(cache)
    (stored(cache, key_of(1)) / "graph.txt").write_bytes(b"")
    (error,) = cache.verify()
    assert error.path == cache.path_of(key_of(1)) / "graph.txt"
    assert error.reason == "is truncated: 0 of 7 bytes"
    assert cache.statistics.bad == 0


def test_a_cache_that_is_not_there_yet_is_empty(cache: DiskCache) -> None:
    assert (cache.entries(), cache.verify(), cache.clear(), cache.prune()) == ([], [], 0, 0)
    assert cache.info().enabled
    assert not cache.folder.exists()


# The environment


def test_the_environment_moves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEMILL_CACHE", raising=False)
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "one"))
    first = default_cache()
    assert first.folder == tmp_path / "one"
    assert default_cache() is first
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "two"))
    assert default_cache().folder == tmp_path / "two"


def test_without_settings_the_cache_lies_with_other_programs_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", "")
    folder = default_cache().folder
    assert folder.is_absolute()
    assert "tracemill" in folder.parts


def test_the_environment_turns_the_cache_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    cache = default_cache()
    assert cache.store(KEY, MEMBERS, ABOUT) is None
    assert cache.load(KEY) is None
    assert not cache.folder.exists()
    assert (cache.info().enabled, cache.info().why_not) == (False, "TRACEMILL_CACHE=0")
    monkeypatch.setenv("TRACEMILL_CACHE", "1")
    stored(default_cache())
    assert cache.clear() == 1  # an unused cache can still be cleaned


def test_importing_the_cache_brings_no_slow_package() -> None:
    program = (
        "import sys, tracemill.runtime.cache.disk_cache\n"
        "print(*{'filelock', 'platformdirs', 'pickle', 'ctypes'} & (set(sys.modules) - before))"
    )
    process = run_python(f"import sys, numpy; before = set(sys.modules)\n{program}")
    assert process.communicate(timeout=60)[0].split() == []


# At the same time


@pytest.mark.slow
def test_processes_store_the_same_key_at_the_same_time(cache: DiskCache) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tracemill.runtime.cache.disk_cache import DiskCache\n"
        "cache = DiskCache(Path(sys.argv[1]))\n"
        "while time.time() < float(sys.argv[2]): pass\n"
        "for key in sys.argv[3:]:\n"
        "    assert cache.store(key, {'program.py': bytes(10_000)}, {})\n"
        "    assert cache.load(key)\n"
        "print(cache.statistics.stores)"
    )
    keys = [key_of(number) for number in range(100)]
    start = str(time.time() + 1.0)
    processes = [run_python(program, str(cache.folder), start, *keys) for _ in range(2)]
    stores = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(stores) == len(keys)
    assert {path.name for path in cache.folder.iterdir()} <= {*keys, ".lock"}
    assert cache.verify() == []


@pytest.mark.slow
def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", max_bytes=30_000)  # small enough to evict all the time
    failures: list[BaseException] = []
    start = threading.Barrier(4)

    def work() -> None:
        try:
            start.wait()
            for number in [*range(30), *range(30)]:
                cache.store(key_of(number), {"program.py": number.to_bytes() * 1000}, ABOUT)
                entry = cache.load(key_of(number))
                assert entry is None or entry.members["program.py"] == number.to_bytes() * 1000
        except BaseException as error:  # a warning too
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    statistics = cache.statistics
    assert statistics.hits + statistics.misses == 4 * 60
    assert statistics.bad == 0
    assert cache.verify() == []
