"""Writes zip files in one fixed form and reads only that form: every size is known and limited before anything is
unpacked.

A bundle is a simple zip file: its members follow one another without gaps and have distinct plain names. They are
stored or deflated, without extra fields, comments, or encryption. Nothing of it is written to disk.
"""

import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Final

from .damage import DamageError

MOST_MEMBERS: Final = 4096
LARGEST_DIRECTORY: Final = 1 << 20
LARGEST_TOTAL: Final = (1 << 32) - (1 << 20)
"""Maximum bytes of all members together, in any file."""
USUAL_TOTAL: Final = 256_000_000
"""Bytes of all members together that are unpacked from any file, however small it is."""
USUAL_GROWTH: Final = 4
"""How many times as large as the file all members together may be, if that is more."""
LARGEST_RATIO: Final = 100
"""The maximum compression ratio of a member: one that would shrink more is stored uncompressed."""
WHOLE: Final = "the file"
"""Used in place of a member's name if the whole file is wrong."""

_NAME: Final = re.compile(r"[a-z0-9_]{1,80}(?:/[a-z0-9_]{1,80})?(?:\.[a-z0-9]{1,8})", re.ASCII)
_END: Final = struct.Struct("<4s4H2LH")
_END_MARK: Final = b"PK\5\6"
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o644 << 16
_UNIX: Final = 3
_CHUNK: Final = 1 << 20
"""Bytes that are unpacked at once."""


def archive_bytes(members: Mapping[str, bytes]) -> bytes:
    """A zip file with these members, in order: the same members give the same bytes.

    It can be read without `max_bytes`: if the members are large together, none of them shrinks by more than allowed.
    """
    is_large = sum(map(len, members.values())) > USUAL_TOTAL
    ratio = USUAL_GROWTH if is_large else LARGEST_RATIO
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system, info.external_attr = _UNIX, _READABLE
            info.compress_type = zipfile.ZIP_DEFLATED if _shrinks(content, ratio) else zipfile.ZIP_STORED
            archive.writestr(info, content)
    return buffer.getvalue()


def _shrinks(content: bytes, ratio: int) -> bool:
    """Whether deflating is worth it, and not by more than `ratio`, which would look suspicious."""
    packed = len(zlib.compress(content))
    return packed < 0.9 * len(content) <= 0.9 * ratio * packed


class Archive:
    """An open zip file, whose members have been checked."""

    def __init__(self, file: IO[bytes], max_bytes: int | None = None) -> None:
        """Raises `DamageError` unless this is a file in the form of `archive_bytes`, with at most `max_bytes`
        unpacked.

        By default, the limit is 256 MB, or 4 times the size of the file if that is more. Nothing is unpacked here.
        """
        size = _check_end(file)
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise DamageError(WHOLE, f"this is not a zip file: {error}") from error
        self._members: dict[str, zipfile.ZipInfo] = {}
        place = 0
        for info in self._archive.infolist():
            self._check(info, place, size)
            self._members[info.filename] = info
            place += _LOCAL.size + len(info.filename) + info.compress_size
        if place != self._archive.start_dir:
            raise DamageError(WHOLE, "there are bytes between its members that belong to none")
        total = sum(info.file_size for info in self._members.values())
        if total > LARGEST_TOTAL:
            raise DamageError(WHOLE, f"its members have more than {LARGEST_TOTAL} bytes together")
        most = max(USUAL_TOTAL, USUAL_GROWTH * size) if max_bytes is None else max_bytes
        if total > most:
            raise DamageError(
                WHOLE,
                f"its {size} bytes unpack to {total}, and at most {most} are read",
                f"If you trust the file, allow more: max_bytes={total}, or --max-bytes {total}",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The members, in order."""
        return tuple(self._members)

    def size(self, name: str) -> int:
        """The length of a member."""
        return self._members[name].file_size

    def read(self, name: str) -> bytes:
        """A member; its length and its checksum are compared with those in the file."""
        info = self._members[name]
        try:
            with self._archive.open(info) as member:
                unpacked = io.BytesIO()
                while unpacked.tell() <= info.file_size and (chunk := member.read(_CHUNK)):
                    unpacked.write(chunk)
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            ValueError,
            OSError,
            EOFError,
            RuntimeError,
            struct.error,
            zlib.error,
        ) as error:
            raise DamageError(name, f"it cannot be unpacked: {error}") from error
        if unpacked.tell() != info.file_size:
            raise DamageError(name, f"it does not unpack to {info.file_size} bytes, as the zip file says")
        return unpacked.getvalue()

    def _check(self, info: zipfile.ZipInfo, place: int, size: int) -> None:
        """One entry of the directory."""
        name = info.filename
        shown = repr(name[:80])
        if not _NAME.fullmatch(info.orig_filename) or name != info.orig_filename:
            raise DamageError(
                WHOLE, f"a member has the name {shown}, which none has: small letters, digits, one folder"
            )
        if name in self._members:
            raise DamageError(name, "the zip file has two members of this name")
        if info.flag_bits or info.extra or info.comment or info.volume:
            raise DamageError(name, "it is encrypted, or has fields that no bundle has")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamageError(
                name,
                f"it is packed by method {info.compress_type}, and only stored or deflated ones are read",
            )
        if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
            raise DamageError(
                name, f"it is stored, and has {info.compress_size} and {info.file_size} bytes at once"
            )
        if info.file_size > LARGEST_RATIO * info.compress_size:
            raise DamageError(
                name,
                f"{info.compress_size} bytes would unpack to {info.file_size}, by more than {LARGEST_RATIO} times",
            )
        if info.header_offset != place or place + _LOCAL.size + len(name) + info.compress_size > size:
            raise DamageError(name, "it does not follow the member before it")


def _check_end(file: IO[bytes]) -> int:
    """The size of a file whose last bytes are the end of a zip file with a small directory."""
    size = file.seek(0, os.SEEK_END)
    if size < _END.size:
        raise DamageError(WHOLE, "this is not a bundle: it does not end as a zip file does")
    file.seek(size - _END.size)
    mark, disk, first, here, count, length, start, comment = _END.unpack(file.read(_END.size))
    if mark != _END_MARK or comment:
        raise DamageError(
            WHOLE, "this is not a bundle: it does not end as a zip file does. It may be cut off"
        )
    if disk or first or here != count or start + length + _END.size != size:
        raise DamageError(WHOLE, "its directory is not at its end")
    if count > MOST_MEMBERS or length > LARGEST_DIRECTORY:
        raise DamageError(
            WHOLE, f"it has {count} members in a directory of {length} bytes, more than are read"
        )
    return size
