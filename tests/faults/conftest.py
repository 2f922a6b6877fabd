"""The place of each campaign."""

from pathlib import Path

import pytest

from faults.harness import Place


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, c_compiler: str, more: int) -> Place:
    """A place that nothing else uses. The C compiler is there: most campaigns call it."""

    def record(name: str, value: object) -> None:
        request.node.user_properties.append((name, value))

    tmp_path.chmod(0o700)
    return Place(tmp_path, more, record)
