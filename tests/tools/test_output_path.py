"""Every command that writes refuses a file that exists, and what is not a file, before it does any work."""

import os
from pathlib import Path

import numpy as np
import pytest

from .terminal import Terminal

SOURCE = "import numpy as np\n\n\ndef loss(w, x):\n    return np.sum(np.tanh(x @ w) ** 2)\n"
LOSS = ("model.py:loss", "--in", "w: f32[2]", "--in", "x: f32[4, 2]")

WRITERS = {
    "export": ("export", *LOSS, "-o"),
    "export as Python": ("export", *LOSS, "--format", "python", "-o"),
    "inspect": ("inspect", *LOSS, "--html"),
    "run": ("run", "model.tmill", "--in", "w.npy", "--in", "x.npy", "-o"),
    "demo": ("demo", "--epochs", "1", "--html"),
    "bench": ("bench", *LOSS, "--rounds", "1", "--backend", "numpy", "--plot"),
    "bench own": ("bench", "own", "overhead", "--rounds", "1", "--json"),
    "bench suite": ("bench", "suite", "--json"),
    "bench suite as a page": ("bench", "suite", "--markdown"),
}
SUFFIXES = {"export": ".tmill", "export as Python": ".py", "run": ".npz", "bench": ".svg"}
REPLACED = ("export", "export as Python", "inspect", "run", "demo", "bench")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text(SOURCE)
    assert terminal.run("export", *LOSS, "-o", "model.tmill").status == 0
    np.save("w.npy", np.ones(2, np.float32))
    np.save("x.npy", np.ones((4, 2), np.float32))


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_exists_stays(name: str, terminal: Terminal) -> None:
    path = Path("there" + SUFFIXES.get(name, ".txt"))
    path.write_text("mine")
    ran = terminal.run(*WRITERS[name], str(path))
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"tracemill: OutputExistsError: {path} exists")
    assert "--force" in ran.err
    assert path.read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLACED)
def test_force_replaces_it(name: str, terminal: Terminal) -> None:
    path = Path("there" + SUFFIXES.get(name, ".txt"))
    path.write_text("mine")
    ran = terminal.run(*WRITERS[name], str(path), "--force")
    assert ran.status == 0, ran.err
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_stays(name: str, terminal: Terminal) -> None:
    path = Path("there" + SUFFIXES.get(name, ".txt"))
    os.mkfifo(path)
    ran = terminal.run(*WRITERS[name], str(path), "--force")
    assert (ran.status, ran.out) == (1, "")
    reason = f"{path} is a pipe, which is never replaced: name a file [E0711: tracemill explain E0711]"
    assert ran.err == f"tracemill: OutputFileError: {reason}\n"
    assert path.is_fifo()


def test_files_in_folders_stay(terminal: Terminal) -> None:
    for name in ("out/result.npy", "sources/loss.c", "plots/memory.svg", "check/gpu-check.md"):
        Path(name).parent.mkdir()
        Path(name).write_text("mine")
    commands = [
        (*WRITERS["run"], "out"),
        ("export", *LOSS, "--format", "c", "-o", "sources"),
        ("bench", "suite", "--plots", "plots"),
        ("gpu-check", "--folder", "check"),
    ]
    for command in commands:
        ran = terminal.run(*command)
        assert ran.status == 1
        assert ran.err.startswith("tracemill: OutputExistsError: ")
    for command in commands[:2]:
        assert terminal.run(*command, "--force").status == 0
    assert Path("plots/memory.svg").read_text() == Path("check/gpu-check.md").read_text() == "mine"
    assert np.load("out/result.npy").shape == ()
