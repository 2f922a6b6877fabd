"""The HTML report of a program: whole, linked, escaped, and as small as it can be."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from pages.parsed_page import Element, parsed_page
from tracemill.runtime.inspection.lowered import Lowered

SOURCE = """\
import numpy as np


def scaled(x):
    return x / np.sum(x, axis=-1, keepdims=True)


def loss(w, x, y):
    \"\"\"The mean square of the error.

    Not shown.
    \"\"\"
    h = np.tanh(x @ w)
    return np.mean((scaled(np.exp(h)) - y) ** 2)
"""
HOSTILE = "</script></style><img src=x onerror=alert(1)>\"'&"


def function_of(source: str, name: str, file: Path) -> Callable[..., Any]:
    """A function of a file that holds `source`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(source, str(file), "exec"), names)
    found: Callable[..., Any] = names[name]
    return found


@pytest.fixture(params=["c", "numpy"])
def lowered(request: pytest.FixtureRequest, tmp_path: Path) -> Lowered:
    loss = function_of(SOURCE, "loss", tmp_path / "model.py")
    arrays = np.ones((64, 32), "f4"), np.ones((128, 64), "f4"), np.ones((128, 32), "f4")
    return tm.compile(tm.value_and_grad(loss), backend=request.param).lower(*arrays)


def stages_of(row: Element, last: int) -> range:
    """The stages that show a row as theirs."""
    first, until = 0, last + 1
    for kind in row.classes:
        if kind[0] == "f":
            first = int(kind[1:])
        elif kind[0] == "t":
            until = int(kind[1:])
    return range(first, until)


def test_every_call_of_every_stage_is_there_once(lowered: Lowered) -> None:
    page = parsed_page(lowered.html())
    graphs = [lowered.graph]
    for _, graph in lowered.stages:
        if graph != graphs[-1]:
            graphs.append(graph)
    rows = list(page.one("ol", "rows").all("li"))
    tabs = [tab for tab in page.one("div", "tabs").all("label") if tab.attributes["for"][1:].isdecimal()]
    assert len(tabs) == len(graphs) > 1
    for stage, graph in enumerate(graphs):
        shown = [row.one("code").text for row in rows if stage in stages_of(row, len(graphs) - 1)]
        lines = graph.code.splitlines()
        assert len(shown) == len(lines)
        assert [op_of(text) for text in shown] == [op_of(line) for line in lines]


def op_of(statement: str) -> str:
    """``tanh`` for ``tanh_1: f32[3] = tanh(x)``; the head and the end of a function for themselves."""
    found = re.search(r"(?:= )?(\w+)\(", statement.partition("  # ")[0])
    return found[1] if found else statement.split(maxsplit=1)[0]


def test_the_first_stage_is_named_as_its_text_is_and_what_stays_keeps_its_name(lowered: Lowered) -> None:
    page = parsed_page(lowered.html())
    rows = list(page.one("ol", "rows").all("li"))
    last = len(list(page.one("div", "tabs").all("label"))) - 3
    first = [row.one("code").text for row in rows if 0 in stages_of(row, last)]
    assert first == [line.partition("  # ")[0].strip() for line in lowered.graph.code.splitlines()]
    assert sum(len(stages_of(row, last)) > 1 for row in rows) > len(first) / 3


def test_passes_that_change_nothing_are_reported_in_one_word(lowered: Lowered) -> None:
    tabs = parsed_page(lowered.html()).one("div", "tabs").text
    assert "decompose_composites, mask_selections, remove_dead_code, reroll: nothing to do" in tabs


def test_calls_lead_to_the_line_they_come_from(lowered: Lowered) -> None:
    page = parsed_page(lowered.html())
    source = {
        number: row.one("code").text
        for row in page.one("ol", "source").all("li")
        for number in row.lines
        if row.attributes["id"] == f"l{number}"
    }
    assert "h = np.tanh(x @ w)" in source.values()
    rows = list(page.one("ol", "rows").all("li"))
    for row in rows:
        (number,) = row.lines or {0}
        assert [link.attributes["href"] for link in row.all("a")] == ([f"#l{number}"] if number else [])
    tanh = next(row for row in rows if " = tanh(" in row.one("code").text)
    (number,) = tanh.lines
    assert source[number] == "h = np.tanh(x @ w)"
    assert all(element.lines <= set(source) for element in page.all())


def test_generated_statements_are_marked_with_the_line_that_a_comment_names(lowered: Lowered) -> None:
    page = parsed_page(lowered.html())
    (number,) = next(row for row in page.one("ol", "rows").all("li") if "= tanh(" in row.text).lines
    marked = [row.text for part in page.all("ol", "text") for row in part.all("li") if number in row.lines]
    assert any("tanh" in text and "=" in text and not text.startswith(("#", "//")) for text in marked)


def test_the_header_says_what_the_program_is(lowered: Lowered) -> None:
    header = parsed_page(lowered.html()).one("header")
    assert header.one("h1").text == "loss"
    assert header.one("p", "doc").text == "The mean square of the error."
    assert "(w: f32[64, 32], x: f32[128, 64], y: f32[128, 32]) → f32[], f32[64, 32]" in header.text


def test_kernels_say_what_they_move_and_why_they_are_not_larger(tmp_path: Path) -> None:
    loss = function_of(SOURCE, "loss", tmp_path / "model.py")
    arrays = np.ones((64, 32), "f4"), np.ones((128, 64), "f4"), np.ones((128, 32), "f4")
    lowered = tm.compile(tm.grad(loss), backend="c").lower(*arrays)
    section = parsed_page(lowered.html()).named("kernels")
    cards = list(section.all("article"))
    assert len(cards) == len(lowered.kernels) > 0
    assert "moves" in cards[0].text
    assert re.search(r"[\d.]+ (ns|µs|ms)\b", cards[0].text)
    pairs = [item for pairs in section.all("ul", "pairs") for item in pairs.all("li")]
    assert "one of the two is not a loop: 16_384 bytes are handed over" in "".join(
        item.text for item in pairs
    )
    rows = {row.one("code").text for row in parsed_page(lowered.html()).one("ol", "rows").all("li")}
    named = [item.one("code").text.split()[0] for item in pairs]
    assert all(item.lines for item in pairs)
    assert all(any(row.startswith(f"{name}:") for row in rows) for name in named)


def test_the_memory_plan_is_drawn_with_its_peak(lowered: Lowered) -> None:
    section = parsed_page(lowered.html()).named("memory")
    picture = section.one("svg")
    assert "at call" in picture.one("text", "peak").text
    bars = list(picture.all("g"))
    assert bars
    assert any(group.lines for group in bars)
    assert all(group.one("title").text for group in bars)


def test_compilations_are_explained() -> None:
    f = tm.compile(lambda x: np.sin(x) ** 2)
    sections = parsed_page(f.lower(np.ones(3)).html()).all("section")
    assert "recompiles" not in [section.attributes["id"] for section in sections]
    f(np.ones(3))
    f(np.ones(4))
    page = parsed_page(f.report(np.ones(4)))
    assert "args[0]: f64[3] became f64[4]" in page.named("recompiles").text


def test_text_of_users_is_text(tmp_path: Path) -> None:
    source = (
        'import numpy as np\n\n\ndef f(x):\n    """DOC"""\n'
        "    y = np.sin(x)  # HOSTILE \u202e \x01\n"
        "    z = y * np.arange(20.0)  # HOSTILE\n    return np.cumsum(z) + 1.0  # HOSTILE\n"
    )
    source = source.replace("DOC", HOSTILE.replace('"', "")).replace("HOSTILE", HOSTILE)
    f = function_of(source, "f", tmp_path / "<b onclick=alert(1)>&.py")
    f.__name__ = f"f{HOSTILE}"
    for backend in ("c", "numpy"):
        page = tm.compile(f, backend=backend).lower(np.ones(20)).html(HOSTILE)
        root = parsed_page(page)
        assert not list(root.all("img"))
        assert len(list(root.all("script"))) == len(list(root.all("style"))) == 1
        assert not [e for e in root.all() for name in e.attributes if name.startswith("on")]
        assert HOSTILE in root.named("recompiles").text
        assert HOSTILE in root.one("ol", "source").text
        assert "\u202e" not in page
        assert "\x01" not in page


def test_a_foreign_script_would_not_run(lowered: Lowered) -> None:
    page = lowered.html()
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def test_the_same_program_gives_the_same_bytes(lowered: Lowered) -> None:
    assert lowered.html() == lowered.html()


def test_lines_of_files_that_are_gone_or_have_changed_are_shown_as_they_were_traced(tmp_path: Path) -> None:
    file = tmp_path / "gone.py"
    f = function_of("import numpy as np\n\n\ndef f(x):\n    return np.sin(x)\n", "f", file)
    lowered = tm.compile(f).lower(np.ones(3))
    file.unlink()
    assert "return np.sin(x)" in parsed_page(lowered.html()).one("ol", "source").text


def test_several_files_are_folded_apart(tmp_path: Path) -> None:
    inner = function_of(
        "import numpy as np\n\n\ndef g(x):\n    return np.sin(x)\n", "g", tmp_path / "inner.py"
    )
    outer = function_of("def f(g, x):\n    return g(x) * 2.0\n", "f", tmp_path / "outer.py")
    page = parsed_page(tm.compile(lambda x: outer(inner, x)).lower(np.ones(3)).html())
    assert [part.one("summary").text for part in page.all("details", "file")] == ["inner.py", "outer.py"]
    sin = next(row for row in page.one("ol", "rows").all("li") if "= sin(" in row.text)
    assert "inner.py:5" in sin.text


def test_a_program_without_calls_has_a_report() -> None:
    for backend in ("c", "numpy"):
        page = parsed_page(tm.compile(lambda x: x, backend=backend).lower(np.ones(3)).html())
        assert "No kernels" in page.named("kernels").text


def test_long_constants_and_long_programs_are_cut_and_say_so(tmp_path: Path) -> None:
    places = np.arange(2000)
    f = tm.compile(lambda x: x[tuple(places.tolist()),])
    page = f.lower(np.ones(2000)).html()
    assert len(page) < 400_000


def test_a_program_of_a_gpu_has_a_report() -> None:
    lowered = tm.compile(lambda x: np.tanh(x) * 2.0, backend="triton").lower(np.ones((64, 64), "f4"))
    page = parsed_page(lowered.html(machine_code=False))
    assert "Triton" in page.one("header").text
    assert "launch" in page.named("plan").text


REGISTERS = """
import numpy as np, tracemill as tm
print(tm.compile(lambda x: np.tanh(x) * 2.0, backend="triton").lower(np.ones((64, 64), "f4")).html())
"""


@pytest.mark.slow
def test_kernels_of_a_gpu_say_how_many_registers_they_take(tmp_path: Path) -> None:
    if find_spec("triton") is None:
        pytest.skip("triton is not installed; it is for Linux")
    script = (
        tmp_path / "registers.py"
    )  # in a process of its own: nothing compiles where the interpreter is loaded
    script.write_text(REGISTERS)
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables["PYTHONPATH"] = str(Path(tm.__file__).parent / "tests" / ".root")
    command = [sys.executable, str(script)]
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert re.search(r"\d+ registers nothing spilled", parsed_page(ran.stdout).named("kernels").text)
