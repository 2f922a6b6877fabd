"""``tracemill cache`` tells what is in the disk cache, and empties it."""

import json
import stat
from pathlib import Path

import numpy as np
import pytest

import tracemill as tm
from tracemill.tools.arguments.named_function import find_function

from .terminal import Terminal


def double(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return x + x


@pytest.fixture
def key(terminal: Terminal) -> str:
    """The key of the one program in the cache."""
    tm.compile(double)(np.ones(3))
    (entry,) = json.loads(terminal.run("cache", "list", "--json").out)
    found = entry["key"]
    assert isinstance(found, str)
    return found


def test_the_bare_command_lists_its_commands(terminal: Terminal) -> None:
    ran = terminal.run("cache")
    assert ran.status == 0
    assert "verify" in ran.out


def test_info_says_where_and_how_large(terminal: Terminal, key: str, tmp_path: Path) -> None:
    document = json.loads(terminal.run("cache", "info", "--json").out)
    assert (document["folder"], document["count"], document["enabled"]) == (str(tmp_path / "cache"), 1, True)
    out = terminal.run("cache", "info").out
    assert f"folder   {tmp_path / 'cache'}\nin use   yes\nentries  1\nsize     " in out


def test_info_says_why_the_cache_is_off(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    assert "in use   no: TRACEMILL_CACHE=0" in terminal.run("cache", "info").out


def test_list_names_the_function_of_each_program(terminal: Terminal, key: str) -> None:
    line = terminal.run("cache", "list").out.splitlines()[1]
    assert line.split()[:3] == [key[:12], "double", "numpy"]


def test_an_empty_cache_says_so(terminal: Terminal) -> None:
    assert terminal.run("cache", "list").out == "the cache is empty\n"
    assert terminal.run("cache", "list", "--json").out == "[]\n"


def test_show_prints_the_generated_source(terminal: Terminal, key: str) -> None:
    out = terminal.run("cache", "show", key[:12]).out
    assert out.startswith("# ")
    assert "def double(x):" in out


def test_why_says_whether_a_program_is_there(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("wave.py").write_text("import numpy as np\n\n\ndef wave(x):\n    return np.sum(np.sin(x))\n")
    asked = ("cache", "why", "wave.py:wave", "--backend", "numpy", "--in")
    assert "no program called wave is stored for numpy" in terminal.run(*asked, "x: f64[3]").out
    wave = find_function("wave.py:wave")
    tm.compile(wave, backend="numpy")(np.ones(3))
    assert terminal.run(*asked, "x: f64[3]").out.startswith("wave: hit ")
    assert "those stored under that name have other graphs: 1" in terminal.run(*asked, "x: f64[4]").out
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    assert "the cache is off: TRACEMILL_CACHE=0" in terminal.run(*asked, "x: f64[3]").out


def test_why_refuses_programs_for_gpus(terminal: Terminal) -> None:
    ran = terminal.run("cache", "why", "numpy:sin", "--in", "f32[3]", "--backend", "triton")
    assert (ran.status, ran.out) == (1, "")
    assert "TRACEMILL_LOG=cache" in ran.err


def test_verify_finds_a_changed_file(terminal: Terminal, key: str, tmp_path: Path) -> None:
    assert terminal.run("cache", "verify").out == "all entries are as they were stored\n"
    program = tmp_path / "cache" / key / "program.py"
    program.chmod(stat.S_IRUSR | stat.S_IWUSR)
    program.write_text("print('changed')")
    ran = terminal.run("cache", "verify")
    assert ran.status == 1
    assert str(program) in ran.out
    assert ran.err.startswith("tracemill: 1 damaged entries")


def test_clear_deletes_all_programs(terminal: Terminal, key: str) -> None:
    assert terminal.run("cache", "clear").out == "deleted 1 program\n"
    assert terminal.run("cache", "clear").out == "deleted 0 programs\n"
    assert terminal.run("cache", "list", "--json").out == "[]\n"


def test_prune_keeps_what_fits(terminal: Terminal, key: str) -> None:
    assert terminal.run("cache", "prune", "--megabytes", "1").out == "deleted 0 programs\n"
