"""A bar chart of a race: a bar for each contestant with its spread, as SVG written here or as PNG by matplotlib."""

from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import click

from ...compiler.errors import MissingPackageError
from .race import Place

_WIDTH, _ROW, _TOP, _LEFT, _RIGHT = 760, 34, 48, 170, 170


def picture(places: Sequence[Place], title: str, about: str, suffix: str) -> bytes:
    """The chart as a file of the type `suffix`. `about` is a second, smaller title."""
    if suffix.lower() == ".svg":
        return svg(places, title, about).encode()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 1.0 + 0.4 * len(places)), layout="constrained")
    axes = figure.add_subplot()
    medians = [1e6 * (place.median or 0.0) for place in places]
    spread = [
        [abs(1e6 * (end or 0.0) - median) for end, median in zip(ends, medians, strict=True)]
        for ends in ([place.low for place in places], [place.high for place in places])
    ]
    bars = axes.barh(
        [place.name for place in places], medians, xerr=spread, color="#6f5bd0", ecolor="#24292f"
    )
    axes.bar_label(bars, list(map(_label, places)), padding=6)
    axes.margins(x=0.3)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("µs per call: the median, and the range of the middle half of the rounds")
    figure.suptitle(title)
    axes.set_title(_short(about), fontsize="small")
    buffer = BytesIO()
    figure.savefig(buffer, format=suffix[1:].lower())
    return buffer.getvalue()


def _label(place: Place) -> str:
    """The text after a bar, or in its place."""
    if place.median is None:
        return _short(place.problem or "", 60)
    return f"{shown(place.median)}, {times(place.times_faster)}×"


def _short(text: str, most: int = 110) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def check_picture(file: Path) -> None:
    """Called before there is anything to draw.

    Raises:
        click.UsageError: the file's name ends neither in ``.svg`` nor in ``.png``.
        MissingPackageError: a PNG needs matplotlib, which is not installed.
    """
    if file.suffix.lower() not in (".svg", ".png"):
        raise click.UsageError(f"--plot {file}: name a file that ends in .svg or .png")
    if file.suffix.lower() == ".png" and find_spec("matplotlib") is None:
        raise MissingPackageError(
            "a PNG is drawn by matplotlib, which is not installed: pip install matplotlib, or name the file .svg"
        )


def svg(places: Sequence[Place], title: str, about: str) -> str:
    """Bars of the medians; a line over each shows the middle half of the rounds."""
    longest = max((place.high or 0.0 for place in places), default=0.0) or 1.0
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    height = _TOP + _ROW * len(places)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<style>text{font:13px sans-serif;fill:#24292f}.about{font-size:11px}.bar{fill:#6f5bd0}"
        ".spread{stroke:#24292f;stroke-width:2}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#9d8cf0}.spread{stroke:#e6edf3}}</style>",
        f'<title>{escape(title)}: {escape(about)}</title><text x="0" y="16">{escape(title)}</text>',
        f'<text class="about" x="0" y="34">{escape(_short(about))}</text>',
    ]
    for number, place in enumerate(places):
        y = _TOP + _ROW * number
        parts.append(f'<text x="0" y="{y + 16}">{escape(place.name)}</text>')
        if place.median is None or place.low is None or place.high is None:
            parts.append(f'<text x="{_LEFT}" y="{y + 16}">{escape(_label(place))}</text>')
            continue
        low, middle, high = (_LEFT + scale * seconds for seconds in (place.low, place.median, place.high))
        parts.append(
            f'<rect class="bar" x="{_LEFT}" y="{y}" width="{middle - _LEFT:.1f}" height="22" rx="2"/>'
            f'<line class="spread" x1="{low:.1f}" y1="{y + 11}" x2="{high:.1f}" y2="{y + 11}"/>'
            f'<text x="{high + 8:.1f}" y="{y + 16}">{escape(_label(place))}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def shown(seconds: float | None) -> str:
    """A time with a suitable unit."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def times(ratio: float | None) -> str:
    """A speedup with two decimals, and more if it is small.

    >>> times(1.5), times(0.0007)
    ('1.50', '0.0007')
    """
    if ratio is None:
        return ""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.1g}"
