"""Times of the stages of a compilation, on request; otherwise they cost nothing."""

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class StageTimes:
    """The stages of one compilation, in order, with their seconds."""

    stages: list[tuple[str, float]] = field(default_factory=list["tuple[str, float]"])
    """``trace``, ``look up`` in the disk cache, the passes by name, ``import`` of passes and printers, then ``print``,
    ``compile``, ``store`` and ``load``."""
    from_disk: bool = False
    """The program came from the disk cache."""

    @property
    def total(self) -> float:
        """The seconds of all stages."""
        return sum(seconds for _, seconds in self.stages)

    def __str__(self) -> str:
        """Passes that run twice count as one."""
        sums: dict[str, float] = {}
        for name, seconds in self.stages:
            sums[name] = sums.get(name, 0.0) + seconds
        parts = ", ".join(f"{name} {_shown(seconds)}" for name, seconds in sums.items())
        return f"{_shown(self.total)}: {parts}"


_current: ContextVar[StageTimes | None] = ContextVar("stage times", default=None)


@contextmanager
def measured_stages() -> Generator[StageTimes]:
    """Measure the stages of compilations inside the block."""
    times = StageTimes()
    token = _current.set(times)
    try:
        yield times
    finally:
        _current.reset(token)


def stage(name: str) -> AbstractContextManager[None]:
    """The code inside is a stage, if someone asked for times."""
    times = _current.get()
    return nullcontext() if times is None else _measured(times, name)


def pass_times() -> Callable[[str, Any], None] | None:
    """For a pipeline to call after each pass; None if no one listens."""
    times = _current.get()
    if times is None:
        return None
    last = time.perf_counter()

    def note(name: str, _: Any) -> None:
        nonlocal last
        now = time.perf_counter()
        times.stages.append((name, now - last))
        last = now

    return note


def note_from_disk() -> None:
    """The program was in the disk cache, so it is not compiled."""
    times = _current.get()
    if times is not None:
        times.from_disk = True


@contextmanager
def _measured(times: StageTimes, name: str) -> Generator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        times.stages.append((name, time.perf_counter() - start))


def _shown(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
