"""Exported files raise what the Python function would: C by codes and messages, Python by exceptions."""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from c.exported_c import WARNINGS, Library, loaded, sanitized
from c.raising import OutOfFuelError, checked
from c.sanitizing import SANITIZERS

pytestmark = pytest.mark.usefixtures("c_compiler")

FLAGS = f"CFLAGS=-O1 {' '.join(WARNINGS)}"


GOOD = np.linspace(0.5, 1.5, 20)
LIMITS = np.where(np.arange(20) % 3 > 0, 2.0, 0.0)


def with_entry(place: int, value: float) -> Any:
    x = GOOD.copy()
    x[place] = value
    return x


RAISING = {
    "assert": (with_entry(3, np.nan), AssertionError),
    "branch": (with_entry(0, 101.0), ValueError),
    "loop": (with_entry(7, 2.5), IndexError),
    "while": (with_entry(0, 0.0) * 0 + 61 / 13, OutOfFuelError),
    "first_of_two": (with_entry(7, 2.5) + np.where(np.arange(20) == 9, np.inf, 0), AssertionError),
    "negative": (-GOOD, np.linalg.LinAlgError),
}


@pytest.fixture(scope="module")
def artifact() -> tm.Artifact:
    return tm.export(checked, "x: f64[20]", "limits: f64[20]")


def files_of(artifact: tm.Artifact, folder: Path) -> dict[str, str]:
    path = artifact.save(folder / "files", format="c")
    return {file.name: file.read_text(encoding="utf-8") for file in path.iterdir()}


@pytest.fixture(scope="module")
def library(artifact: tm.Artifact, tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("checked")
    return loaded(files_of(artifact, folder), folder, FLAGS)


def message(library: Library, code: int) -> str:
    return str(library.told("message", ctypes.c_char_p, code).decode())


def raised(function: Callable[..., Any], *args: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 the caller looks at it
        function(*args)
    return caught.value


@pytest.mark.parametrize("name", RAISING)
def test_c_returns_a_code_whose_message_names_class_text_and_line(library: Library, name: str) -> None:
    x, kind = RAISING[name]
    limits = LIMITS if name != "while" else np.full(20, 9.0) * (np.arange(20) < 13)
    if name == "while":
        x = np.where(np.arange(20) < 13, 0.0, 1.0)
        x[0] = 8.0
        x[1:7] = 8.5
        x[7] = 8.0
        x[8] = 4.0  # they sum to 71
    error = raised(checked, x.copy(), limits)
    assert type(error) is kind
    code, (left, _) = library.run(x, limits)
    line = error.__traceback__.tb_next.tb_lineno  # type: ignore[union-attr]
    name_of_class = {
        OutOfFuelError: "c.raising.OutOfFuelError",
        np.linalg.LinAlgError: "numpy.linalg.LinAlgError",
    }
    text = ", ".join(map(str, error.args)).replace("101.0", "…").replace("7 is", "… is")
    said = f"{name_of_class.get(kind, kind.__name__)}: {text} (raising.py:{line})"
    assert message(library, code) == said
    np.testing.assert_array_equal(left, x)


def test_c_computes_what_numpy_does_if_no_check_fails(library: Library) -> None:
    left = GOOD.copy()
    expected = checked(left, LIMITS)
    found = library(GOOD, LIMITS)
    np.testing.assert_array_equal(found[0], left)
    np.testing.assert_allclose(found[1], expected, rtol=1e-14)
    assert message(library, 0) == "it has run"
    assert message(library, 5000) == "no code of this function"


def test_c_runs_clean_when_a_check_fails(artifact: tm.Artifact, tmp_path: Path) -> None:
    files = files_of(artifact, tmp_path)
    done = sanitized(files, (RAISING["loop"][0], LIMITS), tmp_path / "main", SANITIZERS["address"])
    assert done.returncode == 1, done.stderr[-4000:]
    assert not done.stderr


def test_python_files_raise_the_same(artifact: tm.Artifact, tmp_path: Path) -> None:
    path = artifact.save(tmp_path / "alone.py", format="python")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    for name in ("assert", "branch", "loop", "negative"):
        x, kind = RAISING[name]
        error = raised(names["checked"], x.copy(), LIMITS)
        assert type(error) is kind
        assert re.fullmatch(r"raised at raising\.py:\d+", error.__notes__[0])
    left = GOOD.copy()
    assert names["checked"](left, LIMITS) == checked(GOOD.copy(), LIMITS)
    assert not left.any()


def test_bundles_raise_the_same(artifact: tm.Artifact, tmp_path: Path) -> None:
    loaded_again = tm.load(artifact.save(tmp_path / "checked.tmill"))
    for name in ("assert", "branch", "loop", "negative"):
        x, kind = RAISING[name]
        assert type(raised(loaded_again, x.copy(), LIMITS)) is kind
    assert loaded_again(GOOD.copy(), LIMITS) == checked(GOOD.copy(), LIMITS)


def test_checked_indices_are_codes_as_well(tmp_path: Path) -> None:
    entry = tm.compile(lambda x, i: x[i] * 2, check_bounds=True)
    artifact = tm.export(entry, "x: f64[3]", "i: i64[]")
    library = loaded(files_of(artifact, tmp_path), tmp_path, FLAGS)
    code, _ = library.run(np.ones(3), 3)
    assert message(library, code).startswith(
        "IndexError: an index is out of bounds for axis 0 with size 3 (test_standalone_c_errors.py:"
    )
    assert library(np.arange(3.0), -1)[0] == 4.0
