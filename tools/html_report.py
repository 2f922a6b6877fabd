"""Writing an HTML report to the file that ``--html`` names."""

import os
from pathlib import Path

import click

HTML = click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=lambda _context, _parameter, path: check_report_path(path),
    help="Write all of it as one HTML file: open it in a browser.",
)
"""The option."""


def check_report_path(path: Path | None) -> Path | None:
    """Refuse what no report can be written to, before any work is done."""
    if path is None:
        return None
    if path.is_dir():
        raise click.UsageError(f"--html {path} is a folder: name a file, such as {path / 'report.html'}")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"--html {path}: there is no folder {path.parent}: make it, or name another")
    return path


def write_report(page: str, path: Path) -> None:
    """Put a page into a file, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            temporary.write_text(page, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise click.ClickException(f"cannot write --html {path}: {error.strerror or error}") from None
