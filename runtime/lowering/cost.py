"""`Cost`: the arithmetic and the bytes of a program, call by call, and a lower bound on their time on a machine."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from ...compiler.analysis.flops import Work, work_of
from ...compiler.ir import Call, Graph, called
from ...compiler.op import is_view
from ...compiler.text.html import table_html
from ...compiler.text.naming import Naming
from ...compiler.text.tables import aligned
from ...compiler.text.units import show_bytes
from ...passes.fusion.traffic import bytes_read, bytes_written
from ..machine.measurements import Machine

_NUMBERS: Final = (1, 2, 3, 4)
"""Columns of the table that are right-aligned."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """One kernel, or a call outside kernels."""

    name: str
    """The name of the kernel's graph, or of the first result."""
    op: str
    """``kernel`` or ``tiled``, or the op of the call."""
    flops: int
    """Additions, multiplications, divisions, square roots and comparisons."""
    transcendentals: int
    """Values of ``exp``, ``sin`` and similar functions, which are not counted as flops."""
    bytes_moved: int
    """The bytes that it reads and writes, each array once."""
    is_lower_bound: bool
    """Whether the count is a lower bound: a loop with an unknown number of iterations counts as one iteration."""
    memory_time: float | None
    """Seconds of reading and writing, at the speed at which the machine copies; None for GPUs."""
    arithmetic_time: float | None
    """Seconds of the flops, at the speed at which the machine multiplies matrices; None for GPUs."""

    @property
    def least_time(self) -> float | None:
        """The longer of both: the roofline of Williams, Waterman and Patterson (Communications of the ACM 52, 2009)."""
        if self.memory_time is None or self.arithmetic_time is None:
            return None
        return max(self.memory_time, self.arithmetic_time)

    @property
    def bound(self) -> str | None:
        """What limits the time: ``memory`` or ``arithmetic``; None for GPUs."""
        if self.memory_time is None or self.arithmetic_time is None:
            return None
        return "arithmetic" if self.arithmetic_time > self.memory_time else "memory"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a program, by its calls in the order in which they run. Print it for a table.

    Views and constants cost nothing and are left out. Arithmetic on cached data can be faster than `least_time`: each
    call is assumed to read everything from memory.
    """

    graph: str
    calls: tuple[CallCost, ...]
    bandwidth: float | None
    """Bytes per second that the machine moves when it copies large arrays, measured once; None for GPUs."""
    speeds: dict[str, float]
    """Flops per second, by dtype, when it multiplies matrices; empty for GPUs."""

    @property
    def flops(self) -> int:
        """Of all calls."""
        return sum(call.flops for call in self.calls)

    @property
    def transcendentals(self) -> int:
        """Of all calls."""
        return sum(call.transcendentals for call in self.calls)

    @property
    def bytes_moved(self) -> int:
        """Of all calls."""
        return sum(call.bytes_moved for call in self.calls)

    @property
    def is_lower_bound(self) -> bool:
        """Whether a call costs more than could be counted."""
        return any(call.is_lower_bound for call in self.calls)

    @property
    def least_time(self) -> float | None:
        """Seconds of all calls, one after another; None for GPUs."""
        times = [call.least_time for call in self.calls]
        return None if self.bandwidth is None else sum(time for time in times if time is not None)

    def counts(self) -> dict[str, Any]:
        """The part that does not depend on the machine, as data for JSON."""
        timed = {"memory_time", "arithmetic_time"}
        calls = [{k: v for k, v in asdict(call).items() if k not in timed} for call in self.calls]
        return {"graph": self.graph, **_totals(self), "calls": calls}

    def as_dict(self) -> dict[str, Any]:
        """All of it, as data for JSON; times in seconds."""
        calls = [asdict(call) | {"least_time": call.least_time, "bound": call.bound} for call in self.calls]
        totals = {**_totals(self), "least_time": self.least_time}
        return {
            "graph": self.graph, **totals, "calls": calls, "bandwidth": self.bandwidth, "speeds": self.speeds
        }  # fmt: skip

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The table, with its heading, and the totals in the last row."""
        yield ("call", "flops", "transcendentals", "moves", "least time", "bound by")
        for call in self.calls:
            what = call.name if call.op in ("kernel", "tiled") else f"{call.name} ({call.op})"
            yield (
                what,
                _flops_text(call.flops, call.is_lower_bound),
                f"{call.transcendentals:_}",
                show_bytes(call.bytes_moved),
                _time(call.least_time),
                call.bound or "",
            )
        yield (
            "all",
            _flops_text(self.flops, self.is_lower_bound),
            f"{self.transcendentals:_}",
            show_bytes(self.bytes_moved),
            _time(self.least_time),
            "",
        )

    def _repr_html_(self) -> str:
        """The table, in notebooks."""
        return table_html(list(self.rows()), right=_NUMBERS)

    def __str__(self) -> str:
        lines = aligned(list(self.rows()), right=_NUMBERS)
        if self.bandwidth is not None:
            speeds = ", ".join(f"{speed / 1e9:.3g} Gflop/s {dtype}" for dtype, speed in self.speeds.items())
            lines.append(f"at {self.bandwidth / 1e9:.3g} GB/s and {speeds}, as measured on this machine")
        return "\n".join(lines)


def cost_of(graph: Graph, machine: Machine | None) -> Cost:
    """The cost of the calls of a graph after all passes, on a machine; None for GPUs."""
    naming = Naming(graph)
    costs: list[CallCost] = []
    for call in graph.calls:
        names = naming.make(call)
        work, moved = work_of(call), bytes_read(call) + bytes_written(call)
        if is_view(call) or not (moved or work.flops or work.transcendentals):
            continue
        name = (
            next((inner.name for inner in called((call,))), None) if call.op in ("kernel", "tiled") else None
        )
        costs.append(_cost(name or (names[0] if names else call.op), call, work, moved, machine))
    if machine is None:
        return Cost(graph.name, tuple(costs), None, {})
    return Cost(graph.name, tuple(costs), machine.bandwidth, dict(machine.multiplied))


def _cost(name: str, call: Call, work: Work, moved: int, machine: Machine | None) -> CallCost:
    memory_time = arithmetic_time = None
    if machine is not None:
        memory_time, arithmetic_time = (
            moved / machine.bandwidth,
            work.flops / machine.multiplied[_width(call)],
        )
    counts = (work.flops, work.transcendentals, moved, work.is_lower_bound)
    return CallCost(name, call.op, *counts, memory_time, arithmetic_time)


def _width(call: Call) -> str:
    """The dtype whose speed counts: single precision if all numbers have at most four bytes."""
    inexact = [value.dtype for value in (*call.inputs, *call.outputs) if value.dtype.kind in "fc"]
    sizes = [dtype.itemsize // (2 if dtype.kind == "c" else 1) for dtype in inexact]
    return "f32" if sizes and max(sizes) <= 4 else "f64"


def _totals(cost: Cost) -> dict[str, Any]:
    return {
        "flops": cost.flops,
        "transcendentals": cost.transcendentals,
        "bytes_moved": cost.bytes_moved,
        "is_lower_bound": cost.is_lower_bound,
    }


def _flops_text(flops: int, is_lower_bound: bool) -> str:
    return f"{'≥ ' if is_lower_bound else ''}{flops:_}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:.3g} µs"
