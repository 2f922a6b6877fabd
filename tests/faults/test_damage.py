"""Files are cut off, or bits of them change. What is read of them is right, or refused by name."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

import tracemill as tm
from faults.harness import Place
from faults.inside import RIGHT, cache_folder, called, called_from_file, outcome, workload
from fuzzing.readers import READERS, graphs, lock_file
from tracemill.compiler.errors import LockFileError, ParseError

pytestmark = pytest.mark.faults


def damaged(content: bytes, random: Random) -> bytes:
    """The content, cut off somewhere or with a few other bits."""
    if random.random() < 0.4:
        return content[: random.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def each_file_damaged(random: Random, count: int, files: list[Path]) -> Iterator[Path]:
    """Damage one file after the other, each in a cache that is otherwise as it was."""
    whole = Path("whole")
    shutil.copytree(cache_folder(), whole)
    for number in range(count):
        file = files[number % len(files)]
        file.write_bytes(damaged(file.read_bytes(), random))
        yield file
        shutil.rmtree(cache_folder())
        shutil.copytree(whole, cache_folder())


def damaged_numpy_entries(random: Random, count: int) -> Iterator[str]:
    called(backend="numpy")
    files = sorted(path for path in cache_folder().rglob("*.*") if path.parent != cache_folder())
    for file in each_file_damaged(random, count, files):
        found = called(backend="numpy")
        yield f"{file.name}: {found}"


def test_entries_of_the_cache_for_numpy_are_damaged(place: Place) -> None:
    found = place.run(damaged_numpy_entries, 20)
    assert all(": right numbers" in name for name in found)
    assert "program.py: right numbers, CacheWarning" in found


def damaged_c_entries(random: Random, count: int) -> Iterator[str]:
    called()
    files = sorted(path for path in cache_folder().rglob("*.*") if path.parent != cache_folder())
    assert {"program.c", "program.so"} <= {file.name for file in files}
    for file in each_file_damaged(random, count, files):
        yield f"{file.name}: {called()}"


def test_entries_of_the_cache_for_c_are_damaged(place: Place) -> None:
    assert all(": right numbers" in name for name in place.run(damaged_c_entries, 6))


def damaged_guards(random: Random, count: int) -> Iterator[str]:
    def branching(x: object) -> object:
        return tm.compile(lambda x: x * 2 if x.shape[0] > 8 else x * 3, backend="numpy", dynamic=True)(x)

    _, x = workload(size=12)
    branching(x)
    files = sorted(cache_folder().rglob("guards*"))
    assert files, "programs for named sizes keep what they assume of them"
    for _ in each_file_damaged(random, count, files):
        yield outcome(lambda: branching(x[:6]), x[:6] * 3) + " and " + outcome(lambda: branching(x), x * 2)


def test_guards_of_programs_for_named_sizes_are_damaged(place: Place) -> None:
    for found in place.run(damaged_guards, 6):
        assert found.count(RIGHT) == 2


def damaged_bundles(random: Random, count: int) -> Iterator[str]:
    function, x = workload()
    tm.export(function, x).save("whole.tmill")
    content = Path("whole.tmill").read_bytes()
    Path("damaged").mkdir()
    for number in range(count):
        path = Path("damaged", f"{number}.tmill")
        path.write_bytes(damaged(content, random))
        yield outcome(partial(called_from_file, path, x), function(x))


def test_bundles_are_damaged(place: Place) -> None:
    assert set(place.run(damaged_bundles, 100)) <= {"ArtifactError", RIGHT}


def cut_texts(random: Random, count: int) -> Iterator[str]:
    """Texts of graphs and lock files, which have no digests: each is read, or refused by name."""
    read_graph: Callable[[object], object] = READERS["texts"].read
    for number in range(count):
        graph = random.choice(graphs())
        changed = damaged(str(graph).encode(), random)
        try:
            read_graph((changed.decode(errors="replace"), graph))
            found = "read"
        except ParseError:
            found = "ParseError"
        yield f"graph: {found}"
        whole = lock_file().encode()
        try:
            READERS["lock files"].read(
                whole[: number * 7 % len(whole)] if number % 2 else damaged(whole, random)
            )
            found = "read"
        except (LockFileError, ParseError) as error:
            found = type(error).__name__
        yield f"lock file: {found}"


def test_texts_of_graphs_and_lock_files_are_damaged(place: Place) -> None:
    found = place.run(cut_texts, 60)
    assert {name.partition(":")[0] for name in found} == {"graph", "lock file"}
