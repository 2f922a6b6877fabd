"""``tracemill bench suite``: Tracemill compared with other compilers on this machine: tables, JSON and charts."""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console

from ...runtime.files.output_file import write_output, write_outputs
from ..bench.machine import machine_text
from ..bench.suite import races
from ..bench.suite.contestant import Contestant, cores_here
from ..bench.suite.findings import TABLES, Case, gains, summaries
from ..bench.suite.frameworks import OURS, PEERS, PLAIN, is_installed, version_of
from ..bench.suite.more_rows import ALL_ROWS
from ..bench.suite.plots import PICTURES, pictures
from ..bench.suite.rows import ROWS
from ..bench.suite.starts import starts
from ..bench.suite.tables import markdown, problems_of, summary_table, table_of
from ..terminal.output_path import FORCE, to_file, to_folder
from ..terminal.wide_console import wide_console

BACKENDS = ("c", "numpy")
WRITTEN = "numpy"
"""The name of the functions as written, as an option."""
FEW = 5
"""The maximum number of rounds for measurements that start a process or compile."""
"""The number of columns of the output if it is not a terminal."""
ADVICE = "pip install 'tracemill[bench]'"
TITLES = {
    "rows": "One call, in turns, medians",
    "starts": "A small gradient in a fresh process",
    "calls": "What a call costs: f32[16] arrays",
    "compile": "From a Python function to the first result, by operations",
    "memory": "Bytes that a call holds beyond its argument",
    "busy": "One call beside another process that computes on every core, in turns, medians",
}


@dataclass(frozen=True, slots=True)
class Field:
    """The contestants, and the options of the measurement."""

    contestants: tuple[str, ...]
    rows: tuple[str, ...]
    rounds: int
    threads: int
    modules: tuple[str, ...]
    """What Tracemill's processes import first."""
    gains: bool
    """Whether to show ratios to the functions as written."""


@click.command("suite")
@click.option(
    "--vs",
    "peers",
    multiple=True,
    type=click.Choice([*PEERS, WRITTEN]),
    help="Another framework to time. numpy, which is always timed, adds ratios to the functions as written. "
    "Repeatable.",
)
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(BACKENDS),
    help="A Tracemill backend to time. Default: all. Repeatable.",
)
@click.option(
    "--rows",
    "rows",
    multiple=True,
    metavar="NAME",
    help="Run only the rows whose names start with NAME. Default: all. Repeatable.",
)
@click.option("--more", is_flag=True, help="Also run the rows of other kinds.")
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice(TABLES),
    help="A table to print. Default: all but busy. Repeatable.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=11,
    show_default=True,
    help="Number of timing rounds; the median is shown.",
)
@click.option(
    "--threads", type=click.IntRange(min=1), help="Threads per contestant. Default: the number of cores."
)
@click.option(
    "--import",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="A module, such as torch, that Tracemill's processes import first. Repeatable.",
)
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path),
    callback=to_file("suite.json"),
    help="Write all measurements to this file.",
)
@click.option(
    "--markdown",
    "page",
    type=click.Path(path_type=Path),
    callback=to_file("suite.md"),
    help="Write the tables to this Markdown file.",
)
@click.option(
    "--plots",
    type=click.Path(path_type=Path),
    callback=to_folder(*PICTURES),
    help="Draw charts into this folder.",
)
@FORCE
def suite(
    peers: tuple[str, ...],
    backends: tuple[str, ...],
    rows: tuple[str, ...],
    more: bool,
    tables: tuple[str, ...],
    rounds: int,
    threads: int | None,
    modules: tuple[str, ...],
    file: Path | None,
    page: Path | None,
    plots: Path | None,
    force: bool,
) -> None:
    """Time the same functions in Tracemill, plain NumPy and other frameworks.

    Each contestant runs in a process of its own with the same number of threads, and they take turns. Results are
    compared before anything is timed. A ratio is the time of the fastest other framework divided by Tracemill's, and
    with --vs numpy also the time as written divided by Tracemill's. Keep the machine otherwise idle. The table "busy"
    starts processes of its own that compute on every core.

    \b
      tracemill bench suite --vs numpy --backend numpy --table rows
    """
    console = wide_console()
    others = [name for name in dict.fromkeys(peers) if name != WRITTEN]
    for name in others:
        if not is_installed(name):
            console.print(f"{name} is not installed, so it takes no part: {ADVICE}", markup=False)
    if plots is not None and find_spec("matplotlib") is None:
        raise click.UsageError(f"--plots needs matplotlib: {ADVICE}")
    ours = [OURS + backend for backend in backends or BACKENDS]
    installed = [name for name in others if is_installed(name)]
    field = Field(
        contestants=(PLAIN, *ours, *installed),
        rows=_rows_that_start_with(rows, ALL_ROWS if more else ROWS),
        rounds=rounds,
        threads=threads or cores_here(),
        modules=modules,
        gains=WRITTEN in peers,
    )
    for module in modules:
        if find_spec(module) is None:
            raise click.BadParameter(f"no module is named {module!r}", param_hint="--import")
    versions = {name: version_of(name) for name in field.contestants}
    about = f"{machine_text()}, {field.threads} threads; " + ", ".join(
        f"{n} {v}" for n, v in versions.items()
    )
    console.print(about, style="dim", highlight=False, soft_wrap=True)
    cases: list[Case] = []
    for table in tables or [name for name in TABLES if name != "busy"]:
        found: list[Case] = []
        with console.status(f"measuring {table}") as status:  # silent in a pipe
            for case in _measure(table, field):
                found.append(case)
                status.update(f"measuring {table}: {case.name} is done")
        _show(console, table, found, field)
        cases += found
    if file is not None:
        document = {
            "machine": machine_text(),
            "threads": field.threads,
            "rounds": rounds,
            "versions": versions,
            "cases": [asdict(case) | {"medians": case.medians} for case in cases],
        }
        write_output(file, f"{json.dumps(document, indent=1)}\n".encode(), overwrite=force)
    if page is not None:
        write_output(page, _page(about, cases, field).encode(), overwrite=force)
    if plots is not None:
        drawn = pictures(cases, field.contestants)
        write_outputs(plots, drawn, overwrite=force)
        for name in drawn:
            console.print(f"wrote {plots / name}", highlight=False)


def _rows_that_start_with(beginnings: tuple[str, ...], rows: Iterable[str]) -> tuple[str, ...]:
    names = [*rows]
    for beginning in beginnings:
        if not any(name.startswith(beginning) for name in names):
            known = ", ".join(name for name in names if "," not in name)
            raise click.BadParameter(
                f"no row starts with {beginning!r}: choose of {known}", param_hint="--rows"
            )
    return tuple(name for name in names if not beginnings or name.startswith(beginnings))


def _measure(table: str, field: Field) -> Iterator[Case]:
    """One table, case by case, with fresh processes and empty caches."""
    few = min(field.rounds, FEW)
    compiled = [name for name in field.contestants if name != PLAIN]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if table == "starts":
            yield from starts(compiled, rounds=few, threads=field.threads, folder=folder)
            return
        contestants: list[Contestant] = []
        for name in compiled if table == "compile" else field.contestants:
            own = folder / name
            own.mkdir()
            modules = field.modules if name.startswith(OURS) else ()
            contestant = Contestant(name, threads=field.threads, folder=own, modules=modules)
            contestants.append(stack.enter_context(contestant))
        measures: dict[str, Callable[[], Iterable[Case]]] = {
            "rows": lambda: races.rows(field.rows, contestants, rounds=field.rounds),
            "calls": lambda: races.calls(contestants, rounds=field.rounds),
            "compile": lambda: races.compile_times(contestants, rounds=few),
            "memory": lambda: races.memory(contestants),
            "busy": lambda: races.busy(field.rows, contestants, rounds=field.rounds, cores=field.threads),
        }
        yield from measures[table]()


def _show(console: Console, table: str, cases: list[Case], field: Field) -> None:
    console.print(f"\n[bold]{table}[/bold]  {TITLES[table]}", highlight=False, soft_wrap=True)
    console.print(table_of(cases, field.contestants, gains=field.gains))
    for problem in problems_of(cases):
        console.print(f"  {problem}", markup=False, highlight=False, soft_wrap=True)
    ours = [name for name in field.contestants if name.startswith(OURS)]
    if found := list(summaries(cases, ours)):
        console.print()
        console.print(summary_table(found))
    if field.gains and (found := list(gains(cases, ours))):
        console.print()
        console.print(summary_table(found, PLAIN))


def _page(about: str, cases: list[Case], field: Field) -> str:
    """All tables, and the machine on which they were measured."""
    parts = [
        f"{TITLES[table]}:\n\n{markdown(found, field.contestants, gains=field.gains)}"
        for table in TABLES
        if (found := [case for case in cases if case.table == table])
    ]
    return "\n".join(parts) + f"\n{about}.\n"
