"""The programs in ``examples/`` do what they say: each is run as a user runs it, and its numbers are looked at."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tracemill.runtime.toolchain import working_toolchain

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@dataclass(frozen=True)
class Example:
    """How a program is run here, and what it must print."""

    arguments: tuple[str, ...] = ()
    at_most: dict[str, float] = field(default_factory=dict[str, float])
    """Limits of numbers, by patterns with a group."""
    at_least: dict[str, float] = field(default_factory=dict[str, float])
    needs_c: bool = False
    is_slow: bool = False


RUNS = {
    "heston_in_c": Example(
        at_most={
            r"C and NumPy agree to (\S+)": 1e-12,
            r"C and finite differences agree to (\S+)": 1e-6,
            r"Black and Scholes, .* agree to (\S+)": 1e-6,
        },
        needs_c=True,
    ),
}


def ran(name: str, *arguments: str, folder: Path) -> str:
    """What a program prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments]
    found = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if run.is_slow else ()) for name, run in RUNS.items()],
)
def test_an_example_does_what_it_says(name: str, tmp_path: Path) -> None:
    run = RUNS[name]
    if run.needs_c and working_toolchain() is None:
        pytest.skip("no C compiler works: install gcc or clang")
    printed = ran(name, *run.arguments, folder=tmp_path)
    assert not list(tmp_path.iterdir()), "it leaves something where it is run"
    for pattern, limit in (run.at_most | run.at_least).items():
        found = re.search(pattern, printed)
        assert found, f"{pattern} is not in\n{printed}"
        value = float(found[1].rstrip("%.,"))
        assert value <= limit if pattern in run.at_most else value >= limit, printed


def test_each_example_is_run_and_listed() -> None:
    files = {file.stem for file in EXAMPLES.glob("*.py")}
    assert files == {*RUNS}
    listed = re.findall(r"\[`(\w+)\.py`\]\((\w+)\.py\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert listed == [(name, name) for name in RUNS]
