"""Forged files stand in the place of ours. They are never run, and results are right or refused by name."""

import hashlib
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

import tracemill as tm
from faults.harness import Place
from faults.inside import RIGHT, cache_folder, called, outcome, workload

pytestmark = pytest.mark.faults

FOREIGN: Final = b"import os\nos.mkdir('foreign')\n"
"""What would leave a folder if it were run."""
NOBODY: Final = 65534


def entries() -> list[Path]:
    return sorted(path for path in cache_folder().iterdir() if len(path.name) == 64)


def with_own_digests(entry: Path, **changes: Any) -> None:
    """Write a manifest that vouches for the members as they are now."""
    manifest = json.loads((entry / "entry.json").read_text(encoding="utf-8"))
    del manifest["checksum"]
    for name in manifest["members"]:
        content = (entry / name).read_bytes()
        manifest["members"][name] = [len(content), hashlib.sha256(content).hexdigest()]
    manifest |= changes
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    manifest["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (entry / "entry.json").write_text(json.dumps(manifest), encoding="utf-8")


def moved_aside(path: Path) -> Path:
    """A copy elsewhere, to be reached by another way."""
    aside = Path(f"aside {len(list(Path().iterdir()))}").resolve()
    path.rename(aside)
    return aside


def swap_two_entries(one: Path, other: Path) -> None:
    aside = moved_aside(one)
    other.rename(one)
    aside.rename(other)


def swap_two_programs(one: Path, other: Path) -> None:
    """The members of another entry, without its manifest."""
    for name in ("program.py",):
        shutil.copy(other / name, one / name)


def foreign_program(one: Path, other: Path) -> None:
    (one / "program.py").write_bytes(FOREIGN)


def foreign_program_in_a_writable_folder(one: Path, other: Path) -> None:
    """With digests that fit, in a folder that others can write to."""
    (one / "program.py").write_bytes(FOREIGN)
    with_own_digests(one)
    one.chmod(0o777)


def foreign_program_of_another_user(one: Path, other: Path) -> None:
    (one / "program.py").write_bytes(FOREIGN)
    with_own_digests(one)
    if os.geteuid() == 0:
        os.chown(one, NOBODY, NOBODY)
    else:
        one.chmod(0o722)


def foreign_member_of_another_user(one: Path, other: Path) -> None:
    (one / "program.py").write_bytes(FOREIGN)
    with_own_digests(one)
    if os.geteuid() == 0:
        os.chown(one / "program.py", NOBODY, NOBODY)
    else:
        one.chmod(0o722)


def link_to_a_program(one: Path, other: Path) -> None:
    (one / "program.py").write_bytes(FOREIGN)
    with_own_digests(one)
    (one / "program.py").symlink_to(moved_aside(one / "program.py"))


def link_to_an_entry(one: Path, other: Path) -> None:
    (one / "program.py").write_bytes(FOREIGN)
    with_own_digests(one)
    one.symlink_to(moved_aside(one))


def pipe_for_a_program(one: Path, other: Path) -> None:
    (one / "program.py").unlink()
    os.mkfifo(one / "program.py")


def folder_for_a_program(one: Path, other: Path) -> None:
    (one / "program.py").unlink()
    (one / "program.py").mkdir()


def device_for_a_manifest(one: Path, other: Path) -> None:
    (one / "entry.json").unlink()
    if os.geteuid() == 0:
        os.mknod(one / "entry.json", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    else:
        (one / "entry.json").symlink_to("/dev/zero")


def manifest_of_another_key(one: Path, other: Path) -> None:
    with_own_digests(one, key=other.name)


def endless_member(one: Path, other: Path) -> None:
    """A file of a tebibyte that takes no room on disk."""
    with (one / "program.py").open("r+b") as file:
        file.truncate(2**40)


FORGERIES: Final[tuple[Callable[[Path, Path], None], ...]] = (
    swap_two_entries, swap_two_programs, foreign_program, foreign_program_in_a_writable_folder,
    foreign_program_of_another_user, foreign_member_of_another_user, link_to_a_program, link_to_an_entry,
    pipe_for_a_program, folder_for_a_program, device_for_a_manifest, manifest_of_another_key, endless_member,
)  # fmt: skip


def forged_entries(random: Random, count: int) -> Iterator[str]:
    called(1, "numpy")
    called(2, "numpy")
    whole = Path("whole")
    shutil.copytree(cache_folder(), whole)
    for number in range(count):
        forge = FORGERIES[number % len(FORGERIES)]
        one, other = random.sample(entries(), 2)
        forge(one, other)
        yield f"{forge.__name__}: {called(1, 'numpy')} and {called(2, 'numpy')}"
        assert not Path("foreign").exists(), forge.__name__
        shutil.rmtree(cache_folder())
        shutil.copytree(whole, cache_folder())
        cache_folder().chmod(0o700)


def test_entries_of_the_cache_are_forged(place: Place) -> None:
    found = place.run(forged_entries, 2 * len(FORGERIES))
    assert all(name.count(RIGHT) == 2 for name in found)
    assert len({name.partition(":")[0] for name in found}) == len(FORGERIES)


def forged_bundle(random: Random, content: Path, path: Path) -> str:
    """A zip file with one member changed, left out, given twice, or under a name that leads elsewhere."""
    way = random.choice(("changed", "left out", "twice", "named elsewhere", "swapped", "more"))
    with zipfile.ZipFile(content) as whole:
        members = [(name, whole.read(name)) for name in whole.namelist()]
    place = random.randrange(len(members))
    name, data = members[place]
    if way == "changed":
        members[place] = name, bytes(data[:-1]) + bytes([data[-1] ^ 1]) if data else b"x"
    elif way == "left out":
        del members[place]
    elif way == "twice":
        members.append((name, data))
    elif way == "named elsewhere":
        members[place] = f"../{name}", data
    elif way == "swapped":
        other = random.randrange(len(members))
        members[place], members[other] = (name, members[other][1]), (members[other][0], data)
    else:
        members.append(("program.py", FOREIGN))
    with zipfile.ZipFile(path, "w") as forged:
        for member, content_of_member in members:
            forged.writestr(member, content_of_member)
    return way


def loaded(path: Path, x: Any) -> Any:
    return tm.load(path)(x)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def forged_bundles(random: Random, count: int) -> Iterator[str]:
    function, x = workload()
    whole = Path("whole.tmill")
    tm.export(function, x).save(whole)
    for number in range(count):
        path = Path(f"{number}.tmill")
        way = forged_bundle(random, whole, path)
        yield f"{way}: {outcome(partial(loaded, path, x), function(x))}"
        assert not Path("foreign").exists()


def test_bundles_are_forged(place: Place) -> None:
    found = place.run(forged_bundles, 60)
    assert {name.partition(": ")[2] for name in found} <= {"ArtifactError", RIGHT}
    assert any(name.endswith("ArtifactError") for name in found)
