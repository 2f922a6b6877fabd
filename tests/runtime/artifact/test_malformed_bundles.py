"""What is wrong with a file is an `ArtifactError` that names the member and the reason, and nothing else happens."""

import io
import json
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.bundles import artifact_of, members_of
from tracemill.compiler.errors import ArtifactError, InputFileError
from tracemill.compiler.ir import Constant
from tracemill.runtime.artifact.loading import load_artifact
from tracemill.runtime.bundle.manifest import FORMAT
from tracemill.runtime.bundle.writing import bundle_bytes

from .bundles import artifact, bundle, with_graph, with_manifest, zipped

STORED = sorted(Path(__file__).parent.glob("format_*.tmill"))
"""A file of each format, which later ones must read."""

GOOD = cache(bundle)


def refused(content: bytes, match: str) -> None:
    with pytest.raises(ArtifactError, match=match):
        artifact_of(content)


def manifest(change: Callable[[dict[str, Any]], Any]) -> bytes:
    return with_manifest(members_of(GOOD()), change)


def member(name: str, content: bytes) -> bytes:
    return with_manifest({**members_of(GOOD()), name: content}, lambda manifest: None)


# ---- what is good ------------------------------------------------------------------------------------


def test_the_same_function_gives_the_same_bytes() -> None:
    assert bundle() == bundle()
    assert bundle_bytes(artifact_of(GOOD())) == GOOD()


def test_a_bundle_is_a_zip_file_of_plain_members() -> None:
    members = members_of(GOOD())
    assert list(members) == ["manifest.json", "graph.txt", "consts/0.npy"]
    np.testing.assert_array_equal(
        np.load(io.BytesIO(members["consts/0.npy"]), allow_pickle=False).shape, (12, 2)
    )
    assert json.loads(members["manifest.json"])["function"]["doc"] == "Scales, and counts."
    artifact_of(with_manifest(members, lambda manifest: manifest.update({"later": {"more": [1]}})))


def test_there_is_a_stored_file_of_each_format() -> None:
    formats = [json.loads(members_of(path.read_bytes())["manifest.json"])["format"] for path in STORED]
    assert formats == list(range(1, FORMAT + 1))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_file_of_each_format_is_read(path: Path) -> None:
    f = tm.load(path)
    w, x = np.ones(2), np.ones((4, 12))
    found = f(w, x, 1.5, mode="up")
    table = np.sin(np.arange(24.0)).reshape(12, 2)
    np.testing.assert_allclose(found["y"], x @ table * 2)
    assert (found["n"], found["mode"]) == ((3.0, 4), "up")
    np.testing.assert_array_equal(w, [2, 2])


# ---- the zip file --------------------------------------------------------------------------------------


def patched(offset: int, content: bytes, *, of: bytes | None = None) -> bytes:
    whole = bytearray(GOOD() if of is None else of)
    offset %= len(whole)
    whole[offset : offset + len(content)] = content
    return bytes(whole)


def in_directory(field: int, content: bytes) -> bytes:
    """A field of the directory's first entry, by its offset there."""
    return patched(GOOD().index(b"PK\1\2") + field, content)


def two_of_a_name() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("graph.txt", "a")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("graph.txt", "b")
    return buffer.getvalue()


def with_comment() -> bytes:
    buffer = io.BytesIO(GOOD())
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"hello"
    return buffer.getvalue()


def bomb() -> bytes:
    return zipped({"manifest.json": b"0" * 10**7}, zipfile.ZIP_DEFLATED)


def overlapping() -> bytes:
    """The second entry of the directory is at the place of the first."""
    second = GOOD().index(b"PK\1\2", GOOD().index(b"PK\1\2") + 1)
    return patched(second + 42, struct.pack("<L", 0))


ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "this is not a bundle"),
    "cut off": (lambda: GOOD()[:-7], "it may be cut off|It may be cut off"),
    "text": (lambda: b"hello " * 100, "this is not a bundle"),
    "something in front": (lambda: b"#!/bin/sh\n" + GOOD(), "its directory is not at its end"),
    "something behind": (lambda: GOOD() + b"more", "this is not a bundle"),
    "comment": (with_comment, "this is not a bundle"),
    "no members": (lambda: zipped({}), "it has no member manifest.json"),
    "two of a name": (two_of_a_name, "two members of this name"),
    "absolute name": (lambda: zipped({"/etc/passwd": b""}), "a member has the name '/etc/passwd'"),
    "name that leads out": (lambda: zipped({"../x.txt": b""}), r"a member has the name '\.\./x\.txt'"),
    "folder": (lambda: zipped({"consts/": b""}), "a member has the name 'consts/'"),
    "name of Windows": (lambda: zipped({"c:\\x.txt": b""}), "a member has the name"),
    "null in a name": (lambda: in_directory(46, b"mani\0est.json"), "a member has the name|no zip file"),
    "other letters": (lambda: zipped({"größe.txt": b""}), "a member has the name"),
    "bomb": (bomb, "by more than 100 times"),
    "lying about its size": (
        lambda: in_directory(24, struct.pack("<L", 2**31)),
        "bytes would unpack|at once",
    ),
    "no size": (lambda: in_directory(20, struct.pack("<L", 2**32 - 1)), "zip file|does not lie|bytes"),
    "checksum": (lambda: in_directory(16, b"\0\0\0\0"), "manifest.json: it cannot be unpacked: Bad CRC"),
    "encrypted": (lambda: in_directory(8, b"\1\0"), "encrypted"),
    "method": (lambda: in_directory(10, b"\x0c\0"), "packed by method 12"),
    "many disks": (lambda: patched(-18, b"\1\0"), "its directory is not at its end"),
    "overlapping": (overlapping, "does not follow the member before it"),
    "many members": (lambda: patched(-14, b"\xff\xff\xff\xff"), "65535 members"),
}


@pytest.mark.parametrize("what", ZIPS)
def test_odd_zip_files_are_refused(what: str) -> None:
    content, message = ZIPS[what]
    refused(content(), message)


def test_only_the_stated_number_of_bytes_is_unpacked(tmp_path: Path) -> None:
    content = bomb()
    tracemalloc.start()
    refused(content, "by more than 100 times")
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="is a pipe, and only regular files are read"):
        tm.load(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="is a folder"):
        tm.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        tm.load(tmp_path / "none.tmill")


# ---- the manifest --------------------------------------------------------------------------------------


def set_(*path: Any) -> Callable[[dict[str, Any]], Any]:
    """Puts the last of these where the others lead."""

    def change(document: Any) -> None:
        *outer, last, value = path
        for key in outer:
            document = document[key]
        document[last] = value

    return change


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document.pop(name)


ARGUMENT = "arguments", "tuple", 0, "tuple", 0
MANIFESTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "newer": (set_("format", 3), "the format is 3, .* reads up to 2. Install a newer one"),
    "no format": (without("format"), "manifest.json: the document has no 'format'"),
    "true as format": (
        set_("format", True),
        "'format' of the document is True, and should be a whole number",
    ),
    "format 0": (set_("format", 0), "there is no format 0"),
    "negative format": (set_("format", -1), "there is no format -1"),
    "function": (set_("function", []), "'function' of the document is \\[\\], and should be an object"),
    "name": (set_("function", "name", "import os"), "'import os' is not a name of Python's"),
    "keyword": (set_("function", "name", "class"), "'class' is not a name of Python's"),
    "wide letters": (set_("function", "parameters", 0, "name", "ｎｐ"), "'ｎｐ' is not a name of Python's"),
    "doc": (set_("function", "doc", 3), "the docstring is not text"),
    "half a character": (set_("function", "doc", "\ud800"), "the docstring is not text"),
    "parameter": (set_("function", "parameters", 0, 3), "describes no parameter"),
    "kind": (set_("function", "parameters", 0, "kind", []), "describes no parameter"),
    "twice": (set_("function", "parameters", 0, "name", "x"), "duplicate parameter name"),
    "default": (set_("function", "parameters", 3, "default", {"int": "9" * 10**4}), "describes no value"),
    "no arguments": (set_("arguments", {"list": []}), "the arguments are not a tuple of args and kwargs"),
    "too few arguments": (set_(*ARGUMENT[:-1], []), "the arguments are not those of the parameters"),
    "leaf": (set_(*ARGUMENT, {"leaf": "pickle"}), "describes no argument"),
    "dtype": (set_(*ARGUMENT, "dtype", "object"), "there is no dtype 'object'"),
    "shape": (set_(*ARGUMENT, "shape", [-1]), "a dimension is an int from 0"),
    "huge shape": (set_(*ARGUMENT, "shape", [2**47, 2**47]), "an array has fewer than 2\\*\\*56 elements"),
    "many axes": (set_(*ARGUMENT, "shape", [1] * 65), "at most 64 axes"),
    "another shape": (set_(*ARGUMENT, "shape", [3]), "its inputs are not the arguments that the manifest"),
    "setting": (set_("arguments", "tuple", 1, "dict", 1, 0, "value", {"float": "1e9"}), "is not a number"),
    "unknown class": (set_(*ARGUMENT, {"object": ["os:system", None, []]}), "objects of the class os:system"),
    "deep": (set_(*ARGUMENT, json.loads('{"list": [' * 80 + "]}" * 80)), "nested more than 64 deep"),
    "results": (set_("results", {"leaf": "output", "output": 7, "as": "array"}), "must be below"),
    "result": (set_("results", {"leaf": "output", "output": 0, "as": "bytes"}), "not 'bytes'"),
    "results left out": (set_("results", None), "once of each output"),
    "mutated": (set_("mutated", [[0, 99]]), "which is not a pair of input and output"),
    "mutated text": (set_("mutated", ["ab"]), "should be a list"),
    "mutated types": (set_("mutated", [[1, 2]]), "the types differ"),
    "in step": (set_("in_step", [1]), "names inputs that are not mutated"),
    "donated": (set_("settings", "donate_argnums", [9]), "donate_argnums has 9"),
    "fast": (set_("settings", "fast_math", "no"), "should be true or false"),
    "constants": (
        lambda d: d["constants"].clear(),
        r"graph.txt: .*expected the array 'sha256:.*' in constants=",
    ),
    "file": (
        lambda d: next(iter(d["constants"].values())).update(file="consts/9.npy"),
        "which is not a member",
    ),
    "dtype of a constant": (
        lambda d: next(iter(d["constants"].values())).update(dtype="f32"),
        r"consts/0.npy: an array f32\[12, 2\] has a file of",
    ),
    "shape of a constant": (
        lambda d: next(iter(d["constants"].values())).update(shape=[2, 12]),
        r"consts/0.npy: its header is not that of f64\[2, 12\]",
    ),
    "a file many times": (
        lambda d: d["constants"].update({str(i): next(iter(d["constants"].values())) for i in range(10**4)}),
        "it names 'consts/0.npy' more than once",
    ),
    "bytes": (
        set_("members", "graph.txt", "bytes", 5),
        "graph.txt: it has .* bytes, and manifest.json says 5",
    ),
    "sha256": (set_("members", "graph.txt", "sha256", "0" * 64), "graph.txt: its sha256 is not the one"),
    "a member too many": (set_("members", "a.txt", {"bytes": 0, "sha256": ""}), "'a.txt' is only in"),
    "a member too few": (lambda d: d["members"].pop("graph.txt"), "'graph.txt' is only in"),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_wrong_manifests_are_refused(what: str) -> None:
    change, message = MANIFESTS[what]
    refused(manifest(change), message)


TEXTS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "it is not JSON"),
    "not UTF-8": (b'{"format": "\xff"}', "it is not JSON"),
    "a list": (b"[]", "it is not an object"),
    "NaN": (b'{"format": NaN}', "NaN is not a whole number"),
    "infinity": (b'{"format": -Infinity}', "-Infinity is not a whole number"),
    "float": (b'{"format": 1e999999999}', "1e999999999 is not a whole number"),
    "long number": (b'{"format": ' + b"9" * 10**6 + b"}", "a number has 1000000 digits"),
    "twice": (b'{"format": 1, "format": 1}', "a name comes twice"),
    "deep": (b"[" * 10**5, "it is not JSON"),
    "large": (b" " * (1 << 23), "bytes, and 4194304 are read"),
    "no id": (b'{"format": 1}', "has no 'id'"),
    "id": (b'{"format": 1, "id": ""}', "its id is not the digest"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_texts_that_are_not_manifests_are_refused(what: str) -> None:
    content, message = TEXTS[what]
    refused(zipped({**members_of(GOOD()), "manifest.json": content}), message)


def test_members_that_nobody_needs_are_texts_with_their_digests() -> None:
    assert str(artifact_of(member("src/notes.txt", b"for people"))) == str(artifact())
    refused(member("consts/9.npy", b"x"), "consts/9.npy: nothing in manifest.json says what it is for")
    refused(member("src/notes.txt", b"x" * 10**5), "src/notes.txt: it has 100000 bytes, and 65536 are read")
    members = members_of(member("src/notes.txt", b"for people"))
    refused(zipped({**members, "src/notes.txt": b"for robots"}), "src/notes.txt: its sha256 is not the one")


# ---- graph and arrays ----------------------------------------------------------------------------------


def nested_calls(depth: int) -> str:
    """A graph that calls another one twice, which calls another one twice, and so on."""
    lines = ["# tracemill ir 1", "def g0(x: f64[]) -> f64[]:"]
    lines += [f"{'    ' * level}def g{level}(x: f64[]) -> f64[]:" for level in range(1, depth)]
    lines += [f"{'    ' * depth}a: f64[] = sin(x)", f"{'    ' * depth}return a"]
    for level in range(depth - 1, 0, -1):
        lines.append(f"{'    ' * level}a: f64[] = call(x, graph=g{level})")
        lines += [f"{'    ' * level}b: f64[] = call(a, graph=g{level})", f"{'    ' * level}return b"]
    return "\n".join(lines)


def first_call(text: str) -> Callable[[str], str]:
    """Puts a statement in front of the others."""
    return lambda graph: graph.replace(":\n", f":\n    {text}\n", 1)


GRAPHS: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "line 1: expected '# tracemill ir 1'"),
    "newer": (lambda text: text.replace("ir 1", "ir 2"), "expected '# tracemill ir 1'"),
    "not UTF-8": (lambda text: text + "# \ud800", "graph.txt: it is not UTF-8"),
    "unknown op": (first_call("a: f64[] = system(f64(1.0))"), "expected the name of an op"),
    "type": (first_call("a: f32[] = sin(f64(1.0))"), "expected f64"),
    "parameter": (first_call("a: f64[2] = sum(x, axes=(0.0,))"), "parameter axes is"),
    "text for a number": (first_call('a: f64[4] = sum(x, axes="); system(")'), "parameter axes is"),
    "long number": (first_call(f"a: f64[] = sin(f64({'9' * 10**6}))"), "expected at most 65536 characters"),
    "large": (lambda text: text + " " * (1 << 22), "bytes, and 4194304 are read"),
    "long call": (
        first_call("a: f64[] = sum(x, axes=(" + ",\n".join(["1, " * 9999 + "1"] * 30) + "))"),
        "expected at most 262144 words and signs",
    ),
    "long reason": (first_call(f"a: f64[] = sum(x, axes=({'1, ' * 10**4}))"), r"^.{1,900}(\n.*E0701\])$"),
    "huge": (
        first_call("a: f64[9999999999999, 999999999999] = broadcast_to(f64(0.0), shape=(1,))"),
        "2\\*\\*",
    ),
    "huge and empty": (first_call("a: f64[0, 281474976710655, 281474976710655] = constant([])"), "2\\*\\*56"),
    "deep": (first_call("a: f64[] = sum(x, axes=" + "(" * 10**4 + ")"), "nested more than 32 deep"),
    "nested calls": (lambda text: nested_calls(32), "expected at most 1048576 calls"),
    "attributes": (first_call('debug_print(x, text="{0.__class__.__init__.__globals__}")'), "not the number"),
    "wide": (first_call('debug_print(w, text="{0:>999999999}")'), "is not a format"),
    "kernel": (
        first_call("def k(x: f64[]) -> f64[]:\n        return x\n    a: f64[] = kernel(f64(1.0), graph=k)"),
        "a call of kernel",
    ),
    "Python": (
        first_call('a: f64[] = callback(function=callable("os:system"), types=((f64, ()),))'),
        "expected the Python function 'os:system'",
    ),
    "a rule as a callback": (
        first_call(
            'a: f64[] = callback(function=callable("tracemill.runtime.artifact.lost_rules:lost_rule"),'
            " types=((f64, ()),))"
        ),
        "a call of callback",
    ),
}


@pytest.mark.parametrize("what", GRAPHS)
def test_wrong_graphs_are_refused(what: str) -> None:
    change, message = GRAPHS[what]
    with pytest.raises(ArtifactError, match=message):
        artifact_of(with_graph(change))


def test_an_array_is_held_once_however_often_a_graph_names_it() -> None:
    array = np.zeros(10**5)
    digest = Constant(array).digest
    named = (f'    c{number}: f64[100000] = constant("{digest}")' for number in range(500))
    text = "\n".join(["# tracemill ir 1", "def f() -> ():", *named, "    return ()"])
    tracemalloc.start()
    tm.parse(text, {digest: array})
    assert tracemalloc.get_traced_memory()[1] < 5 * array.nbytes
    tracemalloc.stop()


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}, 1], object), allow_pickle=True)
    return buffer.getvalue()


GOOD_ARRAY = members_of(bundle())["consts/0.npy"]
ARRAYS: dict[str, tuple[bytes, str]] = {
    "pickle": (pickled(), "consts/0.npy: an array .* has a file of"),
    "short": (GOOD_ARRAY[:-1], "has a file of"),
    "header": (GOOD_ARRAY.replace(b"False", b"True "), "its header is not that"),
    "numbers": (GOOD_ARRAY[:-1] + b"\0", "graph.txt: .*expected the array sha256"),
    "other bytes": (b"\0" * len(GOOD_ARRAY), "its header is not that"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_wrong_arrays_are_refused(what: str) -> None:
    content, message = ARRAYS[what]
    refused(member("consts/0.npy", content), message)


# ---- any bytes -------------------------------------------------------------------------------------------


def test_a_changed_byte_anywhere_is_found_or_changes_nothing() -> None:
    """Fields of a zip file that nothing reads, such as dates, may have any value."""
    good, expected = GOOD(), str(artifact())
    rng = np.random.default_rng(0)
    loaded = 0
    for place in rng.integers(len(good), size=300):
        content = bytearray(good)
        content[place] ^= int(rng.integers(1, 256))
        try:
            assert str(artifact_of(bytes(content))) == expected
            loaded += 1
        except ArtifactError:
            continue
    assert 0 < loaded < 300


def test_many_threads_save_and_load_one_file(tmp_path: Path) -> None:
    path, made = tmp_path / "f.tmill", artifact()
    made.save(path)

    def work(number: int) -> str:
        if number % 2:
            made.save(path, overwrite=True)
        f = tm.load(path, backend="numpy")
        w = np.ones(2)
        f(w, np.ones((4, 12)), 1.0)
        assert np.all(w == 2)
        return str(f.artifact)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(16))) == {str(made)}
    assert [file.name for file in tmp_path.iterdir()] == ["f.tmill"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.tmill"
    artifact().save(path)
    before = path.read_bytes()

    def full(source: Any, target: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space"):
        artifact().save(path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["f.tmill"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interruption_leaves_nothing_behind(
    overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(source: Any, target: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    monkeypatch.setattr("os.link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        artifact().save(tmp_path / "f.tmill", overwrite=overwrite)
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "latest.tmill").symlink_to("third.tmill")
    artifact().save(tmp_path / "latest.tmill")
    assert (tmp_path / "latest.tmill").is_symlink()
    assert not (tmp_path / "third.tmill").is_symlink()
    assert str(load_artifact(tmp_path / "latest.tmill")) == str(artifact())


def test_where_nothing_can_be_written_is_said_by_the_users_name(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "f.tmill"
    with pytest.raises(OSError, match=rf"\] \w[\w ]*: '{path}'$"):
        artifact().save(path)
    assert not list(tmp_path.iterdir())
