"""The call that ``--in`` and ``--example`` describe, for a function that is named on the command line."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import click
import numpy as np

from ..compiler.errors import ArgumentSpecError, TracemillError
from ..compiler.tracing import array_type
from ..runtime.argument_text import parse_spec, signature_of_call
from ..runtime.signature import ArraySpec, Signature, Spec


def describes_a_call(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the parameters `function`, `described`, `example` and `transform`."""
    options = (
        click.argument("function"),
        click.option(
            "--in",
            "described",
            multiple=True,
            metavar="ARGUMENT",
            help='As "x: f32[4, 784]"; repeat for each.',
        ),
        click.option(
            "--example", type=click.Path(path_type=Path), help="A .npz file with arrays for the arguments."
        ),
        click.option("--transform", metavar="TEXT", help='As "vmap(grad(argnums=0), in_dims=(None, 0, 0))".'),
    )
    for option in reversed(options):
        command = option(command)
    return command


def described_signature(
    function: Callable[..., Any], texts: Sequence[str], example: Path | None
) -> Signature:
    """The signature of a call of `function` with the arguments of ``--in``, and those of ``--example``.

    `click.UsageError` for what cannot be read, and for arguments that the function does not take.
    """
    with as_usage():
        specs = [parse_spec(text) for text in texts] + (read_example(example) if example else [])
        return signature_of_call(function, specs)


@contextmanager
def as_usage() -> Generator[None]:
    """A wrong description of an argument is a wrong use of the command."""
    try:
        yield
    except ArgumentSpecError as error:
        raise click.UsageError(error.message) from None


def read_example(path: Path) -> list[tuple[str, Spec]]:
    """The arrays of a ``.npz`` file as arguments: their names are dotted names. Nothing is unpickled."""
    if path.is_file() and not is_zipfile(path):
        raise click.ClickException(
            f"cannot read arrays from {path}: it is no .npz file, which np.savez writes"
        )
    try:
        with np.load(path, allow_pickle=False) as archive:
            types = {name: array_type(archive[name]) for name in archive.files}
    except (OSError, ValueError, AttributeError, TypeError, TracemillError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise click.ClickException(f"cannot read arrays from {path}: {reason}") from error
    return [(name, ArraySpec(type.dtype, type.shape)) for name, type in types.items()]
