"""The cache's folder: where it is, and whether it belongs only to this user."""

import contextlib
import os
import shutil
import stat
from functools import partial
from pathlib import Path
from typing import Final

from .trusted_path import exposure_of

SAFE_TO_OPEN: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for opening a file in the folder: no links, no waiting for pipes."""


def default_folder() -> Path:
    """The user's cache folder by the conventions of the operating system, such as ~/.cache/tracemill."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("tracemill", appauthor=False))


def problem_of(folder: Path) -> str | None:
    """Why the folder must not be used, and what to do about it; None if it is private or does not exist yet.

    Code from the cache is run, so anyone who can write to the folder, or replace it, can run code as this user.
    """
    if not folder.is_absolute():
        return f"{folder} is not an absolute path: set TRACEMILL_CACHE_DIR to one"
    if (problem := exposure_of(folder)) is not None:
        return (
            f"{problem} and {folder} is reached through it: set TRACEMILL_CACHE_DIR to a folder below folders that "
            "belong to you or root and that nobody else can write to"
        )
    try:
        link, target = os.lstat(folder), os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"{folder} cannot be read ({error.strerror}): set TRACEMILL_CACHE_DIR to another folder"
    if not stat.S_ISDIR(target.st_mode):
        return f"{folder} is not a folder: remove it, or set TRACEMILL_CACHE_DIR to another folder"
    if not (is_owned_by_user(link) and is_owned_by_user(target)):
        return f"{folder} belongs to another user: set TRACEMILL_CACHE_DIR to a folder of your own"
    if others_can_write(target):
        return f"{folder} can be written by other users: empty it and run `chmod 700 {folder}`"
    return None


def is_owned_by_user(status: os.stat_result) -> bool:
    """Whether a file belongs to this process's user. Windows protects the user's folders by other means."""
    return os.name == "nt" or status.st_uid == os.geteuid()


def others_can_write(status: os.stat_result) -> bool:
    """Whether a folder or file is open to its group or to everyone."""
    return os.name != "nt" and bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def problem_of_file(status: os.stat_result) -> str | None:
    """Why a file in the folder must not be read, in the words that follow its name; None if it is this user's alone."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if not is_owned_by_user(status):
        return "belongs to another user"
    return "can be written by other users" if others_can_write(status) else None


def write_private(path: Path, content: bytes) -> None:
    """Make a file that no other user can write to, whatever the process's umask is."""
    # a partial of `os.open`, not a lambda, after which a signal handler could raise and lose the descriptor
    with open(path, "xb", opener=partial(os.open, mode=0o600)) as file:
        file.write(content)


def make_private(folder: Path) -> None:
    """Creates the folder and missing folders above it, closed to other users, unless it exists."""
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def temporary_in(folder: Path) -> Path:
    """An unused name in the folder; names with a dot are never entries."""
    return folder / f".tmp-{os.getpid()}-{os.urandom(8).hex()}"


def discard(path: Path) -> None:
    """Renames a file or folder at once and then deletes it. Raises OSError if it stays."""
    hidden = temporary_in(path.parent)
    os.rename(path, hidden)
    delete(hidden)


def delete(path: Path) -> None:
    """Deletes a file, a link or a folder as far as possible; the rest is deleted later."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
