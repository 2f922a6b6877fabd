"""The disk cache: generated programs as private folders of plain files, `<cache folder>/<key>/program.py`.

Losing the cache costs time, never correctness: an entry that cannot be read is a miss, one that cannot be written is
not stored, and neither raises. Any number of threads and processes may share a folder.
"""

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files.cache_folder import default_folder, delete, discard, make_private, problem_of, temporary_in
from .entry import (
    MAX_ENTRY_BYTES,
    BadEntryError,
    Entry,
    check_members,
    delete_members,
    install,
    is_key,
    last_used,
    mark_used,
    read_entry,
    read_manifest,
    write_entry,
)
from .eviction import evict, note_measured, stored_entries, was_measured_lately
from .key import cache_key, versions_in_use

__all__ = [
    "BadEntryError",
    "CacheInfo",
    "CacheWarning",
    "DiskCache",
    "Entry",
    "EntryInfo",
    "Statistics",
    "cache_key",
    "default_cache",
    "versions_in_use",
]

_log = logging.getLogger("tracemill.cache")

DEFAULT_MAX_BYTES = 2**30
_MINUTE = 60.0


class CacheWarning(UserWarning):
    """The disk cache cannot be used normally. Results are right, but compiling takes longer.

    - *An entry is damaged* (a full disk, a power cut, an edit): it is ignored, and replaced when the program has been
      compiled again. If this repeats, ``tracemill cache verify`` finds all such entries.
    - *The folder is not private*: others who can write to it could make you run their code. Empty it and run ``chmod
      700`` on it, or set ``TRACEMILL_CACHE_DIR`` to your own folder.
    - *Others can replace the folder*, because a folder above it belongs to another user, or is writable by others
      without the sticky bit. Run ``chmod go-w`` on that, or set ``TRACEMILL_CACHE_DIR``.
    - *An entry cannot be stored*: the disk is full or read-only. Free some space, or set ``TRACEMILL_CACHE_DIR`` to a
      folder that you can write to.

    ``TRACEMILL_CACHE=0`` turns off the cache and this warning.
    """


@dataclass(frozen=True, slots=True)
class Statistics:
    """The activity of a cache in this process."""

    hits: int = 0
    misses: int = 0  # including those because of a bad entry
    stores: int = 0  # without those that another process or thread stored first
    bad: int = 0


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """A cache as a whole."""

    folder: Path
    enabled: bool
    why_not: str | None
    count: int
    bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """An entry in a list of entries. Times are seconds since 1970."""

    key: str
    folder: Path
    function: str
    backend: str
    bytes: int
    created: float
    last_used: float


class DiskCache:
    """Programs on disk by key, in a folder that belongs only to this user.

    `folder` is the user's cache folder by default. `max_bytes` limits the sum of all files' sizes, approximately if
    other processes store entries as well. `off` says why the cache must not be used, if so.
    """

    def __init__(
        self, folder: Path | None = None, max_bytes: int = DEFAULT_MAX_BYTES, *, off: str | None = None
    ) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        self.max_bytes = max_bytes
        self._off = off
        self._lock = threading.RLock()  # a signal handler may run in the middle of a block
        self._counts: dict[str, int] = dict.fromkeys(("hits", "misses", "stores", "bad"), 0)
        self._warned: set[str] = set()
        self._room: int | None = None  # bytes that may be stored before the folder is measured again

    @property
    def statistics(self) -> Statistics:
        """How many hits, misses, stored and bad entries this object has seen."""
        return Statistics(**self._counts)

    def path_of(self, key: str) -> Path:
        """The folder of an entry, where its generated source can be read. It need not exist."""
        if not is_key(key):
            raise ValueError(f"{key!r} is not a cache key: use cache_key()")
        return self.folder / key

    def load(self, key: str) -> Entry | None:
        """The entry of a key, or None if there is no trusted one."""
        folder = self.path_of(key)
        before = _identity(folder) if self._is_usable() else None
        if before is None:
            self._count("misses")
            return None
        try:
            entry = read_entry(folder, key)
        except BadEntryError as error:
            self._count("misses")
            if _identity(folder) == before:  # otherwise another process has just evicted or replaced it
                self._count("bad")
                self._warn(
                    f"ignored a bad entry of Tracemill's disk cache: {error}. It will be generated again"
                )
            return None
        self._count("hits")
        with contextlib.suppress(OSError):  # evicted meanwhile, or a read-only disk
            if abs(time.time() - last_used(folder)) > _MINUTE:
                mark_used(folder)
        return entry

    def store(self, key: str, members: Mapping[str, bytes], about: Mapping[str, str]) -> Path | None:
        """Stores a program's files and its metadata ("function", "backend", …).

        Returns the entry's folder, also if another process was first; None if it could not be stored.
        """
        folder = self.path_of(key)
        check_members(members)
        size = sum(map(len, members.values()))
        if self._off is None and size > (limit := min(MAX_ENTRY_BYTES, self._low_water)):
            self._warn(f"did not store {size} bytes in Tracemill's disk cache: an entry may have {limit}")
            return None
        try:
            if self._is_usable():
                make_private(self.folder)
            if not self._is_usable():  # checks again: another user may have created it first
                return None
            if self._build(folder, key, members, about):
                self._count("stores")
                self._keep_below_cap(size)
        except OSError as error:
            self._warn_once("store", f"cannot store in Tracemill's disk cache {self.folder}: {error}")
            return None
        return folder

    def remove(self, key: str) -> None:
        """Deletes an entry, if it exists and can be deleted."""
        if self._is_usable():
            with contextlib.suppress(OSError):
                discard(self.path_of(key))

    @property
    def why_not(self) -> str | None:
        """Why the cache is not used, if so."""
        return self._off or problem_of(self.folder)

    def info(self) -> CacheInfo:
        """The cache as a whole: where it is, whether it is used and why not, how many entries, how large."""
        why_not = self.why_not
        stored = list(stored_entries(self.folder))
        total = sum(entry.bytes for entry in stored)
        return CacheInfo(self.folder, why_not is None, why_not, len(stored), total, self.max_bytes)

    def entries(self) -> list[EntryInfo]:
        """The entries with readable manifests, the most recently used first."""
        found: list[EntryInfo] = []
        for stored in stored_entries(self.folder):
            key = stored.folder.name
            with contextlib.suppress(BadEntryError):
                manifest = read_manifest(stored.folder, key)
                function, backend = (manifest.about.get(name, "") for name in ("function", "backend"))
                sizes = (stored.bytes, manifest.created, stored.last_used)
                found.append(EntryInfo(key, stored.folder, function, backend, *sizes))
        return sorted(found, key=lambda entry: (-entry.last_used, entry.key))

    def verify(self) -> list[BadEntryError]:
        """Reads every entry completely, and returns what is wrong. Changes nothing."""
        wrong: list[BadEntryError] = []
        for stored in stored_entries(self.folder):
            try:
                read_entry(stored.folder, stored.folder.name)
            except BadEntryError as error:
                if os.path.lexists(stored.folder):  # otherwise it was evicted meanwhile
                    wrong.append(error)
        return wrong

    def clear(self) -> int:
        """Deletes all entries; returns how many. Running programs are not affected."""
        return self._evict(0)

    def prune(self, max_bytes: int | None = None) -> int:
        """Deletes the least recently used entries until `max_bytes` are left; returns how many."""
        return self._evict(self.max_bytes if max_bytes is None else max_bytes)

    @property
    def _low_water(self) -> int:
        """The size after an eviction, so that not every store causes one."""
        return self.max_bytes * 7 // 8

    def _is_usable(self) -> bool:
        if self._off is not None:
            return False
        if (problem := problem_of(self.folder)) is None:
            return True
        self._warn_once("folder", f"Tracemill's disk cache is off: {problem}")
        return False

    def _build(self, folder: Path, key: str, members: Mapping[str, bytes], about: Mapping[str, str]) -> bool:
        built = temporary_in(self.folder)
        try:
            os.mkdir(built, mode=0o700)
            write_entry(built, key, members, about)
            return install(built, folder, key)
        except OSError:
            delete_members(
                built, members
            )  # by name: listing a folder takes a descriptor, and there may be none
            raise
        finally:
            delete(built)

    def _keep_below_cap(self, stored_bytes: int) -> None:
        """Measures the folder and evicts, but only if the stored bytes could have filled it."""
        with self._lock:
            if self._room is None:
                self._room = self.max_bytes // 64 if was_measured_lately(self.folder) else 0
            self._room -= stored_bytes
            if self._room >= 0:
                return
            self._room = 0
        total = sum(entry.bytes for entry in stored_entries(self.folder))
        if total > self.max_bytes:
            self._evict(self._low_water)
            total = self._low_water
        with self._lock:
            self._room = (self.max_bytes - total) // 4  # other processes also store entries
        note_measured(self.folder)

    def _evict(self, target: int) -> int:
        try:
            gone = evict(self.folder, target)
            if gone:
                _log.info("evicted %d programs, those used least recently, from %s", gone, self.folder)
            return gone
        except OSError as error:
            self._warn_once("evict", f"cannot evict from Tracemill's disk cache {self.folder}: {error}")
            return 0

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def _warn_once(self, what: str, message: str) -> None:
        with self._lock:
            if what in self._warned:
                return
            self._warned.add(what)
        self._warn(message)

    def _warn(self, message: str) -> None:
        warnings.warn(message, CacheWarning, stacklevel=3)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Distinguishes a folder from the one that replaced it; None if it does not exist."""
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


_SETTINGS = ("TRACEMILL_CACHE", "TRACEMILL_CACHE_DIR")
_caches: dict[tuple[str | None, ...], DiskCache] = {}


class _Shared:
    lock = threading.RLock()


def _in_child() -> None:
    """Another thread of the parent may have held these locks, and does not exist in the child to release them."""
    _Shared.lock = threading.RLock()
    for cache in _caches.values():
        cache._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def default_cache() -> DiskCache:
    """The cache for the current environment; the same object for the same settings.

    `TRACEMILL_CACHE=0` turns it off, `TRACEMILL_CACHE_DIR` moves it.
    """
    settings = tuple(map(os.environ.get, _SETTINGS))
    with _Shared.lock:
        if settings not in _caches:
            _caches.setdefault(settings, _cache_for(*settings))
        return _caches[settings]


def _cache_for(switch: str | None, folder: str | None) -> DiskCache:
    is_off = (switch or "").strip().lower() in {"0", "off", "no", "false"}
    try:
        place = Path(os.path.abspath(os.path.expanduser(folder))) if folder else None
    except FileNotFoundError:
        gone = f"TRACEMILL_CACHE_DIR={folder} is relative to a working folder that has been removed"
        return DiskCache(Path("/", str(folder)), off=gone)
    return DiskCache(place, off=f"TRACEMILL_CACHE={switch}" if is_off else None)
