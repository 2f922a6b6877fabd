"""``tracemill explain`` shows the manual page of every error, lists them, and knows what is near."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from tracemill.compiler import errors
from tracemill.tools.commands import explain_command
from tracemill.tools.commands.explain_command import pages

from .terminal import Terminal

CLASSES: list[Any] = [getattr(errors, name) for name in errors.__all__]


def test_the_list_has_every_error_and_warning_with_its_first_sentence(terminal: Terminal) -> None:
    lines = terminal.run("explain").out.splitlines()
    assert [line.split()[:2] for line in lines] == sorted([error.code, error.__name__] for error in CLASSES)
    assert all(line.endswith((".", "…")) for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_a_page_says_when_shows_an_example_and_gives_the_fix(terminal: Terminal, error: Any) -> None:
    ran = terminal.run("explain", error.code)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"{error.code} {error.__name__}")
    assert ">>> " in ran.out
    assert "\nFix: " in ran.out


@pytest.mark.parametrize("word", ["E0101", "e0101", "101", "E101", "ShapeError", "shapeerror", " E0101 "])
def test_a_page_is_found_by_code_number_or_class(terminal: Terminal, word: str) -> None:
    assert terminal.run("explain", word).out.startswith("E0101 ShapeError, also a ValueError\n")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("ShapError", "did you mean E0101 ShapeError"),
        ("E0109", "did you mean E01"),
        ("nonsense!", "`tracemill explain` lists them all"),
        ("", "`tracemill explain` lists them all"),
    ],
)
def test_what_is_not_an_error_is_refused_in_one_line_with_what_is_near(
    terminal: Terminal, word: str, hint: str
) -> None:
    ran = terminal.run("explain", word)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"tracemill: there is no page {word!r}: ")
    assert hint in ran.err
    assert ran.err.count("\n") == 1


def test_json_holds_the_same(terminal: Terminal) -> None:
    listed = json.loads(terminal.run("explain", "--json").out)
    assert [page["code"] for page in listed] == [page.code for page in pages()]
    assert json.loads(terminal.run("explain", "E0101", "--json").out) in listed


@pytest.mark.parametrize("word", ["E0101", None])
def test_a_terminal_gets_the_same_words_in_colours(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal, word: str | None
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(
        explain_command,
        "Console",
        lambda **options: Console(file=shown, force_terminal=True, width=120, **options),
    )
    arguments = ["explain", *([word] if word else [])]
    assert terminal.run(*arguments).status == 0
    assert "\x1b[" in shown.getvalue()
    assert "ShapeError" in shown.getvalue()
    if word:
        assert "w[:, None]" in shown.getvalue()
