"""``tracemill coverage``."""

import json
from dataclasses import asdict

import click

from ..coverage import coverage, render, totals
from ..numpy_names import numpy_names, render_names


@click.command("coverage")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def coverage_(as_json: bool) -> None:
    """List the ops with the rules that each has, and the NumPy functions that can be traced."""
    rows, names = coverage(), numpy_names()
    if as_json:
        document = {"ops": [asdict(row) for row in rows], "totals": totals(rows)}
        click.echo(json.dumps(document | {"numpy": [asdict(name) for name in names]}))
    else:
        click.echo(render(rows) + render_names(names), nl=False)
