"""Forged files replace real ones. They never run, and results are right or refused with a named error."""

import hashlib
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

import tracemill as tm
from faults.harness import Campaign, Place
from faults.inside import RIGHT, cache_folder, called, called_from_file, forked, outcome, workload
from tracemill.runtime.bundle.manifest import manifest_id

pytestmark = pytest.mark.faults

FOREIGN: Final = b"import os\nos.mkdir('foreign')\n"
FOREIGN_C: Final = """\
#include <sys/stat.h>
__attribute__((constructor)) static void run(void) { mkdir("foreign", 0700); }
"""
"""What would leave a folder if it were run, or loaded."""
NOBODY: Final = 65534


@cache
def foreign_library() -> bytes:
    source, library = Path("foreign.c"), Path("foreign.so")
    source.write_text(FOREIGN_C, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library.read_bytes()


def code(entry: Path) -> Path:
    """The member that is run: a library if there is one."""
    library = entry / "program.so"
    return library if library.exists() else entry / "program.py"


def put_foreign_code(entry: Path) -> Path:
    """In the place of the entry's own; returns where."""
    target = code(entry)
    target.write_bytes(foreign_library() if target.suffix == ".so" else FOREIGN)
    return target


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
    """The code of another entry, without its manifest."""
    shutil.copy(code(other), code(one))


def hard_link_to_another_program(one: Path, other: Path) -> None:
    """Whoever mends the one entry must not write into the other."""
    code(one).unlink()
    os.link(code(other), one / code(other).name)


def foreign_program(one: Path, other: Path) -> None:
    put_foreign_code(one)


def foreign_program_in_a_writable_folder(one: Path, other: Path) -> None:
    """With digests that fit, in a folder that others can write to."""
    put_foreign_code(one)
    with_own_digests(one)
    one.chmod(0o777)


def foreign_program_in_a_folder_of_the_group(one: Path, other: Path) -> None:
    put_foreign_code(one)
    with_own_digests(one)
    one.chmod(0o770)


def foreign_program_that_the_group_can_write_to(one: Path, other: Path) -> None:
    target = put_foreign_code(one)
    with_own_digests(one)
    target.chmod(0o660)


def foreign_program_of_another_user(one: Path, other: Path) -> None:
    put_foreign_code(one)
    with_own_digests(one)
    if os.geteuid() == 0:
        os.chown(one, NOBODY, NOBODY)
    else:
        one.chmod(0o722)


def foreign_member_of_another_user(one: Path, other: Path) -> None:
    target = put_foreign_code(one)
    with_own_digests(one)
    if os.geteuid() == 0:
        os.chown(target, NOBODY, NOBODY)
    else:
        one.chmod(0o722)


def link_to_a_program(one: Path, other: Path) -> None:
    target = put_foreign_code(one)
    with_own_digests(one)
    target.symlink_to(moved_aside(target))


def link_to_an_entry(one: Path, other: Path) -> None:
    put_foreign_code(one)
    with_own_digests(one)
    one.symlink_to(moved_aside(one))


def pipe_for_a_program(one: Path, other: Path) -> None:
    target = code(one)
    target.unlink()
    os.mkfifo(target)


def folder_for_a_program(one: Path, other: Path) -> None:
    target = code(one)
    target.unlink()
    target.mkdir()


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
    with code(one).open("r+b") as file:
        file.truncate(2**40)


FORGERIES: Final[tuple[Callable[[Path, Path], None], ...]] = (
    swap_two_entries, swap_two_programs, hard_link_to_another_program, foreign_program,
    foreign_program_in_a_writable_folder, foreign_program_in_a_folder_of_the_group,
    foreign_program_that_the_group_can_write_to, foreign_program_of_another_user,
    foreign_member_of_another_user, link_to_a_program, link_to_an_entry,
    pipe_for_a_program, folder_for_a_program, device_for_a_manifest, manifest_of_another_key, endless_member,
)  # fmt: skip


def forged_entries(random: Random, count: int, backend: str = "numpy") -> Iterator[str]:
    called(1, backend)
    called(2, backend)
    whole = Path("whole")
    shutil.copytree(cache_folder(), whole)
    for number in range(count):
        forge = FORGERIES[number % len(FORGERIES)]
        one, other = random.sample(entries(), 2)
        forge(one, other)
        yield f"{forge.__name__}: {forked(partial(called, 1, backend))} and {forked(partial(called, 2, backend))}"
        assert not Path("foreign").exists(), forge.__name__
        shutil.rmtree(cache_folder())
        shutil.copytree(whole, cache_folder())
        cache_folder().chmod(0o700)


def forged_entries_of_c(random: Random, count: int) -> Iterator[str]:
    return forged_entries(random, count, "c")


def assert_that_forgeries_fail(place: Place, campaign: Campaign) -> None:
    found = place.run(campaign, len(FORGERIES))
    assert all(name.count(RIGHT) == 2 for name in found)
    assert len({name.partition(":")[0] for name in found}) == len(FORGERIES)


def test_entries_of_the_cache_are_forged(place: Place) -> None:
    assert_that_forgeries_fail(place, forged_entries)


def test_entries_of_the_cache_for_c_are_forged(place: Place) -> None:
    assert_that_forgeries_fail(place, forged_entries_of_c)


def opened_to_all(facts: Path) -> None:
    facts.chmod(0o666)


def opened_to_the_group(facts: Path) -> None:
    facts.chmod(0o660)


def given_away(facts: Path) -> None:
    if os.geteuid() == 0:
        os.chown(facts, NOBODY, NOBODY)
    else:
        facts.chmod(0o622)


def reached_by_a_link(facts: Path) -> None:
    facts.symlink_to(moved_aside(facts))


def replaced_by_a_pipe(facts: Path) -> None:
    facts.unlink()
    os.mkfifo(facts)


WAYS_IN: Final = (opened_to_all, opened_to_the_group, given_away, reached_by_a_link, replaced_by_a_pipe)


def forged_facts(random: Random, count: int) -> Iterator[str]:
    """What is remembered names another compiler, and others could have written it. Nothing is run of that name."""
    foreign = Path("compiler").resolve()
    trace = Path("foreign").resolve()
    foreign.write_text(f'#!/bin/sh\nmkdir -p "{trace}"\nexec cc "$@"\n', encoding="utf-8")
    foreign.chmod(0o755)
    facts, mask = cache_folder() / "toolchain.json", os.umask(0)
    yield f"as written where all may write: {forked(called)}"
    for number in range(count):
        forge = WAYS_IN[number % len(WAYS_IN)]
        assert stat.S_IMODE(facts.stat().st_mode) == 0o600
        known = json.loads(facts.read_bytes())
        known["command"] = [str(foreign)]
        facts.write_text(json.dumps(known), encoding="utf-8")
        forge(facts)
        yield f"{forge.__name__}: {forked(partial(called, number + 2))}"
        assert not trace.exists(), forge.__name__
    os.umask(mask)


def test_facts_about_the_machine_are_forged(place: Place) -> None:
    found = place.run(forged_facts, len(WAYS_IN))
    assert all(name.endswith(f": {RIGHT}") for name in found)
    assert len(found) == len(WAYS_IN) + 1


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


def vouched_bundle(random: Random, content: Path, path: Path) -> str:
    """A zip file with a changed graph and matching digests."""
    with zipfile.ZipFile(content) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    text = bytearray(members["graph.txt"])
    way = random.choice(
        ("cut off", "one letter", "a line twice", "another op", "foreign code", "a long number")
    )
    lines = bytes(text).splitlines(keepends=True)
    if way == "cut off":
        del text[random.randrange(len(text)) :]
    elif way == "one letter":
        text[random.randrange(len(text))] = random.choice(b" (){}[],:=%-09azAZ\n")
    elif way == "a line twice":
        text[:] = b"".join([*lines, random.choice(lines)])
    elif way == "another op":
        text[:] = bytes(text).replace(
            b"tanh", random.choice((b"os.mkdir", b"__import__", b"while_loop", b"cholesky"))
        )
    elif way == "foreign code":
        text[:] = FOREIGN
    else:
        text[:] = re.sub(
            rb"\d+", b"9" * random.choice((3, 10, 30, 5000)), bytes(text), count=random.randint(1, 3)
        )
    members["graph.txt"] = bytes(text)
    manifest = json.loads(members["manifest.json"])
    manifest["members"] = {
        name: {"bytes": len(members[name]), "sha256": hashlib.sha256(members[name]).hexdigest()}
        for name in manifest["members"]
    }
    manifest["id"] = manifest_id(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as forged:
        for name, changed in members.items():
            forged.writestr(name, changed)
    return way


@pytest.mark.filterwarnings("ignore:Duplicate name")
def forged_bundles(random: Random, count: int) -> Iterator[str]:
    function, x = workload()
    whole = Path("whole.tmill")
    tm.export(function, x).save(whole)
    for number in range(count):
        path = Path(f"{number}.tmill")
        way = forged_bundle(random, whole, path)
        yield f"{way}: {outcome(partial(called_from_file, path, x), function(x))}"
        assert not Path("foreign").exists()


def test_bundles_are_forged(place: Place) -> None:
    found = place.run(forged_bundles, 30)
    assert {name.partition(": ")[2] for name in found} <= {"ArtifactError", RIGHT}
    assert any(name.endswith("ArtifactError") for name in found)


def vouched_bundles(random: Random, count: int) -> Iterator[str]:
    """Whoever makes the digests anew may say what is computed, but runs nothing, and exhausts nothing."""
    function, x = workload()
    whole = Path("whole.tmill")
    tm.export(function, x).save(whole)
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    for number in range(count):
        path = Path(f"{number}.tmill")
        way = vouched_bundle(random, whole, path)
        try:
            found = type(tm.load(path)(x)).__name__
        except tm.TracemillError as error:
            found = type(error).__name__
        assert not Path("foreign").exists()
        yield f"{way}: {found}"


def test_bundles_have_a_forged_graph_and_digests_that_fit(place: Place) -> None:
    found = place.run(vouched_bundles, 40)
    assert {name.partition(": ")[2] for name in found} <= {
        "ArtifactError",
        "ShapeError",
        "DTypeError",
        "ndarray",
    }
