"""A folder for the sources of functions that tests write: they are read again as long as Python runs."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp


def new_folder() -> Path:
    """A new folder, which goes when this process ends."""
    return Path(mkdtemp(dir=_parent().name))


@cache
def _parent() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="tracemill-sources-", ignore_cleanup_errors=True)
