"""Generated text, each line linked with the user's line in the comment above it."""

from collections.abc import Iterator

from .escaped import escaped, shortened
from .marks import Marks, indented, marked

MOST_LINES = 1_500
"""Of one text."""


def generated(text: str, marks: Marks, comment: str) -> str:
    """A text as rows; `comment` is the start of a comment, ``#`` or ``//``."""
    lines = text.rstrip().splitlines()
    rows = list(_rows(lines[:MOST_LINES], marks, comment))
    if len(lines) > MOST_LINES:
        rows.append(f'<li class="gap">{len(lines) - MOST_LINES:,} more lines are left out</li>')
    return f'<ol class="walk text" tabindex="-1">{"".join(rows)}</ol>'


def _rows(lines: list[str], marks: Marks, comment: str) -> Iterator[str]:
    number: int | None = None
    for line in lines:
        bare = line.strip()
        if bare.startswith(comment):
            named = marks.number_of_text(bare.removeprefix(comment).strip())
            number = named if named is not None else number
            yield f'<li{marked(named)}><code{indented(line)}><span class="c">{shortened(bare)}</span></code></li>'
            continue
        if not line or line[0] in "}@" or line.startswith(("static ", "def ", "void ")):
            number = None
        code, mark, said = line.partition(f"  {comment} ")
        named = marks.number_of_text(said.strip()) if mark else None
        number = named if named is not None else number
        tail = f'<span class="c">{escaped(mark + said)}</span>' if mark else ""
        yield f"<li{marked(number if bare else None)}><code{indented(line)}>{shortened(code.strip())}{tail}</code></li>"
