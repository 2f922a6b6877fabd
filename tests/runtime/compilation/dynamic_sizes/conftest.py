"""A disk cache for each test, and errors instead of programs for single sizes."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(folder))
    monkeypatch.setenv("TRACEMILL_CHECK", "1")
    return folder
