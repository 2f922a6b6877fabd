"""Measurements of this machine: cores, caches, copying speed, the cost of a call. Measured once, stored on disk."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..cache.disk_cache import default_cache
from .machine_facts import recall, remember
from .processor import processor_digest, processor_name
from .threads import available_cores

SECONDS = 0.3
"""The maximum time of a measurement."""

_COPIED = 32 * 2**20
_MULTIPLIED = {"f32": np.float32, "f64": np.float64}
_ROWS = 768
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SYSCONF = {1: "SC_LEVEL1_DCACHE_SIZE", 2: "SC_LEVEL2_CACHE_SIZE", 3: "SC_LEVEL3_CACHE_SIZE"}


@dataclass(frozen=True, slots=True)
class Machine:
    """The measurements of a machine."""

    processor: str
    cores: int
    """The cores that this process may use."""
    caches: dict[int, int]
    """The bytes of the data caches of the first core, by level."""
    copied: dict[int, float]
    """By number of threads: the bytes per second that they read and write when they copy large arrays."""
    call: float
    """Seconds of a call of a NumPy function beyond its work."""
    multiplied: dict[str, float]
    """By dtype: the operations per second when all threads multiply large matrices."""

    @property
    def bandwidth(self) -> float:
        """The bytes per second that all threads together move."""
        return max(self.copied.values())


def known_machine() -> Machine | None:
    """Earlier measurements on this processor, by this or another process."""
    known = recall("machine")
    if known.get("digest") != processor_digest() or known.get("cores") != available_cores():
        return None
    try:
        caches = {int(level): int(size) for level, size in known["caches"].items()}
        copied = {int(threads): float(speed) for threads, speed in known["copied"].items()}
        multiplied = {dtype: float(known["multiplied"][dtype]) for dtype in _MULTIPLIED}
        return Machine(
            processor_name(), int(known["cores"]), caches, copied, float(known["call"]), multiplied
        )
    except (KeyError, AttributeError, TypeError, ValueError):  # written by another version, or by hand
        return None


def measured_machine() -> Machine:
    """The stored measurements, or new ones, which take at most a third of a second."""
    return known_machine() or (measure() if default_cache().why_not is None else _measured_in_this_process())


@cache
def _measured_in_this_process() -> Machine:
    """If nothing can be stored on disk."""
    return measure()


def measure() -> Machine:
    """Measure again, and store the result for others."""
    stop = time.perf_counter() + SECONDS
    cores = available_cores()
    call = _call_time()
    multiplied = _multiplication_speeds(time.perf_counter() + SECONDS / 6)
    copied = _copy_speeds(sorted({1, (cores + 1) // 2, cores}), stop)
    found = Machine(processor_name(), cores, _cache_sizes(), copied, call, multiplied)
    remember("machine", {"digest": processor_digest(), **asdict(found)})
    return found


def _copy_speeds(counts: list[int], stop: float) -> dict[int, float]:
    """By number of threads, each of which copies its part."""
    source, target = np.ones(_COPIED, np.uint8), np.empty(_COPIED, np.uint8)
    np.copyto(target, source)  # the pages are allocated from now on
    speeds: dict[int, float] = {}
    for place, threads in enumerate(counts):
        parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
        until = time.perf_counter() + max(0.0, stop - time.perf_counter()) / (len(counts) - place)
        with ThreadPoolExecutor(threads) as pool:
            best = _least_time(partial(_copy_all, pool, parts), until)
        speeds[threads] = 2 * _COPIED / best
    return speeds


def _copy_all(pool: ThreadPoolExecutor, parts: list[tuple[Any, Any]]) -> None:
    for _ in pool.map(_copy, parts):
        pass


def _copy(part: tuple[Any, Any]) -> None:
    np.copyto(*part)


def _multiplication_speeds(stop: float) -> dict[str, float]:
    """By dtype, of square matrices, as NumPy's BLAS multiplies them."""
    speeds: dict[str, float] = {}
    for place, (name, dtype) in enumerate(_MULTIPLIED.items()):
        x, out = np.ones((_ROWS, _ROWS), dtype), np.empty((_ROWS, _ROWS), dtype)
        until = time.perf_counter() + max(0.0, stop - time.perf_counter()) / (len(_MULTIPLIED) - place)
        speeds[name] = 2 * _ROWS**3 / _least_time(partial(np.matmul, x, x, out=out), until)
    return speeds


def _call_time() -> float:
    x, count = np.zeros(1), 1000

    def calls() -> None:
        for _ in range(count):
            np.negative(x, out=x)

    return _least_time(calls, time.perf_counter() + SECONDS / 20) / count


def _least_time(run: Callable[[], object], until: float) -> float:
    """The minimum of at least two times, the second of which is warm; no more runs start after `until`."""
    best = np.inf
    runs = 0
    while runs < 2 or time.perf_counter() < until:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best


def _cache_sizes() -> dict[int, int]:
    """Of the first core, as reported by Linux, otherwise by the C library."""
    sizes: dict[int, int] = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.removesuffix("K").isdecimal():
            sizes[int(level)] = int(size.removesuffix("K")) * (1024 if size.endswith("K") else 1)
    if not sizes and hasattr(os, "sysconf"):
        known = os.sysconf_names
        found = {level: os.sysconf(name) for level, name in _SYSCONF.items() if name in known}
        sizes = {level: size for level, size in found.items() if size > 0}
    return sizes
