"""The program on the page about a C library prints what the page says, and its header is the one that is written."""

import re
import subprocess
from pathlib import Path

import pytest

import tracemill as tm
from c.exported_c import WARNINGS, made

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial" / "c-library.md").read_text(encoding="utf-8")


def block(language: str, name: str) -> str:
    (found,) = re.findall(rf"```{language}\n(?:#|//) {name}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.mark.usefixtures("c_compiler")
def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    exec(block("python", "filters.py"), names)
    track = names["track"]
    assert callable(track)
    specs = ("state: f64[2]", "variance: f64[2, 2]", "seen: f64[]", "noise: f64[]")
    folder = tm.export(track, *specs).save(tmp_path / "track", format="c")
    header = (folder / "track.h").read_text(encoding="utf-8")
    assert block("c", "track.h") in header
    assert "#define TRACK_WORKSPACE_SIZE 0" in header

    (folder / "main.c").write_text(block("c", "main.c"), encoding="utf-8")
    made(folder, "ARCH=", "libtrack.a")
    command = ["cc", *WARNINGS, "main.c", "libtrack.a", "-lm", "-lpthread", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout in PAGE
    assert done.stdout.startswith("position ")
