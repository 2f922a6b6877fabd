"""``tracemill inspect``: the stages of a function as text, as differences, or as JSON."""

import json
from pathlib import Path

import click
from rich.console import Console

from ...runtime.artifact.loading import Reading
from ...runtime.machine.target import BACKENDS
from ..arguments.argument_specs import DIM, describes_a_call
from ..arguments.described_call import described_call
from ..inspection import WORDS, as_rows, choose, show
from ..terminal.html_report import HTML, write_report
from ..terminal.output_path import FORCE
from .artifact_options import reads_artifacts


@click.command("inspect")
@describes_a_call
@DIM
@click.option("--stage", default="all", show_default=True, help=f"One of {', '.join(WORDS)}.")
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="The backend to compile for.",
)
@click.option(
    "--target",
    metavar="ARCHITECTURE",
    help="The GPU for the stages ptx and sass, such as cuda:sm_90. Default: the first GPU, else cuda:sm_90.",
)
@HTML
@FORCE
@reads_artifacts
@click.option("--diff", "as_diff", is_flag=True, help="Show what each pass changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(
    function: str,
    described: tuple[str, ...],
    example: Path | None,
    transform: str | None,
    constraints: tuple[str, ...],
    stage: str,
    backend: str,
    target: str | None,
    html: Path | None,
    force: bool,
    reading: Reading,
    as_diff: bool,
    as_json: bool,
) -> None:
    """Show the graph of FUNCTION, the result of each pass, its cost, and the generated source.

    FUNCTION is package.module:function, path/file.py:function, or an artifact. Describe its arguments as the IR does:

    \b
      x: f32[4, 784]             an array
      x: f64[]                   a NumPy scalar
      n: int                     a Python number: int, float, complex
      axis = -1                  a setting, known while tracing
      layers.0.w: f32[784, 10]   an array inside a list inside a dict
      f32[4, 784]                the next argument, whatever its name
      x: f32[B, 2*K + 1]         an array whose sizes have names; --dim constrains them

    The code of FUNCTION's module is run. An artifact, such as model.tmill, already describes its arguments: repeat that
    only if --transform changes their shapes. Nothing in an artifact is run.
    """
    lowered = described_call(function, described, example, transform, reading, constraints).lowered(backend)
    if html is not None:
        write_report(lowered.html(), html, overwrite=force)
        click.echo(f"wrote {html}", err=True)
        return
    stages = choose(lowered, stage, target)
    if as_json:
        click.echo(
            json.dumps(
                {"function": function, "signature": str(lowered.signature), "stages": list(as_rows(stages))}
            )
        )
    else:
        show(stages, Console(soft_wrap=True), as_diff=as_diff)
