"""The option ``--types``: classes that an artifact names, which are never imported by what a file says."""

from collections.abc import Callable
from typing import Any

import click

from .named_function import find_class


def _classes(
    context: click.Context, option: click.Parameter, names: tuple[str, ...]
) -> tuple[type[Any], ...]:
    return tuple(map(find_class, names))


def takes_types(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the parameter `types`: the classes themselves."""
    return click.option(
        "--types",
        multiple=True,
        metavar="MODULE:CLASS",
        callback=_classes,
        help="A named tuple or registered class in its arguments or results; repeat for each. Its module is run.",
    )(command)
