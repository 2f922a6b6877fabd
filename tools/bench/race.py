"""A user's function on every backend and in other frameworks, in turns: medians, spread, differences."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Final

import numpy as np
import optree

from ...compiler.errors import TracemillError
from .timing import no_garbage_collection

SECONDS_IN_A_ROW: Final = 2e-3
"""The approximate number of seconds for the calls of one contestant in a round."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to compute the function."""

    name: str
    prepare: Callable[[], Callable[[], Any]]
    """Returns the callable; may take long, or fail."""


@dataclass(frozen=True, slots=True)
class Place:
    """The result of one contestant. Times are seconds."""

    name: str
    median: float | None
    """The time of a call; None if it did not run."""
    low: float | None
    """The first quartile of the rounds."""
    high: float | None
    """The third quartile."""
    first: float | None
    """From the Python function to the first result, including tracing and compiling."""
    times_faster: float | None
    """Relative to the first contestant."""
    difference: float | None
    """The largest difference from the first contestant's results, relative to the largest number; None if there is a
    problem."""
    problem: str | None
    """Why it did not run, or cannot be compared."""


def race(contestants: Sequence[Contestant], rounds: int, on_start: Callable[[str], Any]) -> list[Place]:
    """Prepare all contestants, then run them in turns. Others are compared with the first one.

    Every other round runs backwards, so that a change of the machine's speed affects all of them.
    """
    runners: dict[str, tuple[Callable[[], Any], float, int]] = {}
    results: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for contestant in contestants:
        on_start(contestant.name)
        try:
            start = time.perf_counter()
            call = contestant.prepare()
            results[contestant.name] = call()
            first = time.perf_counter() - start
            runners[contestant.name] = call, first, _calls_of(call)
        except Exception as error:
            if contestant is contestants[0]:
                raise
            problems[contestant.name] = _reason(error)
    on_start("all, in turns")
    times: dict[str, list[float]] = {name: [] for name in runners}
    with no_garbage_collection():
        for number in range(rounds):
            order = list(runners)
            for name in order if number % 2 else reversed(order):
                call, _, count = runners[name]
                start = time.perf_counter()
                for _ in range(count):
                    call()
                times[name].append((time.perf_counter() - start) / count)
    baseline = contestants[0].name
    expected, speed = results[baseline], float(np.median(times[baseline]))
    return [
        _place(c.name, times[c.name], runners[c.name][1], speed, difference(results[c.name], expected))
        if c.name in runners
        else Place(c.name, None, None, None, None, None, None, problems[c.name])
        for c in contestants
    ]


def _place(name: str, times: list[float], first: float, speed: float, differs: float) -> Place:
    low, median, high = quantiles(times, n=4, method="inclusive") if len(times) > 1 else (times[0],) * 3
    if not np.isfinite(differs):
        return Place(name, median, low, high, first, speed / median, None, "its results have other shapes")
    return Place(name, median, low, high, first, speed / median, differs, None)


def _calls_of(call: Callable[[], Any]) -> int:
    """How many calls one contestant makes in a row."""
    start = time.perf_counter()
    call()
    return max(1, round(SECONDS_IN_A_ROW / max(time.perf_counter() - start, 1e-9)))


def difference(found: Any, expected: Any) -> float:
    """The largest difference of two results, relative to the largest number; infinity if they have other shapes."""
    worst = 0.0
    leaves, others = optree.tree_leaves(found), optree.tree_leaves(expected)
    if len(leaves) != len(others):
        return np.inf
    for a, b in zip(map(_as_wide, leaves), map(_as_wide, others), strict=True):
        if a.shape != b.shape:
            return np.inf
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            scale = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
            worst = max(worst, float(np.max(np.where(same, 0.0, np.abs(a - b)), initial=0.0)) / scale)
    return worst


def _as_wide(leaf: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(leaf)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _reason(error: Exception) -> str:
    text = error.message if isinstance(error, TracemillError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:200]
