"""The pages at the root and in docs/ and the docstrings show what really happens.

In a page, a ```python block runs, in one namespace per page. If its first line is a comment with a file name, the
block is also written to that file. A ```text block after it is its output. A ```console block contains commands after
``$`` and their output; commands for C run only if there is a compiler. A line ``...`` matches any lines.

`pytest --update-golden` writes what happens into the pages.
"""

import builtins
import contextlib
import doctest
import importlib
import io
import linecache
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import tracemill
from tracemill.runtime import log
from tracemill.runtime.gpu import host_program
from tracemill.runtime.machine import toolchain
from tracemill.runtime.machine.toolchain import working_toolchain
from tracemill.tools.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    *sorted(f"docs/{path.relative_to(ROOT / 'docs').as_posix()}" for path in (ROOT / "docs").rglob("*.md")),
)
AS_A_USER_RUNS_THEM = "docs/tutorial/first-function.md"
"""The page where each command runs in its own process."""
HEAVY = {
    "docs/applications/small-gpt.md",
    "docs/gpu.md",
    "docs/how-to/reading-dumps.md",
    AS_A_USER_RUNS_THEM,
}  # they take more than a second

if find_spec("triton") is not None:
    # Before an example loads Triton, which compiles from then on and interprets nothing.
    importlib.import_module("gpu.triton_interpreter")

_NEEDS_A_PROCESS = re.compile(r"triton|--target|\b(?:bench|demo|doctor|gpu-check)\b")
"""Commands that need another Triton than the interpreter, or say how fast a fresh process is."""
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[\w-]+)?\)")
_MADE = re.compile(
    r"(?:errors|reference)/[\w-]+\.md$"
)  # by docs/hooks when the site is built, which looks at links


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    place: str


class Difference(NamedTuple):
    """What a page shows, and what happens instead."""

    place: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.place}\n--- the page says\n{self.expected}--- it is\n{self.found}"


class Page:
    """Runs the blocks of a page in order, in a folder of its own, and collects what is not as shown."""

    def __init__(self, blocks: Sequence[Block], folder: Path, *, in_processes: bool = False) -> None:
        self.blocks, self.folder, self.in_processes = blocks, folder, in_processes
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        self.differences: list[Difference] = []

    def run(self) -> list[Difference]:
        for block in self.blocks:
            if block.language == "python":
                self._python(block)
            elif block.language == "text":
                self._compare(block.place, block.text, self.printed)
            elif block.language == "console":
                for command, expected in sessions(block.text):
                    if "--backend c" in command and working_toolchain() is None:
                        continue
                    self._compare(f"{block.place}: {command}", expected, self._command(command))
        return self.differences

    def _python(self, block: Block) -> None:
        named = _FILE.match(block.text)
        file = named[1] if named else block.place
        if named:
            (self.folder / file).write_text(block.text, encoding="utf-8")
        else:  # as a cell of a notebook: its source is at hand
            linecache.cache[file] = (len(block.text), None, block.text.splitlines(keepends=True), file)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(builtins.compile(block.text, file, "exec"), self.names)
        self.printed = out.getvalue()

    def _command(self, command: str) -> str:
        program, *arguments = shlex.split(command)
        assert program == "tracemill", f"only tracemill runs in a console block, not {program}"
        run = in_a_process if self.in_processes or _NEEDS_A_PROCESS.search(command) else in_this_process
        return run(arguments, self.folder)

    def _compare(self, place: str, expected: str, found: str) -> None:
        if not fits(expected, found):
            self.differences.append(Difference(place, expected, found))


def in_a_process(arguments: Sequence[str], folder: Path) -> str:
    """What the command prints, run as a user does."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / ".root"), "COLUMNS": "100"}
    ran = subprocess.run(
        [sys.executable, "-c", "from tracemill.tools.cli import main; main()", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return ran.stdout + ran.stderr


def in_this_process(arguments: Sequence[str], folder: Path) -> str:
    """The same without the start of a process. Modules of the folder are forgotten, so that commands read them anew."""
    out, err, known = io.StringIO(), io.StringIO(), set(sys.modules)
    with (
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        warnings.simplefilter("default")
        patch.setenv("COLUMNS", "100")
        patch.setattr(sys, "argv", ["tracemill", *arguments])
        patch.setattr(sys, "path", list(sys.path))
        main()
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]
    return out.getvalue() + err.getvalue()


def blocks_of(name: str) -> list[Block]:
    """The fenced blocks of a page."""
    page = (ROOT / name).read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], f"{name}:{page.count(chr(10), 0, match.start()) + 1}")
        for match in _BLOCK.finditer(page)
    ]


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of a console block with what they print. A backslash continues a command."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
        found.append((command, output))
    return found


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def parts_of(expected: str) -> list[list[str]]:
    """The text between the lines ``...``."""
    parts: list[list[str]] = [[]]
    for line in lines_of(expected):
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def fits(expected: str, found: str) -> bool:
    """Whether two texts are equal, except for spaces at the ends of lines and lines that ``...`` matches."""
    patterns = ["".join(re.escape(f"{line}\n") for line in part) for part in parts_of(expected)]
    return (
        re.fullmatch("(?:.*\n)*?".join(patterns), "".join(f"{line}\n" for line in lines_of(found)))
        is not None
    )


def updated(expected: str, found: str) -> str:
    """`found` with ``...`` in the same places: each part still begins and ends with the same lines."""
    parts, lines, start = parts_of(expected), lines_of(found), 0
    kept: list[str] = []
    for number, part in enumerate(parts):
        if number:
            kept.append("...")
        if part:
            start = lines.index(part[0], start) if number else 0
            is_last = number == len(parts) - 1
            end = len(lines) if is_last else lines.index(part[-1], start) + 1
            kept += lines[start:end]
            start = end
    return "".join(f"{line}\n" for line in kept)


def library() -> list[str]:
    """The modules of the library."""
    layers = ("compiler", "passes", "runtime", "tools")
    names = [module.name for module in pkgutil.walk_packages(tracemill.__path__, "tracemill.")]
    return ["tracemill", *sorted(name for name in names if name.split(".")[1] in layers)]


def has_examples(name: str) -> bool:
    parts = name.split(".")[1:]
    file = ROOT.joinpath(*parts[:-1], f"{parts[-1]}.py") if parts else ROOT / "__init__.py"
    return file.exists() and ">>> " in file.read_text(encoding="utf-8")


def examples_of(module: ModuleType) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


def needs_gpu(test: doctest.DocTest) -> bool:
    return any("device_put" in example.source or "runtime.gpu" in example.source for example in test.examples)


@pytest.fixture(params=["numpy", "c"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The backend of examples that name none."""
    name = str(request.param)
    if name == "c":
        request.getfixturevalue("c_toolchain")
    monkeypatch.setenv("TRACEMILL_BACKEND", name)
    return name


@pytest.mark.sampled(*(f"numpy-{name}" for name in PAGES), slow=2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in PAGES]
)
def test_what_a_page_shows_is_what_happens(
    name: str,
    backend: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    update_golden: bool,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    linecache.clearcache()  # other pages have files of the same names
    blocks = blocks_of(name)
    with contextlib.ExitStack() as stack:
        if any(block.language == "python" and "device_put" in block.text for block in blocks):
            if find_spec("triton") is None:
                pytest.skip("Triton is not installed; it is for Linux on x86")
            interpreted = importlib.import_module("gpu.interpreted_gpu").interpreted
            stack.enter_context(interpreted(request.getfixturevalue("stub_gpu")))
        stack.callback(tracemill.set_num_threads, tracemill.get_num_threads())
        differences = Page(blocks, tmp_path, in_processes=name == AS_A_USER_RUNS_THEM).run()
    if update_golden and backend == "numpy":
        page = (ROOT / name).read_text(encoding="utf-8")
        for difference in differences:
            assert page.count(difference.expected) == 1, (
                f"{difference.place} shows what other places show, too"
            )
            page = page.replace(difference.expected, updated(difference.expected, difference.found))
        (ROOT / name).write_text(page, encoding="utf-8")
        return
    assert not differences, "\n\n".join(map(str, differences))


@pytest.mark.parametrize(
    "name", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
)
def test_links_of_a_page_lead_somewhere(name: str) -> None:
    page = ROOT / name
    targets = _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))
    assert not [
        target for target in targets if not _MADE.search(target) and not (page.parent / target).exists()
    ]


@pytest.mark.parametrize("name", [*PAGES, "CONTRIBUTING.md"])
def test_files_that_a_page_names_exist(name: str) -> None:
    page = _BLOCK.sub("", (ROOT / name).read_text(encoding="utf-8"))
    named = re.findall(r"`((?:compiler|passes|runtime|tools|tests)/[\w/.]*)`", page)
    assert named or name.startswith("docs/")
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.sampled(*(f"numpy-{name}" for name in library() if has_examples(name)))
@pytest.mark.parametrize("name", [name for name in library() if has_examples(name)])
def test_the_examples_in_docstrings_work(
    name: str, backend: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    for module, warned in ((log, "_complained"), (toolchain, "_complained"), (host_program, "_said")):
        monkeypatch.setattr(module, warned, set())  # of which a process warns once
    tests = examples_of(importlib.import_module(name))
    if any(map(needs_gpu, tests)):
        if working_toolchain() is None or find_spec("cuda") is None:
            tests = [test for test in tests if not needs_gpu(test)]
        else:
            request.getfixturevalue("stub_gpu")
    if not tests:
        pytest.skip("no C compiler, or no cuda-bindings, for a GPU that is not there")
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test, out=report.write)
    assert runner.tries > 0
    assert not runner.failures, report.getvalue()


def test_dots_match_any_lines() -> None:
    assert fits("a\n...\nd\n", "a\nb\nc\nd\n")
    assert fits("a\n...\nd\n", "a\nd\n")
    assert fits("...\nd", "a\nd")
    assert not fits("a\n...\nd\n", "a\nb\n")
    assert not fits("a\n", "a\nb\n")


def test_an_update_keeps_the_dots_in_their_places() -> None:
    assert updated("a\n", "b\n") == "b\n"
    assert updated("...\nd\ne\n", "a\nd\nx\n") == "...\nd\nx\n"
    assert updated("...\nb\nc\nd\n...\n", "a\nb\nx\nd\ne\n") == "...\nb\nx\nd\n...\n"


def test_an_error_in_a_page_is_reported(tmp_path: Path) -> None:
    blocks = [Block("python", "print(1 + 1)\n", "here:1"), Block("text", "3\n", "here:4")]
    (difference,) = Page(blocks, tmp_path).run()
    assert str(difference) == "here:4\n--- the page says\n3\n--- it is\n2\n"


def test_a_command_that_fails_is_compared_by_its_message(tmp_path: Path) -> None:
    block = Block(
        "console", "$ tracemill inspect nowhere.py:f\ntracemill: there is no file nowhere.py\n", "here:1"
    )
    assert not Page([block], tmp_path).run()
