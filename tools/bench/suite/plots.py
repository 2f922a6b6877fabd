"""What was measured, as pictures."""

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
"""The names of all files that there may be."""


def pictures(cases: Sequence[Case], contestants: Sequence[str]) -> Mapping[str, bytes]:
    """The content of a file for each table that is worth a picture, by the file's name."""
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
    """Times faster than the best peer, a bar per row and backend."""
    figure, axes = _figure(height=1.0 + 0.22 * len(rows) * len(ours))
    thickness = 0.8 / len(ours)
    for index, name in enumerate(ours):
        found = [(number, case.speedup(name)) for number, case in enumerate(rows)]
        bars = [(number, speedup) for number, speedup in found if speedup is not None]
        places = [number + (index - (len(ours) - 1) / 2) * thickness for number, _ in bars]
        axes.barh(places, [speedup for _, speedup in bars], thickness, label=name)
    axes.set_yticks(range(len(rows)), [case.name for case in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("times faster than the best of the peers")
    axes.legend()
    return figure


def _curves(points: Sequence[Case], contestants: Sequence[str], xlabel: str, ylabel: str) -> Any:
    """A curve per contestant, both axes logarithmic."""
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
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()
