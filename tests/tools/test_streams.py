"""Commands handle standard streams that are closed, full, unread, or limited in characters."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm

TREE = Path(__file__).parents[1] / ".root"
COMMANDS = {
    "help": ("--help",),
    "coverage": ("coverage",),
    "doctor": ("doctor",),
    "inspect": ("inspect", "model.py:loss", "--in", "x: f64[4]"),
    "bench": ("bench", "model.py:loss", "--in", "x: f64[4]", "--rounds", "1", "--backend", "numpy"),
    "run": ("run", "model.tmill", "--in", "x.npy", "--force"),
    "verify": ("verify", "model.tmill"),
    "diff": ("diff", "model.tmill", "model.tmill"),
}


def some(place: int) -> Sequence[Any]:
    """The command at a place, and, with ``--more``, the one four places later, so that each test sees several commands.

    Two are enough: the program that runs commands handles streams, not the commands.
    """
    name, other = list(COMMANDS)[place::4]
    return [name, pytest.param(other, marks=pytest.mark.exhaustive)]


EXPORT = ("export", "model.py:loss", "--in", "x: f64[4]")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the streams are Linux's")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "model.py").write_text(
        "import numpy as np\n\n\ndef loss(x):\n    return np.sum(np.tanh(x) ** 2)\n"
    )
    np.save(folder / "x.npy", np.ones(4))
    tm.export(lambda x: np.sum(np.tanh(x) ** 2), "x: f64[4]").save(folder / "model.tmill")
    return folder


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def tracemill(
    *arguments: str,
    stdout: int | None = subprocess.PIPE,
    encoding: str = "utf-8",
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "tracemill", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**variables, "PYTHONPATH": str(TREE), "PYTHONIOENCODING": encoding},
        preexec_fn=before,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", some(0))
def test_closed_streams_are_as_quiet_as_no_device(name: str) -> None:
    ran = tracemill(*COMMANDS[name], stdout=None, before=lambda: os.closerange(0, 2))
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", some(1))
def test_a_full_device_is_reported_in_one_line(name: str) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = tracemill(*COMMANDS[name], stdout=full.fileno())
    assert (ran.returncode, ran.stderr) == (
        1,
        "tracemill: cannot write to the standard output: No space left on device\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", some(2))
def test_a_closed_pipe_ends_the_command_quietly(name: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = tracemill(*COMMANDS[name], stdout=writing)
    finally:
        os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", some(3))
def test_a_small_character_set_is_no_error(name: str) -> None:
    ran = tracemill(*COMMANDS[name], encoding="ascii:strict")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
def test_a_file_that_is_opened_is_never_printed_to() -> None:
    """A descriptor of a closed stream would be that of the next file."""
    ran = tracemill(*EXPORT, "-o", "other.tmill", stdout=None, before=lambda: os.closerange(0, 3))
    assert ran.returncode == 0
    again = tracemill("verify", "other.tmill")
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.slow
def test_an_error_of_the_command_on_a_full_device_has_one_line() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = tracemill(
            "inspect", "model.py:loss", "--in", "x: f64[4]", "--stage", "none", stdout=full.fileno()
        )
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
