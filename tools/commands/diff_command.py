"""``tracemill diff``: the differences between two programs in files."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.syntax import Syntax

from ...runtime.artifact.loading import Reading
from ...runtime.machine.target import BACKENDS
from ..comparison.differences import Part, as_rows, compared_in, differences
from ..terminal.progress import showing_progress
from .artifact_options import reads_artifacts

DIFFERENT = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("diff")
@click.argument("before", type=_FILE)
@click.argument("after", type=_FILE)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="The backend whose generated source is compared.",
)
@reads_artifacts
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def diff(
    context: click.Context,
    before: Path,
    after: Path,
    backend: str,
    reading: Reading,
    as_json: bool,
) -> None:
    """Show the differences between BEFORE and AFTER: two artifacts, or two graphs that TRACEMILL_DUMP wrote.

    The comparison covers signatures and settings, graphs, arrays (and how far apart they are), machine code, and the
    source that this version generates. Values that are computed the same way get the same name in both graphs. Source
    lines of your program are ignored.

    The exit status is 0 if nothing differs, 1 if something does, and 2 for wrong usage.
    """
    with showing_progress(f"comparing {before} and {after}"):
        parts = differences(compared_in(before, reading), compared_in(after, reading), backend)
    is_equal = all(part.is_equal for part in parts)
    if as_json:
        rows = list(as_rows(parts))
        click.echo(json.dumps({"before": str(before), "after": str(after), "equal": is_equal, "parts": rows}))
    else:
        console = Console(soft_wrap=True)
        for part in parts:
            _show(part, console)
    context.exit(0 if is_equal else DIFFERENT)


def _show(part: Part, console: Console) -> None:
    if part.is_equal:
        console.print(f"# ---- {part.name}: equal", style="dim", highlight=False)
        return
    console.print(f"# ---- {part.name}", style="bold", highlight=False)
    if console.is_terminal and part.data is None:
        console.print(
            Syntax(part.text, "diff", theme="ansi_dark", background_color="default", word_wrap=True)
        )
    else:
        print(part.text, file=console.file)
