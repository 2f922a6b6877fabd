"""A picture of a race: a bar for each contestant, with the spread, as SVG by hand or as PNG by matplotlib."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import click

from ...compiler.errors import MissingPackageError
from .race import Place

_WIDTH, _ROW, _LEFT, _RIGHT = 760, 34, 170, 170


def draw(places: Sequence[Place], title: str, file: Path) -> None:
    """Write a picture whose kind the file's name tells: ``.svg`` or ``.png``.

    Raises:
        click.UsageError: it has another name.
        MissingPackageError: a PNG needs matplotlib, which is not installed.
    """
    check_name(file)
    if file.suffix.lower() == ".svg":
        file.write_text(svg(places, title), encoding="utf-8")
        return
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            "a PNG is drawn by matplotlib, which is not installed: pip install matplotlib, or name the file .svg"
        ) from error
    ran = [place for place in places if place.median is not None]
    figure = Figure(figsize=(8.0, 1.0 + 0.4 * len(ran)), layout="constrained")
    axes = figure.add_subplot()
    axes.barh([place.name for place in ran], [1e6 * (place.median or 0.0) for place in ran])
    axes.invert_yaxis()
    axes.set(xlabel="µs per call, median", title=title)
    figure.savefig(file)


def check_name(file: Path) -> None:
    """`click.UsageError` for a picture that is neither SVG nor PNG."""
    if file.suffix.lower() not in (".svg", ".png"):
        raise click.UsageError(f"--plot {file}: name a file that ends in .svg or .png")


def svg(places: Sequence[Place], title: str) -> str:
    """Bars of the medians; a line over each shows where the middle half of the rounds lies."""
    longest = max((place.high or 0.0 for place in places), default=0.0) or 1.0
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    height = 40 + _ROW * len(places)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<style>text{font:13px sans-serif;fill:#24292f}.bar{fill:#6f5bd0}.spread{stroke:#24292f;stroke-width:2}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#9d8cf0}.spread{stroke:#e6edf3}}</style>",
        f'<title>{escape(title)}</title><text x="0" y="20">{escape(title)}</text>',
    ]
    for number, place in enumerate(places):
        y = 40 + _ROW * number
        parts.append(f'<text x="0" y="{y + 16}">{escape(place.name)}</text>')
        if place.median is None or place.low is None or place.high is None:
            parts.append(f'<text x="{_LEFT}" y="{y + 16}">{escape((place.problem or "")[:70])}</text>')
            continue
        low, middle, high = (_LEFT + scale * seconds for seconds in (place.low, place.median, place.high))
        parts.append(
            f'<rect class="bar" x="{_LEFT}" y="{y}" width="{middle - _LEFT:.1f}" height="22" rx="2"/>'
            f'<line class="spread" x1="{low:.1f}" y1="{y + 11}" x2="{high:.1f}" y2="{y + 11}"/>'
            f'<text x="{high + 8:.1f}" y="{y + 16}">{shown(place.median)}, {place.times_faster:.2f}×</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def shown(seconds: float | None) -> str:
    """A time with a unit that suits it."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
