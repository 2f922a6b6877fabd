"""A fixture for folders whose tests compile thousands of programs, each once: it keeps them off the disk."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_disk_cache() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEMILL_CACHE", "0")
        yield
