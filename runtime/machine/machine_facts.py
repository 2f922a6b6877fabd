"""Facts about this machine that took time to find out, kept beside the disk cache's entries as `<name>.json`.

Forgetting costs time, never correctness: what cannot be read was not known, what cannot be written is not kept.
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
"""Of a file of facts: what is longer was written by nobody who means well."""


def recall(name: str) -> dict[str, Any]:
    """What is known under a name; nothing if that is not known, or could have been written by another user."""
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
    """Keep facts for other processes, in the place of those of that name."""
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
    """Where facts are kept; None if there is no disk cache."""
    cache = default_cache()
    return cache.folder / f"{name}.json" if cache.why_not is None else None
