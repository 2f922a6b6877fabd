"""`Build`: a program that is ready to run; `statistics`: how many were made in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Statistics:
    """Counts of this process, for tests and diagnostics."""

    compiled: int = 0
    """Programs that were optimised and printed."""
    from_disk: int = 0
    """Programs that came from the disk cache."""


statistics = Statistics()


@dataclass(frozen=True)
class Build:
    """A program that can run, and where it came from."""

    function: Callable[..., tuple[Any, ...]]
    source: str
    path: Path | None
    """Where the generated source is; None if it could not be cached."""
    from_disk: bool = False
    c_source: str | None = None
