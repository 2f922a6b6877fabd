"""An entry of a lock file: the measurements of a kernel on a type of GPU, and the choice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...compiler.backends.triton.choice import Choice
from ..gpu.device import Device


@dataclass(frozen=True, slots=True)
class Measured:
    """A choice that was timed or rejected, and why."""

    choice: Choice
    milliseconds: float | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class LockEntry:
    """The choice for one kernel, for one type of GPU."""

    target: str
    """``sm_90``."""
    key: str
    """The digest of `graph`, and of `fast_math`."""
    choice: Choice
    measured: tuple[Measured, ...]
    device: str
    """The product name of the GPU on which it was measured."""
    versions: Mapping[str, str]
    """The versions with which it was measured."""
    graph: str
    """The text of the kernel's graph."""
    fast_math: bool = False
    """Whether the kernel is compiled with ``fast_math``."""
    line: int = field(default=0, compare=False)
    """Its line in its file."""


Entries: TypeAlias = Mapping[tuple[str, str], LockEntry]
"""By target and key."""


def choices_in(entries: Entries, target: str) -> dict[str, Choice]:
    """The choices for a type of GPU, by the keys of kernels."""
    return {key: entry.choice for (found, key), entry in sorted(entries.items()) if found == target}


def architecture(device: Device) -> str:
    """The type of a GPU, as lock files name it: ``sm_90``."""
    return device.target.partition(":")[2]
