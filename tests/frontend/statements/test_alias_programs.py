"""Compiled random programs in which lists and arrays change hands match Python, or are refused with a named error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from frontend.statements.alias_programs import Kind, difference

pytestmark = pytest.mark.usefixtures("lightly_optimised")


@pytest.mark.parametrize(
    "count", [pytest.param(6, id="few"), pytest.param(30, id="many", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("given", [False, True], ids=["made", "given"])
@pytest.mark.parametrize("kind", ["lists", "arrays"])
def test_random_programs_match_python(kind: Kind, given: bool, count: int, more: int) -> None:
    found = {seed: difference(seed, kind, "numpy", given=given) for seed in range(count * more)}
    assert not {seed: text for seed, text in found.items() if text and not text.startswith("refused")}
    assert sum(not text for text in found.values()) > len(found) / 5  # many are refused


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lists", "arrays"])
def test_random_programs_match_python_on_c(kind: Kind, more: int) -> None:
    found = {seed: difference(seed, kind, "c", given=True) for seed in range(100, 100 + 15 * more)}
    assert not {seed: text for seed, text in found.items() if text and not text.startswith("refused")}


def test_sources_go_when_the_process_ends() -> None:
    program = "from support.source_folder import new_folder; print(new_folder(), new_folder())"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    first, second = map(Path, run.stdout.split())
    assert first != second
    assert not first.parent.exists()
