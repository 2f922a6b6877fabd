"""Versions of packages, for numbers and reports."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

NOT_INSTALLED: Final = "not installed"


def version_of_package(package: str) -> str:
    """Its version, or ``not installed``, as in a checkout.

    >>> version_of_package("no-such-package")
    'not installed'
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED
