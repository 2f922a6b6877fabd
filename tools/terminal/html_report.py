"""Writing an HTML report to the file that ``--html`` names."""

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
"""The option; commands that have it have ``--force``, too."""


def write_report(page: str, path: Path, *, overwrite: bool) -> None:
    """Put a page into a file, whole or not at all. Raises as `write_output` does."""
    write_output(path, page.encode(), overwrite=overwrite)
