"""Folders for compiling vanish: at the end of their block, and those of killed processes when another comes."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tracemill.runtime.files import scratch_folder
from tracemill.runtime.files.scratch_folder import KEPT_SECONDS, PREFIX, ScratchFolder, remove_abandoned

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the C backend is for Linux and macOS")
TREE = Path(__file__).resolve().parents[2] / ".root"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_folder_is_private_and_gone_after_its_block(temporary: Path) -> None:
    with ScratchFolder() as folder:
        folder.write("a", b"1")
        assert folder.read("a") == b"1"
        assert folder.path.stat().st_mode & 0o777 == 0o700
        (folder.path / "below").mkdir()
        (folder.path / "below" / "b").write_bytes(b"")
    assert not list(temporary.iterdir())


def test_a_folder_is_gone_after_an_error(temporary: Path) -> None:
    with contextlib.suppress(KeyError), ScratchFolder() as folder:
        folder.write("a", b"1")
        raise KeyError
    assert not list(temporary.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(temporary: Path) -> None:
    program = f"""
import tempfile, time
tempfile.tempdir = {str(temporary)!r}
from tracemill.runtime.files.scratch_folder import ScratchFolder
with ScratchFolder() as folder:
    folder.write("program.c", b"")
    print("ready", flush=True)
    time.sleep(60)
"""
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert remove_abandoned() == 0
        assert len(list(temporary.iterdir())) == 1
        process.send_signal(signal.SIGKILL)
    assert remove_abandoned() == 1
    assert not list(temporary.iterdir())


def test_the_first_folder_of_a_process_removes_what_others_left(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = temporary / f"{PREFIX}abcd_123"
    left.mkdir()
    (left / "program.c").write_text("")
    monkeypatch.setattr(scratch_folder._Process, "has_reaped", False)
    with ScratchFolder():
        assert not left.exists()


def test_folders_of_others_with_names_alike_are_left_alone(temporary: Path) -> None:
    for name in (f"{PREFIX}results", f"{PREFIX}abcd1234-mine", "tracemill-abcd1234"):
        (temporary / name).mkdir()
    (temporary / f"{PREFIX}abcd1234").symlink_to(temporary / f"{PREFIX}results")
    (temporary / f"{PREFIX}abcd1235").write_text("a file")
    remove_abandoned()
    assert len(list(temporary.iterdir())) == 5


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders away")
def test_folders_of_other_users_are_left_alone(temporary: Path) -> None:
    (temporary / f"{PREFIX}abcd1234").mkdir()
    os.chown(temporary / f"{PREFIX}abcd1234", 65534, 65534)
    assert remove_abandoned() == 0
    assert (temporary / f"{PREFIX}abcd1234").exists()


def test_a_folder_that_is_kept_stays_for_a_day(temporary: Path) -> None:
    with ScratchFolder() as folder:
        folder.write("program.c", b"text")
        folder.keep()
    assert (folder.path / "program.c").read_bytes() == b"text"
    assert remove_abandoned() == 0
    then = time.time() - KEPT_SECONDS - 1
    os.utime(folder.path / "kept", (then, then))
    assert remove_abandoned() == 1
    assert not list(temporary.iterdir())


def test_files_stay_in_the_folder_that_was_made_when_its_name_is_taken(
    temporary: Path, tmp_path: Path
) -> None:
    with ScratchFolder() as folder:
        folder.path.rename(temporary / "aside")
        folder.path.mkdir()
        (folder.path / "program.so").write_bytes(b"forged")
        folder.write("program.so", b"made")
        assert folder.read("program.so") == b"made"
        assert os.path.samefile(folder.working_path, temporary / "aside") or sys.platform != "linux"
    assert (folder.path / "program.so").read_bytes() == b"forged"


def test_what_is_not_a_regular_file_is_not_read() -> None:
    with ScratchFolder() as folder:
        os.mkfifo(folder.path / "pipe")
        with pytest.raises(OSError, match="pipe is not a regular file"):
            folder.read("pipe")


@pytest.mark.parametrize("fault", ["is removed", "has another lock"])
def test_a_folder_that_another_process_takes_for_abandoned_is_made_again(
    fault: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "_above_standard_streams" if fault == "is removed" else "_is_locked"
    real, seen = getattr(scratch_folder, name), list[int]()

    def at_first(descriptor: int) -> object:
        seen.append(descriptor)
        if len(seen) > 1:
            return real(descriptor)
        if fault == "is removed":
            os.close(descriptor)
            raise FileNotFoundError
        return False

    monkeypatch.setattr(scratch_folder, name, at_first)
    with ScratchFolder() as folder:
        folder.write("a", b"1")
        assert folder.read("a") == b"1"
    assert len(seen) == 2


def test_a_folder_that_cannot_be_opened_or_is_not_the_users_is_an_error(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(scratch_folder, "is_owned_by_user", lambda status: False)
        with pytest.raises(OSError, match="replaced by another user: set TMPDIR"):
            scratch_folder._made()
    for left in temporary.iterdir():
        left.rmdir()

    def without_descriptors(descriptor: int) -> int:
        os.close(descriptor)
        raise OSError("too many open files")

    monkeypatch.setattr(scratch_folder, "_above_standard_streams", without_descriptors)
    with pytest.raises(OSError, match="too many open files"):
        scratch_folder._made()
    assert not list(temporary.iterdir())


def test_where_there_is_no_folder_for_temporary_files_nothing_is_abandoned(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "missing"))
    assert remove_abandoned() == 0
