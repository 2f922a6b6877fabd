"""The cost of compiling: the time from the function to a callable, its growth with the graph, and memory."""

import os
import time
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from math import log
from statistics import median
from typing import Any

import numpy as np

from ...runtime.compilation.compile import compile
from .timing import Measurement

SIZES = (30, 100, 1000, 10_000)  # nodes of the graph
FITTED = SIZES[1:]
ABOUT: str = "From a Python function to one that runs: trace, passes, source, without the disk cache"


def chain(nodes: int, xp: Any = np) -> Callable[[Any], Any]:
    """A function whose graph is a chain of that many different calls."""

    def function(x: Any) -> Any:
        start = x
        for number in [
            *range(nodes // 2)
        ]:  # a list, over which Python loops: this must be a chain and not a loop
            x = xp.sin(x) if number % 2 else xp.tanh(x)
            x = x + start
        return x

    return function


def measure(rounds: int) -> Iterator[Measurement]:
    """Seconds per size, the slope of time against size, and the peak of memory."""
    argument = np.ones(8, np.float32)
    seconds: dict[int, float] = {}
    with _disk_cache_off():
        _compile(chain(SIZES[0]), argument)
        for nodes in SIZES:
            repeats = min(rounds, max(3, rounds * SIZES[0] // nodes))
            seconds[nodes] = seconds_to_compile(partial(chain, nodes), argument, repeats=repeats)
            detail = f"{1e6 * seconds[nodes] / nodes:.0f} µs a node, median of {repeats}"
            yield Measurement("compile", f"{nodes} nodes", 1e3 * seconds[nodes], "ms", detail)
        slope = _slope([log(n) for n in FITTED], [log(seconds[n]) for n in FITTED])
        yield Measurement("compile", "growth", slope, "", "time grows as nodes to this power")
        peak = _peak_memory(FITTED[-1], argument)
        yield Measurement(
            "compile", f"{FITTED[-1]} nodes, memory", peak / 2**20, "MiB", "peak of what Python allocates"
        )


def seconds_to_compile(
    make: Callable[[], Callable[[Any], Any]], argument: Any, *, repeats: int, **options: Any
) -> float:
    """The median time of the first call of a new function from `make`, without the disk cache.

    `options` are those of `compile`.
    """
    with _disk_cache_off():
        return median(_compile(make(), argument, **options) for _ in range(repeats))


def _compile(function: Callable[[Any], Any], argument: Any, **options: Any) -> float:
    compiled = compile(function, **options)
    started = time.perf_counter()
    compiled(argument)
    return time.perf_counter() - started


def _peak_memory(nodes: int, argument: Any) -> int:
    tracemalloc.start()
    try:
        _compile(chain(nodes), argument)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _slope(x: list[float], y: list[float]) -> float:
    """The slope of the least-squares line."""
    return float(np.polynomial.Polynomial.fit(x, y, 1).convert().coef[1])


@contextmanager
def _disk_cache_off() -> Generator[None, None, None]:
    before = os.environ.get("TRACEMILL_CACHE")
    os.environ["TRACEMILL_CACHE"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TRACEMILL_CACHE"]
        else:
            os.environ["TRACEMILL_CACHE"] = before
