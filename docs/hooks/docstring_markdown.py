"""Docstrings as Markdown: examples in fences, as doctests have none."""

import re

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


def as_markdown(docstring: str) -> str:
    """A docstring whose examples are fenced, and whose ``::`` before an indented block is a colon."""

    def fenced(match: re.Match[str]) -> str:
        return f"{match[1]}```pycon\n{match[0]}\n{match[1]}```"

    return re.sub(r"::$", ":", _EXAMPLE.sub(fenced, docstring), flags=re.MULTILINE)
