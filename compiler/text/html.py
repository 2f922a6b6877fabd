"""Output for notebooks: highlighted text and tables as HTML without network or scripts.

Colours have a medium tone and the background is the notebook's own, so that they work in light and dark themes.
"""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any, ClassVar, Final, Literal

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer, inherit
from pygments.lexers import CLexer, PythonLexer
from pygments.style import Style
from pygments.token import Comment, Keyword, Number, Operator, String, _TokenType

_PRE: Final = (
    "margin:.3em 0;max-height:40em;overflow:auto;background:transparent;line-height:1.35;white-space:pre"
)
_CELL: Final = "padding:.1em .8em .1em 0;background:transparent"


class _GraphLexer(PythonLexer):  # type: ignore[misc]
    """Python with types of arrays: ``f64[2, N]``."""

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [(r"\b(?:bool|[iu]\d{1,2}|b?f\d{2}|c\d{2,3})\[[^\]\n]*\]", Keyword.Type), inherit]
    }


class _MediumTones(Style):
    styles: ClassVar[Mapping[_TokenType, str]] = {
        Keyword: "#8a63d2",
        Operator.Word: "#8a63d2",
        Keyword.Type: "#1f8a8a",
        Number: "#c0692b",
        String: "#5a8a3a",
        Comment: "#808080",
    }


_LEXERS: Final[Mapping[str, Lexer]] = {
    "python": _GraphLexer(stripnl=False, ensurenl=False),
    "c": CLexer(stripnl=False, ensurenl=False),
}
_FORMATTER: Final = HtmlFormatter(style=_MediumTones, noclasses=True, nowrap=True)


def code_html(text: str, language: Literal["python", "c"] = "python") -> str:
    """A graph, or generated Python, Triton or C, with colours.

    >>> code_html("# a < b")
    '<pre style="..."><span style="color: #808080"># a &lt; b</span></pre>'
    """
    code = highlight(text, _LEXERS[language], _FORMATTER)
    if not text.endswith("\n"):
        code = code.removesuffix("\n")
    return f'<pre style="{_PRE}">{code}</pre>'


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
