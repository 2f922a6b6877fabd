"""Where a command writes: refused before any work is done, if nothing can be written there."""

from collections.abc import Callable
from pathlib import Path

import click


def check_file(path: Path, flag: str, usual: str) -> Path:
    """A file that can be written, as far as folders say. `click.UsageError` names the flag, and says what to do."""
    if path.is_dir():
        raise click.UsageError(f"{flag} {path} is a folder: name a file, such as {path / usual}")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{flag} {path}: there is no folder {path.parent}: make it, or name another")
    return path


def check_folder(path: Path, flag: str) -> Path:
    """A folder that is there, or can be made. `click.UsageError` as of `check_file`."""
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise click.UsageError(f"{flag} {path}: {place} is a file, and a folder is needed: name another")
    return path


def to_file(usual: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """A callback of an option that names a file to be written, such as `usual`."""
    return lambda _context, option, path: None if path is None else check_file(path, option.opts[0], usual)


def to_folder(_context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """A callback of an option that names a folder to be written to."""
    return None if path is None else check_folder(path, option.opts[0])
