"""``TRACEMILL_LOG`` says in one line each what is compiled and why; without it nothing is formatted."""

import logging
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.runtime import log as module
from tracemill.runtime.cache.disk_cache import DiskCache
from tracemill.runtime.compilation.variant_compiler import VariantCompiler

X, LONGER = np.ones(3), np.ones(4)


@pytest.fixture(autouse=True)
def a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    yield
    monkeypatch.delenv("TRACEMILL_LOG", raising=False)
    assert not module.is_asked(*module.TOPICS)  # the levels of the loggers are as they were


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The lines of a topic while a function is called with some arguments after others."""

    def found(topic: str, function: Any, *calls: tuple[Any, ...]) -> list[str]:
        monkeypatch.setenv("TRACEMILL_LOG", topic)
        caplog.clear()
        for arguments in calls:
            function(*arguments)
        assert {record.name for record in caplog.records} <= {f"tracemill.{topic}"}
        messages = [record.getMessage() for record in caplog.records]
        assert not any("\n" in message for message in messages)
        return messages

    return found


def power(x: Any, n: Any = 2.0) -> Any:
    return np.sum(np.sin(x) ** n)


def test_recompiles_name_the_argument_and_what_changed(lines: Callable[..., list[str]]) -> None:
    found = lines("recompiles", tm.compile(power), (X,), (X,), (LONGER,), (LONGER.astype("f4"), 3))
    assert found == [
        "power: compiled for args[0]: f64[3]",
        "power: compiled again (2 variants) because args[0]: f64[3] became f64[4]",
        "power: compiled again (3 variants) because args[0]: f64[x_0] became f32[4]; args[1]: int is new",
    ]


def test_dropped_variants_and_changed_captured_arrays_are_reported(
    lines: Callable[..., list[str]],
) -> None:
    few = tm.compile(power, max_variants=1, dynamic=False, on_recompile="ignore")
    assert (
        lines("recompiles", few, (X,), (LONGER,))[-1]
        == "power: forgot the oldest variant, for args[0]: f64[3]"
    )
    mask = np.array([True, False, True])
    chosen = tm.compile(lambda x: x[mask])
    lines("recompiles", chosen, (X,))
    mask[:] = True
    (again,) = lines("recompiles", chosen, (X,))
    assert "compiled again because an array that it closes over has changed, for args[0]: f64[3]" in again


def test_the_cache_says_hit_miss_and_why(lines: Callable[..., list[str]], tmp_path: Path) -> None:
    first = lines("cache", tm.compile(power), (X,))
    assert "miss" in first[0]
    assert first[0].endswith("no program called power is stored for numpy")
    assert first[1].endswith(f"in {tmp_path / 'cache'}")
    assert "stored" in first[1]
    (hit,) = lines("cache", tm.compile(power), (X,))
    assert "power: hit " in hit
    assert (
        "those stored under that name have other graphs: 1" in lines("cache", tm.compile(power), (LONGER,))[0]
    )
    donated = lines("cache", tm.compile(power, donate_argnums=0), (X,))
    assert "its graph is stored as" in donated[0]


def test_the_cache_says_why_it_is_off_and_what_it_never_holds(
    lines: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls_back = tm.compile(lambda x: tm.pure_callback(np.sin, np.zeros(3), x))
    assert "not cached: it calls back into Python" in lines("cache", calls_back, (X,))[0]
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    off = lines("cache", tm.compile(power), (X,))
    assert all("TRACEMILL_CACHE=0" in line for line in off)


def test_evictions_are_reported(lines: Callable[..., list[str]], tmp_path: Path) -> None:
    lines("cache", tm.compile(power), (X,))
    cache = DiskCache(tmp_path / "cache")
    (line,) = lines("cache", cache.clear, ())
    assert line == f"evicted 1 programs, those used least recently, from {tmp_path / 'cache'}"


def test_times_are_given_by_stage(lines: Callable[..., list[str]]) -> None:
    (made,) = lines("timing", tm.compile(power), (X,))
    assert made.startswith("power(args[0]: f64[3]): ")
    names = ("trace", "look up", "import", "simplify", "tile", "print", "store", "load")
    assert all(f" {stage} " in made for stage in names)
    (loaded,) = lines("timing", tm.compile(power), (X,))
    assert loaded.endswith(", from the disk cache")
    assert "tile" not in loaded


def test_times_alone_do_not_lower_the_program_again(
    lines: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered: list[Any] = []
    monkeypatch.setattr(VariantCompiler, "lowered", lambda *args: lowered.append(args))
    (made,) = lines("timing", tm.compile(power), (X,))
    assert made.startswith("power(")
    assert not lowered


def test_times_of_c_have_the_compiler(lines: Callable[..., list[str]], c_compiler: str) -> None:
    (made,) = lines("timing", tm.compile(power, backend="c"), (X,))
    assert " compile " in made
    assert " fuse " in made


def test_fusion_says_what_was_fused_and_why_the_rest_was_not(
    lines: Callable[..., list[str]], c_compiler: str
) -> None:
    x = np.ones((1000, 100))
    function = tm.compile(lambda x: np.sin(np.cos(x) @ x.T), backend="c")
    for _ in range(2):  # from the disk cache, too
        (line,) = lines("fusion", function, (x,))
        assert "function: 2 kernels, " in line
        assert " of 1 calls (cos_1) saves 0 bytes" in line
        assert "; not fused: 2 × library_call, such as " in line
        function = tm.compile(lambda x: np.sin(np.cos(x) @ x.T), backend="c")
    (tiles,) = lines("fusion", tm.compile(lambda x: np.sin(x) + 1.0, backend="numpy"), (np.ones(10**6),))
    assert tiles == "function: in tiles: kernel_sin"


def test_unknown_words_are_warned_of_once_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_complained", set())
    monkeypatch.setenv("TRACEMILL_LOG", "fusoin")
    with pytest.warns(
        tm.errors.SettingWarning, match=r"did you mean 'fusion'\?\): choose from recompiles, fusion"
    ):
        tm.compile(power)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tm.compile(power)(LONGER)


def test_a_level_set_by_logging_itself_is_heard(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACEMILL_LOG", raising=False)
    with caplog.at_level(logging.INFO, "tracemill.recompiles"):
        tm.compile(power)(X)
    assert [record.name for record in caplog.records] == ["tracemill.recompiles"]


def test_nothing_is_formatted_if_nobody_asks(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*of: Any) -> str:
        raise AssertionError("formatted")

    monkeypatch.delenv("TRACEMILL_LOG", raising=False)
    monkeypatch.setattr("tracemill.runtime.variants.signature.Signature.__str__", fail)
    monkeypatch.setattr("tracemill.runtime.stage_times.StageTimes.__init__", fail)
    monkeypatch.setattr("tracemill.runtime.cache.log_lines._why", fail)
    function = tm.compile(power)
    function(X)
    function(LONGER)
    assert not caplog.records


@pytest.mark.slow
def test_without_a_handler_of_the_users_lines_go_to_the_error_stream(tmp_path: Path) -> None:
    script = "import numpy as np, tracemill as tm; tm.compile(np.sin, backend='numpy')(np.ones(3))"
    variables = {"TRACEMILL_LOG": "recompiles", "TRACEMILL_CACHE_DIR": str(tmp_path / "c"), "PATH": ""}
    variables["PYTHONPATH"] = str(Path(tm.__file__).parent / "tests" / ".root")
    ran = subprocess.run(
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert ran.stderr == "tracemill.recompiles: sin: compiled for args[0]: f64[3]\n"
    assert ran.stdout == ""
