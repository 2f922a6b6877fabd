"""Measurements as charts."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Final

from .findings import Case
from .frameworks import OURS

SPEEDUPS: Final = "speedups.svg"
CURVES: Final = {
    "compile": ("compile.svg", "operations", "seconds to the first result"),
    "memory": ("memory.svg", "elements", "bytes beyond the argument"),
}
"""By table: the file, and what the axes show."""
PICTURES: Final = (SPEEDUPS, *(name for name, _, _ in CURVES.values()))
"""The names of all files that may be drawn."""
RATIOS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
"""Ticks on the axis of speedups."""


def pictures(cases: Sequence[Case], contestants: Sequence[str]) -> Mapping[str, bytes]:
    """The SVG of each table that has a chart, by the name of its file."""
    drawn: dict[str, bytes] = {}
    rows = [case for case in cases if case.table == "rows"]
    ours = [name for name in contestants if name.startswith(OURS)]
    if any(case.speedup(name) is not None for case in rows for name in ours):
        drawn[SPEEDUPS] = _svg(_bars(rows, ours))
    for table, (name, xlabel, ylabel) in CURVES.items():
        points = [case for case in cases if case.table == table]
        if points:
            drawn[name] = _svg(_curves(points, contestants, xlabel, ylabel))
    return drawn


def _bars(rows: Sequence[Case], ours: Sequence[str]) -> Any:
    """Speed relative to the fastest peer: a bar per row and backend, to the left of 1 if slower."""
    figure, axes = _figure(height=1.0 + 0.22 * len(rows) * len(ours))
    thickness = 0.8 / len(ours)
    for index, name in enumerate(ours):
        found = [(number, case.speedup(name)) for number, case in enumerate(rows)]
        bars = [(number, speedup) for number, speedup in found if speedup is not None]
        places = [number + (index - (len(ours) - 1) / 2) * thickness for number, _ in bars]
        axes.barh(places, [speedup - 1.0 for _, speedup in bars], thickness, left=1.0, label=name)
    axes.set_yticks(range(len(rows)), [case.name for case in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    shown = [speedup for case in rows for name in ours if (speedup := case.speedup(name)) is not None]
    ticks = [ratio for ratio in RATIOS if 0.8 * min(shown) <= ratio <= 1.25 * max(shown)]
    axes.set_xticks(ticks, [f"{ratio:g}×" for ratio in ticks])
    axes.set_xticks([], minor=True)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_xlabel("speed relative to the fastest peer")
    axes.legend()
    return figure


def _curves(points: Sequence[Case], contestants: Sequence[str], xlabel: str, ylabel: str) -> Any:
    """A curve per contestant, with logarithmic axes."""
    figure, axes = _figure(height=4.0)
    for name in contestants:
        curve = [(case.size, case.medians[name]) for case in points if name in case.medians]
        if curve:
            axes.plot(*zip(*curve, strict=True), marker="o", markersize=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return figure


def _figure(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height), layout="constrained")
    return figure, figure.add_subplot()


def _svg(figure: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
