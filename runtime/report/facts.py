"""A row of numbers with their names."""

from collections.abc import Iterable


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names and values, which are HTML already."""
    shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{shown}</dl>'
