"""Timing functions against each other in one run, and the rows of a benchmark's table."""

import gc
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row of a benchmark's table."""

    benchmark: str
    case: str
    value: float
    unit: str
    detail: str = ""


def seconds_in_turn(functions: Sequence[Callable[[], Any]], *, rounds: int, calls: int) -> list[float]:
    """The median time of one call of each function, in seconds.

    In every round each function is called `calls` times in a row. Every other round runs backwards, so that a change
    of the machine's speed affects all of them.
    """
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    with no_garbage_collection():
        for number in range(rounds):
            order = range(len(functions))
            for index in order if number % 2 else reversed(order):
                times[index].append(_seconds(functions[index], calls) / calls)
    return [median(column) for column in times]


def ratio_in_turn(
    one: Callable[[], Any], other: Callable[[], Any], *, rounds: int, calls: int
) -> tuple[float, float]:
    """The time of a function relative to the other's: the median of the rounds; and its own seconds.

    In every round, one function runs before and after the other, which runs twice as often in between, so that slow
    changes do not affect the ratio. Other activity of the machine affects the ratios of few rounds.
    """
    own: list[float] = []
    ratios: list[float] = []
    for function in (one, other):
        function()
    with no_garbage_collection():
        for number in range(rounds):
            outer, inner = (one, other) if number % 2 else (other, one)
            before, between, behind = (
                _seconds(outer, calls),
                _seconds(inner, 2 * calls),
                _seconds(outer, calls),
            )
            around = before + behind
            mine, theirs = (around, between) if number % 2 else (between, around)
            own.append(mine / (2 * calls))
            ratios.append(mine / theirs)
    return median(ratios), median(own)


def _seconds(function: Callable[[], Any], calls: int) -> float:
    repeats = range(calls)
    started = time.perf_counter()
    for _ in repeats:
        function()
    return time.perf_counter() - started


@contextmanager
def no_garbage_collection() -> Generator[None, None, None]:
    """The garbage collector is off during the measurement."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
