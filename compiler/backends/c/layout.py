"""The layout of C text: lines that are not too long, and expressions without outer parentheses."""

import re
import textwrap
from typing import Final

from ..python.text import WIDTH

_PLACES: Final = re.compile(r', | (?=(?:\|\||&&|[?:+*/-]) )| (?=reduction\()|"(?:[^"\\]|\\.)*"|[()\[\]{}]')
"""Where a line can be broken, after a comma or before an operator or a clause; and what determines the nesting depth
there."""


def bare(expression: str) -> str:
    """A complete expression, without outer parentheses.

    >>> bare("(x + y)"), bare("(x) + (y)"), bare("((float)(x))"), bare("f(x)")
    ('x + y', '(x) + (y)', '(float)(x)', 'f(x)')
    """
    if not (expression.startswith("(") and expression.endswith(")")):
        return expression
    depth = 0
    for place, letter in enumerate(expression):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return expression[1:-1] if place == len(expression) - 1 else expression
    return expression


def comment_line(text: str) -> str:
    """A comment, which must not end in a line continuation."""
    return f"// {text}".rstrip("\\ ")


def comment_lines(text: str) -> str:
    """A comment of as many lines as necessary."""
    lines = textwrap.wrap(text, WIDTH - 6, subsequent_indent="    ", break_long_words=False)
    return "\n".join(map(comment_line, lines))


def folded_lines(text: str) -> str:
    """The text with its long lines broken where parentheses are least nested; comments stay as they are."""
    return "\n".join(_folded(line) if len(line) > WIDTH else line for line in text.split("\n"))


def _folded(line: str) -> str:
    code = line.lstrip()
    if code.startswith("//"):
        return line
    indent = line[: len(line) - len(code)] + "    "
    end = " \\" if code.startswith("#") else ""
    pieces: list[str] = []
    while len(line) > WIDTH:
        place = _break_in(line, WIDTH - len(end), len(indent))
        if place is None:
            break
        pieces.append(line[:place].rstrip() + end)
        line = indent + line[place:].lstrip()
    return "\n".join([*pieces, line])


def _break_in(line: str, width: int, least: int) -> int | None:
    """The last of the least nested places up to `width`; None if there is none after `least`."""
    found: tuple[int, int] | None = None
    depth = 0
    for part in _PLACES.finditer(line.partition("  // ")[0]):
        letters = part.group()
        if part.start() > width:
            break
        if letters in "([{":
            depth += 1
        elif letters in ")]}":
            depth -= 1
        elif letters in (", ", " "):
            place = part.end()
            if least < place <= width + 1 and (found is None or depth <= found[0]):
                found = (depth, place)
    return found[1] if found else None
