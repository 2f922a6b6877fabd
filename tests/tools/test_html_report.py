"""``--html FILE`` writes one page, whole or not at all."""

from pathlib import Path

import pytest

from pages.parsed_page import parsed_page
from tracemill.tools.terminal.html_report import write_report

from .terminal import Terminal

SOURCE = "import numpy as np\n\n\ndef loss(w, x):\n    return np.sum(np.tanh(x @ w) ** 2)\n"
LOSS = ("inspect", "model.py:loss", "--in", "w: f32[2]", "--in", "x: f32[4, 2]", "--transform", "grad")


@pytest.fixture(autouse=True)
def model(terminal: Terminal) -> None:
    Path("model.py").write_text(SOURCE)


@pytest.mark.slow
def test_inspect_writes_a_report_and_says_so(terminal: Terminal) -> None:
    ran = terminal.run(*LOSS, "--html", "report.html")
    assert (ran.status, ran.out, ran.err) == (0, "", "wrote report.html\n")
    page = parsed_page(Path("report.html").read_text(encoding="utf-8"))
    assert "np.tanh(x @ w)" in page.one("ol", "source").text
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == ["model.py", "report.html"]


def test_the_demo_writes_the_report_of_its_training_step(terminal: Terminal) -> None:
    ran = terminal.run("demo", "--epochs", "1", "--html", "report.html")
    assert ran.status == 0
    assert "  report.html\n" in ran.out
    page = parsed_page(Path("report.html").read_text(encoding="utf-8"))
    assert page.one("h1").text == "loss"
    assert "was compiled once" in page.named("recompiles").text


def test_a_folder_and_a_place_that_is_not_there_are_refused_before_any_work(terminal: Terminal) -> None:
    Path("folder").mkdir()
    ran = terminal.run(*LOSS, "--html", "folder")
    assert ran.status == 2
    assert ran.err == "tracemill: --html folder is a folder: name a file, such as folder/report.html\n"
    ran = terminal.run("demo", "--html", "nowhere/report.html")
    assert ran.status == 2
    assert (
        ran.err
        == "tracemill: --html nowhere/report.html: there is no folder nowhere: make it, or name another\n"
    )


def test_what_cannot_be_written_leaves_what_was_there(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Path("report.html")
    report.write_text("before")

    def refuse(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    ran = terminal.run(*LOSS, "--html", "report.html", "--force")
    assert (ran.status, ran.err) == (
        1,
        "tracemill: OSError: [Errno 28] No space left on device: 'report.html'\n",
    )
    assert report.read_text() == "before"
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == ["model.py", "report.html"]


def test_a_report_replaces_an_older_one() -> None:
    Path("reports").mkdir()
    for text in ("one", "two"):
        write_report(text, Path("reports/report.html"), overwrite=True)
    assert [path.read_text() for path in Path("reports").iterdir()] == ["two"]
