"""Python source with its keywords, strings and comments told apart."""

import keyword
import token
import tokenize
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from .escaped import LONGEST, escaped, shortened

Span: TypeAlias = tuple[int, int, str]
"""Where it begins and ends in a line, and a class of the page's style."""

_FSTRING = {number for number, name in token.tok_name.items() if name.startswith("FSTRING_")}


def coloured_spans(lines: Sequence[str]) -> dict[int, list[Span]]:
    """By the number of a line, from 1: what stands out in it. Of what is no Python, as far as it is."""
    spans: dict[int, list[Span]] = {}
    for kind, (first, start), (last, end) in _tokens(lines):
        for number in range(first, last + 1):
            begin = start if number == first else 0
            stop = end if number == last else len(lines[number - 1])
            spans.setdefault(number, []).append((begin, stop, kind))
    return spans


def coloured(line: str, spans: Sequence[Span]) -> str:
    """A line as HTML, without the blanks that it begins with."""
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


def _tokens(lines: Sequence[str]) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    try:
        for found in tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__):
            if found.type == tokenize.COMMENT:
                yield "c", found.start, found.end
            elif found.type == tokenize.STRING or found.type in _FSTRING:
                yield "s", found.start, found.end
            elif found.type == tokenize.NAME and keyword.iskeyword(found.string):
                yield "k", found.start, found.end
    except (SyntaxError, tokenize.TokenError):  # a notebook's magic, a file that has changed
        return
