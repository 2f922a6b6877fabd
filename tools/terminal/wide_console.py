"""A console for tables, which are whole in a pipe, too."""

from typing import Final

from rich.console import Console

IN_A_PIPE: Final = 180


def wide_console(*, stderr: bool = False) -> Console:
    """As wide as the terminal; in a pipe, wide enough for every table of ours, where rich takes 80 columns."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=IN_A_PIPE)
