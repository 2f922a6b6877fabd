"""What tests of long loops share."""

import pytest

from tracemill.runtime.staging.loops import unrolling


@pytest.fixture
def shorter_loops_are_very_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is written out is not three hundred iterations."""
    monkeypatch.setattr(unrolling, "VERY_LONG", 64)
