"""The command says what it does, and every misuse in one line with its own exit code."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tracemill.compiler.op import all_ops
from tracemill.tools.cli import COMMANDS

from .terminal import Terminal

SOURCE = """\
import numpy as np

number = 3


def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def norm(tree, *, scale=1.0):
    return scale * np.sqrt(np.sum(tree["a"] ** 2) + np.sum(tree["b"][0] ** 2))


def positive(x):
    return x if x > 0 else np.ones(3) + x


def broken(x):
    return x + undefined
"""
LOSS = ("inspect", "model.py:loss", "--in", "f32[2]", "--in", "f32[4, 2]", "--in", "f32[4]")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text(SOURCE)
    Path("failing.py").write_text("import numpy as np\nnp.nonsense()\n")


def test_the_bare_command_lists_the_commands(terminal: Terminal) -> None:
    ran = terminal.run()
    assert ran.status == 0
    for command in ("bench", "cache", "coverage", "demo", "gpu-check", "inspect"):
        assert f"  {command}" in ran.out


def test_the_list_of_commands_comes_without_numpy() -> None:
    code = (
        "import sys; from tracemill.tools.cli import main; sys.argv[1:] = ['--help']\ntry: main()\nfinally: "
    )
    code += (
        "print([name for name in sys.modules if name in ('numpy', 'rich') or 'tracemill.runtime' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *listed, heavy = ran.stdout.splitlines()
    assert heavy == "[]"
    assert not [line for line in listed[1:] if line.endswith("...")]


@pytest.mark.parametrize("command", ["bench own", "bench suite", "bench function", "cache list", *COMMANDS])
def test_every_command_has_help(terminal: Terminal, command: str) -> None:
    ran = terminal.run(*command.split(), "--help")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: tracemill {command}")


def test_coverage_has_a_row_for_every_op(terminal: Terminal) -> None:
    document = json.loads(terminal.run("coverage", "--json").out)
    assert {row["op"] for row in document["ops"]} == set(all_ops())
    assert sum(document["totals"]["jvp"].values()) == len(all_ops())
    assert "\ntanh " in terminal.run("coverage").out


def test_coverage_says_which_of_numpys_functions_can_be_traced(terminal: Terminal) -> None:
    names = {row["name"]: row for row in json.loads(terminal.run("coverage", "--json").out)["numpy"]}
    assert (names["numpy.sin"]["kind"], names["numpy.sin"]["refused"]) == ("ufunc", None)
    assert (names["numpy.sort"]["kind"], names["numpy.sort"]["refused"]) == ("function", None)
    assert names["numpy.savez"]["refused"].startswith("files are read and written outside of the trace")
    text = terminal.run("coverage").out
    traced = sum(row["refused"] is None and row["kind"] == "ufunc" for row in names.values())
    assert f"\nufuncs  {traced} of " in text
    assert "savez_compressed" in text


MISUSES = {
    "unknown": (("frobnicate",), "No such command 'frobnicate'. Commands: tracemill --help"),
    "misspelled command": (("expor",), "No such command 'expor'. (Did you mean 'export'?)"),
    "misspelled option": (("inspect", "--stag", "c"), "Options: tracemill inspect --help"),
    "no function": (("inspect",), "Missing argument 'FUNCTION'"),
    "no colon": (("inspect", "model.py"), "'model.py' names no function"),
    "no module": (("inspect", "nowhere:f"), "there is no module 'nowhere'"),
    "no package": (("inspect", "nowhere.at.all:f"), "there is no module 'nowhere.at.all'"),
    "no file": (("inspect", "nowhere.py:f"), "there is no file nowhere.py"),
    "misspelled": (("inspect", "model.py:los"), "no function 'los': did you mean 'loss'?"),
    "a number": (("inspect", "model.py:number"), "model.py:number is int, not a function"),
    "no dtype": ((*LOSS[:2], "--in", "q8[2]"), "there is no dtype 'q8', only bool, i8"),
    "no size": ((*LOSS[:2], "--in", "f32[n m]"), "cannot read 'n m': expected the end, found 'm'"),
    "no such size": (
        (*LOSS, "--dim", "b in 1..9"),
        "--dim constrains 'b', which is not a size of any argument",
    ),
    "no sizes at all": ((*LOSS, "--dim", "n in 3..2"), "dim n: there is no size from 3 to 2"),
    "no type": ((*LOSS[:2], "--in", "x: what"), "cannot read the argument 'x: what'"),
    "no literal": ((*LOSS[:2], "--in", "x = f(1)"), "'f(1)' is not a number, a string"),
    "too few": (LOSS[:-2], "loss takes (w, x, y), and 2 arguments are described: missing"),
    "too many": ((*LOSS, "--in", "f32[4]"), "too many positional arguments"),
    "wrong name": ((*LOSS[:-1], "z: f32[4]"), "loss has no argument 'z', only w, x, y"),
    "misspelled name": (
        ("inspect", "model.py:norm", "--in", "tree.a: f32[2]", "--in", "scales: f32[2]"),
        "norm has no argument 'scales', only tree, scale: did you mean 'scale'?",
    ),
    "no class": (
        ("verify", "model.py", "--types", "model.py:loss"),
        "model.py:loss is function, not a class",
    ),
    "no such class": (
        ("run", "model.py", "--types", "model.py:los"),
        "has no class 'los': did you mean 'loss'",
    ),
    "a peer of an artifact": (
        ("bench", "model.tmill", "--vs", "jax"),
        "model.tmill is an artifact: leave it out",
    ),
    "twice": ((*LOSS[:2], "--in", "w: f32[2]", "--in", "w: f32[2]"), "'w' is described twice"),
    "inside": ((*LOSS[:2], "--in", "w: f32[2]", "--in", "w.a: f32[2]"), "'w.a' lies inside 'w'"),
    "a gap": ((*LOSS[:2], "--in", "w.0: f32[2]", "--in", "w.2: f32[2]"), "must count from 0 without a gap"),
    "no stage": ((*LOSS, "--stage", "after:lunch"), "there is no stage 'after:lunch' on the backend"),
    "no transform": ((*LOSS, "--transform", "vamp"), "'vamp' is not a transform: choose from grad"),
    "no option": ((*LOSS, "--transform", "grad(speed=9)"), "unexpected keyword argument 'speed'"),
    "code": ((*LOSS, "--transform", "grad(argnums=f())"), "argnums must be a literal, not f()"),
    "other code": ((*LOSS, "--transform", "__import__('os').getcwd()"), "cannot read the transform"),
    "no syntax": ((*LOSS, "--transform", "grad("), "cannot read the transform 'grad('"),
    "no epochs": (("demo", "--epochs", "0"), "'--epochs'"),
    "nothing to bench": (("bench", "model.tmill"), "there is no file model.tmill"),
    "no backend": (("demo", "--backend", "fortran"), "'fortran' is not one of"),
    "no folder for a plot": (
        ("bench", *LOSS[1:], "--plot", "no/l.svg"),
        "--plot no/l.svg: there is no folder no",
    ),
    "a folder as a plot": (
        ("bench", *LOSS[1:], "--plot", "."),
        "--plot . is a folder: name a file, such as bars.svg",
    ),
    "no folder for numbers": (
        ("bench", "own", "--json", "no/x.json"),
        "--json no/x.json: there is no folder no",
    ),
    "no folder for a suite": (
        ("bench", "suite", "--plots", "model.py"),
        "--plots model.py: model.py is a file",
    ),
    "no folder for a check": (
        ("gpu-check", "--folder", "model.py/x"),
        "model.py is a file, and a folder is needed",
    ),
    "no benchmark": (("bench", "own", "speed"), "'speed'"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_is_one_line_and_status_2(terminal: Terminal, name: str) -> None:
    arguments, reason = MISUSES[name]
    ran = terminal.run(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("tracemill: ")
    assert ran.err.count("\n") == 1
    assert reason in ran.err


FAILURES = {
    "import": (("inspect", "failing.py:f"), "importing failing.py failed: AttributeError"),
    "module": (("inspect", "failing:f"), "importing failing failed: AttributeError"),
    "shapes": ((*LOSS[:-1], "f32[7]"), "ShapeError: subtract of f32[4] and f32[7]"),
    "control flow": (("inspect", "model.py:positive", "--in", "f32[]"), "BranchMismatchError: "),
    "the function": (
        ("inspect", "model.py:broken", "--in", "f32[]"),
        "NameError: name 'undefined' is not defined at model.py:19 return x + undefined",
    ),
    "no arrays": (
        ("inspect", "model.py:loss", "--example", "model.py"),
        "model.py: it is neither a .npz file",
    ),
    "no example": (("inspect", "model.py:loss", "--example", "none.npz"), "cannot read arrays from none.npz"),
    "no key": (("cache", "show", "0123"), "0 programs have a key that starts with '0123'"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_line_and_status_1(terminal: Terminal, name: str) -> None:
    arguments, reason = FAILURES[name]
    ran = terminal.run(*arguments)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("tracemill: ")
    assert ran.err.count("\n") == 1
    assert reason in ran.err


def test_a_setting_that_cannot_be_followed_is_reported_in_one_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_LOG", "everything")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        ran = terminal.run("bench", *LOSS[1:], "--rounds", "1")
    assert ran.status == 0
    assert ran.err.startswith("tracemill: warning: TRACEMILL_LOG=everything: there is nothing called")
    assert ran.err.count("\n") == 1


def test_debugging_shows_the_traceback(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_DEBUG", "1")
    with pytest.raises(NameError, match="undefined"):
        terminal.run("inspect", "model.py:broken", "--in", "f32[]")
