"""``tracemill run``: a function from a file, on arrays from files."""

import json
from pathlib import Path

import click

from ...compiler.ir import ArrayType
from ...runtime.artifact.loading import Reading, load_artifact
from ...runtime.machine.target import BACKENDS
from ..arguments.array_files import arguments_from, write_results
from ..terminal.output_path import FORCE, check_file, check_folder
from ..terminal.working import working
from .artifact_options import reads_artifacts


@click.command("run")
@click.argument("artifact", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--in",
    "given",
    multiple=True,
    metavar="FILE",
    help="x.npy, w=x.npy, or all.npz; repeat for each argument.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder for .npy files, or a .npz file."
)
@FORCE
@click.option(
    "--backend", type=click.Choice(BACKENDS), default="auto", show_default=True, help="What computes."
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
    """Run the function in ARTIFACT, which `tracemill export` wrote, on arrays in files.

    Arguments come from .npy files in their order or by name, and from .npz files by the names in there: dotted names,
    layers.0.w, for what lies in containers. Shapes and dtypes must be those that were exported. Results are written
    as arrays by their own dotted names; settings are those of the artifact. Nothing in the files is unpickled or
    executed.
    """
    place = output or Path("out")
    if place.suffix == ".npz":
        check_file(place, "-o", "results.npz", force=force)
    else:
        check_folder(place, "-o", force=force)
    with working(f"running {artifact}"):
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
