"""``tracemill diff``: what differs between two artifacts, or two texts of graphs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.tools.comparison.differences import compared_in, differences
from tracemill.tools.comparison.graph_alignment import alignment_of

from .terminal import Terminal

W = np.arange(60.0).reshape(20, 3)


def score(x: Any) -> Any:
    """How good it is."""
    return np.tanh(x @ W) * 2 + 1


def saved(name: str, function: Any, *specs: str) -> str:
    return str(tm.export(function, *specs).save(name))


def parts(ran: Any) -> dict[str, Any]:
    return {part["part"]: part for part in json.loads(ran.out)["parts"]}


def test_equal_artifacts_are_equal_wherever_their_code_stood(terminal: Terminal) -> None:
    a = saved("a.tmill", score, "x: f64[4, 20]")
    elsewhere: dict[str, Any] = {"np": np, "W": W}
    exec('\n\ndef score(x):\n    "How good it is."\n    return np.tanh(x @ W) * 2 + 1', elsewhere)
    b = saved("b.tmill", elsewhere["score"], "x: f64[4, 20]")
    ran = terminal.run("diff", a, b)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"# ---- {part}: equal" for part in ("signature", "graph", "constants", "kernels")
    ]
    assert json.loads(terminal.run("diff", a, b, "--json").out)["equal"]


def test_each_part_says_what_differs(terminal: Terminal) -> None:
    def better(x: Any, y: Any) -> Any:
        """How good it is."""
        h = np.sin(y) * x
        return np.tanh(h @ (W + 0.25)) * 2 + 1

    a = saved("a.tmill", score, "x: f64[4, 20]")
    b = saved("b.tmill", better, "x: f64[4, 20]", "y: f64[20]")
    ran = terminal.run("diff", a, b, "--backend", "numpy")
    assert (ran.status, ran.err) == (1, "")
    lines = ran.out.splitlines()
    assert "--- a.tmill" in lines
    assert "+y: f64[20]" in lines
    assert "+    sin_1: f64[20] = sin(y)" in lines
    # what is computed in the same way keeps its name, though another product now precedes it
    assert "     multiply_1: f64[4, 3] = multiply(tanh_1, f64(2.0))" in lines
    assert "+    multiply_2: f64[4, 20] = multiply(sin_1, x)" in lines
    assert "f64[20, 3]: 60 of 60 numbers differ, by up to 0.25" in lines
    found = parts(terminal.run("diff", a, b, "--json", "--backend", "numpy"))
    assert not any(part["equal"] for part in found.values())
    (constant,) = found["constants"]["differences"]
    assert (constant["elements"], constant["largest"]) == (60, 0.25)
    assert "np.sin" in found["kernels"]["text"]


def test_settings_and_names_are_part_of_the_signature(terminal: Terminal) -> None:
    a = saved("a.tmill", score, "x: f64[4, 20]")
    b = saved("b.tmill", tm.compile(score, fast_math=True), "x: f64[4, 20]")
    found = parts(terminal.run("diff", a, b, "--json"))
    assert not found["signature"]["equal"]
    assert "+fast_math = True" in found["signature"]["text"]
    assert found["graph"]["equal"]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ([0.0] * 20, [-0.0] * 20, "only signs of zeros, or bits of NaN"),
        ([np.nan] * 20, [1.0] * 20, "20 of 20 numbers differ, by up to nan"),
        ([1] * 20, [1] * 19 + [2], "1 of 20 elements differ"),
        ([1j] * 20, [1 + 1j] * 20, "20 of 20 numbers differ, by up to 1"),
    ],
)
def test_arrays_are_compared_by_their_numbers(
    terminal: Terminal, one: list[Any], other: list[Any], words: str
) -> None:
    def adding(numbers: list[Any]) -> Any:
        array = np.array(numbers)
        return lambda x: x + array

    a, b = saved("a.tmill", adding(one), "x: f64[20]"), saved("b.tmill", adding(other), "x: f64[20]")
    ran = terminal.run("diff", a, b)
    assert (ran.status, ran.err) == (1, "")
    assert words in ran.out


def test_texts_of_graphs_whose_arrays_are_not_there(terminal: Terminal) -> None:
    for name, array in (("a.txt", W), ("b.txt", W + 1)):
        graph = tm.export(lambda x, array=array: np.exp(x @ array), "x: f64[4, 20]").graph
        Path(name).write_text(f"# written by a dump\n{graph}")
    assert terminal.run("diff", "a.txt", "a.txt").status == 0
    ran = terminal.run("diff", "a.txt", "b.txt")
    assert (ran.status, ran.err) == (1, "")
    assert "f64[20, 3]: another digest: the numbers are not in the texts" in ran.out
    assert "kernels" not in ran.out
    saved("a.tmill", lambda x: np.exp(x @ W), "x: f64[4, 20]")
    assert "constants: equal" in terminal.run("diff", "a.tmill", "a.txt").out


def test_python_functions_of_a_text_are_known_by_name(terminal: Terminal) -> None:
    def ask(x: Any) -> Any:
        return x

    graph = tm.compile(lambda x: tm.pure_callback(ask, np.zeros(3), x) + 1).lower(np.zeros(3)).graph
    Path("a.txt").write_text(str(graph))
    Path("b.txt").write_text(str(graph).replace(":ask", ":tell"))
    assert terminal.run("diff", "a.txt", "a.txt").status == 0
    ran = terminal.run("diff", "a.txt", "b.txt")
    assert ran.status == 1
    assert ":tell" in ran.out


WRONG = {
    "missing": (("a.txt", "none.tmill"), 2, "File 'none.tmill' does not exist"),
    "one": (("a.txt",), 2, "Missing argument 'AFTER'"),
    "neither": (
        ("a.txt", "words.txt"),
        1,
        "words.txt is neither an artifact, which `tracemill export` writes",
    ),
    "binary": (("a.txt", "binary"), 1, "binary is neither an artifact"),
    "damaged text": (("a.txt", "cut.txt"), 1, "cut.txt: line 1: expected a definition after it"),
    "damaged bundle": (("a.txt", "cut.tmill"), 1, "ArtifactError: cut.tmill: "),
    "a folder": (("a.txt", "."), 2, "File '.' is a directory"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_a_line(terminal: Terminal, what: str) -> None:
    Path("a.txt").write_text(str(tm.export(np.exp, "f64[3]").graph))
    Path("words.txt").write_text("some words")
    Path("binary").write_bytes(bytes(range(256)))
    Path("cut.txt").write_text("# tracemill ir 1\n")
    Path("cut.tmill").write_bytes(b"PK\3\4")
    arguments, status, message = WRONG[what]
    ran = terminal.run("diff", *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_names_follow_into_loops() -> None:
    def before(x: Any) -> Any:
        return tm.fori_loop(0, 5, lambda i, s: np.sin(s) * 2 + s, x)

    def after(x: Any) -> Any:
        return tm.fori_loop(0, 5, lambda i, s: np.sin(s * 3) * 2 + s, x)

    one, other = (tm.export(function, "x: f64[3]").graph for function in (before, after))
    old, new = alignment_of(one, other).codes()
    lines, others = old.splitlines()[1:], new.splitlines()[1:]  # without the names of the functions
    gone, come = ([line.strip() for line in ours if line not in theirs]
                  for ours, theirs in ((lines, others), (others, lines)))  # fmt: skip
    assert gone == ["sin_1: f64[3] = sin(init)"]
    assert come == ["multiply_2: f64[3] = multiply(init, f64(3.0))", "sin_1: f64[3] = sin(multiply_2)"]
    assert tm.parse(f"# tracemill ir 1\n{new}") == other


def test_machine_code_is_compared_file_by_file_where_both_have_it(terminal: Terminal) -> None:
    plain = compared_in(Path(saved("a.tmill", score, "x: f64[4, 20]")))
    old = replace(plain, code={"cuda:sm_80": {"a": b"1", "b": b"2", "c": b"3"}, "cuda:sm_90": {"a": b"12"}})
    new = replace(plain, code={"cuda:sm_80": {"a": b"1", "b": b"22", "d": b"3"}})
    assert differences(old, new, "numpy")[-1].text.splitlines() == [
        "cuda:sm_80 b: 1 B became 2 B",
        "cuda:sm_80 c: 1 B became nothing",
        "cuda:sm_80 d: nothing became 1 B",
        "cuda:sm_90 1 files: only before, 2 B",
    ]
