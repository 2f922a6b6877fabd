"""``tracemill run``: runs a function from a file on arrays from files."""

import json
from pathlib import Path

import click

from ...compiler.ir import ArrayType
from ...runtime.artifact.loading import Reading, load_artifact
from ...runtime.machine.target import BACKENDS
from ..arguments.array_files import arguments_from, write_results
from ..terminal.output_path import FORCE, check_file, check_folder
from ..terminal.progress import showing_progress
from .artifact_options import reads_artifacts


@click.command("run")
@click.argument("artifact", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--in",
    "given",
    multiple=True,
    metavar="FILE",
    help="Arguments: x.npy, w=x.npy by name, or all.npz. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write results: a folder of .npy files, or a .npz file.",
)
@FORCE
@click.option(
    "--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help="The backend to run on."
)
@reads_artifacts
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run_(
    artifact: Path,
    given: tuple[str, ...],
    output: Path | None,
    force: bool,
    backend: str,
    reading: Reading,
    as_json: bool,
) -> None:
    """Run the function in ARTIFACT, a file that `tracemill export` wrote, on arrays stored in files.

    A .npy file gives one argument, by position or by name. A .npz file gives arguments by the names of its arrays; an
    array inside a container has a dotted name, such as layers.0.w. Shapes and dtypes must be those that were exported.
    Results are written under dotted names too. Settings come from the artifact. Nothing in the files is unpickled or
    executed.
    """
    place = output or Path("out")
    if place.suffix == ".npz":
        check_file(place, "-o", "results.npz", force=force)
    else:
        check_folder(place, "-o", force=force)
    with showing_progress(f"running {artifact}"):
        found = load_artifact(artifact, reading)
        args, kwargs = arguments_from(found, given, reading.max_bytes)
        results = found.function(backend=backend)(*args, **kwargs)
        written = write_results(results, place, overwrite=force)
    rows = [(name, str(ArrayType(array.dtype, array.shape))) for name, array in written]
    if as_json:
        click.echo(json.dumps({"artifact": str(artifact), "results": dict(rows)}))
        return
    for name, shown in rows:
        click.echo(f"{name}: {shown}")
