"""`READERS`: everything that reads files, how inputs for it are made, and the errors that it may raise."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

import tracemill as tm
from gpu.stub_gpu import machine_code
from samples.table import SAMPLES
from support.bundles import artifact_of, members_of
from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.choice import RULES, Choice
from tracemill.compiler.backends.triton.kernels.kernel_key import (
    kernel_key,
    kernel_text,
    key_of_text,
    known_graph,
)
from tracemill.compiler.backends.triton.planning.plan_document import arrays_of, document, plan_of
from tracemill.compiler.backends.triton.planning.program import triton_program
from tracemill.compiler.dtypes import dtype_name
from tracemill.compiler.errors import ArtifactError, CubinError, LockFileError, ParseError
from tracemill.compiler.ir import Graph
from tracemill.compiler.op import all_ops
from tracemill.compiler.shapes import by_sympy  # noqa: F401 (the confined readers need it, and import nothing)
from tracemill.compiler.text.parser import parse
from tracemill.compiler.text.printer import graph_constants, graph_functions
from tracemill.compiler.verifier import check
from tracemill.passes.optimizations.fuse import fuse
from tracemill.passes.pipeline import run
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.runtime.bundle.archive import archive_bytes
from tracemill.runtime.bundle.manifest import GRAPH, MANIFEST
from tracemill.runtime.bundle.writing import bundle_bytes
from tracemill.runtime.cache.entry import BadEntryError, read_entry, write_entry
from tracemill.runtime.files.digests import digest_of, file_of
from tracemill.runtime.gpu_choices.lock_entry import LockEntry, Measured
from tracemill.runtime.gpu_choices.lock_reader import entries_in
from tracemill.runtime.gpu_choices.lock_text import lock_text
from tracemill.runtime.gpu_programs.stored_program import KERNELS, PLAN, program_in
from tracemill.runtime.machine.cubin import kernels_in

from .bundles import bundles
from .mutation import DEEP, ODD, Mutator
from .odd_zips import odd_zip


@dataclass(frozen=True)
class Reader:
    """A reader of files that anyone may have written."""

    make: Callable[[Mutator], Any]
    """Makes one input, which may be valid."""
    read: Callable[[Any], Any]
    """Reads an input and checks the result. Only this is watched."""
    errors: tuple[type[Exception], ...]
    share: int
    """The share of this reader in a hundred inputs."""


def brackets(mutator: Mutator) -> str:
    """JSON of nested brackets, up to and beyond the depth at which Python gives up."""
    depth = mutator.random.choice((5, 70, 300, *range(930, 1000, 3), 5000, 10**5))
    left, right = mutator.random.choice((("[", "]"), ('{"a":', "}")))
    return f"{left * depth}0{right * depth}"


def deepened(text: str, brackets: str) -> str:
    """JSON text with these brackets at the mark."""
    return text.replace(json.dumps(DEEP), brackets)


# ---- bundles -------------------------------------------------------------------------------------------


@cache
def undamaged() -> frozenset[bytes]:
    """The bytes of the bundles after reading and saving them."""
    return frozenset(bundle_bytes(artifact_of(content)) for content in bundles())


def damaged_zip(mutator: Mutator) -> bytes:
    """Bytes are changed anywhere, so that digests and checksums do not match."""
    undamaged()  # before the reading is watched
    return mutator.bytes(mutator.random.choice(bundles()))


def odd_archive(mutator: Mutator) -> bytes:
    """The members are good, but their zip headers are not."""
    undamaged()
    return odd_zip(members_of(mutator.random.choice(bundles())), mutator)


def _put_together(members: Mapping[str, bytes], manifest: Any, mutator: Mutator) -> bytes:
    """A bundle with this manifest and matching digests, if it has a place for them."""
    others, deep = {name: content for name, content in members.items() if name != MANIFEST}, brackets(mutator)
    said = manifest.get("members") if isinstance(manifest, dict) else None
    for name, content in others.items():
        if isinstance(said, dict) and isinstance(said.get(name), dict) and mutator.sometimes(0.95):
            said[name] |= {"bytes": len(content), "sha256": digest_of(content)}
    if isinstance(manifest, dict) and mutator.sometimes(0.98):
        rest = {name: part for name, part in manifest.items() if name != "id"}
        canonical = deepened(json.dumps(rest, sort_keys=True, separators=(",", ":")), deep)
        manifest = rest | {"id": digest_of(canonical.encode())}
    return archive_bytes({MANIFEST: deepened(json.dumps(manifest), deep).encode(), **others})


def odd_manifest(mutator: Mutator) -> bytes:
    """The manifest is changed, and its digests match."""
    members = members_of(mutator.random.choice(bundles()))
    return _put_together(members, mutator.document(json.loads(members[MANIFEST])), mutator)


def odd_graph(mutator: Mutator) -> bytes:
    """The text of the graph is changed, and its digests match."""
    members = dict(members_of(mutator.random.choice(bundles())))
    text = mutator.text(members[GRAPH].decode(), words())
    members[GRAPH] = text.encode("utf-8", "surrogatepass")
    return _put_together(members, json.loads(members[MANIFEST]), mutator)


def odd_array(mutator: Mutator) -> bytes:
    """Arrays are changed, and their digests match."""
    members = dict(members_of(bundles()[0]))
    name = next(name for name in members if name.startswith("consts/"))
    members[name] = mutator.bytes(members[name])
    return _put_together(members, json.loads(members[MANIFEST]), mutator)


def read_undamaged(content: bytes) -> None:
    """Digests protect all members: what loads equals what was saved, or the damage is where nothing is read."""
    assert bundle_bytes(artifact_of(content)) in undamaged()


def read_bundle(content: bytes) -> None:
    """A bundle that loads must save to bytes that load, and save to the same bytes."""
    saved = bundle_bytes(artifact_of(content))
    assert bundle_bytes(artifact_of(saved)) == saved


# ---- the text of graphs -----------------------------------------------------------------------------------


@cache
def graphs() -> tuple[Graph, ...]:
    """A graph for each op that has a text, in the order of the samples."""
    return tuple(sample.graph() for sample in SAMPLES)


@cache
def words() -> tuple[str, ...]:
    """Possible contents of a text."""
    small = (x for x in ODD if isinstance(x, str | int | float) and x is not DEEP)
    dtypes = ("f32", "f64", "i64", "bool", "c64", "bf16", "f32[2]", "f64[]", "f32(0.5)", "c64(1.0, nan)")
    return (
        *all_ops(),
        *dtypes,
        *map(str, small),
        *("def", "return", "constant", "callable", "()", "(,)", "=", "axes=(0,)", "#", "\n    ", "\r", "\t"),
    )


def odd_text(mutator: Mutator) -> tuple[str, Graph]:
    """The text of a graph with other tokens in it, and the graph."""
    graph = mutator.random.choice(graphs())
    return mutator.text(str(graph), words()), graph


def read_text(given: tuple[str, Graph]) -> None:
    """A graph that is read must be valid, and its text must read as the same graph."""
    text, original = given
    constants, functions = graph_constants(original), graph_functions(original)
    graph = parse(text, constants, functions)
    check(graph)
    again = str(graph)
    assert parse(again, graph_constants(graph), graph_functions(graph)) == graph, again


# ---- entries of the disk cache ------------------------------------------------------------------------------

KEY: Final = hashlib.sha256(b"fuzzing").hexdigest()


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="fuzzing")


def odd_entry(mutator: Mutator) -> Path:
    """An entry with a changed manifest or changed members. Its digests mostly match."""
    folder = Path(_folder().name) / KEY
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    members = {"program.py": b"x = 1\n", "plan.json": b"{}", "empty.bin": b""}
    write_entry(folder, KEY, members, {"function": "f", "backend": "numpy"})
    path = folder / "entry.json"
    manifest = json.loads(path.read_text())
    manifest["created"] = 1.7e9
    if mutator.sometimes(0.8):
        deep = brackets(mutator)
        del manifest["checksum"]
        manifest = mutator.document(manifest)
        text = json.dumps(manifest)
        if isinstance(manifest, dict):
            canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
            checksum = digest_of(deepened(canonical, deep).encode())
            text = json.dumps(manifest | {"checksum": checksum})
        path.write_text(deepened(text, deep))
    else:
        member = mutator.random.choice(sorted(folder.iterdir()))
        member.write_bytes(mutator.bytes(member.read_bytes()))
    return folder


def read_cached(folder: Path) -> None:
    entry = read_entry(folder, KEY)
    assert all((folder / name).resolve().parent == folder.resolve() for name in entry.members)


# ---- plans, machine code and lock files of GPUs ----------------------------------------------------------------


@cache
def programs() -> tuple[dict[str, bytes], ...]:
    """Files of programs with steps of each kind and empty machine code."""

    def files(function: Callable[..., Any], *arrays: Any) -> dict[str, bytes]:
        graph = tm.compile(function).lower(*arrays).graph
        plan = triton_program(run(graph, (fuse, remove_dead_code))).plan
        launches = {step.function: step for step in plan.launches}
        kernels = [
            {"function": name, "name": name, "warps": step.warps, "pointers": len(step.slots)}
            | {"shared_bytes": 0, "scratch_bytes": 0}
            for name, step in launches.items()
        ]
        arrays_known = arrays_of(plan)
        types = {digest: [dtype_name(array.dtype), *array.shape] for digest, array in arrays_known.items()}
        stored = {"plan": document(plan), "kernels": kernels, "arrays": types}
        code = [machine_code(90, **{name: len(step.slots)}) for name, step in launches.items()]
        return {
            PLAN: json.dumps(stored).encode(),
            KERNELS: b"",
            **{f"kernel_{number}.cubin": content for number, content in enumerate(code)},
            **{file_of(digest): array.tobytes() for digest, array in arrays_known.items()},
        }

    x = np.eye(8)

    def looped(x: Any) -> Any:
        total, rows = tm.scan(lambda total, row: (total + row, total * 2), x[0], x)
        last = tm.while_loop(lambda x: np.sum(x) < 5, lambda x: x * 2, x)
        return total, rows, last, tm.cond(x[0, 0] > 0, np.sin, np.cos, x)

    return (
        files(lambda x: np.sort(np.exp(x), axis=1)[:, ::2], x),
        files(lambda x: np.linalg.inv(np.sin(x)) * np.arange(8.0), x),
        files(looped, x),
        files(lambda x: np.cumsum(np.tanh(x) @ x), x),
    )


def odd_program(mutator: Mutator) -> dict[str, bytes]:
    """Files that resemble a program for a GPU."""
    files = dict(mutator.random.choice(programs()))
    if mutator.sometimes(0.8):
        changed = mutator.document(json.loads(files[PLAN]))
        files[PLAN] = deepened(json.dumps(changed), brackets(mutator)).encode()
    if mutator.sometimes(0.3):
        name = mutator.random.choice(tuple(files))
        files[name] = mutator.bytes(files[name])
    if mutator.sometimes(0.05):
        del files[mutator.random.choice(tuple(files))]
    return files


def read_program(files: Mapping[str, bytes]) -> None:
    plan = program_in(files, 90).plan
    again = document(plan)
    assert document(plan_of(again, arrays_of(plan))) == again


@cache
def cubins() -> tuple[bytes, ...]:
    return machine_code(90, exp_1=3), machine_code(100, a=0, b=7)


def odd_cubin(mutator: Mutator) -> bytes:
    return mutator.bytes(mutator.random.choice(cubins()))


@cache
def lock_file() -> str:
    """A lock file of two kernels."""

    def entry(function: Any, choice: Choice) -> LockEntry:
        graph = recorded(function, "f32[5000]")
        measured = (Measured(RULES, 0.25), Measured(Choice(warps=2), None, 'it "spills"'))
        key, text = kernel_key(graph), kernel_text(known_graph(graph))
        return LockEntry("sm_90", key, choice, measured, "NVIDIA H200", {"triton": "3.9.0"}, text)

    entries = entry(fn.exp, Choice(elements=512, warps=8)), entry(fn.sin, RULES)
    return lock_text({(entry.target, entry.key): entry for entry in entries})


_LOCK_WORDS: Final = (
    *(
        "format = 1",
        "[sm_90.x]",
        "[[a]]",
        "{",
        "}",
        "'''",
        '"""',
        '"',
        "nan",
        "inf",
        "1979-05-27",
        "a.b.c.d=1",
        "\n",
    ),
    *(
        "warps = 0",
        "warps = 64",
        "milliseconds = nan",
        "refused = 1",
        "graph = ''",
        "[" * 2000,
        "a." * 2000,
        "{a=" * 999,
        "0x" + "f" * 5000,
    ),
)


def odd_lock_file(mutator: Mutator) -> bytes:
    """A lock file with words changed, in which the keys of graphs may match."""
    text = mutator.text(lock_file(), _LOCK_WORDS)
    if mutator.sometimes(0.5):
        for part in text.split("graph = '''\n")[1:]:
            graph = part.partition("'''")[0].removesuffix("\n")
            old = next((x for x in lock_file().split("sm_90.")[1:] if graph[:60] in x), "")[:32]
            text = text.replace(old or "?", key_of_text(graph.encode(errors="replace").decode()))
    content = text.encode("utf-8", "surrogatepass")
    return mutator.bytes(content) if mutator.sometimes(0.2) else content


def read_lock_file(content: bytes) -> None:
    for entry in entries_in(content, Path("tracemill.lock")).values():
        check(parse(entry.graph))


READERS: Final[Mapping[str, Reader]] = {
    "zip files": Reader(odd_archive, read_undamaged, (ArtifactError,), 15),
    "bytes": Reader(damaged_zip, read_undamaged, (ArtifactError,), 10),
    "manifests": Reader(odd_manifest, read_bundle, (ArtifactError,), 16),
    "graphs": Reader(odd_graph, read_bundle, (ArtifactError,), 5),
    "arrays": Reader(odd_array, read_bundle, (ArtifactError,), 3),
    "texts": Reader(odd_text, read_text, (ParseError,), 29),
    "entries": Reader(odd_entry, read_cached, (BadEntryError,), 5),
    "programs": Reader(odd_program, read_program, (ParseError,), 7),
    "cubins": Reader(odd_cubin, kernels_in, (CubinError,), 5),
    "lock files": Reader(odd_lock_file, read_lock_file, (LockFileError, ParseError), 5),
}


def input_of(name: str, number: int) -> Any:
    """The input that a number determines."""
    return READERS[name].make(Mutator(Random(f"{name} {number}")))
