"""The options of commands that read artifacts: what is trusted of a file, and how much memory it may take."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ...compiler.errors import TransformArgumentError
from ...runtime.artifact.loading import Reading
from ...runtime.batching.memory_limit import parse_bytes
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
        help="A named tuple or registered class in its arguments or results; repeat for each. Its module is run.",
    ),
    click.option(
        "--max-bytes",
        metavar="BYTES",
        callback=_bytes,
        help="What an artifact may take, unpacked: 2GB. Default: 256 MB, or 4 times the file if that is more.",
    ),
    click.option(
        "--trust-code",
        is_flag=True,
        help="Run the machine code for GPUs that is in an artifact. It can do anything.",
    ),
    click.option(
        "--max-steps",
        type=click.IntRange(min=1),
        help="End an artifact's function where a loop takes more steps. Default: any number.",
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
