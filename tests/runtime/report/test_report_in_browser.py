"""The HTML report in a real browser: pointing, the keyboard, both colour schemes, small screens, no errors.

Needs the package playwright and Chromium: a Debian system has it as ``chromium``.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tracemill as tm

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SOURCE = """\
import numpy as np


def loss(w, x, y):
    h = np.tanh(x @ w)
    e = np.exp(h - np.max(h, axis=-1, keepdims=True))
    return np.mean((e / np.sum(e, axis=-1, keepdims=True) - y) ** 2)
"""
NODES = 2000
LARGEST = 3 * 2**20


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as driver:
        if found is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip(f"there is no Chromium: none of {', '.join(NAMES)} is on the path")
        root = hasattr(os, "geteuid") and os.geteuid() == 0  # for whom Chromium has no sandbox
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"] if root else [])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report of a gradient."""
    folder = tmp_path_factory.mktemp("report")
    file = folder / "model.py"
    file.write_text(SOURCE)
    names: dict[str, Any] = {}
    exec(compile(SOURCE, str(file), "exec"), names)
    f = tm.compile(tm.grad(names["loss"]), backend="c")
    arrays = np.ones((64, 32), "f4"), np.ones((128, 64), "f4"), np.ones((128, 32), "f4")
    (folder / "report.html").write_text(f.report(*arrays), encoding="utf-8")
    return (folder / "report.html").as_uri()


@pytest.fixture(params=["light", "dark"])
def page(browser: "Browser", report: str, request: pytest.FixtureRequest) -> Iterator["Page"]:
    page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=request.param)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report)
    yield page
    page.close()
    assert said == []
    assert {url for url in asked if not url.startswith("data:")} == {report}


def marked(page: "Page", kind: str) -> list[str]:
    found: list[str] = page.locator(f"{kind} .on:visible").all_inner_texts()
    return found


def choose(page: "Page", stage: str) -> None:
    page.locator(".tabs label", has_text=stage).first.click()


def test_pointing_at_a_line_marks_its_calls_and_statements(page: "Page") -> None:
    page.locator(".source li", has_text="np.tanh").hover()
    assert all("5" in row for row in marked(page, ".rows"))
    assert any("tanh(" in row for row in marked(page, ".rows"))
    assert any("tanh" in row for row in marked(page, ".text"))
    assert page.locator(".status").inner_text().startswith("1 line · ")


def test_pointing_at_a_call_marks_its_line(page: "Page") -> None:
    page.locator(".rows li", has_text="exp(").first.hover()
    (line,) = marked(page, ".source")
    assert "np.exp(h" in line


def test_a_click_keeps_the_marks_until_escape(page: "Page") -> None:
    page.locator(".source li", has_text="np.tanh").click()
    page.locator("h1").hover()
    assert marked(page, ".rows")
    page.keyboard.press("Escape")
    assert not page.locator(".on").count()


def test_the_keyboard_reaches_lines_and_goes_to_and_fro(page: "Page") -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(
            "document.activeElement.closest('.source') !== null && document.activeElement.id !== ''"
        ):
            break
    assert page.evaluate("document.activeElement.id") == "l1"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("ArrowDown")
    assert "np.exp(h" in page.evaluate("document.activeElement.innerText")
    assert marked(page, ".rows")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('.rows') !== null")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "l1"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.id") == "l3"


def test_stages_show_what_they_have_and_what_has_changed(page: "Page") -> None:
    rows = page.locator(".rows li:visible")
    traced = rows.count()
    assert not page.locator(".rows li:visible", has_text="kernel(").count()
    choose(page, "fuse")
    assert page.locator(".rows li:visible", has_text="kernel(").count()
    page.locator("label[for=without]").click()
    assert "−" not in page.evaluate(
        "[...document.querySelectorAll('.rows>li')].filter(e => e.getClientRects().length)"
        ".map(e => getComputedStyle(e, '::before').content).join('')"
    )
    page.locator("label[for=only]").click()
    assert 0 < rows.count() < traced
    page.locator("#s0").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#s1").is_checked()


def test_small_screens_scroll_in_one_direction(browser: "Browser", report: str) -> None:
    for width in (390, 768, 1440):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(report)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()


def test_it_is_readable_without_scripts(browser: "Browser", report: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(report)
    choose(page, "fuse")
    assert page.locator(".rows li:visible", has_text="kernel(").count()
    page.locator(".rows a:visible").first.click()
    assert page.url.endswith("#l1")
    context.close()


CONTRAST = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c <= 0.03928 * 255 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = (colour) => colour.slice(0, 3).map(linear)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !element.getClientRects().length || element.closest("svg, script")) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
  }
  return poor;
}"""


def test_text_has_enough_contrast(page: "Page") -> None:
    assert page.evaluate(CONTRAST) == []
    choose(page, "fuse")
    page.locator(".source li", has_text="np.tanh").hover()
    assert page.evaluate(CONTRAST) == []


def test_a_report_of_two_thousand_calls_is_small_and_opens(browser: "Browser", tmp_path: Path) -> None:
    steps = ["np.sin({}) + {}", "{} * {}", "np.tanh({} - {})", "{} @ {}", "{} - np.mean({}, axis=0)"]
    lines = ["import numpy as np", "", "", "def long(v0, v1):"]
    random = np.random.default_rng(0)
    for i in range(2, NODES // 6):
        a, b = i - random.integers(1, 3), i - random.integers(1, 3)
        lines.append(f"    v{i} = {steps[random.integers(len(steps))].format(f'v{a}', f'v{b}')}")
    file = tmp_path / "long.py"
    file.write_text("\n".join([*lines, f"    return np.sum(v{NODES // 6 - 1})\n"]))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    arrays = np.ones((32, 32)), np.ones((32, 32))
    lowered = tm.compile(tm.grad(names["long"]), backend="c").lower(*arrays)
    assert len(lowered.graph.calls) >= NODES
    (tmp_path / "report.html").write_text(lowered.html(machine_code=False), encoding="utf-8")
    assert (tmp_path / "report.html").stat().st_size <= LARGEST
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((tmp_path / "report.html").as_uri())
    page.locator(".source li[data-l]").first.hover()
    assert marked(page, ".rows")
    page.close()
