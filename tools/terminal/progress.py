"""Showing on a terminal that something takes time."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def showing_progress(what: str) -> Generator[None]:
    """Show what is being done while it runs: on a terminal, but not in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
