"""``tracemill bench F`` runs a function on every backend and in other frameworks, taking turns. Times are not
tested."""

import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tracemill.tools.bench.bars import svg
from tracemill.tools.bench.peers import in_namespace
from tracemill.tools.bench.race import Contestant, Place, difference, race

from .terminal import Terminal

SOURCE = """\
import numpy as np

SCALE = 2.0


def half(x):
    return np.tanh(x) / SCALE


def loss(w, x, *, power=2):
    return np.sum(half(x @ w) ** power)


def fails(x):
    raise ValueError("no such luck")


def untraceable(x):
    return x.sum() + len(x.byteswap())
"""
LOSS = ("bench", "model.py:loss", "--in", "w: f32[3]", "--in", "x: f32[5, 3]", "--rounds", "2")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text(SOURCE)


def test_each_backend_is_a_row_beside_numpy(terminal: Terminal, c_compiler: str) -> None:
    ran = terminal.run(*LOSS)
    assert (ran.status, ran.err) == (0, "")
    rows = [line.split("  ")[0] for line in ran.out.splitlines()]
    assert rows[3:] == ["NumPy as written", "tracemill numpy", "tracemill c"]
    assert "model.py:loss(w: f32[3], x: f32[5, 3])" in ran.out


def test_json_holds_medians_spread_and_differences(terminal: Terminal) -> None:
    document = json.loads(terminal.run(*LOSS, "--backend", "numpy", "--json").out)
    first, second = document["places"]
    assert first["times_faster"] == 1.0
    assert 0 < second["low"] <= second["median"] <= second["high"]
    assert second["difference"] < 1e-6
    assert second["first"] > second["median"]


def test_a_transform_is_compared_with_itself_uncompiled(terminal: Terminal) -> None:
    document = json.loads(terminal.run(*LOSS, "--backend", "numpy", "--transform", "grad", "--json").out)
    assert [place["name"] for place in document["places"]] == ["uncompiled", "tracemill numpy"]
    assert document["places"][1]["difference"] < 1e-6


def test_an_artifact_is_compared_with_itself_uncompiled(terminal: Terminal) -> None:
    assert terminal.run("export", *LOSS[1:-2], "-o", "loss.tmill").status == 0
    for more in ((), ("--transform", "grad")):
        ran = terminal.run("bench", "loss.tmill", *more, "--rounds", "1", "--backend", "numpy", "--json")
        assert (ran.status, ran.err) == (0, "")
        places = json.loads(ran.out)["places"]
        assert [place["name"] for place in places] == ["uncompiled", "tracemill numpy"]
        assert places[1]["difference"] < 1e-6


def test_what_does_not_run_says_why_beside_what_does(terminal: Terminal) -> None:
    arguments = ("bench", "model.py:untraceable", "--in", "x: f64[3]", "--rounds", "1", "--backend", "numpy")
    ran = terminal.run(*arguments)
    assert ran.status == 0
    assert "tracemill numpy: x.byteswap" in ran.out
    assert "cannot be traced" in ran.out
    assert json.loads(terminal.run(*arguments, "--json").out)["places"][1]["median"] is None


def test_a_function_that_raises_its_own_error_fails_in_one_line(terminal: Terminal) -> None:
    ran = terminal.run("bench", "model.py:fails", "--in", "x: f64[3]")
    assert ran.status == 1
    assert ran.err == 'tracemill: ValueError: no such luck at model.py:15 raise ValueError("no such luck")\n'


def test_a_picture_is_drawn_as_svg(terminal: Terminal) -> None:
    assert terminal.run(*LOSS, "--backend", "numpy", "--plot", "loss.svg").status == 0
    root = ElementTree.parse("loss.svg").getroot()
    words = " ".join(root.itertext())
    assert "NumPy as written" in words
    assert "tracemill numpy" in words
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 2


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--plot", "loss.gif"), 2, "--plot loss.gif: name a file that ends in .svg or .png"),
        (("--vs", "jax", "--transform", "grad"), 2, "--vs compares FUNCTION itself"),
        (("--vs", "numba"), 2, "'numba' is not one of 'jax', 'torch'"),
        (("--in", "z: f32[3]"), 2, "loss has no argument 'z', only w, x, power"),
        (
            ("--in", "f32[3]", "--in", "f32[3]"),
            2,
            "loss takes (w, x, power=2), and 4 arguments are described: multiple values",
        ),
    ],
)
def test_wrong_options_are_refused_in_one_line_before_anything_runs(
    terminal: Terminal, arguments: tuple[str, ...], status: int, words: str
) -> None:
    ran = terminal.run(*LOSS, *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_peer_that_is_not_installed_says_how_to_get_it(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracemill.tools.commands.bench_function_command.find_spec", lambda name: None)
    ran = terminal.run(*LOSS, "--vs", "jax", "--vs", "torch")
    assert (ran.status, ran.err) == (
        1,
        "tracemill: jax and torch not installed: pip install 'tracemill[bench]'\n",
    )


def test_a_png_without_matplotlib_is_refused_before_anything_runs(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracemill.tools.bench.bars.find_spec", lambda name: None)
    ran = terminal.run(*LOSS, "--plot", "loss.png")
    assert (ran.status, ran.out) == (1, "")
    assert "a PNG is drawn by matplotlib, which is not installed: pip install matplotlib" in ran.err


def test_a_word_that_is_not_a_function_is_a_command(terminal: Terminal) -> None:
    ran = terminal.run("bench", "suites")
    assert ran.status == 2
    assert "'suite'" in ran.err


def test_a_peer_gets_the_function_with_its_own_namespace(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    class Namespace(ModuleType):
        def __getattr__(self, name: str) -> Any:
            used.append(name)
            return getattr(np, name)

    jax: Any = ModuleType("jax")
    jax.__spec__ = ModuleSpec("jax", None)
    jax.numpy = Namespace("jax.numpy")
    jax.config = type("Config", (), {"update": staticmethod(lambda *setting: None)})
    jax.jit = lambda function: function
    jax.block_until_ready = lambda result: result
    monkeypatch.setitem(sys.modules, "jax", jax)
    document = json.loads(terminal.run(*LOSS, "--backend", "numpy", "--vs", "jax", "--json").out)
    assert [place["name"] for place in document["places"]] == ["NumPy as written", "tracemill numpy", "jax"]
    assert document["places"][2]["difference"] == 0.0
    assert {"asarray", "sum", "tanh"} <= set(used)  # tanh is called by a function that it calls


def test_the_original_keeps_its_namespace() -> None:
    namespace: dict[str, Any] = {}
    exec(compile(SOURCE, "model", "exec"), namespace)
    shifted = in_namespace(namespace["half"], type("Zeros", (), {"tanh": staticmethod(lambda x: 0 * x)}))
    assert shifted(3.0) == 0.0
    assert namespace["half"](3.0) == np.tanh(3.0) / 2


def test_contestants_run_in_turns_and_other_shapes_are_a_problem() -> None:
    calls: list[str] = []

    def counted(name: str, result: Any) -> Contestant:
        def call() -> Any:
            calls.append(name)
            return result

        return Contestant(name, lambda: call)

    one, two, three = race(
        [counted("a", np.ones(2)), counted("b", np.ones(3)), counted("c", np.full(2, 1.5))],
        2,
        lambda name: None,
    )
    assert (one.difference, two.difference, three.difference) == (0.0, None, 0.5)
    assert two.problem == "its results have other shapes"
    turns = "".join(name for name, before in zip(calls, ["", *calls], strict=False) if name != before)
    assert turns == "abcbabc"  # forwards, backwards, forwards


def test_differences_are_relative_to_the_largest_number_and_nan_equals_nan() -> None:
    expected = {"a": np.array([100.0, np.nan, np.inf]), "b": 1.0}
    assert difference({"a": np.array([101.0, np.nan, np.inf]), "b": 1.0}, expected) == pytest.approx(0.01)
    assert difference([1.0], [1.0, 2.0]) == np.inf


def test_a_long_description_and_a_problem_fit_into_the_picture() -> None:
    places = [
        Place("NumPy as written", 2e-6, 1e-6, 3e-6, 1.0, 1.0, 0.0, None),
        Place("slow", 2.0, 1.5, 2.5, 3.0, 1e-6, 0.0, None),
        Place("jax", None, None, None, None, None, None, "no <such> thing, " * 9),
    ]
    words = list(ElementTree.fromstring(svg(places, "f", "x: f64[3], " * 40)).itertext())
    assert {"2 µs, 1.00×", "2 s, 1e-06×"} <= set(words)
    assert [len(text) for text in words if text.endswith("…")] == [110, 60]
