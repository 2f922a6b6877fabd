"""The steps of a program for a GPU, on arrays whose places are decided before it runs.

Anything that depends on named sizes is an expression of them: `runtime.gpu.fixed_plan` evaluates it in a call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from ...ir import ArrayType, Constant, Graph
from ...symbolic_size import SymbolicSize
from ...text.units import show_bytes

ALIGNED: Final = 16
"""Kernels expect every array to be aligned to this many bytes: a thread loads four numbers at once."""


Size: TypeAlias = Any
"""An int, or an expression of named sizes, which computes like one."""


class Region(StrEnum):
    """The memory of which an array is a part."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ARENA = "arena"


@dataclass(frozen=True, slots=True)
class Slot:
    """An array of a program: contiguous, in row-major order."""

    name: str
    type: ArrayType
    region: Region
    at: int
    """The number of the input, output or constant; in the arena, the offset of its first byte."""


@dataclass(frozen=True, slots=True)
class Number:
    """An integer argument of a function after its arrays: a size, or an expression of sizes."""

    value: Size
    is_wide: bool = False
    """Whether it has eight bytes rather than four."""
    multiple_of: int = 1
    """Known facts on which the function's code relies."""

    @property
    def type(self) -> str:
        """Triton's spelling."""
        return "i64" if self.is_wide else "i32"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """Run one Triton function on a grid: it reads and writes arrays."""

    function: str
    programs: int
    """How many: the grid has one axis."""
    warps: int
    stages: int
    """The number of loop iterations for which it copies matrices ahead into shared memory."""
    slots: tuple[Slot, ...]
    """The function's arguments without the numbers."""
    numbers: tuple[Number, ...] = ()
    """The arguments behind them."""

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return self.slots

    def __str__(self) -> str:
        arguments = ", ".join([*(slot.name for slot in self.slots), *map(str, self.numbers)])
        count = self.programs if isinstance(self.programs, SymbolicSize) else f"{self.programs:_}"
        return f"launch {self.function}[{count} × {self.warps} warps]({arguments})"


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copy an array to the place of another."""

    source: Slot
    target: Slot

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return self.source, self.target

    def __str__(self) -> str:
        return f"copy {self.source.name} to {self.target.name}  # {show_bytes(self.source.type.nbytes)}"


IN_CUPY: Final = frozenset(
    "cholesky det eigh eigvalsh fft ifft irfft qr rfft slogdet solve svd svdvals".split()
)
"""Ops that are NumPy functions which CuPy also has."""


@dataclass(frozen=True, slots=True)
class HostStep:
    """Let NumPy compute calls without a kernel on the host: copy their operands there, and their results back.

    If CuPy is installed, it computes what it can on the GPU instead.
    """

    graph: Graph
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return (*self.inputs, *self.outputs)

    @property
    def bytes_copied(self) -> int:
        """The bytes that move between the device and the host."""
        return sum(slot.type.nbytes for slot in self.touched)

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops that are computed, each once."""
        return tuple(dict.fromkeys(call.op for call in self.graph.calls))

    @property
    def is_in_cupy(self) -> bool:
        """Whether CuPy could compute all of it, with arrays on the GPU only."""
        values = (value for call in self.graph.calls for value in call.inputs)
        return IN_CUPY.issuperset(self.ops) and not any(isinstance(value, Constant) for value in values)

    def __str__(self) -> str:
        given, made = (", ".join(slot.name for slot in slots) for slots in (self.inputs, self.outputs))
        library = "CuPy if installed, else NumPy" if self.is_in_cupy else "NumPy"
        about = f"{library}; copies {show_bytes(self.bytes_copied)}"
        return f"host {', '.join(self.ops)}({given}) to {made or 'nothing'}  # {about}"


@dataclass(frozen=True, slots=True)
class ScanStep:
    """Run a plan a known number of times, on its carry and on one row of arrays in each iteration."""

    body: "Plan"
    length: int
    reverse: bool
    """Whether the last rows come first."""
    consts: int
    carried: int
    inputs: tuple[Slot, ...]
    """The constants, the carry, and the arrays of rows."""
    outputs: tuple[Slot, ...]
    """The final carry, and the computed arrays of rows."""
    work: Slot
    """The body's arena."""
    spares: tuple[Slot, ...]
    """A second place for the whole carry: iterations write to the two places in turn."""
    staged: tuple[Slot, ...]
    """For each array of rows, inputs then outputs: where a row is copied to; empty if it need not be."""

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return (*self.inputs, *self.outputs, self.work, *self.spares, *self.staged)

    @property
    def plans(self) -> "tuple[Plan, ...]":
        """The plan that it runs."""
        return (self.body,)

    def __str__(self) -> str:
        order = ", the last rows first" if self.reverse else ""
        return f"{_names(self.outputs)} = {self.length} iterations of {self.body.name}({_names(self.inputs)}){order}"


@dataclass(frozen=True, slots=True)
class WhileStep:
    """Run a plan as long as another one returns true; the host waits for this in each iteration."""

    condition: "Plan"
    body: "Plan"
    most: int | None
    """The maximum number of iterations, if there is one."""
    consts: int
    inputs: tuple[Slot, ...]
    """The constants and the carry."""
    outputs: tuple[Slot, ...]
    goes_on: Slot
    """The result of the condition."""
    condition_work: Slot
    body_work: Slot
    spares: tuple[Slot, ...]
    """A second place for the whole carry."""

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        works = self.goes_on, self.condition_work, self.body_work
        return (*self.inputs, *self.outputs, *works, *self.spares)

    @property
    def plans(self) -> "tuple[Plan, ...]":
        """The plans that it runs."""
        return self.condition, self.body

    def __str__(self) -> str:
        most = "" if self.most is None else f", at most {self.most} iterations"
        iterations = f"iterations of {self.body.name}({_names(self.inputs)}) while {self.condition.name}"
        return f"{_names(self.outputs)} = {iterations}{most}  # the host waits for each"


@dataclass(frozen=True, slots=True)
class SwitchStep:
    """Run one of several plans: the host waits for the number that chooses."""

    branches: "tuple[Plan, ...]"
    index: Slot
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    work: Slot
    """The branches' arena."""

    @property
    def touched(self) -> tuple[Slot, ...]:
        """The arrays that it reads or writes."""
        return (self.index, *self.inputs, *self.outputs, self.work)

    @property
    def plans(self) -> "tuple[Plan, ...]":
        """The plans that it may run."""
        return self.branches

    def __str__(self) -> str:
        names = ", ".join(branch.name for branch in self.branches)
        chosen = f"one of {names} by {self.index.name}"
        return f"{_names(self.outputs)} = {chosen}, of ({_names(self.inputs)})  # the host waits for it"


Step: TypeAlias = LaunchStep | CopyStep | HostStep | ScanStep | WhileStep | SwitchStep


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a program in order, and the memory that they need."""

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    constants: tuple[Constant, ...]
    arena_bytes: int
    """Intermediate values take this many bytes of one piece of memory."""
    steps: tuple[Step, ...]

    @property
    def launches(self) -> Iterator[LaunchStep]:
        """The launches among the steps, including those in loops and branches."""
        return (step for step in self._all_steps() if isinstance(step, LaunchStep))

    @property
    def host_steps(self) -> Iterator[HostStep]:
        """The calls that NumPy computes."""
        return (step for step in self._all_steps() if isinstance(step, HostStep))

    @property
    def has_arena(self) -> bool:
        """Whether there are intermediate values."""
        return isinstance(self.arena_bytes, SymbolicSize) or bool(self.arena_bytes)

    @property
    def is_symbolic(self) -> bool:
        """Whether it contains named sizes: those of its inputs, from which all others follow."""
        return any(isinstance(dim, SymbolicSize) for slot in self.inputs for dim in slot.type.shape)

    @property
    def queued(self) -> int | None:
        """How many launches and copies a call queues; None if the host computes something, or waits."""
        count = 0
        for step in self.steps:
            inner = step.body.queued if isinstance(step, ScanStep) else 1
            if inner is None or isinstance(step, (HostStep, WhileStep, SwitchStep)):
                return None
            count += inner * step.length if isinstance(step, ScanStep) else 1
        return count

    def _all_steps(self) -> Iterator[Step]:
        for step in self.steps:
            yield step
            for plan in plans_of(step):
                yield from plan._all_steps()

    def __str__(self) -> str:
        arrays = (f"{slot.name}: {slot.type}" for slot in self.inputs)
        results = ", ".join(str(slot.type) for slot in self.outputs)
        lines = [f"plan {self.name}({', '.join(arrays)}) -> {results}:"]
        if self.has_arena:
            lines.append(f"    arena of {show_bytes(self.arena_bytes)}")
        for step in self.steps:
            for plan in plans_of(step):
                lines += [f"    {line}" for line in str(plan).splitlines()]
            lines.append(f"    {step}")
        lines.append(f"    return {_names(self.outputs)}")
        return "\n".join(lines)


def plans_of(step: Step) -> tuple[Plan, ...]:
    """The plans that a step runs, in a loop or a branch."""
    return step.plans if isinstance(step, (ScanStep, WhileStep, SwitchStep)) else ()


def _names(slots: Sequence[Slot]) -> str:
    return ", ".join(slot.name for slot in slots)
