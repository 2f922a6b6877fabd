"""The notebooks in docs/ run from top to bottom, and hold what their cells print, return and draw.

`pytest --update-golden` writes what happens into the notebooks.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pages.notebook import run_cells
from tracemill.docs.hooks.notebook_pages import notebook_files

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOKS = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.ipynb"))


def test_there_is_a_quickstart() -> None:
    assert "quickstart.ipynb" in NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_shows_what_its_cells_do(
    name: str, update_golden: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.setenv("TRACEMILL_BACKEND", "numpy")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((DOCS / name).read_text(encoding="utf-8"))
    found = run_cells(notebook["cells"])
    if update_golden:
        (DOCS / name).write_text(with_outputs(notebook, found), encoding="utf-8")
        return
    for cell, outputs in zip(notebook["cells"], found, strict=True):
        assert without_pictures(cell.get("outputs", [])) == without_pictures(outputs), "".join(cell["source"])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_valid_and_was_run_in_order(name: str) -> None:
    notebook = json.loads((DOCS / name).read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert cells[0]["source"][0].startswith("# ")


def test_the_page_of_a_notebook_shows_its_outputs_and_pictures() -> None:
    files = notebook_files()
    for name in NOTEBOOKS:
        page = files[name.replace(".ipynb", ".md")]
        pictures = re.findall(r"!\[[^]]*\]\((.*\.svg)\)", page)
        assert pictures
        assert all("<svg" in files[picture] for picture in pictures)
        for cell in json.loads((DOCS / name).read_text(encoding="utf-8"))["cells"]:
            assert "".join(cell["source"]) in page
            for output in cell.get("outputs", ()):
                if "text" in output:
                    assert "".join(output["text"]).rstrip() in page


def without_pictures(outputs: list[Any]) -> list[Any]:
    """Outputs in which each picture is a mark: the lines of an SVG depend on the version of matplotlib."""
    return [
        {**output, "data": {**output["data"], "image/svg+xml": output["data"]["image/svg+xml"][0].strip()}}
        if "image/svg+xml" in output.get("data", {})
        else output
        for output in outputs
    ]


def with_outputs(notebook: Any, found: list[list[Any]]) -> str:
    count = 0
    for cell, outputs in zip(notebook["cells"], found, strict=True):
        if cell["cell_type"] == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": outputs}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
