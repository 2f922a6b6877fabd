"""Entries of the disk cache that are wrong are misses, each with a warning that says why."""

import builtins
import hashlib
import json
import os
import warnings
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cache_entries import ABOUT, KEY, MEMBERS, ON_POSIX, key_of, stored
from tracemill.runtime.cache.disk_cache import CacheWarning, DiskCache
from tracemill.runtime.cache.entry import BadEntryError, read_entry
from tracemill.runtime.files import cache_folder

DEEPER = 500_000
"""More levels than Python reads of JSON."""


def assert_bad(cache: DiskCache, reason: str) -> None:
    """The entry is a miss with one warning that says why, and the next store makes it good again."""
    before = cache.statistics
    with pytest.warns(CacheWarning, match=reason) as warned:
        assert cache.load(KEY) is None
    assert len(warned) == 1
    assert str(cache.path_of(KEY)) in str(warned[0].message)
    assert (cache.statistics.bad, cache.statistics.misses) == (before.bad + 1, before.misses + 1)
    assert [error.reason for error in cache.verify()]
    stored(cache)
    assert cache.load(KEY) is not None
    assert cache.verify() == []


def rewrite_manifest(folder: Path, change: Callable[[dict[str, Any]], object], *, sign: bool = True) -> None:
    """Changes entry.json, by default with a checksum that fits, as a foreign program could write it."""
    path = folder / "entry.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    if sign:
        del document["checksum"]
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        document["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_truncated_member_is_a_miss(cache: DiskCache) -> None:
    path = stored(cache) / "program.py"
    path.write_bytes(MEMBERS["program.py"][:-1])
    assert_bad(cache, r"program.py is truncated: 26 of 27 bytes")


def test_a_flipped_bit_in_a_member_is_a_miss(cache: DiskCache) -> None:
    path = stored(cache) / "program.py"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    assert_bad(cache, "program.py does not match its sha256")


def test_a_member_that_grew_is_a_miss(cache: DiskCache) -> None:
    path = stored(cache) / "program.py"
    path.write_bytes(path.read_bytes() + b"import os")
    assert_bad(cache, "program.py is too large: 36 bytes instead of at most 27")


def test_a_lost_member_is_a_miss(cache: DiskCache) -> None:
    (stored(cache) / "program.py").unlink()
    assert_bad(cache, "program.py cannot be read: No such file")


def test_a_lost_manifest_is_a_miss(cache: DiskCache) -> None:
    (stored(cache) / "entry.json").unlink()
    assert_bad(cache, "entry.json cannot be read: No such file")


@pytest.mark.parametrize("text", ["", '{"format": 1', "[" * 100_000, "\udcff", "9" * 5000])
def test_a_manifest_that_is_not_json_is_a_miss(cache: DiskCache, text: str) -> None:
    (stored(cache) / "entry.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    assert_bad(cache, "entry.json is not JSON")


def test_a_manifest_that_is_nested_is_read_until_it_is_too_deep_for_python(cache: DiskCache) -> None:
    path = stored(cache) / "entry.json"
    expected = read_entry(path.parent, path.parent.name)
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["checksum"]

    def outcome(depth: int) -> str:
        """Why an entry that holds a list so deep is not read."""
        deep = "[" * depth + "]" * depth
        text = json.dumps(document | {"later": 0}, sort_keys=True, separators=(",", ":"))
        checksum = hashlib.sha256(text.replace('"later":0', f'"later":{deep}').encode()).hexdigest()
        whole = json.dumps(document | {"later": 0, "checksum": checksum})
        path.write_text(whole.replace('"later": 0', f'"later": {deep}'), encoding="utf-8")
        try:
            found = read_entry(path.parent, path.parent.name)
        except BadEntryError as error:
            return error.reason
        assert found == expected
        return ""

    deepest = bisect_left(range(DEEPER), True, key=lambda depth: bool(outcome(depth))) - 1
    assert deepest > 100
    around = [outcome(depth) for depth in range(deepest - 60, deepest + 60)]
    first = next(place for place, reason in enumerate(around) if reason)
    assert set(around[:first]) == {""}
    assert set(around[first:]) <= {"is nested too deeply", "is not JSON"}


def test_a_manifest_in_another_encoding_is_a_miss(cache: DiskCache) -> None:
    path = stored(cache) / "entry.json"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-16-be")
    assert_bad(cache, "entry.json is not JSON")


@pytest.mark.parametrize("text", ["[]", "1", "null"])
def test_a_manifest_for_another_program_is_a_miss(cache: DiskCache, text: str) -> None:
    (stored(cache) / "entry.json").write_text(text, encoding="utf-8")
    assert_bad(cache, "entry.json does not describe an entry")


def test_every_flipped_bit_of_a_manifest_is_harmless(cache: DiskCache) -> None:
    path = stored(cache) / "entry.json"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            entry = cache.load(KEY)
        if entry is not None:
            assert (entry.members, entry.about) == (MEMBERS, ABOUT), "a flip may only hide in white space"
    assert cache.statistics.bad > len(whole) // 2


def test_a_changed_manifest_is_a_miss(cache: DiskCache) -> None:
    rewrite_manifest(stored(cache), lambda document: document["about"].update(function="g"), sign=False)
    assert_bad(cache, "entry.json does not match its checksum")


def test_an_entry_of_another_key_is_a_miss(cache: DiskCache) -> None:
    os.rename(stored(cache, key_of(1)), cache.path_of(KEY))
    assert_bad(cache, "entry.json belongs to another key")


def test_an_entry_of_another_format_is_a_miss(cache: DiskCache) -> None:
    rewrite_manifest(stored(cache), lambda document: document.update(format=2))
    assert_bad(cache, "entry.json is not in format 1")


@pytest.mark.parametrize(
    "members",
    [
        None,
        [],
        {"program.py": 3},
        {"program.py": ["27", ""]},
        {"program.py": [-1, ""]},
        {"../../program.py": [27, ""]},
        {"/etc/passwd": [27, ""]},
    ],
)
def test_a_manifest_with_impossible_members_is_a_miss(cache: DiskCache, members: object) -> None:
    rewrite_manifest(stored(cache), lambda document: document.update(members=members))
    assert_bad(cache, "entry.json does not describe an entry")


def test_an_entry_that_claims_to_be_huge_is_not_read(cache: DiskCache) -> None:
    huge = {"program.py": [2**40, "0" * 64]}
    rewrite_manifest(stored(cache), lambda document: document.update(members=huge))
    assert_bad(cache, f"holds {2**40} bytes, more than the {64 * 2**20} that are read")


def test_a_huge_manifest_is_not_read(cache: DiskCache) -> None:
    (stored(cache) / "entry.json").write_bytes(bytes(2**20 + 1))
    assert_bad(cache, "entry.json is too large")


def test_a_file_in_the_place_of_an_entry_is_a_miss(cache: DiskCache) -> None:
    cache.folder.mkdir(mode=0o700)
    cache.path_of(KEY).write_text("not a folder", encoding="utf-8")
    assert_bad(cache, "is not a folder")


@ON_POSIX
def test_a_link_in_the_place_of_a_member_is_a_miss(cache: DiskCache, tmp_path: Path) -> None:
    path = stored(cache) / "program.py"
    path.rename(tmp_path / "program.py")
    path.symlink_to(tmp_path / "program.py")
    assert_bad(cache, "program.py is a symbolic link")
    assert (tmp_path / "program.py").exists()


@ON_POSIX
def test_a_link_in_the_place_of_an_entry_is_a_miss(cache: DiskCache, tmp_path: Path) -> None:
    os.rename(stored(cache), tmp_path / "elsewhere")
    cache.path_of(KEY).symlink_to(tmp_path / "elsewhere")
    assert_bad(cache, "is not a folder")
    assert (tmp_path / "elsewhere" / "program.py").exists()


@ON_POSIX
def test_a_pipe_in_the_place_of_a_member_does_not_block(cache: DiskCache) -> None:
    path = stored(cache) / "program.py"
    path.unlink()
    os.mkfifo(path)
    assert_bad(cache, "program.py is not a regular file")


@ON_POSIX
def test_an_entry_that_others_can_write_is_a_miss(cache: DiskCache) -> None:
    stored(cache).chmod(0o770)
    assert_bad(cache, "can be written by other users")


@ON_POSIX
def test_a_member_of_another_user_is_a_miss(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    program = os.stat(stored(cache) / "program.py").st_ino
    monkeypatch.setattr(
        "tracemill.runtime.files.cache_folder.is_owned_by_user", lambda status: status.st_ino != program
    )
    with pytest.warns(CacheWarning, match="program.py belongs to another user"):
        assert cache.load(KEY) is None


def test_an_entry_that_vanishes_while_it_is_read_is_a_plain_miss(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(cache)
    first_open = builtins.open

    def open_after_eviction(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        cache_folder.discard(cache.path_of(KEY))
        return first_open(*args, **options)

    monkeypatch.setattr(builtins, "open", open_after_eviction)
    assert cache.load(KEY) is None
    assert cache.statistics.bad == 0
