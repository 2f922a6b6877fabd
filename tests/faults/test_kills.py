"""Processes are killed at random moments. What they leave in the cache and on disk is whole, or is not there."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

import tracemill as tm
from faults.harness import Place
from faults.inside import (
    RIGHT,
    cache_folder,
    called,
    called_from_file,
    forked,
    killed,
    outcome,
    temporary_folder,
    workload,
)
from tracemill.runtime.cache.disk_cache import DiskCache, cache_key

pytestmark = pytest.mark.faults


def pruned(cache: DiskCache) -> str:
    return str(cache.prune(0))


def killed_first_calls(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    temporary_folder()  # Python tries it by a file of its own, which would stay where a child is killed just then
    for number in range(count):
        backend = random.choice(("c", "c", "numpy"))
        killed(partial(called, number, backend), random.uniform(0.0, 0.6))
        yield forked(partial(called, number, backend))


def test_a_first_call_is_killed(place: Place) -> None:
    assert set(place.run(killed_first_calls, 4)) == {RIGHT}


def store_without_end(first: int) -> str:
    cache = DiskCache(cache_folder(), max_bytes=20_000)
    while True:
        for number in range(first, first + 30):
            key = cache_key(ir=str(number), backend="test", options={}, versions={})
            cache.store(key, {"program.py": b"%d" % number * 500}, {"function": "f"})


def killed_stores(random: Random, count: int) -> Iterator[str]:
    for _ in range(count):
        first = random.randrange(10)
        killed(partial(store_without_end, first), random.uniform(0.0, 0.1))
        cache = DiskCache(cache_folder(), max_bytes=20_000)
        assert cache.verify() == []
        for number in range(first, first + 30):
            entry = cache.load(cache_key(ir=str(number), backend="test", options={}, versions={}))
            assert entry is None or entry.members == {"program.py": b"%d" % number * 500}
        assert forked(partial(pruned, cache), seconds=5) is not None
        assert cache.info().count == 0
        yield "whole entries, and eviction goes on"
    for left in cache_folder().glob(".tmp-*"):  # of killed processes: they are deleted after an hour
        shutil.rmtree(left)


def test_storing_and_evicting_is_killed(place: Place) -> None:
    assert len(place.run(killed_stores, 10)) == 1


def save_without_end(path: Path, format: str) -> str:
    function, x = workload()
    artifact = tm.export(function, x)
    while True:
        artifact.save(path, format, overwrite=True)


def killed_exports(random: Random, count: int) -> Iterator[str]:
    function, x = workload()
    tm.export(function, x).save("before.tmill")
    tm.load("before.tmill")
    for number in range(count):
        path = Path(f"{number}.tmill")
        killed(partial(save_without_end, path, "bundle"), random.uniform(0.0, 0.15))
        if path.exists():
            yield outcome(partial(called_from_file, path, x), function(x))
        else:
            yield "no file"


def test_an_export_is_killed(place: Place) -> None:
    assert set(place.run(killed_exports, 8)) <= {RIGHT, "no file"}
