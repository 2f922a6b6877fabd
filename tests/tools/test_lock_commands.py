"""``tracemill lock check`` verifies a lock file without a GPU."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from graphs.product_graphs import LARGE
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.choice import Choice
from tracemill.compiler.backends.triton.kernels.kernel_key import kernel_key, kernel_text, known_graph
from tracemill.compiler.ir import Graph
from tracemill.runtime.gpu_choices.lock_entry import LockEntry, Measured
from tracemill.runtime.gpu_choices.lock_text import lock_text

from .terminal import Terminal


def text_of(*kernels: tuple[Graph, Choice, str]) -> str:
    entries = [
        LockEntry(
            target,
            kernel_key(graph),
            choice,
            (Measured(choice, 1.0),),
            "a GPU",
            {},
            kernel_text(known_graph(graph)),
        )
        for graph, choice, target in kernels
    ]
    return lock_text({(entry.target, entry.key): entry for entry in entries})


EXP = recorded(fn.exp, "f32[5000]")
GOOD = text_of(
    (EXP, Choice(warps=8), "sm_90"),
    (EXP, Choice(), "sm_80"),
    (LARGE["16-bit floats"], Choice(stages=4), "sm_90"),
)


def test_the_bare_command_lists_its_commands(terminal: Terminal) -> None:
    assert "check" in terminal.run("lock").out


def test_a_file_that_can_be_used_passes(terminal: Terminal) -> None:
    Path("tracemill.lock").write_text(GOOD)
    for arguments in ([], ["tracemill.lock"]):
        ran = terminal.run("lock", "check", *arguments)
        assert (ran.status, ran.out) == (0, "sm_80: 1 kernel\nsm_90: 2 kernels\nall choices can be used\n")


def test_the_file_may_be_named_by_the_environment(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_LOCK", "no.lock")
    ran = terminal.run("lock", "check")
    reason = "no.lock does not exist: autotune=True writes it on a machine with a GPU [E0619: tracemill explain E0619]"
    assert (ran.status, ran.err) == (
        1, f"tracemill: LockFileError: {reason}\n"
    )  # fmt: skip


def test_a_file_that_cannot_be_used_fails_in_one_line(terminal: Terminal) -> None:
    Path("bad.lock").write_text(GOOD.replace("warps = 8", "warps = 9"))
    ran = terminal.run("lock", "check", "bad.lock")
    assert ran.status == 1
    assert "LockFileError: bad.lock:" in ran.err
    assert "warps is a power of two, not 9" in ran.err


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed; it is for Linux on x86")
def test_kernels_are_compiled_for_their_own_gpu(tmp_path: Path) -> None:
    """In a process of its own: where Triton's interpreter is loaded, nothing can be compiled."""
    wasteful = Choice(rows=64, columns=128, depth=32, warps=1)
    for name, text in (("good", GOOD), ("spilled", text_of((LARGE["16-bit floats"], wasteful, "sm_90")))):
        (tmp_path / f"{name}.lock").write_text(text)
    program = (
        "import sys\n"
        "from tracemill.tools.cli import main\n"
        "for name in ('good', 'spilled'):\n"
        "    try:\n"
        "        sys.argv = ['tracemill', 'lock', 'check', '--compile', f'{name}.lock']\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        print(name, end.code or 0)\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    *_, said, good, spilled = ran.stdout.splitlines()
    assert said == "all choices can be used, and compile into registers", ran.stderr
    assert (good, spilled) == ("good 0", "spilled 1")
    assert "does not fit into registers" in ran.stderr
