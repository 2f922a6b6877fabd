"""Fixtures for the tests of the command line."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .terminal import Terminal


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Terminal]:
    """A shell in an empty folder with a disk cache of its own; modules of that folder are forgotten afterwards."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACEMILL_CACHE", raising=False)
    monkeypatch.delenv("TRACEMILL_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield Terminal(monkeypatch, capsys)
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]
