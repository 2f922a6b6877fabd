"""If other users can replace the cache's folder, they can run code as this user. Such folders are not used; others
are."""

import grp
import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tracemill.runtime.cache.disk_cache import CacheWarning, DiskCache, cache_key
from tracemill.runtime.files import trusted_path
from tracemill.runtime.files.trusted_path import exposure_of
from tracemill.runtime.machine.machine_facts import recall, remember

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders away"
)
TREE = Path(__file__).resolve().parents[2] / ".root"
NOBODY = 65534
KEY = cache_key(ir="graph", backend="numpy")


def assert_off(folder: Path, reason: str) -> None:
    """The cache stays off, warns once, and makes nothing."""
    cache = DiskCache(folder)
    with pytest.warns(CacheWarning, match=f"{reason}.*set TRACEMILL_CACHE_DIR to a folder below"):
        assert cache.load(KEY) is None
    assert (
        cache.store(KEY, {"program.py": b""}, {}) is None
    )  # without a second warning, which would be an error
    assert (cache.entries(), cache.verify()) == ([], [])
    assert not os.path.lexists(cache.path_of(KEY))


def assert_on(folder: Path) -> None:
    cache = DiskCache(folder)
    assert cache.store(KEY, {"program.py": b"text"}, {}) is not None
    found = DiskCache(folder).load(KEY)
    assert found is not None
    assert found.members == {"program.py": b"text"}


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    folder = tmp_path / "parent"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("between", ["", "one", "one/two"])
def test_a_folder_below_one_that_everybody_can_write_to_is_not_used(
    parent: Path, between: str, is_there: bool
) -> None:
    folder = parent / between / "cache"
    if is_there:
        folder.mkdir(parents=True, mode=0o700)
    parent.chmod(0o777)
    assert_off(folder, f"{parent} can be written by other users")


@AS_ROOT
@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o700])
def test_a_folder_below_one_of_another_user_is_not_used(parent: Path, mode: int) -> None:
    (parent / "cache").mkdir(mode=0o700)
    parent.chmod(mode)
    os.chown(parent, NOBODY, NOBODY)
    assert_off(parent / "cache", f"{parent} belongs to another user")


@AS_ROOT
def test_a_link_of_another_user_leads_to_no_cache(tmp_path: Path, parent: Path) -> None:
    parent.chmod(0o1777)
    (tmp_path / "mine" / "cache").mkdir(parents=True, mode=0o700)
    (parent / "link").symlink_to(tmp_path / "mine")
    os.chown(parent / "link", NOBODY, NOBODY, follow_symlinks=False)
    assert_off(parent / "link" / "cache", f"the link {parent / 'link'} belongs to another user")


def test_what_a_link_leads_through_is_looked_at_too(tmp_path: Path, parent: Path) -> None:
    (parent / "cache").mkdir(mode=0o700)
    parent.chmod(0o777)
    for name, target in (("absolute", parent), ("relative", Path("parent")), ("up", Path("x/../parent"))):
        (tmp_path / "x").mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(target)
        assert_off(tmp_path / name / "cache", f"{parent} can be written by other users")


def test_links_that_lead_in_a_circle_lead_to_no_cache(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert_off(tmp_path / "one" / "cache", "leads through more than 40 links")


@AS_ROOT
def test_another_user_cannot_bring_in_code_by_exchanging_folders(parent: Path) -> None:
    """The attack itself: the owner of the parent waits until an entry is there, and puts a forged one in its place."""
    folder = parent / "cache"
    cache = DiskCache(folder)
    assert cache.store(KEY, {"program.py": b"good"}, {}) is not None
    os.chown(parent, NOBODY, NOBODY)
    forging = f"""
import os
parent = os.open({str(parent)!r}, os.O_RDONLY)
os.setgid({NOBODY}); os.setuid({NOBODY})
os.rename("cache", "aside", src_dir_fd=parent, dst_dir_fd=parent)
os.mkdir("cache", 0o700, dir_fd=parent)
"""
    subprocess.run([sys.executable, "-c", forging], check=True)
    assert_off(folder, f"{parent} belongs to another user")


def test_facts_below_a_folder_that_others_can_write_to_are_neither_kept_nor_believed(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(parent / "cache"))
    remember("facts", {"known": 1})
    assert recall("facts") == {"known": 1}
    parent.chmod(0o777)
    assert recall("facts") == {}
    remember("facts", {"known": 2})
    parent.chmod(0o755)
    assert recall("facts") == {"known": 1}


# ---- what people have --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777, 0o1770, 0o555])
def test_folders_below_usual_ones_are_used(parent: Path, mode: int) -> None:
    (parent / "cache").mkdir(mode=0o700)
    parent.chmod(mode)
    assert_on(parent / "cache")


def test_a_link_of_ones_own_is_followed(tmp_path: Path, parent: Path) -> None:
    (tmp_path / "link").symlink_to("parent")
    assert_on(tmp_path / "link" / "cache")


@AS_ROOT
def test_a_user_may_use_folders_below_those_of_root_and_below_a_shared_one() -> None:
    """As in ``/home/user`` and ``/tmp``: a process of another user than root finds its own folders good."""
    program = """
import os, sys
from pathlib import Path
from tracemill.runtime.files.cache_folder import problem_of
own = Path(sys.argv[1])
os.setgid(12345); os.setuid(12345)
(own / "cache").mkdir(mode=0o700)
print(problem_of(own / "cache"), problem_of(own), problem_of(own.parent / "cache"))
"""
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chmod(home, 0o755)
        own = Path(home, "own")
        own.mkdir(mode=0o700)
        os.chown(own, 12345, 12345)
        done = subprocess.run(
            [sys.executable, "-c", program, own],
            env={**os.environ, "PYTHONPATH": str(TREE)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == "None None None\n", done.stderr


def person(name: str, group: int) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", os.geteuid(), group, "", "/", "/bin/sh"))


@pytest.mark.parametrize(
    ("name", "members", "is_used"),
    [("ada", [], True), ("ada", ["ada"], True), ("ada", ["eve"], False), ("staff", [], False)],
)
def test_a_group_that_is_the_users_alone_may_write(
    parent: Path, monkeypatch: pytest.MonkeyPatch, name: str, members: list[str], is_used: bool
) -> None:
    """Distributions make a group for each user, with the user's name, and let it write to new folders."""
    group = parent.stat().st_gid
    trusted_path._is_private.cache_clear()
    monkeypatch.setattr(pwd, "getpwuid", lambda _: person("ada", group))
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((name, "x", group, members)))
    parent.chmod(0o775)
    try:
        assert (exposure_of(parent / "cache") is None) == is_used
    finally:
        trusted_path._is_private.cache_clear()


def test_a_user_or_group_without_a_name_is_trusted_with_nothing(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_: int) -> pwd.struct_passwd:
        raise KeyError("getpwuid(): uid not found")

    trusted_path._is_private.cache_clear()
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    parent.chmod(0o775)
    try:
        assert "can be written by other users" in (exposure_of(parent / "cache") or "")
    finally:
        trusted_path._is_private.cache_clear()


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_folders_that_are_made_are_closed_to_others_whatever_the_umask_is(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(umask)
    try:
        assert_on(tmp_path / "one" / "two" / "cache")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "one", tmp_path / "one" / "two")} == {0o700}
