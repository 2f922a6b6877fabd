"""What all tests share: the option that rewrites what golden files and pages expect, a cache, a C compiler."""

import os
import shutil
from collections.abc import Iterator

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


@pytest.fixture(scope="session", autouse=True)
def disk_cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests leave the user's disk cache alone; ``auto`` is NumPy, unless the environment says otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEMILL_BACKEND", os.environ.get("TRACEMILL_BACKEND", "numpy"))
        patch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def c_compiler() -> str:
    """The path of a C compiler; tests that need one are skipped where there is none."""
    found = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
    if found is None:
        pytest.skip("there is no C compiler: none of gcc, cc and clang is on the path")
    return found
