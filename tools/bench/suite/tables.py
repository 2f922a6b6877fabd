"""The measurements as tables for the terminal and for a page."""

from collections.abc import Sequence

from rich.table import Table

from .findings import Case, Summary
from .frameworks import OURS, PLAIN

MISSING: str = "–"
MET, MISSED = "met", "missed"
NARROW = "\N{NO-BREAK SPACE}"


def table_of(cases: Sequence[Case], contestants: Sequence[str], *, gains: bool = False) -> Table:
    """A line per case and a column per contestant; for Tracemill, also the speedup over the best peer, and with
    `gains` over the function as written."""
    table = _table()
    header, *lines = cells(cases, contestants, gains=gains)
    table.add_column(header[0], no_wrap=True)
    for title in header[1:]:
        table.add_column(title, justify="right")
    for line in lines:
        table.add_row(*(_coloured(cell) for cell in line))
    return table


def markdown(cases: Sequence[Case], contestants: Sequence[str], *, gains: bool = False) -> str:
    """The same table in Markdown."""
    header, *lines = cells(cases, contestants, gains=gains)
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *lines))


def cells(cases: Sequence[Case], contestants: Sequence[str], *, gains: bool = False) -> list[list[str]]:
    """The header, then a line of text per case, with a line before each group. Contestants without results have no
    column."""
    contestants = [c for c in contestants if any(c in case.values or c in case.problems for case in cases)]
    ours = [name for name in contestants if name.startswith(OURS)]
    slowed = [name for name in ours if any(name in case.idle for case in cases)]
    gaining = [name for name in ours if gains and any(case.gain(name) is not None for case in cases)]
    if all(case.best_peer is None for case in cases):
        ours = []
    titles = [f"best peer ÷ {name.removeprefix(OURS)}" for name in ours]
    titles += [f"{PLAIN} ÷ {name.removeprefix(OURS)}" for name in gaining]
    titles += [f"{name.removeprefix(OURS)} busy ÷ idle" for name in slowed]
    lines = [["", *contestants, *titles]]
    group = ""
    for case in cases:
        if case.group != group:
            group = case.group
            aims = ("" if (aim := case.aim(name)) is None else f"≥ {aim:g}×" for name in ours)
            lines.append([group, *("" for _ in contestants), *aims, *("" for _ in (*gaining, *slowed))])
        medians = case.medians
        numbers = (amount(medians[name], case.unit) if name in medians else MISSING for name in contestants)
        indent = NARROW * 2 if group else ""
        ratios = [verdict(case, name) for name in ours]
        others = [*map(case.gain, gaining), *map(case.slowdown, slowed)]
        ratios += [MISSING if ratio is None else times(ratio) for ratio in others]
        lines.append([indent + case.name, *numbers, *ratios])
    return lines


def verdict(case: Case, contestant: str) -> str:
    """The speedup over the best peer, and whether it reaches the goal."""
    speedup, aim = case.speedup(contestant), case.aim(contestant)
    if speedup is None:
        return MISSING
    text = times(speedup)
    if aim is None:
        return text
    return f"{text} {MET if speedup >= aim else MISSED}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def summary_table(summaries: Sequence[Summary], other: str = "best peer") -> Table:
    """A line per group and backend, compared with the `other`."""
    table = _table()
    for title in (f"{other} ÷ ours", "", "mean", "worst", "worst row", "reach the aim"):
        table.add_column(title, justify="right" if title in {"mean", "worst"} else "left", no_wrap=True)
    for one in summaries:
        colour = "green" if one.met == one.rows else "red"
        table.add_row(
            one.group,
            one.contestant,
            times(one.mean),
            times(one.worst),
            one.worst_row,
            f"[{colour}]{one.met} of {one.rows} ≥ {one.aim:g}×[/{colour}]",
        )
    return table


def problems_of(cases: Sequence[Case]) -> list[str]:
    """Why numbers are missing: each reason once, with its rows."""
    about: dict[str, list[str]] = {}
    for case in cases:
        for contestant, reason in case.problems.items():
            about.setdefault(f"{contestant}: {reason}", []).append(case.name)
    return [f"{reason} ({'; '.join(names)})" for reason, names in about.items()]


def amount(value: float, unit: str) -> str:
    """Three digits and a unit: 0.00123 s is 1.23 ms."""
    steps = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))}.get(
        unit, ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
    )
    size, name = next(((size, name) for size, name in steps if value >= size), steps[-1])
    scaled = value / size
    digits = 2 if scaled < 10 else 1 if scaled < 100 else 0
    return f"{scaled:.{digits}f} {name}"


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _coloured(cell: str) -> str:
    word = cell.rpartition(" ")[2]
    colour = {MET: "green", MISSED: "red"}.get(word)
    return f"[{colour}]{cell}[/{colour}]" if colour else cell
