"""Lock files read as they were written, merge, and say where they are damaged."""

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import tracemill
from graphs.kernel_graphs import SMALL
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.choice import RULES, Choice
from tracemill.compiler.backends.triton.kernels.kernel_key import (
    kernel_key,
    kernel_text,
    key_of_text,
    known_graph,
)
from tracemill.compiler.errors import LockFileError
from tracemill.compiler.ir import Graph
from tracemill.runtime.gpu_choices.check_lock import check_lock
from tracemill.runtime.gpu_choices.lock_entry import Entries, LockEntry, Measured, choices_in
from tracemill.runtime.gpu_choices.lock_file import add_to_lock, read_lock
from tracemill.runtime.gpu_choices.lock_reader import entries_in
from tracemill.runtime.gpu_choices.lock_text import lock_text


def entry_of(graph: Graph, choice: Choice = RULES, target: str = "sm_90") -> LockEntry:
    measured = (
        Measured(RULES, 0.25),
        Measured(Choice(warps=8), 1e-05),
        Measured(Choice(warps=2), None, 'it "spills"'),
    )
    key, text = kernel_key(graph), kernel_text(known_graph(graph))
    versions = {"triton": "3.9.0", "tracemill": "0.1.0"}
    return LockEntry(target, key, choice, measured, "NVIDIA H200", versions, text)


def of(*entries: LockEntry) -> Entries:
    return {(entry.target, entry.key): entry for entry in entries}


EXP = entry_of(recorded(fn.exp, "f32[5000]"), Choice(elements=512, warps=8))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "tracemill.lock"


def test_a_file_is_short_and_readable(path: Path) -> None:
    add_to_lock(path, of(EXP))
    assert (
        path.read_text()
        == f"""\
# What tm.compile(f, backend="triton", autotune=True) measured and chose. Commit this file:
# tracemill lock check verifies it, and a kernel that is not in it is measured again.
format = 1

[sm_90.{EXP.key}]
choice = {{ elements = 512, warps = 8 }}
measured = [
    {{ milliseconds = 0.25 }},
    {{ warps = 8, milliseconds = 1e-05 }},
    {{ warps = 2, refused = "it \\"spills\\"" }},
]
device = "NVIDIA H200"
versions = {{ tracemill = "0.1.0", triton = "3.9.0" }}
graph = '''
# tracemill ir 1
def kernel(x0: f32[5000]) -> f32[5000]:
    exp_1: f32[5000] = exp(x0)
    return exp_1
'''
"""
    )


def test_an_entry_with_fast_math_says_so_and_is_known_by_it(path: Path) -> None:
    graph = recorded(fn.exp, "f32[5000]")
    fast = replace(EXP, key=kernel_key(graph, fast_math=True), fast_math=True)
    assert add_to_lock(path, of(EXP, fast)) == check_lock(path)
    assert [replace(entry, line=0) for entry in read_lock(path).values()] == sorted(
        (EXP, fast), key=lambda entry: entry.key
    )
    path.write_text(path.read_text().replace("fast_math = true\n", ""))
    with pytest.raises(LockFileError, match="the graph is not that of its key"):
        read_lock(path)
    path.write_text(lock_text(of(fast)).replace("fast_math = true", "fast_math = 1"))
    with pytest.raises(
        LockFileError, match=r"fast_math of the entry of .* is 1, and should be true or false"
    ):
        read_lock(path)


def test_what_is_written_reads_back(path: Path) -> None:
    odd = replace(EXP, target="gfx942", device="a 'card' \x7f\u00e9", choice=RULES, measured=())
    entries = of(EXP, odd, *(entry_of(graph) for graph in SMALL.values()))
    assert add_to_lock(path, entries) == entries == read_lock(path)
    assert choices_in(entries, "gfx942") == {EXP.key: RULES}
    lines = path.read_text().splitlines()
    assert all(lines[entry.line - 1] == f"[{entry.target}.{entry.key}]" for entry in read_lock(path).values())
    headers = [line for line in lines if line.startswith("[")]
    assert headers == sorted(headers)


def test_texts_that_would_end_the_quotes_are_escaped() -> None:
    odd = replace(EXP, graph="'''\n\"\\\t")
    assert "graph = \"'''\\n\\\"\\\\\\t\\n\"" in lock_text(of(odd))


def test_a_file_whose_lines_end_as_on_windows_is_the_same(path: Path) -> None:
    path.write_bytes(lock_text(of(EXP)).replace("\n", "\r\n").encode())
    assert read_lock(path) == of(EXP)


def test_the_example_of_the_manual_is_a_lock_file() -> None:
    page = (Path(tracemill.__file__).parent / "docs" / "tuning.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    ((target, key),) = entries_in(example.encode(), Path("tuning.md"))
    assert (target, key) == ("sm_90", EXP.key)


def test_no_file_has_no_entries(path: Path) -> None:
    assert read_lock(path) == {}


def test_entries_that_are_there_stay(path: Path) -> None:
    add_to_lock(path, of(EXP))
    other = entry_of(SMALL["softmax"])
    found = add_to_lock(path, of(replace(EXP, choice=RULES), other))
    assert found == of(EXP, other) == read_lock(path)


@pytest.mark.slow
def test_writers_at_the_same_time_lose_nothing(path: Path) -> None:
    entries = [entry_of(recorded(fn.exp, f"f32[{size}]")) for size in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda entry: add_to_lock(path, of(entry)), entries))
    assert read_lock(path) == of(*entries)
    assert [x.name for x in path.parent.iterdir() if x.name != "cache"] == ["tracemill.lock"]


def test_a_file_that_cannot_be_written_is_named_and_what_to_do(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    add_to_lock(path, of(EXP))
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(
        LockFileError, match=r"cannot be written: No space left on device\. Name another file"
    ):
        add_to_lock(path, of(entry_of(SMALL["softmax"])))
    assert read_lock(path) == of(EXP)
    assert [x.name for x in path.parent.iterdir() if x.name != "cache"] == ["tracemill.lock"]


def test_a_folder_is_no_lock_file(tmp_path: Path) -> None:
    with pytest.raises(LockFileError, match="cannot be read"):
        read_lock(tmp_path)


# ---- what is damaged -----------------------------------------------------------------------------------

HEADER_LINE = lock_text(of(EXP)).splitlines().index(f"[sm_90.{EXP.key}]") + 1


def replacing(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


DAMAGES: dict[str, tuple[Callable[[str], str], int, str]] = {
    "a merge": (replacing("device", "<<<<<<< HEAD\ndevice"), HEADER_LINE + 7, "this is not TOML"),
    "an end": (lambda text: text[: text.index("graph") + 30], 0, "this is not TOML"),
    "twice": (lambda text: text + text.split("\n\n")[1], 0, "this is not TOML"),
    "a format": (replacing("format = 1", "format = 2"), 3, "the format is 2, and this version of Tracemill reads"),
    "no format": (replacing("format = 1", ""), 1, "the format is None"),
    "a target": (replacing("[sm_90.", "[h200."), HEADER_LINE, "'h200' is not a target"),
    "a value": (replacing("format = 1", "format = 1\nsm_80 = 3"), 4, "'sm_80' is not a target, .* with entries"),
    "a key": (replacing(EXP.key, "abc"), HEADER_LINE, "'abc' is not a key: it has 32 hexadecimal digits"),
    "a graph": (replacing("exp(x0)", "sin(x0)"), HEADER_LINE, "not that of its key: its own is [0-9a-f]{32}"),
    "a field": (replacing("device", "devise"), HEADER_LINE, "has no device"),
    "one more": (replacing("device", "x = 1\ndevice"), HEADER_LINE, "has 'x', which is unknown"),
    "a choice": (replacing("elements = 512", "block = 512"), HEADER_LINE, "'block' cannot be chosen"),
    "a number": (replacing("warps = 8 }\n", "warps = 7 }\n"), HEADER_LINE, "warps is a power of two, not 7"),
    "a type": (replacing("{ elements = 512, warps = 8 }", "8"), HEADER_LINE, "choice of .* should be a table"),
    "a text": (replacing('"NVIDIA H200"', "200"), HEADER_LINE, "device of .* is 200, and should be a text"),
    "a time": (replacing("milliseconds = 0.25", 'milliseconds = "x"'), HEADER_LINE, "has either milliseconds or"),
    "no time": (replacing("{ milliseconds = 0.25 }", "{}"), HEADER_LINE, "has either milliseconds or"),
    "a list": (replacing("{ milliseconds = 0.25 }", "3"), HEADER_LINE, "what is measured is 3, and should be a table"),
    "no number": (replacing("milliseconds = 0.25", "milliseconds = nan"), HEADER_LINE, "has either milliseconds or"),
    "below 0": (replacing("milliseconds = 0.25", "milliseconds = -1"), HEADER_LINE, "has either milliseconds or"),
    "digits": (replacing("0.25", "9" * 5000), 1, "a number in it cannot be read: Exceeds the limit"),
    "bits": (replacing("format = 1", f"format = 0x{'f' * 5000}"), 1, "a whole number of more than 64 bits"),
    "a version": (replacing('"3.9.0"', "[[3]]"), HEADER_LINE, "is ..3.., and should be a text"),
    "dots": (replacing('triton = "3.9.0"', f"{'a.' * 2000}a = 1"), 1, "nested more than 16 deep"),
    "depth": (lambda text: text + "x = " + "[" * 100_000, 0, "nested|TOML"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_with_its_line_and_what_to_do(path: Path, name: str) -> None:
    change, line, message = DAMAGES[name]
    path.write_text(change(lock_text(of(EXP))))
    with pytest.raises(LockFileError, match=message) as caught:
        read_lock(path)
    assert str(caught.value).startswith(f"{path}:{line or ''}")
    assert "Delete this entry" in str(caught.value)
    before = path.read_text()
    with pytest.raises(LockFileError):
        add_to_lock(path, of(EXP))
    assert path.read_text() == before


def test_other_bytes_are_refused_with_their_line(path: Path) -> None:
    path.write_bytes(b"format = 1\n\n# \xff\n")
    with pytest.raises(LockFileError, match=re.escape(f"{path}:3: this is not UTF-8")):
        read_lock(path)


# ---- what cannot be used -------------------------------------------------------------------------------


def test_choices_that_can_be_used_pass(path: Path) -> None:
    add_to_lock(path, of(EXP, entry_of(SMALL["softmax"])))
    assert len(check_lock(path)) == 2


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            replace(EXP, choice=Choice(depth=16)),
            "depth cannot be chosen of this kernel: what can is elements",
        ),
        (replace(EXP, measured=(Measured(Choice(parts=2), 1.0),)), "parts cannot be chosen"),
    ],
)
def test_choices_that_the_kernel_has_not_are_refused(path: Path, entry: LockEntry, message: str) -> None:
    add_to_lock(path, of(entry))
    with pytest.raises(LockFileError, match=rf":{HEADER_LINE}: {message}"):
        check_lock(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replacing("exp(x0)", "no_such_op(x0)"), "does not read the graph: "),
        (
            replacing("def kernel(x0", "def other(x0"),
            "writes the graph differently, so this key is unknown",
        ),
    ],
)
def test_graphs_of_other_versions_are_refused(path: Path, change: Callable[[str], str], message: str) -> None:
    graph = change(EXP.graph)
    add_to_lock(path, of(replace(EXP, graph=graph, key=key_of_text(graph))))
    with pytest.raises(LockFileError, match=message):
        check_lock(path)


def test_a_file_that_is_to_be_checked_must_be_there(path: Path) -> None:
    with pytest.raises(LockFileError, match="does not exist"):
        check_lock(path)
