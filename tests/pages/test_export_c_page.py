"""The examples of the page on C: their headers, and the programs that call them."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tracemill as tm
from c.exported_c import WARNINGS, made
from c.sanitizing import SANITIZERS

pytestmark = pytest.mark.usefixtures("c_compiler")

PAGE = (Path(__file__).parents[2] / "docs" / "export-c.md").read_text(encoding="utf-8")


def block(language: str, name: str) -> str:
    mark = "#" if language == "python" else "//"
    (found,) = re.findall(rf"```{language}\n({mark} {name}\n.*?)```", PAGE, re.DOTALL)
    return str(found)


def said(program: str) -> str:
    (found,) = re.findall(rf"```\n\$ \./{program}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def function_in(folder: Path, file: str, name: str) -> Any:
    path = folder / file
    path.write_text(block("python", file), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


PROGRAMS: dict[str, tuple[str, str, tuple[str, ...], dict[str, Any]]] = {
    "spiking": (
        "spikes.py",
        "spikes",
        ("signal: f64[N]", "factor: f64[]"),
        {"constraints": "N in 1.."},
    ),
    "mixing": ("mixing.py", "mix", ("x: f64[3]", "weights: f64[3]"), {}),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_on_the_page_print_what_it_says(program: str, tmp_path: Path) -> None:
    file, name, specs, options = PROGRAMS[program]
    function = function_in(tmp_path, file, name)
    folder = tm.export(function, *specs, **options).save(tmp_path / name, format="c")
    (folder / "main.c").write_text(block("c", f"{program}.c"), encoding="utf-8")
    flags = f"-O1 -g {' '.join(WARNINGS)} {SANITIZERS['address']}"
    made(folder, f"CFLAGS={flags}", f"lib{name}.a")
    command = ["cc", *flags.split(), "main.c", f"lib{name}.a", "-lm", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, said(program), "")


def test_the_header_on_the_page_is_the_one_that_is_written(tmp_path: Path) -> None:
    function = function_in(tmp_path, "spikes.py", "spikes")
    folder = tm.export(function, "signal: f64[N]", "factor: f64[]", constraints="N in 1..").save(
        tmp_path / "spikes", format="c"
    )
    shown = block("c", "spikes.h").partition("\n")[2]
    assert shown in (folder / "spikes.h").read_text(encoding="utf-8")
