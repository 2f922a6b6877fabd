"""``tracemill export``: writes a function to a file, ahead of time."""

from pathlib import Path

import click

from ...compiler.text.units import show_bytes
from ...runtime.artifact.export import export
from ...runtime.artifact.saving import BUNDLE, EXTENSION, FORMATS, PYTHON
from ...runtime.bundle.targets import CPU, CPU_C
from ..arguments.argument_specs import DIM, as_usage, described_texts, describes_a_call
from ..arguments.named_function import find_function, last_part
from ..arguments.transform_text import apply_transforms
from ..terminal.output_path import FORCE, check_file, check_folder
from ..terminal.progress import showing_progress


@click.command("export")
@describes_a_call
@DIM
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="cpu, cpu-c, or a GPU such as cuda:sm_90. PTX for cuda:sm_80 also runs on all newer GPUs. Repeatable.",
)
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default=BUNDLE,
    show_default=True,
    help="The kind of output, as listed above.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Output path. Default: NAME.tmill, or the folder NAME for sources; NAME.py writes one Python file.",
)
@click.option(
    "--name",
    help="What files and the functions in them are called. Default: FUNCTION's last part.",
)
@click.option(
    "--checks/--no-checks",
    default=True,
    show_default=True,
    help="Whether the file checks what `raise` and `assert` depend on.",
)
@FORCE
def export_(
    function: str,
    described: tuple[str, ...],
    example: Path | None,
    transform: str | None,
    constraints: tuple[str, ...],
    targets: tuple[str, ...],
    format: str,
    output: Path | None,
    name: str | None,
    checks: bool,
    force: bool,
) -> None:
    """Write FUNCTION to a file that no longer needs its Python code.

    FUNCTION is package.module:function or path/file.py:function. Describe its arguments as for `tracemill inspect`.
    Exporting runs the code of its module and stores the arrays that it closes over with their current values.

    \b
      bundle   a file for tracemill.load and `tracemill run`
      python   a folder with a module that needs only NumPy, or just that module
      c        a folder with C sources, a header, and a Makefile
    """
    if format == "c" and (other := [target for target in targets if target not in (CPU, CPU_C)]):
        raise click.UsageError(
            f"--format c is for processors: leave --target {other[0]} out, or choose another format"
        )
    if output is not None:
        _check_output(output, format, force=force)
    found = find_function(function)
    wanted = apply_transforms(transform, found) if transform else found
    with showing_progress(f"exporting {function}"), as_usage():
        artifact = export(
            wanted,
            *described_texts(described, example),
            targets=targets or CPU,
            constraints=constraints,
            checks=checks,
            name=name or last_part(function),
        )
        place = output or _usual_output(artifact.interface.name, format)
        path = artifact.save(place, format, overwrite=force)
    size = path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.iterdir())
    click.echo(f"{path}: {show_bytes(size)}, {artifact} for {', '.join(artifact.targets)}")


def _check_output(path: Path, format: str, *, force: bool) -> None:
    if format == BUNDLE:
        check_file(path, "-o", f"model{EXTENSION}", force=force)
    elif format == PYTHON and path.suffix == ".py":
        check_folder(path.parent, "-o", [path.name], force=force)
    else:
        check_folder(path, "-o", force=force)


def _usual_output(name: str, format: str) -> Path:
    return Path(f"{name}{EXTENSION}" if format == BUNDLE else name)
