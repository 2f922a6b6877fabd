"""What notebooks show of graphs, lowered functions and kernels is HTML that is whole, escaped, and needs no network."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.text.html import code_html, folded_html, table_html
from tracemill.runtime.inspection.lowered import Lowered
from tracemill.tools.inspection import stages_of

VOID = {"br", "rect"}


class Reader(HTMLParser):
    """Reads HTML in which all elements are closed, and keeps its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.elements.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def smaller(x: Any) -> Any:
    return np.sum(np.where(x < 0.5, np.sin(x), x))  # <b>&amp;</b>


@pytest.fixture(params=["numpy", "c", "triton"])
def lowered(request: pytest.FixtureRequest) -> Lowered:
    if request.param == "c":
        request.getfixturevalue("c_compiler")
    return tm.compile(smaller, backend=request.param).lower(np.ones((300, 400)))


def shown(part: Any) -> Reader:
    reader = Reader(part._repr_html_())
    assert not reader.elements & {"script", "link", "img", "iframe", "b"}
    return reader


def test_a_graph_shows_its_text(lowered: Lowered) -> None:
    assert shown(lowered.graph).words == lowered.graph.code
    assert "<b>&amp;</b>" in lowered.graph.code


def test_a_lowered_function_shows_every_stage(lowered: Lowered) -> None:
    words = shown(lowered).words
    assert lowered.source in words
    assert all(kernel.source in words for kernel in lowered.kernels)
    assert f"traced for {lowered.signature}" in words
    assert "least time" in words
    assert "temporaries" in words


def test_kernels_and_stages_show_their_text(lowered: Lowered) -> None:
    for kernel in lowered.kernels:
        assert kernel.source in shown(kernel).words
    for stage in stages_of(lowered):
        assert stage.text in shown(stage).words


def test_memory_is_a_picture_with_a_bar_for_each_piece(lowered: Lowered) -> None:
    html = lowered.memory._repr_html_()
    assert shown(lowered.memory).elements >= {"svg", "rect", "title"}
    assert html.count("<rect ") == len(lowered.memory.lifetimes)


def test_code_has_colours() -> None:
    graph = code_html("def f(x: f64[N, 3]) -> bool[]:  # a\n    return none(x, 1.5)")
    for token in ("def", "return", "f64[N, 3]", "bool[]", "1.5", "# a"):
        assert f">{token}</span>" in graph
    text = code_html("// a\nstatic void f(double *x) { x[0] = 1.5; }", "c")
    for token in ("// a", "static", "void", "double", "1.5"):
        assert f">{token}</span>" in text


def test_hostile_text_stays_text() -> None:
    hostile = "<script>alert('1')</script> & \"x\" # <img src=x>"
    for html in (code_html(hostile), table_html([(hostile,), (hostile,)]), folded_html(hostile, "")):
        reader = Reader(html)
        assert hostile in reader.words
        assert not reader.elements & {"script", "img"}
