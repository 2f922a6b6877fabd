"""The memory plan as a picture: what is in memory during which calls, and when the peak is."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ...compiler.analysis.memory_use import Lifetime, MemoryUse
from ...compiler.ir import Call, Graph, Value
from ...compiler.text.units import show_bytes
from .escaped import escaped
from .facts import facts
from .marks import Marks, marked
from .steady_names import SteadyNames

MOST_ROWS = 60
LEFT, WIDTH, RIGHT = 210, 650, 90
TOP, CURVE, GAP, ROW, FOOT = 26, 110, 16, 20, 24

_KINDS = {
    "argument": "arguments",
    "output": "returned",
    "arena": "kept from call to call",
    "temporary": "made anew",
}

Scale: TypeAlias = Callable[[int], float]
"""The position of a call, by its number."""


def memory_section(
    graph: Graph,
    use: MemoryUse,
    values: Mapping[str, Value],
    makers: Mapping[Value, Call],
    marks: Marks,
    names: SteadyNames,
) -> str:
    """The memory of a program in words, and its timeline as an SVG. `values` are those of its graph by their names in
    its text."""
    amounts = {
        "needed": use.peak, "arguments": use.arguments, "results": use.outputs, "temporaries": use.temporaries
    }  # fmt: skip
    words = facts([(name, show_bytes(amount)) for name, amount in amounts.items()])
    lives = [life for life in use.lifetimes if life.nbytes and life.place != "argument"]
    if not lives or not use.steps:
        return f'{words}<p class="empty">Nothing is held in between.</p>'
    picture = _Picture(graph, use, values, makers, marks, names)
    return f"{words}{_legend(use)}{picture.svg(lives)}{_ARENA if any(life.place == 'arena' for life in lives) else ''}"


_ARENA = (
    '<p class="empty">What is kept from call to call lies in one block of memory, which exists all the time, even'
    " while nothing uses it.</p>"
)


def _legend(use: MemoryUse) -> str:
    places = {life.place for life in use.lifetimes if life.nbytes}
    items = (f'<li class="{place}">{words}</li>' for place, words in _KINDS.items() if place in places)
    return f'<ul class="legend">{"".join(items)}</ul>'


class _Picture:
    """The bytes in memory at each call, above a row for each piece of memory."""

    def __init__(
        self,
        graph: Graph,
        use: MemoryUse,
        values: Mapping[str, Value],
        makers: Mapping[Value, Call],
        marks: Marks,
        names: SteadyNames,
    ) -> None:
        self.graph, self.use, self.values = graph, use, values
        self.makers, self.marks, self.names = makers, marks, names

    def svg(self, lives: Sequence[Lifetime]) -> str:
        """The picture of results; arguments are one row."""
        use = self.use
        largest = sorted(range(len(lives)), key=lambda number: -lives[number].nbytes)[:MOST_ROWS]
        rows = [lives[number] for number in sorted(largest)]
        if use.arguments:
            rows.insert(0, Lifetime("arguments", use.arguments, "argument", None, 0, use.steps - 1))
        held = _held(lives, use)
        height = TOP + CURVE + GAP + ROW * len(rows) + FOOT
        begin = TOP + CURVE + GAP
        parts = [
            f'<svg class="memory" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img" '
            f'aria-label="Bytes that are held at each call: {show_bytes(max(held))} at most">',
            f'<path class="curve" d="{_curve(held, self.x)}"/>',
            *(self._row(life, begin + ROW * number) for number, life in enumerate(rows)),
            *self._peak(held, height),
            f'<text x="{LEFT - 10}" y="{TOP + 10}" text-anchor="end">{show_bytes(max(held))}</text>',
            f'<text x="{LEFT - 10}" y="{TOP + CURVE}" text-anchor="end">0</text>',
            f'<text x="{LEFT}" y="{height - 6}">call 1</text>',
            f'<text x="{LEFT + WIDTH}" y="{height - 6}" text-anchor="end">{use.steps}</text></svg>',
        ]
        rest = [lives[number].nbytes for number in set(range(len(lives))) - set(largest)]
        more = (
            f'<p class="empty">{len(rest):,} smaller arrays, {show_bytes(sum(rest))} together, have no row; the curve'
            " counts them.</p>"
        )
        label = 'tabindex="0" role="group" aria-label="Memory over time"'
        return f'<div class="scroll" {label}>{"".join(parts)}</div>{more if rest else ""}'

    def x(self, step: int) -> float:
        """The position of a call."""
        return LEFT + WIDTH * step / self.use.steps

    def _peak(self, held: Sequence[int], height: int) -> list[str]:
        step = max(range(len(held)), key=held.__getitem__)
        steps = len(held)
        x = (self.x(step) + self.x(step + 1)) / 2
        text, number = f"{show_bytes(held[step])} in use at call {step + 1}", None
        if len(self.graph.calls) == steps:
            call = self.graph.calls[step]
            text += f": {', '.join(map(self.names.of, call.outputs)) or call.op}"
            number = self.marks.number(call.location)
        anchor = "start" if step < steps / 3 else "end" if step > steps * 2 / 3 else "middle"
        return [
            f'<line class="peak" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - FOOT + 2}"/>',
            f'<text{marked(number)} class="peak" x="{x:.1f}" y="14" text-anchor="{anchor}">{escaped(text)}</text>',
        ]

    def _row(self, life: Lifetime, y: int) -> str:
        value = self.values.get(life.name.removesuffix(", copied"))
        name = life.name if value is None else self.names.of(value, life.name)
        maker = None if value is None else self.makers.get(value)
        number = self.marks.number(maker.location) if maker else None
        kind = "" if value is None else f": {value.type}"
        title = f"{name}{kind}, {_KINDS[life.place]}, calls {life.first + 1} to {life.last + 1}"
        label = name if len(name) <= 28 else f"{name[:27]}…"
        start, width = self.x(life.first), max(2.0, self.x(life.last + 1) - self.x(life.first) - 1)
        return (
            f'<g class="{life.place}"{marked(number)}><title>{escaped(title)}</title>'
            f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{escaped(label)}</text>'
            f'<rect x="{LEFT}" y="{y + 2}" width="{WIDTH}" height="{ROW - 4}" class="lane"/>'
            f'<rect x="{start:.1f}" y="{y + 2}" width="{width:.1f}" height="{ROW - 4}" rx="2"/>'
            f'<text x="{LEFT + WIDTH + 10}" y="{y + 13}">{show_bytes(life.nbytes)}</text></g>'
        )


def _held(lives: Sequence[Lifetime], use: MemoryUse) -> list[int]:
    """The bytes in memory during each call, including arguments."""
    change = [use.arguments, *[0] * use.steps]
    for life in lives:
        change[life.first] += life.nbytes
        change[life.last + 1] -= life.nbytes
    held: list[int] = []
    now = 0
    for amount in change[: use.steps]:
        now += amount
        held.append(now)
    return held


def _curve(held: Sequence[int], x: Scale) -> str:
    most = max(held) or 1
    bottom = TOP + CURVE
    path = [f"M{LEFT} {bottom}"]
    before = 0
    for step, amount in enumerate(held):
        if amount != before:
            path.append(f"H{x(step):.1f}V{bottom - CURVE * amount / most:.1f}")
        before = amount
    return "".join([*path, f"H{LEFT + WIDTH}V{bottom}Z"])
