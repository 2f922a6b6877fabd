"""A disk cache in a new folder."""

from pathlib import Path

import pytest

from tracemill.runtime.cache.disk_cache import DiskCache


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")
