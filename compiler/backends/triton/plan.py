"""What a program for a GPU does: steps on arrays, whose places are decided before it runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ...byte_counts import show_bytes
from ...ir import ArrayType, Constant, Graph


class Region(StrEnum):
    """What an array is a part of."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ARENA = "arena"


@dataclass(frozen=True, slots=True)
class Slot:
    """An array of a program: its elements lie one after another, in row-major order."""

    name: str
    type: ArrayType
    region: Region
    at: int
    """Which input, output or constant it is; in the arena, the offset of its first byte."""


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """Run one Triton function on a grid: it reads and writes arrays."""

    function: str
    programs: int
    """How many: the grid has one axis."""
    warps: int
    stages: int
    """For so many turns of a loop at once it copies matrices into shared memory."""
    slots: tuple[Slot, ...]
    """The function's arguments."""

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return self.slots

    def __str__(self) -> str:
        arguments = ", ".join(slot.name for slot in self.slots)
        return f"launch {self.function}[{self.programs:_} × {self.warps} warps]({arguments})"


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copy an array to where another lies."""

    source: Slot
    target: Slot

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return self.source, self.target

    def __str__(self) -> str:
        return f"copy {self.source.name} to {self.target.name}  # {show_bytes(self.source.type.nbytes)}"


@dataclass(frozen=True, slots=True)
class HostStep:
    """Let NumPy compute on the host what has no kernel: copy its operands there, and its results back."""

    graph: Graph
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return (*self.inputs, *self.outputs)

    @property
    def bytes_copied(self) -> int:
        """What moves between the device and the host."""
        return sum(slot.type.nbytes for slot in self.touched)

    @property
    def ops(self) -> tuple[str, ...]:
        """What is computed, each op once."""
        return tuple(dict.fromkeys(call.op for call in self.graph.calls))

    def __str__(self) -> str:
        given, made = (", ".join(slot.name for slot in slots) for slots in (self.inputs, self.outputs))
        copied = show_bytes(self.bytes_copied)
        return f"host {', '.join(self.ops)}({given}) to {made or 'nothing'}  # NumPy; copies {copied}"


Step: TypeAlias = LaunchStep | CopyStep | HostStep


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a program, in the order in which they run, and the memory that they need."""

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    constants: tuple[Constant, ...]
    arena_bytes: int
    """What lies in between takes so many bytes of one piece of memory."""
    steps: tuple[Step, ...]

    @property
    def launches(self) -> Iterator[LaunchStep]:
        """The launches among the steps."""
        return (step for step in self.steps if isinstance(step, LaunchStep))

    @property
    def host_steps(self) -> Iterator[HostStep]:
        """What NumPy computes."""
        return (step for step in self.steps if isinstance(step, HostStep))

    def __str__(self) -> str:
        arrays = (f"{slot.name}: {slot.type}" for slot in self.inputs)
        results = ", ".join(str(slot.type) for slot in self.outputs)
        lines = [f"plan {self.name}({', '.join(arrays)}) -> {results}:"]
        if self.arena_bytes:
            lines.append(f"    arena of {show_bytes(self.arena_bytes)}")
        lines += [f"    {step}" for step in self.steps]
        lines.append(f"    return {_names(self.outputs)}")
        return "\n".join(lines)


def _names(slots: Sequence[Slot]) -> str:
    return ", ".join(slot.name for slot in slots)
