"""Commands read only regular files, and only as much of them as fits."""

import os
from pathlib import Path

import numpy as np
import pytest

from tracemill.tools.comparison import differences

from .terminal import Terminal

LOSS = ("model.py:loss", "--in", "x: f64[4]")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text("import numpy as np\n\n\ndef loss(x):\n    return np.sum(np.tanh(x) ** 2)\n")
    assert terminal.run("export", *LOSS, "-o", "model.tmill").status == 0
    np.save("x.npy", np.ones(4))
    for name in ("pipe", "pipe.npy", "pipe.npz", "pipe.json", "pipe.lock"):
        os.mkfifo(name)


READERS = {
    "diff": ("diff", "{}", "model.tmill"),
    "diff with": ("diff", "model.tmill", "{}"),
    "run": ("run", "{}", "--in", "x.npy"),
    "verify": ("verify", "{}"),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "pipe"])
def test_what_is_not_a_regular_file_is_refused(name: str, path: str, terminal: Terminal) -> None:
    ran = terminal.run(*(argument.format(path) for argument in READERS[name]))
    assert ran.status == 1
    assert f"{path} is a " in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "model.tmill", "--in", "pipe.npy"),
        ("run", "model.tmill", "--in", "pipe.npz"),
        ("inspect", "model.py:loss", "--example", "pipe.npz"),
        ("inspect", "model.py:loss", "--example", "pipe.json"),
        ("export", "model.py:loss", "--example", "/dev/zero"),
        ("lock", "check", "pipe.lock"),
        ("lock", "check", "/dev/zero"),
    ],
    ids=" ".join,
)
def test_other_files_are_regular_too(arguments: tuple[str, ...], terminal: Terminal) -> None:
    ran = terminal.run(*arguments)
    assert ran.status == 1
    assert "only regular files are read" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("name", ["pipe", "pipe.tmill", "/dev/zero"])
def test_a_special_file_is_no_function(name: str, terminal: Terminal) -> None:
    if name == "pipe.tmill":
        os.mkfifo(name)
    for command in ("inspect", "bench"):
        ran = terminal.run(command, name)
        assert ran.status == 2
        assert ran.err.count("\n") == 1


def test_a_text_of_a_graph_is_no_longer_than_that_of_an_artifact(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "LARGEST_GRAPH", 1000)
    Path("graph.txt").write_text("# tracemill ir 1\n" + "#" * 1000)
    ran = terminal.run("diff", "graph.txt", "graph.txt")
    assert ran.status == 1
    reason = "graph.txt has more than the 1 kB that are read [E0704: tracemill explain E0704]"
    assert ran.err == f"tracemill: InputFileError: {reason}\n"


def test_arrays_that_unpack_to_much_are_refused_unless_that_is_allowed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracemill.tools.arguments.array_files.USUAL_TOTAL", 100)
    assert terminal.run("export", "model.py:loss", "--in", "x: f64[9999]", "-o", "large.tmill").status == 0
    np.savez_compressed("x.npz", x=np.ones(9999))
    ran = terminal.run("run", "large.tmill", "--in", "x.npz")
    assert ran.status == 1
    assert "unpack to 80120, and at most" in ran.err
    assert "--max-bytes" in ran.err
    assert terminal.run("run", "large.tmill", "--in", "x.npz", "--max-bytes", "1MB").status == 0


@pytest.mark.slow
def test_a_damaged_npz_file_is_one_line(terminal: Terminal) -> None:
    np.savez_compressed("x.npz", x=np.arange(4.0))
    content = bytearray(Path("x.npz").read_bytes())
    for place in range(0, len(content), 7):
        damaged = content.copy()
        damaged[place] ^= 0xFF
        Path("y.npz").write_bytes(damaged)
        ran = terminal.run("run", "model.tmill", "--in", "y.npz", "-o", "out.npz", "--force")
        assert ran.status in (0, 1, 2)
        assert ran.err.count("\n") == (ran.status != 0)


def test_a_limit_is_a_number_of_bytes(terminal: Terminal) -> None:
    assert terminal.run("verify", "model.tmill", "--max-bytes", "1GB").status == 0
    ran = terminal.run("verify", "model.tmill", "--max-bytes", "lots")
    assert ran.status == 2
    assert "--max-bytes: the limit must be a positive number of bytes" in ran.err
    ran = terminal.run("inspect", "model.tmill", "--max-bytes", "10")
    assert ran.status == 1
    assert "at most 10 are read" in ran.err
