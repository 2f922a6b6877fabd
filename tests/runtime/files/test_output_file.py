"""Whatever is written goes to new files, or over regular files where that is asked for; nothing else is replaced."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import LockFileError, OutputExistsError, OutputFileError, TransformTypeError
from tracemill.runtime.files.output_file import write_output, write_outputs
from tracemill.runtime.gpu_choices.lock_file import add_to_lock

SPECIAL = ("pipe", "socket", "link to a device", "folder")


@pytest.fixture(params=SPECIAL)
def special(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Something with a path that is not a regular file."""
    path = tmp_path / "special"
    match request.param:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link to a device":
            path.symlink_to("/dev/null")
        case _:
            with socket.socket(socket.AF_UNIX) as server:
                monkeypatch.chdir(tmp_path)  # the path of a socket is short
                server.bind(path.name)
                yield path
            return
    yield path


@pytest.fixture
def artifact() -> tm.Artifact:
    return tm.export(np.sin, "x: f64[3]")


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_not_a_regular_file_stays(special: Path, overwrite: bool, artifact: tm.Artifact) -> None:
    before = special.lstat()
    with pytest.raises(OutputFileError, match=r"is a \w+, which is never replaced: name a file"):
        artifact.save(special, overwrite=overwrite)
    assert (special.lstat().st_ino, special.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert [file.name for file in special.parent.iterdir()] == ["special"]


def test_a_device_stays() -> None:
    before = os.stat("/dev/full")
    with pytest.raises(OutputFileError, match="/dev/full is a device"):
        write_output(Path("/dev/full"), b"content", overwrite=True)
    after = os.stat("/dev/full")
    assert stat.S_ISCHR(after.st_mode)
    assert after.st_ino == before.st_ino


@pytest.mark.parametrize("format", ["bundle", "python", "c"])
def test_a_file_is_replaced_only_where_that_is_asked_for(
    format: str, tmp_path: Path, artifact: tm.Artifact
) -> None:
    path = artifact.save(tmp_path / "sin", format)
    files = [path] if path.is_file() else sorted(path.iterdir())
    for file in files:
        file.write_bytes(b"mine")
    with pytest.raises(
        OutputExistsError, match=r"exists: pass overwrite=True \(on the command line, --force\)"
    ):
        artifact.save(path, format)
    assert {file.read_bytes() for file in files} == {b"mine"}
    artifact.save(path, format, overwrite=True)
    assert b"mine" not in {file.read_bytes() for file in files}
    assert len(list(tmp_path.rglob("*"))) == len(files) + path.is_dir()


def test_of_several_files_none_is_written_if_one_is_there(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write_outputs(tmp_path, {"a": b"1", "b": b"2"}, overwrite=False)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("b", b"mine")]


def test_a_file_that_comes_up_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    link = os.link

    def slow(source: Path, target: Path) -> None:
        path.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr("os.link", slow)
    with pytest.raises(OutputExistsError):
        write_output(path, b"ours", overwrite=False)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("f", b"theirs")]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    write_output(tmp_path / "f", b"ours", overwrite=False)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("f", b"ours")]


def test_without_hard_links_a_file_that_another_process_made_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        target.write_bytes(b"theirs")
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    with pytest.raises(OutputExistsError, match="f exists"):
        write_output(tmp_path / "f", b"ours", overwrite=False)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("f", b"theirs")]


@pytest.mark.skipif(os.name == "nt", reason="there are no permission bits")
def test_what_replaces_a_private_file_is_private_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, change, modes = tmp_path / "f", Path.chmod, list[int]()
    private.write_bytes(b"before")
    private.chmod(0o600)

    def noting(path: Path, mode: int) -> None:
        modes.append(stat.S_IMODE(path.stat().st_mode))
        change(path, mode)

    monkeypatch.setattr(Path, "chmod", noting)
    write_output(private, b"after", overwrite=True)
    assert (private.read_bytes(), stat.S_IMODE(private.stat().st_mode)) == (b"after", 0o600)
    assert modes == [0o600]


@pytest.mark.skipif(os.name == "nt", reason="there are no named pipes")
def test_a_pipe_that_comes_up_while_a_file_is_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, create = tmp_path / "f", os.open

    def meanwhile(path: Path, flags: int, mode: int) -> int:
        os.mkfifo(target)
        return create(path, flags, mode)

    monkeypatch.setattr(os, "open", meanwhile)
    with pytest.raises(OutputFileError, match="f is a pipe"):
        write_output(target, b"ours", overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"before")
    link.symlink_to("target")
    with pytest.raises(OutputExistsError, match="link exists"):
        write_output(link, b"after", overwrite=False)
    write_output(link, b"after", overwrite=True)
    assert link.is_symlink()
    assert (target.read_bytes(), target.is_symlink()) == (b"after", False)


def test_a_path_is_a_text_or_a_path(artifact: tm.Artifact) -> None:
    for wrong in (1, b"sin.tmill", None, 2.5):
        with pytest.raises(TransformTypeError, match=r"save: path must be a str or a pathlib\.Path"):
            artifact.save(wrong)  # type: ignore[arg-type]


def test_a_lock_file_that_is_a_device_stays() -> None:
    with pytest.raises(LockFileError, match="/dev/null is a device"):
        add_to_lock(Path("/dev/null"), {})
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
