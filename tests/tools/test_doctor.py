"""``tracemill doctor`` tells what programs run on, and what does not work."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from tracemill.runtime.gpu.driver import driver

from .terminal import Terminal


@pytest.fixture(autouse=True)
def no_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEMILL_CC", raising=False)


def findings(terminal: Terminal) -> dict[tuple[str, str], dict[str, Any]]:
    """The report, by section and name."""
    document = json.loads(terminal.run("doctor", "--json").out)
    return {(row["section"], row["name"]): row for row in document["findings"]}


@pytest.mark.slow
def test_the_report_names_versions_threads_cache_and_machine(terminal: Terminal, tmp_path: Path) -> None:
    found = findings(terminal)
    assert found["versions", "NumPy"]["value"] == np.__version__
    assert found["versions", "BLAS"]["value"]
    assert found["threads", "programs use"]["value"] == str(tm.get_num_threads())
    assert found["cache", "folder"]["value"] == str(tmp_path / "cache")
    assert "GB/s" in found["machine", "1 thread copy"]["value"]
    assert found["check", "numpy"]["ok"]


def test_triton_is_shown_or_how_to_get_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tracemill.tools.commands.doctor.version_of_package", lambda package: f"{package} 3.7"
    )
    assert findings(terminal)["GPUs", "Triton"]["value"] == "triton 3.7"
    monkeypatch.setattr("tracemill.tools.commands.doctor.version_of_package", lambda package: "not installed")
    assert findings(terminal)["GPUs", "Triton"]["value"].endswith("pip install 'tracemill[gpu]'")


@pytest.mark.slow
def test_a_compiler_that_works_is_shown_with_all_that_it_can_do(terminal: Terminal, c_compiler: str) -> None:
    found = findings(terminal)
    assert found["compiler", "command"]["ok"]
    assert "-O3" in found["compiler", "flags"]["value"]
    assert {"code for this processor", "vector math", "512-bit vectors"} <= {
        name for section, name in found if section == "compiler"
    }
    assert found["check", "c"]["value"].startswith("works")


def test_without_a_compiler_nothing_is_wrong(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    found = findings(terminal)
    assert "pip install 'tracemill[cc]'" in found["compiler", "C"]["value"]
    assert found["check", "c"]["value"] == "not here: NumPy computes all programs"
    assert all(row["ok"] is not False for row in found.values())


def test_a_compiler_that_fails_is_shown_with_its_words(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CC", "false")
    found = findings(terminal)
    assert "exit status 1" in found["compiler", "C"]["value"]
    assert found["check", "c"]["value"].startswith("CompilerError")
    assert not found["check", "c"]["ok"]
    assert found["check", "numpy"]["ok"]
    assert terminal.run("doctor").status == 0, "NumPy is enough"


@pytest.mark.slow
def test_a_feature_that_is_missing_says_why(
    terminal: Terminal, c_compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "plain-cc"
    path.write_text(
        '#!/bin/sh\nfor a in "$@"; do case "$a" in -mpr*) echo "error: no [wide] vectors" >&2; exit 1; esac; done\n'
        f'exec {c_compiler} "$@"\n'
    )
    path.chmod(0o700)
    monkeypatch.setenv("TRACEMILL_CC", str(path))
    found = findings(terminal)["compiler", "512-bit vectors"]
    assert (found["ok"], found["value"]) == (
        None,
        "not here: -mprefer-vector-width=512: error: no [wide] vectors",
    )
    assert "no [wide] vectors" in terminal.run("doctor").out


def test_a_disabled_cache_is_reported(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    assert findings(terminal)["cache", "state"]["value"] == "not used: TRACEMILL_CACHE=0"


@pytest.mark.slow
def test_the_table_is_for_people(terminal: Terminal) -> None:
    ran = terminal.run("doctor", "--measure")
    assert ran.status == 0
    assert ran.out.splitlines()[0].split()[:2] == ["versions", "tracemill"]


@pytest.mark.slow
def test_gpus_are_shown_with_what_they_are(terminal: Terminal, stub_gpu: StubGpu) -> None:
    stub_gpu.describe(1, capability=(10, 0), driver_version=12080)
    found = findings(terminal)["GPUs", "cuda:1"]
    assert found["ok"]
    assert found["value"] == "Stub GPU 1, cuda:sm_100, 256.0 MiB of 256.0 MiB free, driver for CUDA 12.8"


def test_why_there_is_no_gpu_is_said(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    found = findings(terminal)["GPUs", "CUDA"]
    assert found["ok"] is None
    assert 'pip install "tracemill[gpu]"' in found["value"]


@pytest.mark.slow
def test_it_is_shown_which_facts_are_remembered(
    terminal: Terminal, c_compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(terminal)
    assert found["facts", "the compiler"]["value"].startswith("remembered in ")
    assert found["facts", "the machine"]["value"].startswith("remembered in ")
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    assert "not remembered" in findings(terminal)["facts", "the compiler"]["value"]


def test_a_question_that_could_not_be_asked_is_shown_and_not_remembered(
    terminal: Terminal, c_compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a disk that is full for a while: flags fail, and right after them a plain program."""
    count = tmp_path / "count"
    failing = 'echo "error: disk full" >&2; exit 1'
    path = tmp_path / "full-cc"
    path.write_text(
        f"""#!/bin/sh
        case " $* " in
            *" -fopenmp-simd "*) echo 1 >> {count}; {failing};;
            *" --version "*|*" -march=native "*) ;;
            *) [ $(cat {count} 2>/dev/null | wc -l) -ge 3 ] && {{ {failing}; }};;
        esac
        exec {c_compiler} "$@"
        """
    )
    path.chmod(0o700)
    monkeypatch.setenv("TRACEMILL_CC", str(path))
    found = findings(terminal)
    assert "could not be asked" in found["compiler", "vector loops"]["value"]
    assert "disk full" in found["compiler", "vector loops"]["value"]
    assert found["facts", "the compiler"]["value"].startswith("not remembered")


def test_measuring_asks_the_compiler_again(
    terminal: Terminal, c_compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "counting-cc"
    path.write_text(f'#!/bin/sh\necho 1 >> {tmp_path}/calls\nexec {c_compiler} "$@"\n')
    path.chmod(0o700)
    monkeypatch.setenv("TRACEMILL_CC", str(path))

    def calls() -> int:
        before = len((tmp_path / "calls").read_text()) if (tmp_path / "calls").exists() else 0
        terminal.run("doctor", "--measure")
        return len((tmp_path / "calls").read_text()) - before

    first = calls()
    assert 0 < calls() <= first
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TRACEMILL_CC")
    assert not findings(terminal)["compiler", "command"]["ok"], "a compiler that is gone is still remembered"
    terminal.run("doctor", "--measure")
    assert not findings(terminal)["compiler", "command"]["ok"]
