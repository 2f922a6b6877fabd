"""``tracemill bench``: Tracemill's own costs on this machine, as a table and as JSON, and comparisons with others."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import click
from rich.table import Table

from ...runtime.files.output_file import write_output
from ..bench import artifacts, bounds, compilation, conversion, overhead, training_step, transforms
from ..bench.eager import against_autograd
from ..bench.loops import against_numba
from ..bench.machine import machine_text
from ..bench.suite import checks, sizes
from ..bench.timing import Measurement
from ..terminal.output_path import FORCE, to_file
from ..terminal.wide_console import wide_console
from .bench_function_command import bench_function
from .bench_suite_command import suite


class Benchmark(Protocol):
    """A module that measures something."""

    ABOUT: str

    def measure(self, rounds: int) -> Iterator[Measurement]: ...


BENCHMARKS: dict[str, Benchmark] = {
    "overhead": overhead,
    "compile": compilation,
    "conversion": conversion,
    "step": training_step,
    "transforms": transforms,
    "artifacts": artifacts,
    "sizes": sizes,
    "bounds": bounds,
    "checks": checks,
    "loops": against_numba,
    "eager": against_autograd,
}


OF_OURSELVES = tuple(name for name in BENCHMARKS if name not in ("loops", "eager"))
"""The default measurements: the others need Numba and autograd."""


class _OfFunctions(click.Group):
    """A group whose first argument may be a function, ``model.py:loss``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and any(letter in args[0] for letter in ":./"):
            return bench_function.name, bench_function, args
        return super().resolve_command(ctx, args)


@click.group("bench", cls=_OfFunctions, subcommand_metavar="FUNCTION | COMMAND [ARGS]...")
def bench() -> None:
    """Time FUNCTION compiled and uncompiled, or measure what Tracemill itself costs on this machine.

    \b
      tracemill bench model.py:loss --in "w: f32[784]" --in "x: f32[64, 784]" --vs jax --plot loss.svg

    For all options, see: tracemill bench function --help
    """


bench.add_command(bench_function)
bench.add_command(suite)


@bench.command("own")
@click.argument(
    "names",
    nargs=-1,
    metavar=" ".join(f"[{name}]" for name in BENCHMARKS),
    type=click.Choice(list(BENCHMARKS)),
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=31,
    show_default=True,
    help="Number of timing rounds; the median is shown.",
)
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path),
    callback=to_file("own.json"),
    help="Also write the table to this file, as JSON.",
)
@FORCE
def own(names: tuple[str, ...], rounds: int, file: Path | None, force: bool) -> None:
    """Measure what calls, conversion, compilation, training steps, transforms and exported files cost on this machine.

    `loops` compares loops over elements and numbers with Numba's, and `eager` derivatives of functions that are not
    compiled with autograd's. They need these packages, so they run only if you name them.

    Times are medians, and variants that are compared run in turn. Keep the machine otherwise idle.
    """
    console = wide_console()
    machine = machine_text()
    console.print(machine, style="dim", highlight=False, soft_wrap=True)
    measured: list[Measurement] = []
    for name in dict.fromkeys(names) or OF_OURSELVES:
        with console.status(f"measuring {name}"):  # silent in a pipe
            rows = list(BENCHMARKS[name].measure(rounds))
        console.print(f"\n[bold]{name}[/bold]  {BENCHMARKS[name].ABOUT}", highlight=False, soft_wrap=True)
        console.print(_table(rows))
        measured += rows
    if file is not None:
        document = {"machine": machine, "rounds": rounds, "measurements": [asdict(row) for row in measured]}
        write_output(file, f"{json.dumps(document, indent=1)}\n".encode(), overwrite=force)


def _table(rows: list[Measurement]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for justify in ("left", "right", "left", "left"):
        table.add_column(justify=justify)
    for row in rows:
        number = f"{row.value:.2f}" if row.value < 10 else f"{row.value:,.0f}"
        table.add_row(f"  {row.case}", number, row.unit, f"[dim]{row.detail}[/dim]")
    return table
