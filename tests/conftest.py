"""What all tests share: the option that rewrites what golden files and pages expect."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is found into golden files and the pages at the root, instead of comparing",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether to write what is found, instead of comparing with it."""
    return bool(request.config.getoption("--update-golden"))
