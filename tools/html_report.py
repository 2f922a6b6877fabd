"""Writing an HTML report to the file that ``--html`` names."""

import os
from pathlib import Path

import click

from .output_path import to_file

HTML = click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=to_file("report.html"),
    help="Write all of it as one HTML file: open it in a browser.",
)
"""The option."""


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
