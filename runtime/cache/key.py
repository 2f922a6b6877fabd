"""The key of a cache entry: a digest of everything that affects the generated code."""

import contextlib
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

_PACKAGE = Path(__file__).resolve().parent.parent.parent
_GENERATORS = ("compiler", "passes", "runtime")  # the folders whose code affects the generated code


def cache_key(
    *,
    ir: str,
    backend: str,
    options: Mapping[str, str | int | bool] | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """The sha256 (64 hexadecimal digits) of a graph's text and of everything that turns it into code.

    `versions` names the generators and the environment of the code; the default is `versions_in_use()`. The order of
    options and versions does not matter; `True`, `1` and `"1"` are different options.
    """
    parts = {
        "ir": ir,
        "backend": backend,
        "options": dict(options or {}),
        "versions": dict(versions_in_use() if versions is None else versions),
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def versions_in_use() -> Mapping[str, str]:
    """What a generated program depends on besides its graph: Tracemill, NumPy, Python, the machine."""
    return {
        "tracemill": _fingerprint(_PACKAGE),
        "numpy": np.__version__,
        "python": f"{sys.implementation.name}-{platform.python_version()}",
        "machine": f"{sys.platform}-{platform.machine()}",
    }


def _fingerprint(package: Path) -> str:
    """A digest of the package's sources by name, size and time, as Python itself checks its bytecode.

    With a version number, anyone who edits a pass or installs from a branch would get stale code.
    """
    lines: list[str] = []
    for folder in _GENERATORS:
        lines += _sources(os.path.join(package, folder), folder)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _sources(folder: str, name: str) -> Iterator[str]:
    """A line for each source below a folder called `name`: there are hundreds, so they are read in the cheapest way."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith((".py", ".c", ".h", ".triton")):
            with contextlib.suppress(FileNotFoundError):  # an editor may be saving it right now
                status = entry.stat()
                yield f"{name}/{entry.name}\0{status.st_size}\0{status.st_mtime_ns}\n"
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry.path, f"{name}/{entry.name}")
