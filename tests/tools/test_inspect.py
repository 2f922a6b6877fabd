"""``tracemill inspect`` shows every stage of a function as it is, and takes arguments in the IR's words."""

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import tracemill as tm
from tracemill.tools.inspection import Stage, show

from .terminal import Terminal

SOURCE = """\
import numpy as np


def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


def norm(tree, *, scale=1.0):
    return scale * np.sqrt(np.sum(tree["a"] ** 2) + np.sum(tree["b"][0] ** 2))


def total(x, axis):
    return np.sum(x, axis)
"""
LAYERS = """\
import tracemill as tm


@tm.compile
def double(x):
    return x + x


class Layer:
    @staticmethod
    def double(x):
        return x + x
"""
LOSS = ("inspect", "model.py:loss", "--in", "w: f32[2]", "--in", "x: f32[4, 2]", "--in", "y: f32[4]")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text(SOURCE)


def traced(terminal: Terminal, *arguments: str) -> str:
    """The first line of the traced graph."""
    ran = terminal.run("inspect", *arguments, "--stage", "traced")
    assert ran.status == 0, ran.err
    return ran.out.splitlines()[0]


def test_all_stages_come_in_order_and_those_without_effect_in_one_line(terminal: Terminal) -> None:
    out = terminal.run(*LOSS).out
    headings = [line for line in out.splitlines() if line.startswith("# ----")]
    assert headings[:2] == ["# ---- converted", "# ---- traced"]
    assert headings[-1] == "# ---- generated NumPy"
    assert "# ---- after remove_dead_code: nothing to do" in headings
    assert any(line.startswith("# ---- after simplify") for line in headings)
    assert out.count("def loss(w: f32[2], x: f32[4, 2], y: f32[4]) -> f32[]:") < len(headings)
    assert "model.py:5  return np.mean((np.tanh(x @ w) - y) ** 2)" in out


def test_the_output_of_a_pipe_has_no_colours(terminal: Terminal) -> None:
    assert "\x1b" not in terminal.run(*LOSS).out


def test_a_terminal_gets_colours_and_the_same_words() -> None:
    stages = [Stage("traced", "traced", "def f(x: f64[]) -> f64[]:\n    return x", None)]
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    show(stages, console, as_diff=False)
    assert isinstance(console.file, io.StringIO)
    coloured = console.file.getvalue()
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert plain != coloured
    assert [line.rstrip() for line in plain.splitlines()] == stages[0].text.splitlines()


def test_one_stage_is_its_text_alone(terminal: Terminal) -> None:
    out = terminal.run(*LOSS, "--stage", "after:simplify").out
    assert out.startswith("def loss(w: f32[2], x: f32[4, 2], y: f32[4]) -> f32[]:\n")
    source = terminal.run(*LOSS, "--stage", "numpy").out
    names: dict[str, Any] = {}
    exec(compile(source, "source", "exec"), names)
    w, x, y = np.ones(2, "f4"), np.ones((4, 2), "f4"), np.zeros(4, "f4")
    assert names["loss"](w, x, y)[0] == pytest.approx(np.tanh(2.0) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "stage", "words"),
    [
        ("numpy", "memory", ("bytes: arguments 56, outputs 0", "calls 0 to")),
        ("numpy", "cost", ("flops", "least time", "Gflop/s f32")),
        ("numpy", "kernels", ("none: statements of NumPy do it",)),
        ("triton", "kernels", ("loss_0: ",)),
        ("triton", "plan", ("plan loss(",)),
    ],
)
def test_each_stage_of_a_backend_can_be_shown_alone(
    terminal: Terminal, backend: str, stage: str, words: tuple[str, ...]
) -> None:
    ran = terminal.run(*LOSS, "--backend", backend, "--stage", stage)
    assert (ran.status, ran.err) == (0, "")
    assert all(word in ran.out for word in words)
    document = json.loads(terminal.run(*LOSS, "--backend", backend, "--stage", stage, "--json").out)
    assert [found["stage"] for found in document["stages"]] == [stage]


@pytest.mark.sampled(slow=3)
@pytest.mark.parametrize("stage", ["c", "plan", "triton", "ptx", "sass", "after:none"])
def test_a_stage_that_a_backend_lacks_is_refused_in_one_line_with_the_choices(
    terminal: Terminal, stage: str
) -> None:
    ran = terminal.run(*LOSS, "--backend", "numpy", "--stage", stage)
    assert (ran.status, ran.out) == (2, "")
    assert (
        f"there is no stage {stage!r} on the backend 'numpy': choose from converted, traced, after:"
        in ran.err
    )
    assert ran.err.rstrip().endswith("kernels, memory, cost, numpy, all")
    assert ran.err.count("\n") == 1


def test_an_unknown_target_is_refused_in_one_line(terminal: Terminal) -> None:
    ran = terminal.run(*LOSS, "--backend", "triton", "--stage", "ptx", "--target", "sm90")
    assert ran.status == 1
    assert "a target is written as cuda:sm_90 or hip:gfx942, not 'sm90'" in ran.err


def test_diffs_show_what_a_pass_changed(terminal: Terminal) -> None:
    out = terminal.run(*LOSS, "--transform", "grad", "--diff").out
    assert "+++ after:simplify\n@@" in out
    assert "\n-    " in out
    program = out[out.index("# ---- traced") :]
    whole = [line for line in program.splitlines() if line.startswith("def loss(")]
    assert len(whole) == 2  # the traced graph and the generated source; in a diff, lines are indented


def test_json_holds_every_stage(terminal: Terminal) -> None:
    document = json.loads(terminal.run(*LOSS, "--json").out)
    assert document["function"] == "model.py:loss"
    assert [document["stages"][i]["stage"] for i in (0, 1, -1)] == ["converted", "traced", "numpy"]
    assert all(set(stage) - {"data"} == {"stage", "title", "changed", "text"} for stage in document["stages"])
    tables = {stage["stage"]: stage["data"] for stage in document["stages"] if "data" in stage}
    assert list(tables) == ["kernels", "memory", "cost"]
    assert tables["memory"]["arguments"] == 4 * (2 + 8 + 4)
    assert tables["cost"]["transcendentals"] == 4
    assert not next(stage for stage in document["stages"] if stage["stage"] == "after:remove_dead_code")[
        "changed"
    ]


def test_what_a_module_prints_stays_out_of_the_answer(terminal: Terminal) -> None:
    Path("chatty.py").write_text("print('hello')\n\n\ndef same(x):\n    return x\n")
    ran = terminal.run("inspect", "chatty.py:same", "--in", "f32[2]", "--json")
    assert json.loads(ran.out)["signature"] == "args[0]: f32[2]"
    assert ran.err == "hello\n"


def test_compiled_functions_and_methods_are_shown_like_others(terminal: Terminal) -> None:
    Path("layers.py").write_text(LAYERS)
    line = "def double(x: f32[2]) -> f32[2]:"
    assert traced(terminal, "layers.py:double", "--in", "f32[2]") == line
    assert traced(terminal, "layers.py:Layer.double", "--in", "f32[2]") == line


def test_transforms_apply_from_the_inside_out(terminal: Terminal) -> None:
    transform = "vmap(grad(argnums=0), in_dims=(None, 0, 0))"
    line = traced(
        terminal,
        "model.py:loss",
        "--transform",
        transform,
        "--in",
        "f32[2]",
        "--in",
        "f32[8, 4, 2]",
        "--in",
        "f32[8, 4]",
    )
    assert line == "def loss(w: f32[2], x: f32[8, 4, 2], y: f32[8, 4]) -> f32[8, 2]:"


def test_dotted_names_make_dicts_and_lists(terminal: Terminal) -> None:
    line = traced(terminal, "model.py:norm", "--in", "tree.a: f32[2]", "--in", "tree.b.0: f32[3]")
    assert line == "def norm(tree_a: f32[2], tree_b_0: f32[3]) -> f32[]:"


def test_numbers_are_weak_and_scalars_are_not(terminal: Terminal) -> None:
    tree = ("--in", "tree.a: f32[2]", "--in", "tree.b.0: f32[3]")
    assert traced(terminal, "model.py:norm", *tree, "--in", "scale: float").endswith("-> f32[]:")
    assert traced(terminal, "model.py:norm", *tree, "--in", "scale: f64[]").endswith("-> f64[]:")


def test_settings_are_known_while_tracing(terminal: Terminal) -> None:
    line = traced(terminal, "model.py:total", "--in", "x: f32[2, 3]", "--in", "axis = -1")
    assert line == "def total(x: f32[2, 3]) -> f32[2]:"


def test_an_example_file_describes_arguments(terminal: Terminal) -> None:
    arrays: dict[str, Any] = {"tree.a": np.ones(2), "tree.b.0": np.ones(3)}
    np.savez("example.npz", **arrays)
    line = traced(terminal, "model.py:norm", "--example", "example.npz")
    assert line == "def norm(tree_a: f64[2], tree_b_0: f64[3]) -> f64[]:"


def test_an_example_file_is_never_unpickled(terminal: Terminal) -> None:
    np.savez("objects.npz", allow_pickle=True, w=np.array([{}], dtype=object))
    ran = terminal.run("inspect", "model.py:loss", "--example", "objects.npz")
    assert ran.status == 1
    assert "cannot read arrays from objects.npz: Object arrays cannot be loaded" in ran.err


def test_functions_of_installed_modules_and_functions_without_a_signature_work(terminal: Terminal) -> None:
    assert traced(terminal, "numpy:hypot", "--in", "f32[2]", "--in", "f32[2]").endswith("-> f32[2]:")
    assert traced(terminal, "model:total", "--in", "f64[2]", "--in", "axis = 0").endswith("-> f64[]:")


@pytest.fixture
def artifact(model: None) -> str:
    """A function that was exported, whose code is no longer known."""
    names: dict[str, Any] = {}
    exec(compile(SOURCE, "model.py", "exec"), names)
    tm.export(names["loss"], "f32[2]", "f32[4, 2]", "f32[4]").save("loss.tmill")
    return "loss.tmill"


@pytest.mark.slow
def test_an_artifact_is_inspected_for_its_own_arguments(terminal: Terminal, artifact: str) -> None:
    line = "def loss(w: f32[2], x: f32[4, 2], y: f32[4]) -> f32[]:"
    assert traced(terminal, artifact) == line
    document = json.loads(terminal.run("inspect", artifact, "--json", "--stage", "cost").out)
    assert document["signature"] == "args[0]: f32[2], args[1]: f32[4, 2], args[2]: f32[4]"
    assert document["stages"][0]["data"]["transcendentals"] == 4


def test_an_artifact_is_transformed_and_takes_other_arguments_only_then(
    terminal: Terminal, artifact: str
) -> None:
    gradient = "def loss(w: f32[2], x: f32[4, 2], y: f32[4]) -> f32[2]:"
    assert traced(terminal, artifact, "--transform", "grad") == gradient
    mapped = (
        "--transform",
        "vmap",
        "--in",
        "w: f32[9, 2]",
        "--in",
        "x: f32[9, 4, 2]",
        "--in",
        "y: f32[9, 4]",
    )
    assert traced(terminal, artifact, *mapped).endswith("-> f32[9]:")
    ran = terminal.run("inspect", artifact, "--in", "w: f32[9, 2]")
    assert ran.status == 2
    assert "loss.tmill already has its arguments: loss(w: f32[2], " in ran.err


def test_an_artifact_has_an_html_report(terminal: Terminal, artifact: str) -> None:
    ran = terminal.run("inspect", artifact, "--html", "report.html")
    assert (ran.status, ran.out, ran.err) == (0, "", "wrote report.html\n")
    page = Path("report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "subtract_1" in page


def test_an_artifact_that_is_missing_or_damaged_is_refused_in_one_line(
    terminal: Terminal, artifact: str
) -> None:
    ran = terminal.run("inspect", "none.tmill")
    assert (ran.status, ran.err) == (2, "tracemill: there is no file none.tmill\n")
    Path("cut.tmill").write_bytes(Path(artifact).read_bytes()[:300])
    ran = terminal.run("inspect", "cut.tmill")
    assert ran.status == 1
    assert ran.err.startswith("tracemill: ArtifactError: cut.tmill: ")
    assert ran.err.count("\n") == 1


def test_inspect_shows_what_transforms_make_of_a_function(terminal: Terminal) -> None:
    Path("wave.py").write_text("import numpy as np\n\n\ndef wave(x):\n    return np.sum(np.sin(x))\n")
    asked = ("inspect", "wave.py:wave", "--in", "x: f64[3]", "--stage", "transforms")
    ran = terminal.run(*asked, "--transform", "grad")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("# ---- vjp of\ndef wave(x: f64[3]) -> f64[]:\n")
    assert "def wave_linear_transposed(" in ran.out
    assert "there is no stage 'transforms'" in terminal.run(*asked).err
