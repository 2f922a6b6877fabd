"""What was measured, as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .findings import Case
from .frameworks import OURS


def draw(cases: Sequence[Case], contestants: Sequence[str], folder: Path) -> list[Path]:
    """Write a picture per table that is worth one; returns their files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    rows = [case for case in cases if case.table == "rows"]
    ours = [name for name in contestants if name.startswith(OURS)]
    if any(case.speedup(name) is not None for case in rows for name in ours):
        written.append(_save(_bars(rows, ours), folder / "speedups.svg"))
    for table, xlabel, ylabel in (
        ("compile", "operations", "seconds to the first result"),
        ("memory", "elements", "bytes beyond the argument"),
    ):
        points = [case for case in cases if case.table == table]
        if points:
            written.append(_save(_curves(points, contestants, xlabel, ylabel), folder / f"{table}.svg"))
    return written


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


def _save(figure: Any, file: Path) -> Path:
    figure.savefig(file)
    return file
