"""A console for tables, which are also complete in a pipe."""

from typing import Final

from rich.console import Console

IN_A_PIPE: Final = 180


def wide_console(*, stderr: bool = False) -> Console:
    """As wide as the terminal; in a pipe, wide enough for every table, where rich would use 80 columns."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=IN_A_PIPE)
