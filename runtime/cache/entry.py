"""One cache entry on disk: a folder with `entry.json`, which has the digests of the other members.

    <key>/entry.json    format, key, when, what for, each member's size and sha256, and a checksum of all that
    <key>/program.py    a member

Nothing in an entry is used before its digest is compared, and nothing is ever unpickled.
"""

import contextlib
import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from ..files.cache_folder import (
    SAFE_TO_OPEN,
    discard,
    is_owned_by_user,
    others_can_write,
    problem_of_file,
    write_private,
)
from ..files.digests import digest_of, document_digest

FORMAT = 1
MANIFEST = "entry.json"
MAX_ENTRY_BYTES = 64 * 2**20
_MAX_MANIFEST_BYTES = 2**20
_KEY = re.compile(r"[0-9a-f]{64}")
_MEMBER_NAME = re.compile(r"\w(?:[\w.-]{0,98}\w)?", re.ASCII)
_HAS_DESCRIPTORS: Final = os.open in os.supports_dir_fd  # for folders, which Windows lacks
_OCCUPIED = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}  # rename's errors if the name is taken


class BadEntryError(Exception):
    """An entry that must not be used: `reason` says why, `path` which file shows it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Entry:
    """A program from the cache: its files by name, and its metadata."""

    key: str
    folder: Path
    members: Mapping[str, bytes]
    about: Mapping[str, str]
    created: float  # seconds since 1970

    def text(self, name: str) -> str:
        """A member's text."""
        return self.members[name].decode()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of entry.json: the sizes and digests of the members, and the entry's metadata."""

    members: Mapping[str, tuple[int, str]]
    about: Mapping[str, str]
    created: float


def is_key(name: str) -> bool:
    """Whether a name is a key in the form of `cache_key`."""
    return _KEY.fullmatch(name) is not None


def check_members(members: Mapping[str, bytes]) -> None:
    """Raises ValueError unless the names are plain file names that are distinct on every file system."""
    for name in members:
        if not _MEMBER_NAME.fullmatch(name) or name.lower() == MANIFEST:
            raise ValueError(
                f"{name!r} cannot name a file of a cache entry: use letters, digits, '_', '-', '.'"
            )
    if len({name.lower() for name in members}) < len(members):
        raise ValueError(f"names of a cache entry's files differ only in case: {', '.join(members)}")


def write_entry(folder: Path, key: str, members: Mapping[str, bytes], about: Mapping[str, str]) -> None:
    """Writes an entry into an empty folder.

    Without fsync: after a power cut an entry may be torn, which its digests show; it is then generated again.
    """
    for name, content in members.items():
        write_private(folder / name, content)
    document: dict[str, Any] = {
        "format": FORMAT,
        "key": key,
        "created": time.time(),
        "about": dict(about),
        "members": {name: [len(content), digest_of(content)] for name, content in members.items()},
    }
    document["checksum"] = document_digest(document)
    write_private(folder / MANIFEST, (json.dumps(document, indent=1) + "\n").encode())
    mark_used(folder)


def delete_members(folder: Path, members: Iterable[str]) -> None:
    """Deletes the folder of an entry that could not be written completely."""
    for name in (*members, MANIFEST):
        with contextlib.suppress(OSError):
            os.unlink(folder / name)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def mark_used(folder: Path) -> None:
    """Records in the manifest's file time, in nanoseconds, that the entry was used now."""
    now = time.time_ns()
    os.utime(folder / MANIFEST, ns=(now, now))


def last_used(folder: Path) -> float:
    """When an entry was stored or last read, in seconds since 1970, to the minute."""
    return os.stat(folder / MANIFEST).st_mtime


def install(built: Path, final: Path, key: str) -> bool:
    """Renames a finished entry to its place. False if another process was first with a good one."""
    for _ in range(3):
        try:
            os.rename(built, final)
        except OSError as error:
            if error.errno not in _OCCUPIED:
                raise
        else:
            return True
        try:
            read_entry(final, key)
        except BadEntryError:
            with contextlib.suppress(FileNotFoundError):  # another process took it away
                discard(final)
        else:
            return False
    return False


def read_entry(folder: Path, key: str) -> Entry:
    """Reads an entry and compares all its digests; raises BadEntryError if anything is not as it was stored.

    All files are opened through one descriptor of the folder, so they are in the folder that was checked.
    """
    with _opened_folder(folder) as descriptor:
        manifest = _read_manifest(folder, descriptor, key)
        if (total := sum(size for size, _ in manifest.members.values())) > MAX_ENTRY_BYTES:
            raise BadEntryError(folder, f"holds {total} bytes, more than the {MAX_ENTRY_BYTES} that are read")
        members: dict[str, bytes] = {}
        for name, (size, digest) in manifest.members.items():
            path = folder / name
            content = _read_file(path, descriptor, size)
            if len(content) != size:
                raise BadEntryError(path, f"is truncated: {len(content)} of {size} bytes")
            if digest_of(content) != digest:
                raise BadEntryError(path, "does not match its sha256")
            members[name] = content
    return Entry(key, folder, members, manifest.about, manifest.created)


def read_manifest(folder: Path, key: str) -> Manifest:
    """Reads only an entry's manifest."""
    with _opened_folder(folder) as descriptor:
        return _read_manifest(folder, descriptor, key)


def _read_manifest(folder: Path, descriptor: int | None, key: str) -> Manifest:
    path = folder / MANIFEST
    try:
        document: Any = json.loads(_read_file(path, descriptor, _MAX_MANIFEST_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadEntryError(path, "is not JSON") from error
    if not isinstance(document, dict):
        raise BadEntryError(path, "does not describe an entry")
    if document.get("format") != FORMAT:
        raise BadEntryError(path, f"is not in format {FORMAT}, the one that this version reads")
    try:
        fits = document.pop("checksum", None) == document_digest(document)
    except RecursionError as error:  # JSON is read a little deeper than it is written
        raise BadEntryError(path, "is nested too deeply") from error
    if not fits:
        raise BadEntryError(path, "does not match its checksum")
    if document.get("key") != key:
        raise BadEntryError(path, "belongs to another key")
    try:
        return _manifest_of(document)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadEntryError(path, "does not describe an entry") from error


def _manifest_of(document: dict[str, Any]) -> Manifest:
    members: dict[str, tuple[int, str]] = {}
    for name, (size, digest) in document["members"].items():
        if not _MEMBER_NAME.fullmatch(name) or not isinstance(size, int) or size < 0:
            raise ValueError(name)
        members[name] = (size, str(digest))
    about = {name: str(value) for name, value in document["about"].items()}
    return Manifest(members, about, float(document["created"]))


@contextmanager
def _opened_folder(folder: Path) -> Generator[int | None]:
    """A descriptor of an entry's folder, which belongs only to this user; None if the system has no descriptors for
    folders."""
    if not _HAS_DESCRIPTORS:
        _check_folder(folder, os.lstat)
        yield None
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise _unreadable(folder, error) from error
    try:
        _check_folder(folder, lambda _: os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _check_folder(folder: Path, status_of: Callable[[Path], os.stat_result]) -> None:
    try:
        status = status_of(folder)
    except OSError as error:
        raise _unreadable(folder, error) from error
    if not stat.S_ISDIR(status.st_mode):
        raise BadEntryError(folder, "is not a folder")
    if not is_owned_by_user(status):
        raise BadEntryError(folder, "belongs to another user")
    if others_can_write(status):
        raise BadEntryError(folder, "can be written by other users")


def _unreadable(folder: Path, error: OSError) -> BadEntryError:
    is_other = error.errno in (errno.ENOTDIR, errno.ELOOP)  # a file, or a link
    return BadEntryError(folder, "is not a folder" if is_other else f"cannot be read: {error.strerror}")


def _read_file(path: Path, folder: int | None, limit: int) -> bytes:
    """The content of a regular file of this user with at most `limit` bytes; `folder` is a descriptor of its folder."""
    if folder is None and path.is_symlink():  # elsewhere O_NOFOLLOW detects it without a race
        raise BadEntryError(path, "is a symbolic link")
    try:
        with _opened(path, folder) as file:
            status = os.fstat(file.fileno())
            if (problem := problem_of_file(status)) is not None:
                raise BadEntryError(path, problem)
            if status.st_size > limit:
                raise BadEntryError(path, f"is too large: {status.st_size} bytes instead of at most {limit}")
            return file.read()
    except OSError as error:
        reason = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise BadEntryError(path, reason) from error


def _opened(path: Path, folder: int | None) -> IO[bytes]:
    place = path if folder is None else path.name
    return open(
        place,
        "rb",
        buffering=0,
        opener=lambda name, flags: os.open(name, flags | SAFE_TO_OPEN, dir_fd=folder),
    )
