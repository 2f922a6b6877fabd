"""``tracemill verify``: all checks of an artifact, with a line for each."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from ...runtime.artifact.loading import Reading
from ...runtime.artifact.verification import verified
from ..terminal.progress import showing_progress
from .artifact_options import reads_artifacts


@click.command("verify")
@click.argument("artifact", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@reads_artifacts
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(artifact: Path, reading: Reading, as_json: bool) -> None:
    """Check ARTIFACT: its digests, manifest, graph and machine code, and a test run against NumPy.

    The test run uses random inputs and the default backend of this machine.
    """
    with showing_progress(f"verifying {artifact}"):
        checks = list(verified(artifact, reading))
    failed = [check for check in checks if not check.is_good]
    if as_json:
        click.echo(json.dumps({"artifact": str(artifact), "checks": [asdict(check) for check in checks]}))
    else:
        for check in checks:
            click.echo(f"{'ok    ' if check.is_good else 'FAILED'}  {check.name}: {check.found}")
    if failed:
        raise click.ClickException(f"{artifact} is not as it should be: {failed[0].name}: {failed[0].found}")
