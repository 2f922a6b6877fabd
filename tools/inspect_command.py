"""``tracemill inspect``: the stages of a function as text, as differences, or as JSON."""

import contextlib
import json
import sys
from pathlib import Path

import click
from rich.console import Console

from ..runtime.artifact.loading import load_artifact
from ..runtime.lower import Lowered
from ..runtime.target import BACKENDS
from .argument_specs import described_call, describes_a_call
from .html_report import HTML, write_report
from .inspection import WORDS, as_rows, choose, show
from .named_function import find_function
from .transform_text import apply_transforms

BUNDLE = ".tmill"
"""How the name of an artifact ends."""


@click.command("inspect")
@describes_a_call
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
@click.option("--diff", "as_diff", is_flag=True, help="Show what each pass changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(
    function: str,
    described: tuple[str, ...],
    example: Path | None,
    transform: str | None,
    stage: str,
    backend: str,
    target: str | None,
    html: Path | None,
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

    The code of FUNCTION's module is run. An artifact, such as model.tmill, has arguments of its own; they are described
    only where --transform gives them other shapes. Nothing in it is run.
    """
    if function.endswith(BUNDLE):
        lowered = _of_artifact(function, described, example, transform, backend)
    else:
        with contextlib.redirect_stdout(sys.stderr):  # what the module prints is no part of the answer
            found = find_function(function)
        signature = described_call(found, described, example)
        lowered = Lowered(apply_transforms(transform, found) if transform else found, signature, backend)
    if html is not None:
        write_report(lowered.html(), html)
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


def _of_artifact(
    path: str, described: tuple[str, ...], example: Path | None, transform: str | None, backend: str
) -> Lowered:
    """The stages of a function that was exported: as it was, or transformed and for other arguments."""
    if not Path(path).is_file():
        raise click.UsageError(f"there is no file {path}")
    artifact = load_artifact(path)
    function = artifact.function()
    fast_math, donated = artifact.settings.fast_math, artifact.settings.donate_argnums
    if transform:
        changed = apply_transforms(transform, function)
        given = bool(described) or example is not None
        signature = described_call(function, described, example) if given else artifact.signature
        return Lowered(changed, signature, backend, fast_math)
    if described or example:
        raise click.UsageError(
            f"{path} has arguments of its own: {artifact.signature}. Leave --in and --example out"
        )
    return Lowered(function, artifact.signature, backend, fast_math, donated, program=artifact.program)
