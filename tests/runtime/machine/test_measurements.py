"""The machine is measured once, within bounds, and remembered on disk for this processor."""

import json
from pathlib import Path

import pytest

from tracemill.runtime.machine import measurements as module
from tracemill.runtime.machine.measurements import known_machine, measure, measured_machine
from tracemill.runtime.machine.threads import available_cores


@pytest.fixture(autouse=True)
def nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))


def test_a_machine_is_measured_once() -> None:
    assert known_machine() is None
    found = measured_machine()
    assert found.cores == available_cores()
    assert {1, found.cores} <= set(found.copied)
    assert found.bandwidth == max(found.copied.values()) > 0
    assert 0 < found.call < 1
    assert {dtype: speed > 0 for dtype, speed in found.multiplied.items()} == {"f32": True, "f64": True}
    assert known_machine() == found == measured_machine()


def test_measuring_again_replaces_what_was_known(tmp_path: Path) -> None:
    measure()
    path = tmp_path / "cache" / "machine.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "call": 9.0}))
    assert measured_machine().call == 9.0
    assert measure().call < 9.0


@pytest.mark.parametrize("fact", ["digest", "cores"])
def test_what_was_measured_on_another_machine_does_not_count(tmp_path: Path, fact: str) -> None:
    measure()
    path = tmp_path / "cache" / "machine.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, fact: "another"}))
    assert known_machine() is None


@pytest.mark.parametrize(
    "damage", [{"caches": 3}, {"copied": {"one": 1.0}}, {"call": None}, {"multiplied": {"f32": 1.0}}]
)
def test_a_damaged_memory_of_the_machine_does_not_count(tmp_path: Path, damage: dict[str, object]) -> None:
    measure()
    path = tmp_path / "cache" / "machine.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **damage}))
    assert known_machine() is None


def test_caches_are_found_without_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_CACHES", tmp_path)
    assert all(size > 0 for size in measure().caches.values())


def test_caches_of_instructions_are_none_of_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number, (kind, level, size) in enumerate(
        [("Data", "1", "32K"), ("Instruction", "1", "64K"), ("Unified", "2", "512K"), ("Unified", "3", "odd")]
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    (tmp_path / "index9").mkdir()
    monkeypatch.setattr(module, "_CACHES", tmp_path)
    assert measure().caches == {1: 32 * 1024, 2: 512 * 1024}
