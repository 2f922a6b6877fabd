"""A compiled function that writes files or starts processes runs uncompiled, and does so once in each call."""

import io
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning, SideEffectError

X = np.array([-1.0, 2.0])


def appends(x: Any) -> Any:
    with open("log", "a") as file:
        file.write("x")
    if x[0] < 0:
        raise ValueError(f"{x[x < 0]}")
    return x


def writes_text(x: Any) -> Any:
    Path("log").write_text(f"{len(x)}")
    return x * 2


def appends_in_a_branch(x: Any) -> Any:
    if x[0] > 0:
        os.write(descriptor := os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT), b"x")
        os.close(descriptor)
    return x * 2


def appends_in_a_loop(x: Any) -> Any:
    for _ in range(40):
        x = x + 1
        with Path("log").open("a") as file:
            file.write("x")
    return x


def hides_errors(x: Any) -> Any:
    try:
        with open("log", "a") as file:
            file.write("x")
    except Exception:
        x = x + 1
    return x * 2


def makes_and_renames(x: Any) -> Any:
    number = len(os.listdir("."))
    os.mkdir(f"folder{number}")
    os.rename(f"folder{number}", f"renamed{number}")
    return x * 2


def starts_a_process(x: Any) -> Any:
    subprocess.run([sys.executable, "-c", "open('log', 'a').write('x')"], check=True)
    return x * 2


FUNCTIONS = [
    appends,
    writes_text,
    appends_in_a_branch,
    appends_in_a_loop,
    hides_errors,
    makes_and_renames,
    starts_a_process,
]


def outcomes(function: Callable[..., Any], folder: Path) -> list[Any]:
    """What some calls give, and what is in the folder after each."""
    found: list[Any] = []
    for x in (X, -X, X, -X):
        try:
            result = str(function(x))
        except ValueError as error:
            result = repr(error)
        found.append((result, {path.name: path.is_file() and path.read_text() for path in folder.iterdir()}))
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_files_are_written_in_each_call_as_in_python(
    function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "plain", tmp_path / "compiled"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.chdir(folders[0])
    expected = outcomes(function, folders[0])
    monkeypatch.chdir(folders[1])
    with pytest.warns(
        RecompileWarning, match=r"runs uncompiled: the function .* at test_files_that_are_written.py:\d+"
    ):
        found = outcomes(tm.compile(function), folders[1])
    assert found == expected


def test_an_open_file_is_written_to_in_each_call(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:

        def f(x: Any) -> Any:
            log.write("x")
            return x * 2

        compiled = tm.compile(f, on_recompile="ignore")
        for _ in range(3):
            np.testing.assert_array_equal(compiled(X), 2 * X)
        tm.grad(lambda x: f(x).sum())(X)
    assert (tmp_path / "log").read_text() == "xxxx"


def test_a_batch_writes_no_files_and_may_not_run_uncompiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SideEffectError, match=r"opens a file to write to it at test_files"):
        tm.vmap(writes_text)(np.ones((3, 2)))
    with pytest.raises(SideEffectError, match=r"opens a file to write to it at test_files"):
        tm.compile(writes_text, on_recompile="error")(X)
    assert not list(tmp_path.iterdir())


def test_uncompiled_derivatives_write_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(tm.grad(lambda x: appends(x).sum())(-X[:1]), [1.0])
    assert Path("log").read_text() == "x"


def test_other_writers_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams in memory, the null device, imports that write byte code, and handlers of logs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    Path("imported_late.py").write_text("TWO = 2")
    logger = logging.getLogger("tracemill.test.files")
    handler = logging.FileHandler("log", delay=True)
    logger.addHandler(handler)

    def f(x: Any) -> Any:
        import imported_late  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

        text = io.StringIO()
        text.write("ab")
        with open(os.devnull, "w") as nowhere:
            nowhere.close()
        logger.error("called")
        return x * imported_late.TWO * len(text.getvalue())

    try:
        compiled = tm.compile(f, on_recompile="error")
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), 4 * X)
    finally:
        logger.removeHandler(handler)
        handler.close()
    assert Path("log").read_text() == "called\ncalled\n"
