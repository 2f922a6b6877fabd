"""``tracemill export``, ``run`` and ``verify``: functions go into files and come out of them on the command line."""

import ctypes
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm

from .terminal import Terminal

SOURCE = """\
import numpy as np
import tracemill as tm

W = np.arange(6.0).reshape(3, 2)


def scores(layers, x):
    "How good it is."
    return {"scores": np.tanh(x @ W) * layers["w"][0], "count": x.shape[0], "best": np.max(x)}


def loss(w, x):
    return np.sum((x @ w) ** 2)


dloss = tm.grad(loss)
fast = tm.compile(tm.value_and_grad(loss))
"""
SCORES = ("export", "model.py:scores", "--in", "layers.w.0: f64[2]", "--in", "x: f64[4, 3]")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text(SOURCE)
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.normal(size=(4, 3)))
    layers: dict[str, Any] = {"layers.w.0": np.ones(2)}
    np.savez("layers.npz", **layers)


def test_a_function_is_exported_run_and_verified(terminal: Terminal) -> None:
    ran = terminal.run(*SCORES)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("scores.tmill: ")
    assert "scores(layers_w_0: f64[2], x: f64[4, 3]) -> (f64[], 4, f64[4, 2]) for cpu" in ran.out

    ran = terminal.run("run", "scores.tmill", "--in", "x.npy", "--in", "layers.npz", "-o", "out")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == ["best: f64[]", "count: i64[]", "scores: f64[4, 2]"]
    x = np.load("x.npy")
    np.testing.assert_allclose(np.load("out/scores.npy"), np.tanh(x @ np.arange(6.0).reshape(3, 2)))
    assert np.load("out/count.npy") == 4

    ran = terminal.run(
        "run", "scores.tmill", "--in", "x=x.npy", "--in", "layers.npz", "-o", "all.npz", "--json"
    )
    assert json.loads(ran.out)["results"] == {"best": "f64[]", "count": "i64[]", "scores": "f64[4, 2]"}
    assert sorted(np.load("all.npz").files) == ["best", "count", "scores"]

    ran = terminal.run("verify", "scores.tmill")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["ok"] * 3
    assert "2 outputs agree" in ran.out
    checks = json.loads(terminal.run("verify", "scores.tmill", "--json").out)["checks"]
    assert [check["name"] for check in checks] == ["file", "graph", "run"]


def test_transforms_examples_and_names_of_files(terminal: Terminal) -> None:
    np.savez("example.npz", w=np.ones(3), x=np.ones((5, 4, 3)))
    ran = terminal.run(
        "export", "model.py:loss", "--example", "example.npz", "-o", "g.tmill",
        "--transform", "vmap(grad(argnums=0), in_dims=(None, 0))",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert tm.load("g.tmill")(np.ones(3), np.ones((5, 4, 3))).shape == (5, 3)
    assert sorted(path.name for path in Path().iterdir() if path.suffix == ".tmill") == ["g.tmill"]


def test_arguments_are_described_in_json(terminal: Terminal) -> None:
    Path("call.json").write_text('{"layers": {"w": ["f64[2]"]}, "x": "f64[4, 3]"}')
    described = terminal.run(*SCORES).out
    assert terminal.run("export", "model.py:scores", "--example", "call.json", "--force").out == described
    Path("call.json").write_text('{"w": "f64[3]"}')
    ran = terminal.run("inspect", "model.py:loss", "--example", "call.json", "--in", "x: f64[2, 3]")
    assert (ran.status, ran.err) == (0, "")
    for text, status, message in (
        ("{", 1, "cannot read arguments from call.json: Expecting property name"),
        ("[" * 10**5, 1, "cannot read arguments from call.json: "),
        ("[1]", 1, "call.json holds no arguments by name: write "),
        ('{"w": "f12[3]"}', 2, "there is no dtype 'f12'"),
        ('{"w": {}}', 2, "'w' holds nothing"),
        ('{"w; x": 1}', 2, "'w; x' in the example is not the name"),
    ):
        Path("call.json").write_text(text)
        ran = terminal.run("export", "model.py:loss", "--example", "call.json")
        assert (ran.status, ran.out, ran.err.count("\n")) == (status, "", 1)
        assert message in ran.err


@pytest.mark.parametrize(
    ("function", "more", "name"),
    [
        ("dloss", (), "dloss"),
        ("fast", (), "fast"),
        ("loss", ("--transform", "grad"), "loss"),
        ("dloss", ("--name", "slope"), "slope"),
    ],
)
def test_files_and_functions_have_the_users_name(
    terminal: Terminal, function: str, more: tuple[str, ...], name: str
) -> None:
    described = ("export", f"model.py:{function}", "--in", "w: f64[3]", "--in", "x: float64[4, 3]", *more)
    for format in ("c", "python", "bundle"):
        ran = terminal.run(*described, "--format", format, "--force")
        assert ran.status == 0, ran.err
    assert sorted(path.name for path in Path(name).iterdir()) == [
        "Makefile", f"{name}.c", f"{name}.h", f"{name}.py",
    ]  # fmt: skip
    assert f"int {name}(" in Path(name, f"{name}.h").read_text()
    assert f"def {name}(w, x):" in Path(name, f"{name}.py").read_text()
    assert tm.load(f"{name}.tmill").__name__ == name
    ran = terminal.run(*described, "--format", "bundle")
    assert (ran.status, "--force" in ran.err) == (1, True)


@pytest.mark.parametrize("name", ["no name", "class", "größe", ""])
def test_a_name_that_no_function_can_have_is_refused(terminal: Terminal, name: str) -> None:
    with pytest.raises(tm.errors.ArgumentValueError, match="cannot be the name of a function"):
        tm.export(np.sin, "f64[3]", name=name)
    with pytest.raises(tm.errors.ArgumentTypeError, match="name= must be a text or None, not 3"):
        tm.export(np.sin, "f64[3]", name=3)  # type: ignore[arg-type]


@pytest.mark.slow
def test_sources_are_written_to_a_folder(terminal: Terminal) -> None:
    ran = terminal.run(*SCORES, "--format", "python", "-o", "plain")
    assert ran.status == 0, ran.err
    code = (
        "import sys; sys.path.insert(0, 'plain'); import numpy as np; from scores import scores;"
        "print(scores({'w': [np.ones(2)]}, np.ones((4, 3)))['count'], 'tracemill' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["4", "False"], done.stderr
    ran = terminal.run(*SCORES, "--format", "python", "-o", "mine/named.py")
    assert ran.status == 0, ran.err
    assert [path.name for path in Path("mine").iterdir()] == ["named.py"]
    done = subprocess.run(
        [sys.executable, "-I", "mine/named.py"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("ok: max difference "), done.stderr
    ran = terminal.run(*SCORES, "--format", "c", "-o", "c")
    assert ran.status == 0, ran.err
    assert sorted(path.name for path in Path("c").iterdir()) == ["Makefile", "scores.c", "scores.h"]
    assert "layers['w'][0]" in Path("c/scores.h").read_text()


WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no argument": (("run", "scores.tmill", "--in", "x.npy"), 2, "--in gives none for layers.w.0"),
    "too many": (
        ("run", "scores.tmill", "--in", "x.npy", "--in", "layers.npz", "--in", "y.npy"),
        2,
        "y.npy is one too many",
    ),
    "unknown": (
        ("run", "scores.tmill", "--in", "z=x.npy"),
        2,
        "there is no argument 'z', only layers.w.0, x",
    ),
    "twice": (("run", "scores.tmill", "--in", "x.npy", "--in", "x=x.npy"), 2, "x is given twice"),
    "no array": (("run", "scores.tmill", "--in", "model.py"), 2, "is not a .npy or .npz file"),
    "missing file": (("run", "scores.tmill", "--in", "w.npy"), 1, "cannot read arrays from w.npy"),
    "pickle": (("run", "scores.tmill", "--in", "pickle.npy"), 1, "cannot read arrays from pickle.npy"),
    "dtype": (
        ("run", "scores.tmill", "--in", "x=y.npy", "--in", "layers.npz"),
        1,
        "scores: x is f32[4, 3], but it was exported for f64[4, 3]",
    ),
    "no artifact": (("run", "model.py"), 1, "ArtifactError: model.py: this is not a bundle"),
    "not verified": (
        ("verify", "model.py"),
        1,
        "model.py is not as it should be: file: model.py: this is no",
    ),
    "no file": (("verify", "no.tmill"), 2, "does not exist"),
    "target": ((*SCORES, "--target", "tpu"), 1, "target 'tpu' is unknown"),
    "description": (("export", "model.py:loss", "--in", "w: f12[3]"), 2, "there is no dtype 'f12'"),
    "too few": (("export", "model.py:loss", "--in", "w: f32[3]"), 2, "missing a required argument: 'x'"),
    "folder": (
        (*SCORES, "-o", "no/such/folder.tmill"),
        2,
        "-o no/such/folder.tmill: there is no folder no/such: make it, or name another",
    ),
    "place": (
        (*SCORES, "--format", "python", "-o", "model.py/x"),
        2,
        "-o model.py/x: model.py is a file, and a folder is needed: name another",
    ),
    "a folder": ((*SCORES, "-o", "."), 2, "-o . is a folder: name a file, such as model.tmill"),
    "a file": ((*SCORES, "--format", "c", "-o", "x.npy"), 2, "-o x.npy: x.npy is a file, and a folder is"),
    "results": (
        ("run", "scores.tmill", "--in", "x.npy", "--in", "layers.npz", "-o", "x.npy"),
        2,
        "-o x.npy: x.npy is a file, and a folder is needed",
    ),
    "results nowhere": (
        ("run", "scores.tmill", "--in", "x.npy", "--in", "layers.npz", "-o", "no/all.npz"),
        2,
        "-o no/all.npz: there is no folder no",
    ),
    "C for GPUs": (
        (*SCORES, "--format", "c", "--target", "cuda:sm_90"),
        2,
        "--format c is for processors: leave --target cuda:sm_90 out",
    ),
    "text": (
        ("run", "scores.tmill", "--in", "x=text.npy"),
        1,
        "cannot read arrays from text.npy: it is not a .npy or .npz file, which NumPy writes",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_a_line(terminal: Terminal, what: str) -> None:
    arguments, status, message = WRONG[what]
    assert terminal.run(*SCORES).status == 0
    np.save("y.npy", np.ones((4, 3), np.float32))
    np.save("pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
    Path("text.npy").write_text("1.0 2.0\n")
    before = sorted(path.name for path in Path().iterdir())
    ran = terminal.run(*arguments)
    assert (ran.status, ran.out if what != "not verified" else "") == (status, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert sorted(path.name for path in Path().iterdir()) == before


def test_named_tuples_are_read_with_the_classes_that_are_named(terminal: Terminal) -> None:
    Path("shapes.py").write_text(
        "from typing import Any, NamedTuple\n\n\nclass Point(NamedTuple):\n    x: Any\n    y: Any\n\n\n"
        "def moved(x, /, y):\n    return Point(x + y, y)\n\n\nprint('imported')\n"
    )
    ran = terminal.run("export", "shapes.py:moved", "--in", "x: f64[4, 3]", "--in", "y: f64[4, 3]")
    assert (ran.status, ran.err) == (0, "imported\n")
    given = ("moved.tmill", "--types", "shapes.py:Point")
    assert terminal.run("run", *given, "--in", "x.npy", "--in", "y=x.npy").out.startswith("x: f64[4, 3]\ny: ")
    for command in (("verify",), ("inspect",), ("cache", "why"), ("diff", "moved.tmill")):
        ran = terminal.run(*command, *given)
        assert (ran.status, "imported" in ran.out) == (0, False)
        ran = terminal.run(*command, "moved.tmill")
        assert ran.status == 1
        assert (
            "named tuples of the class Point(x, y). Give it: tm.load(path, types=[Point]), or --types"
            in ran.err
        )


def test_a_changed_member_is_found(terminal: Terminal) -> None:
    terminal.run(*SCORES)
    with zipfile.ZipFile("scores.tmill") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["graph.txt"] = members["graph.txt"].replace(b"tanh", b"sinh")
    with zipfile.ZipFile("changed.tmill", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    ran = terminal.run("verify", "changed.tmill")
    assert ran.status == 1
    assert "FAILED  file: changed.tmill: graph.txt: its sha256 is not the one" in ran.out


@pytest.mark.slow
def test_export_writes_c_that_make_builds(terminal: Terminal, c_compiler: str) -> None:
    assert not terminal.run(*SCORES, "--format", "c", "-o", "scores").status
    header = Path("scores/scores.h").read_text(encoding="utf-8")
    assert "// layers['w'][0]: f64[2], read\n" in header
    subprocess.run(["make", f"CC={c_compiler}"], cwd="scores", check=True, capture_output=True)
    library = ctypes.CDLL(str(Path("scores/libscores.so").resolve()))
    x, w = np.load("x.npy"), np.ones(2)
    scores, best, workspace = np.zeros((4, 2)), np.zeros(()), np.zeros(library.scores_workspace_size() + 1)
    arrays = (w, x, best, scores, workspace)
    assert library.scores(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)) == 0
    np.testing.assert_allclose(scores, np.tanh(x @ np.arange(6.0).reshape(3, 2)), 1e-14)
    assert best == np.max(x)


SIZED = (
    "export",
    "model.py:scores",
    "--in",
    "layers.w.0: f64[2]",
    "--in",
    "x: f64[B, 3]",
    "--target",
    "cpu-c",
)


def test_named_sizes_go_into_every_format(terminal: Terminal, c_compiler: str) -> None:
    ran = terminal.run(*SIZED)
    assert ran.status == 1
    assert (
        'Add the constraint "B >= 1", or "B == 0". Here a constraint is an option, --dim CONSTRAINT'
        in ran.err
    )
    assert "model.py:" in ran.err
    bounded = (*SIZED, "--dim", "B in 1..9")
    assert not terminal.run(*bounded).status
    ran = terminal.run("verify", "scores.tmill")
    assert not ran.status
    assert "3 outputs agree with the NumPy definitions of the operations, on random inputs, B = 9" in ran.out
    ran = terminal.run("inspect", "scores.tmill", "--backend", "c", "--stage", "guards")
    assert ran.out.startswith("none: it serves all sizes\n")
    assert not terminal.run(*bounded, "--format", "c", "-o", "scores").status
    subprocess.run(["make", f"CC={c_compiler}"], cwd="scores", check=True, capture_output=True)
    library = ctypes.CDLL(str(Path("scores/libscores.so").resolve()))
    x, w, best, count, scores = (
        np.load("x.npy"),
        np.ones(2),
        np.zeros(()),
        np.zeros((), np.int64),
        np.zeros((4, 2)),
    )
    for rows, code in ((4, 0), (10, 16)):
        workspace = np.zeros(library.scores_workspace_size(ctypes.c_int64(rows)) + 1)
        given = [ctypes.c_void_p(array.ctypes.data) for array in (w, x, best, count, scores, workspace)]
        assert library.scores(ctypes.c_int64(rows), *given) == code
    assert count == 4
    np.testing.assert_allclose(scores, np.tanh(x @ np.arange(6.0).reshape(3, 2)), 1e-14)


def test_max_steps_ends_a_function_that_never_ends(terminal: Terminal) -> None:
    Path("endless.py").write_text(
        "import tracemill as tm\n\n\ndef f(x):\n    return tm.while_loop(lambda x: x > 0, lambda x: x + 1, x)\n"
    )
    assert terminal.run("export", "endless.py:f", "--in", "x: i64[]", "-o", "f.tmill").status == 0
    np.save("one.npy", np.int64(1))
    for command in (("run", "f.tmill", "--in", "one.npy"), ("verify", "f.tmill")):
        ran = terminal.run(*command, "--max-steps", "1000")
        assert ran.status == 1
        assert "a while loop exceeds max_steps=1000 steps" in ran.err
