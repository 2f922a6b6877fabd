"""The key of a cache entry: a digest of everything that decides which code is generated."""

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

_PACKAGE = Path(__file__).resolve().parent.parent
_GENERATORS = ("compiler", "passes", "runtime")  # the folders whose code decides what is generated


def cache_key(
    *,
    ir: str,
    backend: str,
    options: Mapping[str, str | int | bool] | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """The sha256 (64 hexadecimal digits) of a graph's text and of all that turns it into code.

    `versions` says what generates the code and what runs it; by default `versions_in_use()`. The order
    of options and versions does not matter; `True`, `1` and `"1"` are different options.
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
    """A digest of the package's sources by name, size and time, as Python itself judges its bytecode.

    A version number would serve stale code to whoever edits a pass or installs from a branch.
    """
    digest = hashlib.sha256()
    for folder in _GENERATORS:
        for path in _sources(package / folder):
            with contextlib.suppress(FileNotFoundError):  # an editor may be saving it right now
                status = os.stat(path)
                name = os.path.relpath(path, package)
                digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _sources(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(parent, name) for name in sorted(names) if name.endswith((".py", ".h")))
