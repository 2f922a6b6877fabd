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
    "--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help="What it is made for."
)
@click.option(
    "--target",
    metavar="ARCHITECTURE",
    help="For ptx and sass: such as cuda:sm_90, which need not be here. Default: that of the GPU, else this one.",
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
    """Show the graph of FUNCTION, what each pass makes of it, what that costs, and the generated source.

    FUNCTION is package.module:function or path/file.py:function. Arguments are described in the IR's words:

    \b
      x: f32[4, 784]             an array
      x: f64[]                   a NumPy scalar
      n: int                     a Python number: int, float, complex
      axis = -1                  a setting, known while tracing
      layers.0.w: f32[784, 10]   an array inside a list inside a dict
      f32[4, 784]                the next argument, whatever its name
      x: f32[B, 2*K + 1]         an array of any size, by dims, of which --dim says more

    The code of FUNCTION's module is run. An artifact, such as model.tmill, has arguments of its own; they are described
    only where --transform gives them other shapes. Nothing in it is run.
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
