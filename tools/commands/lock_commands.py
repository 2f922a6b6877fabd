"""``tracemill lock``: the file with the choices for GPU kernels."""

from collections import Counter
from pathlib import Path

import click

from ...runtime.environment import usual_lock


@click.group(invoke_without_command=True)
@click.pass_context
def lock(context: click.Context) -> None:
    """Check the lock file, which holds the kernel choices that autotune=True made for GPUs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@lock.command("check")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--compile", "by_compiling", is_flag=True, help="Also compile each kernel for its GPU.")
def check(file: Path | None, by_compiling: bool) -> None:
    """Check that every choice in FILE can be used. No GPU is needed.

    FILE defaults to the file that TRACEMILL_LOCK names, or else to tracemill.lock.
    """
    from ...runtime.gpu_choices.check_lock import check_lock

    found = check_lock(file or usual_lock(), by_compiling=by_compiling)
    for target, count in sorted(Counter(target for target, _ in found).items()):
        click.echo(f"{target}: {count} kernel{'' if count == 1 else 's'}")
    click.echo("all choices can be used" + (", and compile into registers" if by_compiling else ""))
