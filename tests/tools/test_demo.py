"""The demo learns, agrees with gradients by hand, and what it tells the reader to do works."""

import io
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import tracemill as tm
from tracemill.tools.demo.digit_network import (
    initial_parameters,
    loss,
    loss_and_gradients_by_hand,
    targets_of,
)
from tracemill.tools.demo.digits import load_digits
from tracemill.tools.demo.training import run_demo

from .terminal import Ran, Terminal


@pytest.fixture
def demo(terminal: Terminal) -> Ran:
    ran = terminal.run("demo", "--quick")
    assert (ran.status, ran.err) == (0, "")
    return ran


@pytest.mark.slow
def test_the_quick_demo_reads_most_digits(demo: Ran) -> None:
    found = re.search(r"It reads (\d+) of 360 test images right: (\d+\.\d)%", demo.out)
    assert found is not None
    assert int(found[1]) >= 0.95 * 360


@pytest.mark.slow
def test_a_pipe_gets_no_progress_bar_and_no_colours(demo: Ran) -> None:
    assert "━" not in demo.out
    assert "\x1b" not in demo.out
    assert "epoch" not in demo.out


def test_a_terminal_gets_a_progress_bar(terminal: Terminal) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    run_demo(console, seed=0, epochs=2)
    assert isinstance(console.file, io.StringIO)
    assert "epoch 2 of 2   loss 0." in console.file.getvalue()


@pytest.mark.slow
def test_lines_fit_a_terminal(demo: Ran) -> None:
    long = [line for line in demo.out.splitlines() if len(line) >= 80 and "program.py" not in line]
    assert not long


@pytest.mark.slow
def test_a_stream_of_ascii_gets_digits_drawn_in_ascii(terminal: Terminal) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    run_demo(Console(file=stream), seed=0, epochs=1)
    stream.seek(0)
    drawn = stream.read()
    assert "::##" in drawn
    assert "?" not in re.sub("8 . 8|[0-9]+ .s", "", drawn)  # × and µ


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_costs_one_line(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        ran = terminal.run("demo", "--epochs", "1")
    assert ran.status == 0
    assert "or cannot be written" in ran.out
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("tracemill: warning: cannot store in Tracemill's disk cache")


@pytest.mark.slow
def test_the_generated_code_is_in_the_demos_folder_and_runs_on_its_own(demo: Ran) -> None:
    path = re.search(r"\S+program\.py", demo.out)
    assert path is not None
    assert "def loss(" in Path(path[0]).read_text()
    ran = subprocess.run([sys.executable, "-I", path[0]], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_the_command_that_the_demo_prints_works(demo: Ran, terminal: Terminal) -> None:
    command = demo.out[demo.out.index("tracemill inspect") :].strip()
    ran = terminal.run(*shlex.split(command.replace("\\\n", " "))[1:])
    assert ran.status == 0, ran.err
    assert "\n# ---- traced\ndef loss(parameters_b1: f32[128], " in ran.out
    assert "# ---- generated NumPy" in ran.out


@pytest.mark.slow
def test_the_same_seed_gives_the_same_accuracy(terminal: Terminal) -> None:
    first, second = (terminal.run("demo", "--epochs", "2", "--seed", "7").out for _ in range(2))
    accuracy = re.compile(r"It reads .*%")
    assert accuracy.findall(first) == accuracy.findall(second) != []


def test_the_demo_works_without_the_disk_cache(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    ran = terminal.run("demo", "--epochs", "1")
    assert ran.status == 0
    assert "not kept: the disk cache is off" in ran.out


def test_gradients_by_hand_are_those_by_tracemill() -> None:
    digits = load_digits()
    images, targets = digits.images[:32], targets_of(digits.labels[:32])
    parameters = initial_parameters(3)
    value, gradients = tm.value_and_grad(loss)(parameters, images, targets)
    by_hand, gradients_by_hand = loss_and_gradients_by_hand(parameters, images, targets)
    assert value == pytest.approx(by_hand, rel=1e-6)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, gradients_by_hand[name], atol=1e-6)


def test_the_gradient_of_a_batch_is_the_mean_of_those_of_its_images() -> None:
    digits = load_digits()
    images, targets = digits.images[:16], targets_of(digits.labels[:16])
    parameters = initial_parameters(3)
    each = tm.vmap(tm.grad(loss), in_dims=(None, 0, 0))(parameters, images, targets)
    together = tm.grad(loss)(parameters, images, targets)
    for name, gradient in together.items():
        np.testing.assert_allclose(each[name].mean(axis=0), gradient, atol=1e-6)
