"""Every error has a code of its own, a manual page, and a place that raises it."""

import ast
import builtins
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tracemill
from tracemill.compiler import errors

ROOT = Path(tracemill.__file__).parent
LAYERS = ("compiler", "passes", "runtime", "tools")

CLASSES = [getattr(errors, name) for name in errors.__all__]
CHAPTERS = [sys.modules[name] for name in {error.__module__ for error in CLASSES}]

each_class = pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)


def never_called(names: set[str]) -> set[str]:
    """The names that the library neither calls nor passes on. Files without any of them are not parsed."""
    for file in (file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if any(name in text for name in names):
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            parts = [part for node in calls for part in (node.func, *node.args)]
            names = names - {part.id for part in parts if isinstance(part, ast.Name)}
    return names


def classes_in(module: ModuleType) -> list[Any]:
    own = [found for found in vars(module).values() if getattr(found, "__module__", "") == module.__name__]
    return [found for found in own if isinstance(found, type)]


def test_codes_are_unique() -> None:
    codes = [error.code for error in CLASSES]
    assert len(codes) == len(set(codes))


def test_a_chapter_holds_a_range_of_codes_in_order() -> None:
    chapters = sorted([error.code for error in classes_in(module)] for module in CHAPTERS)
    assert [code for chapter in chapters for code in chapter] == sorted(error.code for error in CLASSES)


@each_class
def test_an_error_has_a_code_of_its_own(error: type) -> None:
    assert "code" in vars(error)


@each_class
def test_a_manual_page_says_when_shows_an_example_and_gives_the_fix(error: type) -> None:
    page = error.__doc__ or ""
    summary, *rest = page.split("\n")
    assert summary.strip().endswith((".", "…"))
    assert any(">>> " in line for line in rest)
    assert any(line.strip().startswith("Fix: ") for line in rest)


@each_class
def test_an_error_is_also_one_of_pythons_own(error: type) -> None:
    pythons = [base for base in error.__mro__ if vars(builtins).get(base.__name__) is base]
    assert error is errors.TracemillError or pythons[0] not in (Exception, object)


@pytest.mark.slow
def test_every_error_is_raised_somewhere() -> None:
    assert not never_called({error.__name__ for error in CLASSES} - {"TracemillError"})
