"""How much memory a program needs, and when: its arguments, its results, and its workspace."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Final

from ..ir import Extent, Graph, Value, called
from ..symbolic_size import SymbolicSize, typical
from ..text.naming import Naming
from ..text.tables import aligned
from ..text.units import exact_bytes
from .memory_plan import Block, MemoryPlan
from .peak_memory import working_memory

_COLUMNS: Final = 48
"""The columns of a long program's timeline: each stands for several calls."""
_BARS: Final = {"argument": "#808080", "output": "#1f8a8a", "arena": "#8a63d2", "temporary": "#c0692b"}


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A piece of memory, and the calls during which it is needed."""

    name: str
    """The first array in it."""
    nbytes: Extent
    place: str
    """``argument``, ``output``, ``arena`` for memory that is kept from call to call, or ``temporary`` for memory that
    is not."""
    offset: Extent | None
    """Its first byte in the arena; None elsewhere."""
    first: int
    """The number of the call that computes it, from 0."""
    last: int
    """The number of the last call that needs it."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of arrays while a program runs. Numbers and Python's objects are not counted."""

    arguments: Extent
    """The arguments of the program, including arrays that it closes over."""
    outputs: Extent
    """The results, except those in the memory of donated arguments."""
    temporaries: Extent
    """What it needs in addition, at the peak; it is kept from call to call if possible. If threads share tiles, what
    one of them needs. For symbolic sizes, the peak is the one for typical sizes."""
    lifetimes: tuple[Lifetime, ...] = ()
    """Every piece of memory: arguments first, then in the order of allocation. Workspaces of calls are left out."""
    steps: int = 0
    """The number of calls, or of steps of a plan."""

    @property
    def peak(self) -> Extent:
        """The total."""
        return self.arguments + self.outputs + self.temporaries

    def at(self, sizes: Mapping[str, int]) -> "MemoryUse":
        """With a number for each named size.

        >>> from tracemill import Dim
        >>> MemoryUse(4 * Dim("N"), 8, 0).at({"N": 10}).peak
        48
        """

        def number(extent: Extent) -> int:
            return extent.at(sizes) if isinstance(extent, SymbolicSize) else extent

        lives = (
            replace(
                life,
                nbytes=number(life.nbytes),
                offset=None if life.offset is None else number(life.offset),
            )
            for life in self.lifetimes
        )
        given, made, kept = map(number, (self.arguments, self.outputs, self.temporaries))
        return MemoryUse(given, made, kept, tuple(lives), self.steps)

    def __str__(self) -> str:
        given, made, kept = map(exact_bytes, (self.arguments, self.outputs, self.temporaries))
        parts = f"arguments {given}, outputs {made}, temporaries {kept}"
        return "\n".join([f"{exact_bytes(self.peak)} bytes: {parts}", *self._timeline()])

    def _repr_html_(self) -> str:
        """In notebooks, a bar for each piece of memory over the calls during which it is needed."""
        total, *_ = str(self).splitlines()
        return f"<p>{escape(total)}</p>{self._picture()}" if self.lifetimes else f"<p>{escape(total)}</p>"

    def _picture(self) -> str:
        """An inline SVG: one row per piece, its text above its bar."""
        width, height, row = 640, 26 * len(self.lifetimes), 26
        parts = [
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
            ' style="max-width:100%;font:12px monospace" fill="currentColor">'
            "<title>When each piece of memory is needed, from the first call to the last</title>"
        ]
        for number, life in enumerate(self.lifetimes):
            left, span = life.first / max(1, self.steps), (life.last - life.first + 1) / max(1, self.steps)
            text = escape(
                f"{life.name}: {exact_bytes(life.nbytes)} bytes, {life.place}, calls {life.first} to {life.last}"
            )
            parts.append(
                f'<text x="0" y="{row * number + 12}">{text}</text>'
                f'<rect x="{left * width:.1f}" y="{row * number + 16}" width="{max(1.0, span * width):.1f}"'
                f' height="6" fill="{_BARS[life.place]}"><title>{text}</title></rect>'
            )
        return "".join([*parts, "</svg>"])

    def _timeline(self) -> list[str]:
        """A line per piece of memory, with a mark for each call, or for a few calls, during which it is needed."""
        if not self.lifetimes:
            return []
        columns = max(1, min(self.steps, _COLUMNS))
        until = f"calls 0 to {self.steps - 1}" if self.steps > 1 else "call 0"
        rows = [("array", "bytes", "place", until)]
        for life in self.lifetimes:
            place = life.place if life.offset is None else f"{life.place} +{exact_bytes(life.offset)}"
            rows.append((life.name, exact_bytes(life.nbytes), place, _marks(life, self.steps, columns)))
        return aligned(rows, right=(1,))


def memory_use(graph: Graph, plan: MemoryPlan) -> MemoryUse:
    """The memory of a graph whose results are stored as a plan says."""
    returned: set[Block] = set()
    outputs: Extent = 0
    for value in graph.outputs:
        block = plan.block_of(value)
        if block is not None and block.first < 0 and block not in returned:
            returned.add(block)  # in the memory of a donated argument
        elif value.ndim:
            outputs += value.type.nbytes
            if block is not None:
                returned.add(block)
    made: list[Extent] = [0] * (
        len(graph.calls) + 1
    )  # by call: new memory outside the arena, without results
    for block in plan.block.values():
        if not block.in_arena and block.first >= 0 and block not in returned:
            made[block.first] += block.nbytes
            made[min(block.last, len(graph.calls) - 1) + 1] -= block.nbytes
    now: Extent = 0
    most: Extent = 0
    for call, change in zip(graph.calls, made, strict=False):
        now += change
        inside = max((working_memory(nested) for nested in called((call,))), key=typical, default=0)
        most = max(most, now + (inside if call.op != "kernel" else 0), key=typical)
    arguments = sum(value.type.nbytes for value in graph.inputs)
    lifetimes = tuple(_lifetimes(graph, plan, returned))
    return MemoryUse(arguments, outputs, plan.arena_bytes + most, lifetimes, len(graph.calls))


def _lifetimes(graph: Graph, plan: MemoryPlan, returned: set[Block]) -> Iterator[Lifetime]:
    names, end = _names(graph), max(0, len(graph.calls) - 1)
    for value in graph.inputs:
        yield Lifetime(names[value], value.type.nbytes, "argument", None, 0, end)
    for value, block in sorted(plan.block.items(), key=lambda item: item[1].first):
        if block.first < 0:
            continue  # a donated argument
        place = "output" if block in returned else "arena" if block.in_arena else "temporary"
        offset = block.offset if block.in_arena else None
        yield Lifetime(names[value], block.nbytes, place, offset, block.first, min(block.last, end))
    seen: set[Block | None] = set()
    for value in graph.outputs:
        own = plan.block_of(value)
        if value.ndim and (own is None or own in seen):
            yield Lifetime(f"{names[value]}, copied", value.type.nbytes, "output", None, end, end)
        seen.add(own)


def _names(graph: Graph) -> dict[Value, str]:
    """Like the graph's text."""
    scope = Naming(graph)
    for call in graph.calls:
        list(scope.introduce(call.inputs))
        scope.make(call)
    list(scope.introduce(graph.outputs))
    values = (*graph.inputs, *(value for call in graph.calls for value in call.outputs), *graph.outputs)
    return {value: scope.use(value) for value in values}


def _marks(life: Lifetime, steps: int, columns: int) -> str:
    first, last = (step * columns // max(1, steps) for step in (life.first, life.last))
    return "·" * first + "█" * (last - first + 1) + "·" * (columns - last - 1)
