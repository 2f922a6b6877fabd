"""``tracemill cache``: shows and deletes the contents of the disk cache."""

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click
from rich.table import Table

from ...runtime.artifact.loading import Reading
from ...runtime.cache.disk_cache import EntryInfo, default_cache
from ...runtime.machine.target import BACKENDS
from ..arguments.argument_specs import describes_a_call
from ..arguments.described_call import described_call
from ..terminal.wide_console import wide_console
from .artifact_options import reads_artifacts

SHORT_KEY = 12  # characters of a key that identify an entry


@click.group(invoke_without_command=True)
@click.pass_context
def cache(context: click.Context) -> None:
    """Inspect and clean the disk cache of generated programs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cache.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> None:
    """Show where the cache is, whether it is used, and how large it is."""
    found = default_cache().info()
    if as_json:
        click.echo(json.dumps({**asdict(found), "folder": str(found.folder)}))
        return
    click.echo(f"folder   {found.folder}")
    click.echo(f"in use   {'yes' if found.enabled else f'no: {found.why_not}'}")
    click.echo(f"entries  {found.count}")
    click.echo(f"size     {size_text(found.bytes)} of at most {size_text(found.max_bytes)}")


@cache.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_entries(as_json: bool) -> None:
    """List the programs in the cache, most recently used first."""
    entries = default_cache().entries()
    if as_json:
        click.echo(json.dumps([{**asdict(entry), "folder": str(entry.folder)} for entry in entries]))
    elif entries:
        wide_console().print(_table(entries))
    else:
        click.echo("the cache is empty")


@cache.command("show")
@click.argument("key")
def show(key: str) -> None:
    """Show the generated source of the program whose key starts with KEY."""
    found = [entry for entry in default_cache().entries() if entry.key.startswith(key)]
    if len(found) != 1:
        raise click.ClickException(f"{len(found)} programs have a key that starts with {key!r}")
    loaded = default_cache().load(found[0].key)
    if loaded is None:
        raise click.ClickException(
            f"{found[0].folder} is damaged: it will be generated again when it is needed"
        )
    click.echo(f"# {loaded.folder / 'program.py'}")
    click.echo(loaded.text("program.py"), nl=False)


@cache.command("why")
@describes_a_call
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="auto",
    show_default=True,
    help="The backend of the program.",
)
@reads_artifacts
def why(
    function: str,
    described: tuple[str, ...],
    example: Path | None,
    transform: str | None,
    backend: str,
    reading: Reading,
) -> None:
    """Say whether FUNCTION, which may be an artifact, would come from the cache, and if not, why.

    The code of FUNCTION's module is run.
    """
    click.echo(described_call(function, described, example, transform, reading).lowered(backend).cached)


@cache.command("verify")
def verify() -> None:
    """Check every entry against its digest."""
    wrong = default_cache().verify()
    for error in wrong:
        click.echo(str(error))
    if wrong:
        raise click.ClickException(
            f"{len(wrong)} damaged entries: each is replaced when its program is next compiled"
        )
    click.echo("all entries are as they were stored")


@cache.command("prune")
@click.option("--megabytes", type=click.IntRange(min=1), required=True, help="Keep at most this much.")
def prune(megabytes: int) -> None:
    """Delete the least recently used programs until the cache is small enough."""
    click.echo(f"deleted {count_text(default_cache().prune(megabytes * 2**20))}")


@cache.command("clear")
def clear() -> None:
    """Delete all programs. They are generated again when they are needed."""
    click.echo(f"deleted {count_text(default_cache().clear())}")


def _table(entries: list[EntryInfo]) -> Table:
    table = Table(
        "key", "function", "backend", "size", "last used", box=None, pad_edge=False, header_style="dim"
    )
    table.columns[3].justify = "right"
    for entry in entries:
        used = datetime.fromtimestamp(entry.last_used).strftime("%Y-%m-%d %H:%M")
        table.add_row(entry.key[:SHORT_KEY], entry.function, entry.backend, size_text(entry.bytes), used)
    return table


def size_text(size: int) -> str:
    """A readable number of bytes: ``3.2 KiB``.

    >>> size_text(17), size_text(3277), size_text(2**30)
    ('17 bytes', '3.2 KiB', '1.0 GiB')
    """
    if size < 1024:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("KiB", "MiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} GiB"


def count_text(count: int) -> str:
    return f"{count} program" + ("" if count == 1 else "s")
