"""What is read of a file is bounded before it is read: by its kind, by its size, and by what it unpacks to."""

import io
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArtifactError,
    InputFileError,
    TransformArgumentError,
    TransformTypeError,
)
from tracemill.runtime.bundle import archive as archives
from tracemill.runtime.bundle.archive import Archive, archive_bytes
from tracemill.runtime.bundle.damage import DamageError
from tracemill.runtime.files.input_file import read_whole

TABLE = np.random.default_rng(0).integers(4, size=300_000).astype(float)
"""2.4 MB, which shrink to a small part."""


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tm.export(lambda x: x + TABLE, "f64[1]").save(tmp_path_factory.mktemp("table") / "table.tmill")


@pytest.fixture
def small_limit(compressed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "USUAL_TOTAL", 1_000_000)


@pytest.mark.slow
@pytest.mark.usefixtures("small_limit")
def test_what_unpacks_to_more_than_is_usual_is_refused_before_it_is_unpacked(compressed: Path) -> None:
    assert compressed.stat().st_size < 2_000_000
    tracemalloc.start()
    with pytest.raises(ArtifactError, match=r"bytes unpack to \d+, and at most \d+ are read.*max_bytes=\d+"):
        tm.load(compressed)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.usefixtures("small_limit")
def test_max_bytes_allows_more_and_less(compressed: Path) -> None:
    for most in ("3 MB", 3_000_000):
        np.testing.assert_array_equal(
            tm.load(compressed, max_bytes=most, backend="numpy")(np.zeros(1)), TABLE
        )
    with pytest.raises(ArtifactError, match="at most 100 are read"):
        tm.load(compressed, max_bytes=100)
    wrong: list[Any] = [0, -1, "much", 1.5, True]
    for most in wrong:
        with pytest.raises(
            TransformArgumentError, match="load: max_bytes must be a positive number of bytes"
        ):
            tm.load(compressed, max_bytes=most)


@pytest.mark.slow
@pytest.mark.usefixtures("small_limit")
def test_what_we_write_is_read_without_max_bytes() -> None:
    content = archive_bytes(
        {"a.bin": bytes(500_000), "b.bin": TABLE.tobytes(), "c.bin": np.arange(2**18).tobytes()}
    )
    found = Archive(io.BytesIO(content))
    assert found.read("b.bin") == TABLE.tobytes()


@pytest.mark.slow
def test_loading_takes_about_the_memory_that_is_in_the_file(compressed: Path) -> None:
    tm.load(compressed)
    tracemalloc.start()
    f = tm.load(compressed)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert TABLE.nbytes < most < 2.5 * TABLE.nbytes
    assert f.artifact.interface.name == "function"


def test_a_member_that_unpacks_to_more_than_it_says_is_refused_on_the_way() -> None:
    content = archive_bytes({"a.bin": b"abcd" * 1000 + bytes(range(256)) * 60, "b.bin": b"x"})
    said, lie = ((number).to_bytes(4, "little") for number in (19_360, 4_000))
    assert content.count(said) == 2
    with pytest.raises(DamageError, match=r"a\.bin: it "):
        Archive(io.BytesIO(content.replace(said, lie))).read("a.bin")


@pytest.mark.slow
def test_a_path_is_a_text_or_a_path(compressed: Path) -> None:
    for wrong in (1, 0, True, None, b"table.tmill", io.BytesIO(b"PK")):
        with pytest.raises(TransformTypeError, match=r"load: path must be a str or a pathlib\.Path, not "):
            tm.load(wrong)  # type: ignore[arg-type]
    assert not sys.stdout.closed
    os.fstat(1)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/stdin", "/dev/tty"])
def test_devices_are_not_opened(path: str) -> None:
    with pytest.raises(OSError, match=r"only regular files are read|No such device"):
        tm.load(path)


def test_a_pipe_that_never_delivers_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="is a pipe"):
        tm.load(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="is a pipe"):
        read_whole(tmp_path / "pipe", 100)


def test_only_the_part_of_a_text_that_fits_is_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"x" * 101)
    assert len(read_whole(tmp_path / "text", 101)) == 101
    with pytest.raises(InputFileError, match="has more than the 100 B that are read"):
        read_whole(tmp_path / "text", 100)
