"""The options of commands that read artifacts: what is trusted in a file, and how much memory it may use."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ...compiler.arguments.byte_counts import parse_bytes
from ...compiler.errors import TransformArgumentError
from ...runtime.artifact.loading import Reading
from ..arguments.named_function import find_class


def _classes(
    context: click.Context, option: click.Parameter, names: tuple[str, ...]
) -> tuple[type[Any], ...]:
    return tuple(map(find_class, names))


def _bytes(context: click.Context, option: click.Parameter, given: str | None) -> int | None:
    if given is None:
        return None
    try:
        return parse_bytes(option.opts[0], int(given) if given.isdecimal() else given, "the limit")
    except TransformArgumentError as error:
        raise click.UsageError(error.message) from None


_OPTIONS = (
    click.option(
        "--types",
        multiple=True,
        metavar="MODULE:CLASS",
        callback=_classes,
        help="A named tuple or registered class in the artifact's arguments or results. Its module is run. Repeatable.",
    ),
    click.option(
        "--max-bytes",
        metavar="BYTES",
        callback=_bytes,
        help="Largest unpacked size of an artifact, such as 2GB. Default: 256 MB, or 4 times the file size if larger.",
    ),
    click.option(
        "--trust-code",
        is_flag=True,
        help="Run the GPU machine code in an artifact. Such code can do anything: use it only if you trust the file.",
    ),
    click.option(
        "--max-steps",
        type=click.IntRange(min=1),
        help="Stop an artifact's function with an error if a loop takes more steps than this. Default: no limit.",
    ),
)


def reads_artifacts(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the parameter `reading`: how artifacts are read."""

    @wraps(command)
    def with_reading(*args: Any, **options: Any) -> None:
        taken = {name: options.pop(name) for name in ("types", "max_bytes", "trust_code", "max_steps")}
        command(*args, reading=Reading(**taken), **options)

    for option in reversed(_OPTIONS):
        with_reading = option(with_reading)
    return with_reading
