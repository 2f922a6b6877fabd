"""`ScratchFolder`: a private folder for temporary files. Folders of killed processes are removed by later ones."""

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from .cache_folder import is_owned_by_user, others_can_write

if sys.platform != "win32":  # for which there is no C
    import fcntl

PREFIX: Final = "tracemill-build-"
_NAME: Final = re.compile(re.escape(PREFIX) + r"\w{8}")
_KEPT: Final = "kept"
"""A file in the folders that a user may want to read."""
KEPT_SECONDS: Final = 24 * 3600.0
"""For how long such a folder stays."""
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class _Process:
    has_reaped = False


class ScratchFolder:
    """A folder in the system's temporary one, closed to other users, which is removed when its block ends.

    It is locked inside the block. The lock ends with the process, however that ends, which shows others what they may
    remove. Files are opened through a descriptor, so nobody who can rename the folder can put other files in their
    place.
    """

    def __init__(self) -> None:
        """Raises OSError if there is no room, or no temporary folder."""
        if not _Process.has_reaped:
            _Process.has_reaped = True
            remove_abandoned()
        self.path, self._descriptor = _made()
        self._is_kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_kept:
            _remove(self.path, self._descriptor)
        os.close(self._descriptor)

    @property
    def working_path(self) -> str:
        """The folder as a working directory: on Linux by its descriptor, even if it has been renamed."""
        by_descriptor = f"/proc/self/fd/{self._descriptor}"
        return by_descriptor if os.path.isdir(by_descriptor) else str(self.path)

    def write(self, name: str, content: bytes) -> None:
        """Create a file. Raises OSError."""
        with open(name, "xb", opener=partial(os.open, mode=0o600, dir_fd=self._descriptor)) as file:
            file.write(content)

    def read(self, name: str) -> bytes:
        """The content of a regular file. Raises OSError."""
        flags = (
            os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )  # pipes do not block
        with open(os.open(name, flags, dir_fd=self._descriptor), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(f"{name} is not a regular file")
            return file.read()

    def keep(self) -> None:
        """Keep the folder for the user to read, for at least a day."""
        with contextlib.suppress(OSError):
            self.write(_KEPT, b"")
            self._is_kept = True


def _made() -> tuple[Path, int]:
    """A new folder, and a descriptor that holds its lock."""
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX)
        try:
            descriptor = _above_standard_streams(os.open(path, _FOLDER))
        except FileNotFoundError:  # another process considered it abandoned
            continue
        except OSError:  # for example no descriptor left
            os.rmdir(path)
            raise
        status = os.fstat(descriptor)
        if not is_owned_by_user(status) or others_can_write(status):
            os.close(descriptor)
            raise OSError(f"{path} was replaced by another user: set TMPDIR to a folder of your own")
        if _is_locked(descriptor) and os.path.isdir(path):
            return Path(path), descriptor
        os.close(descriptor)


def _above_standard_streams(descriptor: int) -> int:
    """The descriptor under a number above 2: a child process uses the lower ones if the standard streams are closed."""
    if sys.platform == "win32" or descriptor > 2:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Lock a folder for this process, if no other has locked it; on file systems without locks it counts as locked."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def remove_abandoned() -> int:
    """Remove the folders of this user's killed processes; returns how many there were."""
    try:
        parent = tempfile.gettempdir()
        found = [name for name in os.listdir(parent) if _NAME.fullmatch(name)]
    except OSError:
        return 0
    return sum(_reaped(os.path.join(parent, name)) for name in found)


def _reaped(path: str) -> bool:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _FOLDER)
        try:
            if not is_owned_by_user(os.fstat(descriptor)):
                return False
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                kept = os.stat(_KEPT, dir_fd=descriptor)
                if time.time() - kept.st_mtime < KEPT_SECONDS:
                    return False
            _remove(path, descriptor)
            return not os.path.exists(path)
        finally:
            os.close(descriptor)
    return False


def _remove(path: str | Path, descriptor: int) -> None:
    """Empty a folder through its descriptor. Its name may lead elsewhere by now, where no folder with files is
    removed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(descriptor):
            try:
                os.unlink(name, dir_fd=descriptor)
            except OSError:
                shutil.rmtree(name, ignore_errors=True, dir_fd=descriptor)
        os.rmdir(path)
