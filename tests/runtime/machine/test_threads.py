"""The number of threads: as requested, from the environment, or the number of cores."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracemill as tm
from tracemill.compiler.errors import TransformArgumentError, TransformTypeError
from tracemill.runtime.machine import threads
from tracemill.runtime.machine.threads import available_cores

TREE = Path(__file__).resolve().parents[2] / ".root"


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    before = tm.get_num_threads()
    yield
    tm.set_num_threads(before)


def printed(program: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    variables = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "TRACEMILL_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**variables, "PYTHONPATH": str(TREE), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.strip() or "\n".join(done.stderr.strip().splitlines()[-2:])


SHOWN = "import tracemill as tm; print(tm.get_num_threads())"


@pytest.mark.sampled(slow=2)
@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({"TRACEMILL_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, "3"),
        ({"OMP_NUM_THREADS": "5"}, "5"),
        ({"OMP_NUM_THREADS": "4,2"}, "4"),
        ({"OMP_NUM_THREADS": "many"}, str(available_cores())),
        ({"OMP_NUM_THREADS": "99999999999"}, str(available_cores())),
        ({}, str(available_cores())),
    ],
)
def test_the_environment_says_how_many_at_first(environment: dict[str, str], count: str) -> None:
    assert printed(SHOWN, **environment) == count


@pytest.mark.sampled(slow=3)
@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1025", "4294967297", "9" * 5000])
def test_a_setting_that_is_not_a_number_is_named(text: str) -> None:
    said = printed(SHOWN, TRACEMILL_NUM_THREADS=text)
    assert "TRACEMILL_NUM_THREADS must be an integer from 1 to 1024, not" in said
    assert said.splitlines()[0].endswith("correct it, or unset it")


def test_what_is_set_is_what_libraries_read() -> None:
    tm.set_num_threads(7)
    assert tm.get_num_threads() == 7
    assert threads._count.value == 7
    assert threads.address_of_count() == threads.address_of_count()


@pytest.mark.parametrize(
    ("count", "error"),
    [
        (0, TransformArgumentError),
        (-2, TransformArgumentError),
        (1025, TransformArgumentError),
        (2**32, TransformArgumentError),
        (1.5, TransformTypeError),
        (None, TransformTypeError),
    ],
)
def test_a_count_that_no_machine_has_is_refused(count: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="set_num_threads: count must be"):
        tm.set_num_threads(count)


@pytest.mark.slow
def test_cores_are_those_of_the_affinity() -> None:
    program = (
        "import os\n"
        "if hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from tracemill.runtime.machine.threads import available_cores\n"
        "print(available_cores() if hasattr(os, 'sched_setaffinity') else 1)"
    )
    assert printed(program) == "1"


@pytest.mark.parametrize(
    ("text", "cores"),
    [("150000 100000\n", 1.5), ("max 100000\n", None), ("", None), ("x y z", None), ("1 0", None)],
)
def test_the_quota_of_a_container_counts(tmp_path: Path, text: str, cores: float | None) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert threads._read_quota(tmp_path / "cpu.max") == cores


def test_a_quota_is_rounded_to_whole_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_quota", lambda: 0.3)
    assert available_cores() == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_has_the_number_of_its_parent_until_it_sets_its_own() -> None:
    program = (
        "import os, tracemill as tm\n"
        "tm.set_num_threads(4)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    first = tm.get_num_threads()\n"
        "    tm.set_num_threads(3)\n"
        "    print(first, tm.get_num_threads(), flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(tm.get_num_threads())"
    )
    assert printed(program).split() == ["4", "3", "4"]
