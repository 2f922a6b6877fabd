"""Output for notebooks: highlighted text and tables as HTML without network or scripts.

Colours have a medium tone and the background is the notebook's own, so that they work in light and dark themes.
"""

import re
from collections.abc import Collection, Sequence
from html import escape
from typing import Final

_KEYWORDS: Final = (
    "def return for in if else elif while import from as with try except finally global None True False lambda"
    " static const void double float long int inline"
)
_COLOURS: Final = {"keyword": "#8a63d2", "type": "#1f8a8a", "number": "#c0692b", "comment": "#808080"}
_TOKEN: Final = re.compile(
    r"(?P<comment>(?:\#|//)[^\n]*)"
    r"|(?P<type>\b(?:bool|[iu]\d{1,2}|b?f\d{2}|c\d{2,3})\[[\d, ]*\])"
    rf"|(?P<keyword>\b(?:{_KEYWORDS.replace(' ', '|')})\b)"
    r"|(?P<number>(?<![\w.])-?\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?)"
)
_PRE: Final = (
    "margin:.3em 0;max-height:40em;overflow:auto;background:transparent;line-height:1.35;white-space:pre"
)
_CELL: Final = "padding:.1em .8em .1em 0;background:transparent"


def code_html(text: str) -> str:
    """A graph, or generated Python, C or Triton, with colours.

    >>> code_html("# a < b")
    '<pre style="..."><span style="color:#808080"># a &lt; b</span></pre>'
    """
    return f'<pre style="{_PRE}">{_highlighted(text)}</pre>'


def _highlighted(text: str) -> str:
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        parts += [
            escape(text[end : found.start()]),
            f'<span style="color:{_COLOURS[kind]}">{escape(found[0])}</span>',
        ]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def table_html(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """A table whose first row is its heading; numeric columns in `right` are right-aligned."""
    heading, *others = rows
    lines = [_row("th", heading, right), *(_row("td", row, right) for row in others)]
    return f'<table style="border-collapse:collapse;background:transparent">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[str], right: Collection[int]) -> str:
    shown = (
        f'<{tag} style="{_CELL};text-align:{"right" if number in right else "left"}">{escape(cell)}</{tag}>'
        for number, cell in enumerate(cells)
    )
    return f"<tr>{''.join(shown)}</tr>"


def folded_html(title: str, body: str, *, is_open: bool = False) -> str:
    """A part with a title that opens with a click or the keyboard; `body` is HTML."""
    state = " open" if is_open else ""
    return f'<details{state}><summary style="cursor:pointer">{escape(title)}</summary>{body}</details>'
