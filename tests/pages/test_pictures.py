"""The pictures of the documentation are there, are shown, and those of graphs are of the graphs that are there now.

`pytest --update-golden` draws the graphs again; ``python docs/pictures/draw.py`` draws what the examples find.
"""

import re
from pathlib import Path

import pytest

import tracemill as tm
from tracemill.docs.hooks.example_pages import example_pages
from tracemill.docs.pictures.draw import ARGUMENTS
from tracemill.docs.pictures.graph_picture import graph_svg
from tracemill.docs.pictures.stages import stage_pictures

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = DOCS / "pictures"


@pytest.mark.usefixtures("c_toolchain")
def test_the_pictures_of_stages_are_of_the_graphs_of_now(update_golden: bool) -> None:
    for name, picture in stage_pictures().items():
        file = PICTURES / f"{name}.svg"
        if update_golden:
            file.write_text(picture, encoding="utf-8")
        assert file.read_text(encoding="utf-8") == picture, f"run pytest --update-golden: {file.name}"


def test_every_picture_is_drawn_by_a_command_and_shown_on_a_page() -> None:
    names = {file.stem for file in PICTURES.glob("*.svg")}
    assert {*ARGUMENTS} <= names
    assert all(name in ARGUMENTS or name.startswith("stage_") for name in names)
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert names == set(re.findall(r"pictures/(\w+)\.svg", text))


def test_the_page_of_an_example_that_draws_shows_the_picture() -> None:
    pages = example_pages()
    for name in ARGUMENTS:
        assert f"](../pictures/{name}.svg)" in pages[f"examples/{name}.py.md"]


def test_a_graph_is_drawn_with_a_box_for_each_input_and_call_and_an_arrow_for_each_use() -> None:
    graph = tm.parse(
        "# tracemill ir 1\n"
        "def f(x: f64[3], y: f64[3]) -> f64[3]:\n"
        "    sin_1: f64[3] = sin(x)\n"
        "    add_1: f64[3] = add(sin_1, y)\n"
        "    multiply_1: f64[3] = multiply(add_1, x)\n"
        "    return multiply_1"
    )
    picture = graph_svg(graph)
    assert re.findall(r">(\w+)</text><text", picture) == ["x", "y", "sin", "add", "multiply"]
    assert picture.count("marker-end") == 5
    assert picture.count("<rect") == 5
