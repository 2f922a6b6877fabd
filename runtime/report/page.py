"""The page of a report: one file with its style and its script, which loads nothing."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .escaped import escaped


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading, and the name by which links reach it."""

    name: str
    title: str
    body: str


def page(title: str, header: str, source: str, sections: Sequence[Section], rules: str) -> str:
    """The whole document; `rules` are added to the style."""
    script = _file("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    links = "".join(f'<a href="#{section.name}">{section.title}</a>' for section in sections)
    bodies = "\n".join(
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">'
        f'<h2 id="{section.name}-title">{section.title}</h2>\n{section.body}</section>'
        for section in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escaped(title)} · Tracemill</title>
<link rel="icon" href="data:,">
<style>
{_file("page.css")}
{rules}
</style>
</head>
<body>
{header}
<div class="columns">
<aside aria-label="Your source"><h2>Your source</h2>
{source}</aside>
<main>
<nav aria-label="Sections">{links}</nav>
{bodies}
</main>
</div>
<output class="status" aria-live="polite"></output>
<script>{script}</script>
</body>
</html>
"""


@cache
def _file(name: str) -> str:
    return (files(__name__.rpartition(".")[0]) / name).read_text(encoding="utf-8")
