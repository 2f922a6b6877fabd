"""``tracemill explain``: the manual pages of errors and warnings, which are the docstrings of their classes."""

import builtins
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Final

import click
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from ...compiler import errors

_CODE: Final = re.compile(r"([EW])?0*(\d{1,4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of the page of an error or a warning."""

    code: str
    name: str
    also: tuple[str, ...]
    """Python's own errors with which it can also be caught."""
    summary: str
    """The first sentence."""
    text: str
    """The full text: when it happens, an example, the fix."""

    def __str__(self) -> str:
        also = f", also a {' and a '.join(self.also)}" if self.also else ""
        return f"{self.code} {self.name}{also}\n\n{self.text}"


def pages() -> list[Page]:
    """The pages of all errors, then of all warnings, by their codes."""
    return sorted((_page(getattr(errors, name)) for name in errors.__all__), key=lambda page: page.code)


def _page(error: type) -> Page:
    text = inspect.cleandoc(error.__doc__ or "")
    pythons = [base.__name__ for base in error.__mro__ if vars(builtins).get(base.__name__) is base]
    also = tuple(name for name in pythons if name not in ("Exception", "BaseException", "object", "Warning"))
    summary = " ".join(text.split("\n\n")[0].split())
    return Page(getattr(error, "code"), error.__name__, also, summary, text)  # noqa: B009  (not in `type`)


def page_named(word: str) -> Page:
    """The page of a code, ``E0101`` or ``101``, or of a class, ``ShapeError``, in upper or lower case.

    Raises `click.UsageError` that names similar ones.
    """
    known = pages()
    wanted = {word.strip().lower(), _completed(word).lower()}
    for page in known:
        if wanted & {page.code.lower(), page.name.lower()}:
            return page
    raise click.UsageError(f"there is no page {word!r}: {_near(word, known)}")


def _completed(word: str) -> str:
    """``e101`` and ``101`` as ``E0101``; empty for anything that is not a number."""
    found = _CODE.fullmatch(word.strip())
    return f"{(found[1] or 'E').upper()}{int(found[2]):04}" if found else ""


def _near(word: str, known: list[Page]) -> str:
    if code := _completed(word):
        same = [page for page in known if page.code[0] == code[0]]
        near = sorted(same, key=lambda page: abs(int(page.code[1:]) - int(code[1:])))[:2]
    else:
        by_name = {page.name.lower(): page for page in known}
        near = [by_name[name] for name in get_close_matches(word.strip().lower(), by_name, 2)]
    if not near:
        return "`tracemill explain` lists them all"
    return f"did you mean {' or '.join(f'{page.code} {page.name}' for page in near)}?"


@click.command("explain")
@click.argument("error", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(error: str | None, as_json: bool) -> None:
    """Show the manual page of ERROR, such as E0101 or ShapeError. Without ERROR, list all of them."""
    if error is None:
        _show_list(pages(), as_json=as_json)
        return
    page = page_named(error)
    if as_json:
        click.echo(json.dumps(asdict(page)))
        return
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        click.echo(str(page))
        return
    for part in _highlighted(page):
        console.print(part, highlight=False)


def _show_list(found: list[Page], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([asdict(page) for page in found]))
        return
    console = Console()
    if not console.is_terminal:
        width = max(len(page.name) for page in found)
        for page in found:
            click.echo(f"{page.code}  {page.name:{width}}  {page.summary}")
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    for page in found:
        table.add_row(page.code, page.name, page.summary)
    console.print(table)


def _highlighted(page: Page) -> Iterator[str | Syntax]:
    """The parts of a page for a terminal."""
    title, _, rest = str(page).partition("\n\n")
    yield f"[bold]{title}[/bold]\n"
    for part in rest.split("\n\n"):
        if ">>> " in part:
            yield Syntax(part, "pycon", theme="ansi_dark", background_color="default", word_wrap=True)
            yield ""
        else:
            yield part.replace("[", "\\[") + "\n"
