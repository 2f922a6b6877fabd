"""Running the command ``tracemill`` inside a test."""

import sys
from typing import NamedTuple

import pytest

from tracemill.tools.cli import main


class Ran(NamedTuple):
    """What a run of the command left behind."""

    status: int
    out: str
    err: str


class Terminal:
    """Runs the command as a shell would, with its output in a pipe."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def run(self, *arguments: str) -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["tracemill", *arguments])
        with pytest.raises(SystemExit) as exit_:
            main()
        status = exit_.value.code
        assert status is None or isinstance(status, int)
        captured = self._capsys.readouterr()
        return Ran(status or 0, captured.out, captured.err)
