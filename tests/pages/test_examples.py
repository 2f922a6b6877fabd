"""The programs in ``examples/`` do what they say: each is run as a user runs it, and its numbers are looked at."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.docs.pictures.draw import ARGUMENTS
from tracemill.runtime.machine.toolchain import working_toolchain

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True)
class Example:
    """How a program is run here, and what it must print."""

    arguments: tuple[str, ...] = ()
    at_most: dict[str, float] = field(default_factory=dict[str, float])
    """Limits of numbers, by patterns with a group."""
    at_least: dict[str, float] = field(default_factory=dict[str, float])
    backend: str = "auto"
    """Of all functions that name none."""
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
        is_slow=True,
    ),
    "read_digits": Example(("--epochs", "2"), at_least={r"(\S+) % of the test images": 90}),
    "serve_digits": Example(("--help",), at_least={r"--port PORT\s+(\d+) for one that is free": 0}),
    "private_gradients": Example(
        ("--steps", "30"),
        at_most={r"both agree to (\S+)": 1e-5},
        at_least={r"(\S+) % of the test images": 85, r"noise scale after:  (\S+)": 1},
        is_slow=True,
    ),
    "newton_on_dask": Example(
        ("--rows", "40_000", "--block", "5_000"),
        at_most={
            r"the same blocks agree to (\S+)": 1e-9,
            r"found but for (\S+)": 0.1,
            r"peak (\S+) MB": 1000,
        },
        is_slow=True,
    ),
    "newton_cg": Example(
        ("--size", "16"),
        at_most={
            r"differences of gradients agree to (\S+)": 1e-8,
            r"gradient (\S+), .* products\nthe film": 1e-12,
            r"Scherk's surface but for (\S+)": 1e-2,
        },
        is_slow=True,
    ),
    "fitted_orbits": Example(
        at_most={
            r"forward and reverse mode agree to (\S+)": 1e-10,
            r"with differences to (\S+)": 1e-6,
            r"found but for (\S+) %": 10,
        },
        is_slow=True,
    ),
    "eight_schools": Example(
        ("--draws", "300"),
        at_most={r"R̂ is at most (\S+)": 1.03, r"draws and the grid agree to (\S+) points": 1.0},
        at_least={r"(\d+) % of the moves": 80},
        is_slow=True,
    ),
    "conductivity": Example(
        ("--size", "8"),
        at_most={r"gradient and differences agree to (\S+)": 1e-7, r"found but for (\S+) %": 20},
        is_slow=True,
    ),
    "heat": Example(
        ("--size", "32", "--steps", "80", "--repeats", "1"),
        at_most={r"compiled and NumPy agree to (\S+)": 1e-12, r"(\d+) are left": 300},
        at_least={r"(\d+) operations were traced": 1900},
        is_slow=True,
    ),
    "gaussian_process": Example(
        ("--size", "60"),
        at_most={
            r"gradient and differences agree to (\S+)": 1e-8,
            r"gradient (\S+)\n  length": 1e-7,
            r"the function is known but for (\S+)": 0.1,
        },
        at_least={r"(\d+) % of it lie": 80},
        is_slow=True,
    ),
    "tiny_transformer": Example(
        ("--steps", "6"),
        at_most={r"at last a letter surprises by (\S+);": 3.0},
        backend="numpy",
        is_slow=True,
    ),
}


def environment(backend: str = "auto") -> dict[str, str]:
    """That of a program that finds what the tests find, and uses C if a user's program would."""
    found = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": found, "TRACEMILL_BACKEND": backend}


def ran(name: str, run: Example, folder: Path, *more: str) -> str:
    """What a program prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *run.arguments, *more]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(run.backend) | {"MPLBACKEND": "agg"},
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
def test_an_example_does_what_it_says(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = RUNS[name]
    if run.needs_c and working_toolchain() is None:
        pytest.skip("no C compiler works: install gcc or clang")
    picture = tmp_path_factory.mktemp("pictures") / f"{name}.svg"
    draws = name in ARGUMENTS and run.is_slow and find_spec("matplotlib") is not None
    printed = ran(name, run, tmp_path, *(("--plot", str(picture)) if draws else ()))
    assert picture.exists() == draws
    assert not list(tmp_path.iterdir()), "it leaves something where it is run"
    for pattern, limit in (run.at_most | run.at_least).items():
        found = re.search(pattern, printed)
        assert found, f"{pattern} is not in\n{printed}"
        value = float(found[1].rstrip("%.,"))
        assert value <= limit if pattern in run.at_most else value >= limit, printed


def answer(url: str, body: bytes) -> tuple[int, Any]:
    """The status and the document that a server answers with."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.slow
def test_the_server_answers_from_the_file_alone(tmp_path: Path) -> None:
    weights = np.eye(10, 64, dtype=np.float32)

    def read_digit(image: Any) -> Any:
        return {"digit": np.argmax(weights @ image)}

    path = tm.export(read_digit, "image: f32[64]").save(tmp_path / "model.tmill")
    with server(path) as url:
        image = [0.0] * 64
        image[7] = 1
        assert answer(url, json.dumps({"image": image}).encode()) == (200, {"digit": 7})
        for given, error in (
            (
                b'{"image": [1, 2]}',
                "ArgumentMismatchError: read_digit: image is f32[2], but it was exported for f32[",
            ),
            (
                b'{"picture": []}',
                "ArgumentMismatchError: read_digit(image): missing a required argument: 'image'",
            ),
            (b"{", "JSONDecodeError: "),
            (b'{"image": "cat"}', "ValueError: could not convert string to float: 'cat'"),
        ):
            status, document = answer(url, given)
            assert status == 400
            assert document["error"].startswith(error)


@contextmanager
def server(model: Path) -> Generator[str]:
    """Where the server of a file answers, on a port that is free."""
    command = [sys.executable, str(EXAMPLES / "serve_digits.py"), str(model)]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def test_each_example_is_run_and_listed() -> None:
    files = {file.stem for file in EXAMPLES.glob("*.py")}
    assert files == {*RUNS}
    listed = re.findall(r"\[`(\w+)\.py`\]\((\w+)\.py\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert listed == [(name, name) for name in RUNS]
