"""Entries of the disk cache for some sizes: the one that serves a call, if there is one."""

from collections.abc import Callable, Mapping
from typing import Final

from ...compiler.ir import Graph
from ...compiler.shapes.scope import Observed
from .disk_cache import DiskCache
from .entry import Entry
from .guard_codec import guards_read

GUARDS: Final = "guards.json"
"""The member of an entry with the program's assumptions about named sizes."""


def guarded_entry(
    cache: DiskCache, key_of: Callable[[str], str], graph: Graph, scope: Observed | None
) -> tuple[str, Entry | None]:
    """The entry that serves the call, and its key; if there is none, the key under which to store one.

    With named sizes, the entry was made ahead of time, or for sizes of the same `coarse` classes. Only the entry
    contains its assumptions about sizes: if they do not hold for this call, the search continues with the next key.
    `key_of` returns the key for known facts about sizes.
    """
    if scope is None:
        key = key_of("")
        return key, cache.load(key)
    known, refuted = str(scope.guards), list[str]()

    def key_for(judged: Mapping[str, int]) -> str:
        return key_of(f"{known} for {dict(sorted(judged.items()))}, not {refuted}")

    if scope.judged_ahead is not None:
        key = key_for(scope.judged_ahead)
        entry = cache.load(key)
        if entry is not None and scope.adopt(guards_read(entry.text(GUARDS), graph)):
            return key, entry
    while True:
        key = key_for(scope.judged)
        entry = cache.load(key)
        if entry is None:
            return key, None
        guards = guards_read(entry.text(GUARDS), graph)
        if scope.adopt(guards):
            return key, entry
        refuted.append(str(guards))


def holds(cache: DiskCache, key: str, members: Mapping[str, bytes]) -> bool:
    """Whether an entry has exactly these files."""
    entry = cache.load(key)
    return entry is not None and entry.members == members
