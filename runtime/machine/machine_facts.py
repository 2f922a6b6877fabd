"""Facts about this machine that are expensive to measure, stored beside the disk cache's entries as `<name>.json`.

Losing them costs time, never correctness: an unreadable file counts as unknown, and an unwritable one is not stored.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from ..cache.disk_cache import default_cache
from ..files.cache_folder import (
    SAFE_TO_OPEN,
    delete,
    make_private,
    problem_of,
    problem_of_file,
    temporary_in,
    write_private,
)

MOST_BYTES = 2**16
"""The maximum size of a file of facts: Tracemill writes no longer ones."""


def recall(name: str) -> dict[str, Any]:
    """The facts under a name; nothing if they are unknown, or if another user could have written them."""
    path = place_of(name)
    if path is None:
        return {}
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | SAFE_TO_OPEN)) as file:
            if problem_of_file(os.fstat(file.fileno())) is not None:
                return {}
            found: Any = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(name: str, facts: dict[str, Any]) -> None:
    """Store facts for other processes, replacing those with the same name."""
    path = place_of(name)
    if path is None:
        return
    with contextlib.suppress(OSError):
        make_private(path.parent)
        if problem_of(path.parent) is None:
            written = temporary_in(path.parent)
            try:
                write_private(written, (json.dumps(facts, indent=1) + "\n").encode())
                written.replace(path)
            except OSError:
                delete(written)  # a full disk


def place_of(name: str) -> Path | None:
    """Where facts are stored; None if there is no disk cache."""
    cache = default_cache()
    return cache.folder / f"{name}.json" if cache.why_not is None else None
