"""The call that ``--in`` and ``--example`` describe, of a function named on the command line."""

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from zipfile import is_zipfile

import click
import numpy as np

from ...compiler.errors import (
    ArgumentSpecError,
    ContradictoryConstraintsError,
    DimSpecError,
    TracemillError,
    UndecidedDimError,
)
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.guards import Guard, Guards
from ...compiler.shapes.reading import read_declarations
from ...compiler.tracing.trace import array_type
from ...runtime.files.input_file import opened, read_whole
from ...runtime.variants.argument_text import parse_spec, signature_of_call
from ...runtime.variants.signature import Signature
from .array_files import check_arrays

LARGEST_EXAMPLE: Final = 1 << 22
"""The maximum size of a .json file that describes arguments."""


def describes_a_call(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the parameters `function`, `described`, `example` and `transform`."""
    options = (
        click.argument("function"),
        click.option(
            "--in",
            "described",
            multiple=True,
            metavar="ARGUMENT",
            help='An argument, such as "x: f32[4, 784]". Repeatable.',
        ),
        click.option(
            "--example",
            type=click.Path(path_type=Path),
            help='A .npz file with arrays for the arguments, or a .json file such as {"x": "f32[4, 784]"}.',
        ),
        click.option(
            "--transform",
            metavar="TEXT",
            help='Transforms to apply, such as "vmap(grad(argnums=0), in_dims=(None, 0, 0))".',
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


DIM = click.option(
    "--dim",
    "constraints",
    multiple=True,
    metavar="CONSTRAINT",
    help='A constraint on named sizes: "B in 1..4096", "B % 16 == 0" or "A <= B". Repeatable.',
)
"""For commands that take arguments with named sizes."""


def described_signature(
    function: Callable[..., Any],
    texts: Sequence[str],
    example: Path | None,
    constraints: Sequence[str] | None = None,
) -> Signature:
    """The signature of a call of `function` with the arguments of ``--in``, and those of ``--example``.

    With `constraints`, even an empty one, shapes may contain names for sizes. Raises `click.UsageError` for text that
    cannot be parsed, and for arguments that the function does not take.
    """
    with as_usage():
        sizes, relations = (None, ()) if constraints is None else read_declarations(constraints)
        specs = [parse_spec(text, sizes) for text in described_texts(texts, example)]
        known = Assumptions(relations).relations
        signature = replace(signature_of_call(function, specs), guards=Guards(tuple(map(Guard, known))))
        if stray := (sizes or {}).keys() - {repr(dim) for dim in signature.dims}:
            raise DimSpecError(f"--dim constrains {min(stray)!r}, which is not a size of any argument")
        return signature


def described_texts(texts: Sequence[str], example: Path | None) -> list[str]:
    """The arguments of ``--in``, and those of ``--example``, as types of the IR."""
    return [*texts, *(read_example(example) if example is not None else ())]


@contextmanager
def as_usage() -> Generator[None]:
    """A wrong description of an argument is a usage error; a missing constraint is a missing option."""
    try:
        yield
    except (ArgumentSpecError, DimSpecError, ContradictoryConstraintsError) as error:
        raise click.UsageError(error.message) from None
    except UndecidedDimError as error:
        raise UndecidedDimError(
            f"{error.message}. Here a constraint is an option, --dim CONSTRAINT", error.location
        ) from None


def read_example(path: Path) -> list[str]:
    """The arguments in a ``.npz`` file, whose arrays have dotted names, or a ``.json`` file. Nothing is unpickled."""
    if path.suffix == ".json":
        return list(_described(_document(path), ()))
    try:
        with opened(path) as file:
            if not is_zipfile(file):
                raise ValueError("it is neither a .npz file, as np.savez writes, nor a .json file")
            file.seek(0)
            check_arrays(file)
            archive = np.load(file, allow_pickle=False)
            return [f"{name}: {array_type(archive[name])}" for name in archive.files]
    except (OSError, ValueError, AttributeError, TypeError, EOFError, MemoryError, TracemillError) as error:
        raise _unreadable(path, "arrays", error) from error


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_whole(path, LARGEST_EXAMPLE))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, "arguments", error) from error
    if not isinstance(found, dict):
        raise click.ClickException(
            f'{path} holds no arguments by name: write {{"x": "f32[4, 784]", "layers": [{{"w": "f32[784, 10]"}}]}}'
        )
    return found


def _described(found: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The leaves of a document: strings are types, and everything else is a setting."""
    if isinstance(found, dict | list) and (found or not path):
        items = found.items() if isinstance(found, dict) else enumerate(found)
        for key, item in items:
            if not re.fullmatch(r"\w+", str(key)):
                raise ArgumentSpecError(
                    f"{key!r} in {'.'.join(path) or 'the example'} is not the name of an argument"
                )
            yield from _described(item, (*path, str(key)))
        return
    name = ".".join(path)
    if isinstance(found, dict | list):
        raise ArgumentSpecError(
            f"{name!r} holds nothing: leave it out, or describe the call in Python, to tm.export"
        )
    yield f"{name}: {found}" if isinstance(found, str) else f"{name} = {found!r}"


def _unreadable(path: Path, what: str, error: Exception) -> click.ClickException:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return click.ClickException(f"cannot read {what} from {path}: {reason}")
