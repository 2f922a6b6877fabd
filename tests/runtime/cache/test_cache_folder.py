"""Folders and disks that the disk cache cannot or must not use cost only speed."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from support.cache_entries import ABOUT, KEY, MEMBERS, ON_POSIX, key_of, stored
from tracemill.runtime.cache.disk_cache import CacheWarning, DiskCache


def assert_refused(cache: DiskCache, reason: str) -> None:
    """The cache is off, says why once, and leaves the folder alone."""
    with pytest.warns(CacheWarning, match=f"disk cache is off: .*{reason}"):
        assert cache.load(KEY) is None
    assert cache.store(KEY, MEMBERS, ABOUT) is None
    assert cache.load(KEY) is None
    assert not os.path.lexists(cache.path_of(KEY))
    assert (cache.entries(), cache.verify(), cache.clear(), cache.prune(0)) == ([], [], 0, 0)
    info = cache.info()
    assert not info.enabled
    assert reason in (info.why_not or "")


@ON_POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_refused(cache: DiskCache, mode: int) -> None:
    cache.folder.mkdir()
    cache.folder.chmod(mode)
    assert_refused(cache, "can be written by other users: empty it and run `chmod 700")


@ON_POSIX
def test_a_link_to_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("open")
    assert_refused(DiskCache(tmp_path / "link"), "can be written by other users")


@ON_POSIX
def test_a_link_to_a_private_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("private")
    cache = DiskCache(tmp_path / "link")
    stored(cache)
    assert cache.load(KEY) is not None


@ON_POSIX
def test_a_folder_of_another_user_is_refused(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.folder.mkdir(mode=0o700)
    owner = os.stat(cache.folder).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert_refused(cache, "belongs to another user")


def test_a_file_in_the_place_of_the_folder_is_refused(cache: DiskCache) -> None:
    cache.folder.write_text("", encoding="utf-8")
    assert_refused(cache, "is not a folder")


def test_a_relative_folder_is_refused() -> None:
    assert_refused(DiskCache(Path("somewhere")), "is not an absolute path")


# Disks that cannot be written


def test_a_folder_that_cannot_be_made_warns_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache = DiskCache(tmp_path / "file" / "cache")
    assert cache.load(KEY) is None
    with pytest.warns(CacheWarning, match="cannot store in .*Not a directory"):
        assert cache.store(KEY, MEMBERS, ABOUT) is None
    assert cache.store(KEY, MEMBERS, ABOUT) is None


def no_space(*_args: Any, **_options: Any) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_space_for_new_files(
    path: Any, flags: int, *args: Any, original: Callable[..., int] = os.open, **options: Any
) -> int:
    return no_space() if flags & os.O_CREAT else original(path, flags, *args, **options)


@pytest.mark.parametrize(
    ("name", "fails"), [("open", no_space_for_new_files), ("mkdir", no_space), ("rename", no_space)]
)
def test_a_full_disk_warns_once_and_leaves_nothing_behind(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch, name: str, fails: Callable[..., Any]
) -> None:
    stored(cache)
    with monkeypatch.context() as full:
        full.setattr(os, name, fails)
        with pytest.warns(CacheWarning, match="No space left"):
            assert cache.store(key_of(1), MEMBERS, ABOUT) is None
        assert cache.store(key_of(2), MEMBERS, ABOUT) is None
        assert cache.load(KEY) is not None
    assert {path.name for path in cache.folder.iterdir()} <= {KEY, ".lock"}
    stored(cache, key_of(1))


def test_a_read_only_disk_can_be_read(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stored(cache)
    os.utime(folder / "entry.json", (0, 0))

    def read_only(*_args: Any, **_options: Any) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("utime", "mkdir", "rename", "unlink", "rmdir"):
        monkeypatch.setattr(os, name, read_only)
    assert cache.load(KEY) is not None
    with pytest.warns(CacheWarning, match="Read-only"):
        assert cache.store(key_of(1), MEMBERS, ABOUT) is None
