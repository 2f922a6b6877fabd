"""What the disk cache did for a program, and why it had none: a line of the log ``tracemill.cache``."""

import contextlib

from ..log import logger
from .disk_cache import BadEntryError, DiskCache
from .entry import read_entry

_SHOWN = 12
"""Characters of a key that identify an entry."""
GRAPH = "graph.txt"
"""The member of an entry with the text that identifies a program."""


def log_load(cache: DiskCache, key: str | None, name: str, backend: str, text: str, *, found: bool) -> None:
    """Log whether a program came from disk, and if not, why; `key` is None for one that is never stored."""
    log = logger("cache")
    if log is not None:
        log.info("%s", load_text(cache, key, name, backend, text, found=found))


def load_text(cache: DiskCache, key: str | None, name: str, backend: str, text: str, *, found: bool) -> str:
    """The line of `log_load`."""
    if key is None:
        return f"{name}: not cached: it calls back into Python, and a function has no text to know it by"
    if found:
        return f"{name}: hit {key[:_SHOWN]} in {cache.folder}"
    return f"{name}: miss {key[:_SHOWN]}: {_why(cache, name, backend, text)}"


def log_store(cache: DiskCache, key: str, name: str, *, stored: bool) -> None:
    """Log whether a generated program is on disk now."""
    log = logger("cache")
    if log is None:
        return
    if stored:
        log.info("%s: stored %s in %s", name, key[:_SHOWN], cache.folder)
    else:
        log.info("%s: not stored %s: %s", name, key[:_SHOWN], cache.why_not or "it could not be written")


def _why(cache: DiskCache, name: str, backend: str, text: str) -> str:
    """Why there is no entry, from the contents of others of the same function."""
    if cache.why_not is not None:
        return f"the cache is off: {cache.why_not}"
    others = [entry for entry in cache.entries() if (entry.function, entry.backend) == (name, backend)]
    if not others:
        return f"no program called {name} is stored for {backend}"
    for other in others:
        with contextlib.suppress(BadEntryError):
            if read_entry(other.folder, other.key).members.get(GRAPH) == text.encode():
                return f"its graph is stored as {other.key[:_SHOWN]}, by other versions or with other options"
    return f"those stored under that name have other graphs: {len(others)}"
