"""No text of a bundle becomes code: not when it is loaded, nor when it runs or is saved as Python or C."""

import io
import json
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest

from fuzzing.hostile import EVIL, MARK, NAMES, TEXTS

TESTS = Path(__file__).resolve().parents[2]
CALLED = "system"
"""What the texts want to call."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """A folder with all hostile functions in other formats, and what Python executed while they ran."""
    folder = tmp_path_factory.mktemp("hostile")
    path = os.pathsep.join(map(str, (TESTS / ".root", TESTS)))
    environment = {**os.environ, "PYTHONPATH": path, "TRACEMILL_CACHE": "0"}
    command = [sys.executable, "-m", "fuzzing.hostile", str(folder)]
    run = subprocess.run(command, env=environment, capture_output=True, cwd=folder, check=False)
    assert run.returncode == 0, run.stderr.decode()[-4000:]
    return folder, json.loads(run.stdout.decode().strip().rpartition("\n")[2])


def names_in(source: str) -> set[str]:
    """The names in a source, which are not in its texts or comments."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def c_code_of(text: str) -> str:
    """What a compiler sees of a C text: lines are put together, texts and comments left out."""
    whole = text.replace("??/", "\\").replace("\\\n", "")
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', " ", whole, flags=re.DOTALL)


@pytest.mark.slow
def test_nothing_outside_is_called(ran: tuple[Path, dict[str, list[str]]]) -> None:
    folder, found = ran
    assert found["else"] == []
    assert not list(folder.rglob(MARK))


def test_generated_modules_hold_texts_as_texts_alone(ran: tuple[Path, dict[str, list[str]]]) -> None:
    sources = ran[1]["compile"]
    assert any(MARK in source for source in sources)
    assert [source for source in sources if CALLED in names_in(source)] == []


def test_only_what_we_have_printed_is_executed(ran: tuple[Path, dict[str, list[str]]]) -> None:
    ours = re.compile(r"<(tracemill|entry of) \w+( [0-9a-f]+)?>|<string>|/.*\.py|<frozen .*>")
    assert [name for name in ran[1]["exec"] if not ours.fullmatch(name)] == []
    assert not {name for name in ran[1]["import"] if MARK in name or name.startswith(("os.", "src", "evil"))}


@pytest.mark.parametrize("number", range(len(TEXTS) + len(NAMES)))
def test_saved_python_computes_the_same(number: int, ran: tuple[Path, dict[str, list[str]]]) -> None:
    source = (ran[0] / f"{number}.py").read_text(encoding="utf-8")
    assert CALLED not in names_in(source)
    space: dict[str, Any] = {}
    exec(compile(source, "saved.py", "exec"), space)
    text = (*TEXTS, *[EVIL] * len(NAMES))[number]
    function: Any = next(f for name, f in space.items() if callable(f) and _is_face(name, number))
    x, k = np.arange(3.0), np.ones(3)
    result = function(x, {text: k}, text)
    np.testing.assert_array_equal(result["a"], np.sin(x) + k)
    assert result["c"] == text


def _is_face(name: str, number: int) -> bool:
    """Whether a name is that of the exported function, which may have got an underscore."""
    wanted = normalize("NFKC", NAMES[max(0, number - len(TEXTS))])
    return name.rstrip("_") == wanted.rstrip("_")


@pytest.mark.parametrize("number", range(len(TEXTS) + len(NAMES)))
def test_saved_c_holds_texts_in_comments_alone(number: int, ran: tuple[Path, dict[str, list[str]]]) -> None:
    files = sorted((ran[0] / str(number)).glob("*.[ch]"))
    assert len(files) == 2
    for file in files:
        code = c_code_of(file.read_text(encoding="utf-8"))
        assert CALLED not in code
        assert number >= len(TEXTS) or MARK not in code
