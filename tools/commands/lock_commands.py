"""``tracemill lock``: the file with what is chosen of kernels on GPUs."""

from collections import Counter
from pathlib import Path

import click

from ...runtime.environment import usual_lock


@click.group(invoke_without_command=True)
@click.pass_context
def lock(context: click.Context) -> None:
    """The lock file with what autotune=True has chosen of kernels on GPUs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@lock.command("check")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--compile", "by_compiling", is_flag=True, help="Compile each kernel for its GPU, too.")
def check(file: Path | None, by_compiling: bool) -> None:
    """Verify that every choice in FILE can be used; no GPU is needed.

    FILE is what TRACEMILL_LOCK names, or tracemill.lock, if it is not given.
    """
    from ...runtime.gpu_choices.check_lock import check_lock

    found = check_lock(file or usual_lock(), by_compiling=by_compiling)
    for target, count in sorted(Counter(target for target, _ in found).items()):
        click.echo(f"{target}: {count} kernel{'' if count == 1 else 's'}")
    click.echo("all choices can be used" + (", and compile into registers" if by_compiling else ""))
