"""The place of each campaign."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.harness import Campaigns, Place


@pytest.fixture(scope="session")
def campaigns() -> Iterator[Campaigns]:
    started = Campaigns()
    yield started
    started.stop()


@pytest.fixture
def place(
    request: pytest.FixtureRequest, tmp_path: Path, campaigns: Campaigns, c_compiler: str, more: int
) -> Place:
    """A place that nothing else uses. The C compiler is there: most campaigns call it."""

    def record(name: str, value: object) -> None:
        request.node.user_properties.append((name, value))

    tmp_path.chmod(0o700)
    return Place(tmp_path, campaigns, more, record)
