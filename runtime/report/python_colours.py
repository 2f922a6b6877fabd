"""Python source with keywords, strings and comments highlighted."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, String

from .escaped import LONGEST, escaped, shortened

Span: TypeAlias = tuple[int, int, str]
"""The start and end in a line, and a class of the page's style."""

_CLASSES: Final = {Comment: "c", String: "s", Keyword: "k"}


def coloured_spans(lines: Sequence[str]) -> dict[int, list[Span]]:
    """By the number of a line, from 1: its highlighted parts."""
    spans: dict[int, list[Span]] = {}
    number, column = 1, 0
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines)):
        css = next((name for family, name in _CLASSES.items() if kind in family), None)
        for place, part in enumerate(text.split("\n")):
            number, column = (number + 1, 0) if place else (number, column)
            if css and part:
                spans.setdefault(number, []).append((column, column + len(part), css))
            column += len(part)
    return spans


def coloured(line: str, spans: Sequence[Span]) -> str:
    """A line as HTML, without leading blanks."""
    if len(line) > LONGEST:
        return shortened(line.strip())
    done = len(line) - len(line.lstrip())
    parts: list[str] = []
    for start, end, kind in spans:
        start = max(start, done)
        parts.append(escaped(line[done:start]))
        parts.append(f'<span class="{kind}">{escaped(line[start:end])}</span>')
        done = max(end, done)
    return "".join([*parts, escaped(line[done:])])
