"""The output path of a command: refused before any work is done if it cannot be written."""

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from ...runtime.files.output_file import check_output, check_outputs

FORCE = click.option(
    "--force",
    is_flag=True,
    is_eager=True,  # the callbacks of other options read it
    help="Overwrite existing files.",
)
"""The option of every command that writes files."""


def check_file(path: Path, flag: str, usual: str, *, force: bool) -> Path:
    """A file that can be written, as far as its folders tell.

    Raises:
        click.UsageError: it is a folder, or lies in one that is missing. The message names the flag, and the fix.
        OutputExistsError: it exists, and is not to be replaced.
        OutputFileError: it is a device, a pipe or a socket.
    """
    if path.is_dir():
        raise click.UsageError(f"{flag} {path} is a folder: name a file, such as {path / usual}")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{flag} {path}: there is no folder {path.parent}: make it, or name another")
    check_output(path, overwrite=force)
    return path


def check_folder(path: Path, flag: str, names: Iterable[str] = (), *, force: bool) -> Path:
    """A folder that exists or can be created, and in which files with these names can be written.

    Raises:
        click.UsageError: there is something else. The message names the flag, and the fix.
        OutputExistsError, OutputFileError: as `check_file`, of a file in the folder.
    """
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise click.UsageError(f"{flag} {path}: {place} is a file, and a folder is needed: name another")
    check_outputs(path, names, overwrite=force)
    return path


def to_file(usual: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """A callback of an option that names an output file, such as `usual`."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        return check_file(path, option.opts[0], usual, force=context.params["force"])

    return check


def to_folder(*names: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """A callback of an option that names a folder, in which files with these names are written."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        return check_folder(path, option.opts[0], names, force=context.params["force"])

    return check
