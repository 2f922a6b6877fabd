"""The user's source: the lines of a program, with the lines around them."""

import linecache
from collections.abc import Iterator, Mapping, Sequence

from ...compiler.ir import Location
from .escaped import escaped
from .marks import Marks, file_name, indented, marked
from .python_colours import coloured, coloured_spans

AROUND = 3
"""Lines shown before and after a relevant one."""
MOST_LINES = 3000
"""Of all files together."""


def source_pane(marks: Marks, counts: Mapping[int, int]) -> str:
    """All files, the first one open; `counts` says how many traced calls each line has become."""
    if not marks.files:
        return '<p class="empty">No call of this program is known to come from your source.</p>'
    parts: list[str] = []
    left = MOST_LINES
    for number, (file, lines) in enumerate(marks.files.items()):
        rows = list(_rows(file, lines, marks, counts))
        shown, left = rows[:left], max(0, left - len(rows))
        if len(shown) < len(rows):
            shown.append(f'<li class="gap">{len(rows) - len(shown):,} more lines are left out</li>')
        opened = " open" if number == 0 or len(rows) < 60 else ""
        parts.append(
            f'<details class="file"{opened}><summary title="{escaped(file)}">{escaped(file_name(file))}</summary>'
            f'<ol class="walk source">{"".join(shown)}</ol></details>'
        )
    return "\n".join(parts)


def _rows(file: str, lines: Mapping[int, Location], marks: Marks, counts: Mapping[int, int]) -> Iterator[str]:
    text = [line.rstrip("\r\n") for line in linecache.getlines(file)]
    spans = coloured_spans(text)
    before = 0
    for line in _wanted(lines, text):
        if line > before + 1:
            yield f'<li class="gap">{line - before - 1} lines</li>'
        before = line
        there = text[line - 1] if line <= len(text) else ""
        location = lines.get(line)
        if location is not None and location.code.strip() not in there:  # the file has changed, or is gone
            there = location.code
            spans.pop(line, None)
        number = marks.number(location)
        place = "" if number is None else f' id="l{number}"{marked(number)}'
        count = counts.get(number, 0) if number is not None else 0
        calls = f'<span class="count" title="{count} traced calls">{count}</span>' if count else ""
        yield (
            f'<li{place}><span class="n">{line}</span><code{indented(there)}>'
            f"{coloured(there, spans.get(line, ()))}</code>{calls}</li>"
        )


def _wanted(lines: Mapping[int, Location], text: Sequence[str]) -> list[int]:
    """Which lines are shown, ascending: no blank ones at the ends of a block, and no gap of a single line."""
    wanted = set(lines)
    for line in lines:
        wanted.update(range(max(1, line - AROUND), min(len(text), line + AROUND) + 1))
    shown = {0} | wanted
    shown.update(line for line in range(1, len(text)) if {line - 1, line + 1} <= shown)
    for order in (sorted(shown), sorted(shown, reverse=True)):
        step = 1 if order[0] == 0 else -1
        for line in order:
            is_blank = 0 < line <= len(text) and not text[line - 1].strip()
            if is_blank and line not in lines and line - step not in shown:
                shown.discard(line)
    return sorted(shown - {0})
