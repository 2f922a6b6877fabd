"""Writing an HTML report to the file of ``--html``."""

from pathlib import Path

import click

from ...runtime.files.output_file import write_output
from .output_path import to_file

HTML = click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=to_file("report.html"),
    help="Also write a report to this HTML file, for a browser.",
)
"""The option; commands with it also have ``--force``."""


def write_report(page: str, path: Path, *, overwrite: bool) -> None:
    """Write a page to a file, completely or not at all. Raises like `write_output`."""
    write_output(path, page.encode(), overwrite=overwrite)
