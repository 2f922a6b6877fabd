"""The findings of a check, as a table for the terminal, a table for a page, and a chart."""

from io import BytesIO
from typing import Any

from rich.table import Table

from ..bench.suite.tables import MISSING, amount, times
from .findings import Findings, RowFinding
from .worker import OURS


def cells(findings: Findings) -> list[list[str]]:
    """The header, then a line of text per row."""
    peers = [name for name in findings.contestants if name != OURS]
    lines = [["", OURS, "spread", "rate", "of the roofline", *peers, "best peer ÷ ours"]]
    for row in findings.rows:
        medians = row.medians
        lines.append(
            [
                row.name,
                amount(medians[OURS], "s") if OURS in medians else MISSING,
                f"{row.spread(OURS):.0%}" if OURS in medians else MISSING,
                _rate(row),
                _share(findings, row),
                *(amount(medians[name], "s") if name in medians else MISSING for name in peers),
                MISSING if row.ratio is None else times(row.ratio),
            ]
        )
    return lines


def table_of(findings: Findings) -> Table:
    """A line per row, a column per contestant."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    header, *lines = cells(findings)
    table.add_column(header[0], no_wrap=True)
    for title in header[1:]:
        table.add_column(title, justify="right")
    for line in lines:
        table.add_row(*line)
    return table


def markdown(findings: Findings) -> str:
    """The same table in Markdown, with the card and the versions."""
    header, *lines = cells(findings)
    rule = ["---", *["---:"] * (len(header) - 1)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *lines))
    versions = ", ".join(f"{name} {number}" for name, number in findings.contestants.items())
    return f"{table}\n{findings.card}; {findings.ceilings}. {findings.machine}; {versions}.\n"


def problems_of(findings: Findings) -> list[str]:
    """Why numbers are missing: each reason once, with its rows."""
    about: dict[str, list[str]] = {}
    for row in findings.rows:
        for contestant, reason in row.problems.items():
            about.setdefault(f"{contestant}: {reason}", []).append(row.name)
    return [f"{reason} ({'; '.join(names)})" for reason, names in about.items()]


def picture(findings: Findings) -> bytes:
    """Tracemill's share of the roofline and its speedup over the best peer, a bar per row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.5 + 0.3 * len(findings.rows)), layout="constrained")
    roofline, ratios = figure.subplots(1, 2, sharey=True)
    _bars(roofline, findings, [_part(findings, row) for row in findings.rows], "of the roofline")
    _bars(ratios, findings, [row.ratio for row in findings.rows], "times faster than the best peer")
    roofline.invert_yaxis()
    buffer = BytesIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def _bars(axes: Any, findings: Findings, values: list[float | None], title: str) -> None:
    axes.barh(range(len(values)), [value or 0.0 for value in values])
    axes.set_yticks(range(len(values)), [row.name for row in findings.rows])
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel(title)


def _part(findings: Findings, row: RowFinding) -> float | None:
    floor = findings.floor(row)
    return floor[0] / row.medians[OURS] if floor and OURS in row.medians else None


def _share(findings: Findings, row: RowFinding) -> str:
    part, floor = _part(findings, row), findings.floor(row)
    return MISSING if part is None or floor is None else f"{part:.0%} {floor[1]}"


def _rate(row: RowFinding) -> str:
    """The speed that it reaches: operations if these are counted, otherwise bytes."""
    if OURS not in row.medians:
        return MISSING
    if row.operations is not None:
        return f"{row.operations / row.medians[OURS] / 1e12:,.1f} TFLOP/s"
    return f"{row.bytes_moved / row.medians[OURS] / 1e9:,.0f} GB/s"
