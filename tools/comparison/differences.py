"""The differences between two programs: signatures, graphs, constants, machine code, and generated sources."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from ...compiler.arguments.leaves import path_names
from ...compiler.dtypes import is_inexact
from ...compiler.errors import ParseError
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import Constant, Graph, Param
from ...compiler.text.incomplete_text import UnknownConstant, parse_to_show
from ...compiler.text.printer import HEADER, graph_constants, graph_functions
from ...compiler.text.units import show_bytes
from ...runtime.artifact.artifact import Artifact
from ...runtime.artifact.loading import USUAL, Reading, load_artifact
from ...runtime.artifact.reading import LARGEST_GRAPH
from ...runtime.artifact.saving import EXTENSION
from ...runtime.files.input_file import opened, read_whole
from ...runtime.gpu_programs.agreement import wide
from ...runtime.machine.target import target_of
from ...runtime.programs.canonicalize import inline_user_rules
from ...runtime.programs.optimize import optimize_in_stages
from ...runtime.programs.print_program import print_program
from .graph_alignment import Alignment, alignment_of

_ARRAY: Final = re.compile(r'^(\w+_bytes = """\n).*?(\n""")$', re.MULTILINE | re.DOTALL)
"""An array as text in a module; arrays are compared separately."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One of two programs."""

    path: str
    graph: Graph
    about: tuple[str, ...]
    """Its signature and settings, a line for each."""
    code: Mapping[str, Mapping[str, bytes]]
    """Its machine code, by target."""
    fast_math: bool
    is_whole: bool
    """Whether all of its arrays are known, so that it can be compiled."""


@dataclass(frozen=True, slots=True)
class Part:
    """One aspect in which two programs are compared."""

    name: str
    text: str
    """The differences, as a unified diff or as lines; empty if there are none."""
    data: Any = None
    """The same as data, if it is not a diff."""

    @property
    def is_equal(self) -> bool:
        return not self.text


def compared_in(path: Path, reading: Reading = USUAL) -> Compared:
    """The program in an artifact, or in a file with the text of a graph. Nothing in it runs.

    `reading` are the arguments of `load` for an artifact.

    Raises:
        click.ClickException: it is neither, or no text that can be read.
        ArtifactError: it is damaged.
        InputFileError: it is not a regular file, or a text that is longer than the graph of any artifact.
    """
    with opened(path) as file:
        is_archive = file.read(2) == b"PK"
    if is_archive or path.suffix == EXTENSION:
        return _of_artifact(path, load_artifact(path, reading))
    try:
        text = read_whole(path, LARGEST_GRAPH).decode()
    except UnicodeDecodeError:
        text = ""
    start = 0 if text.startswith(HEADER) else text.find(f"\n{HEADER}\n") + 1
    if not text[start:].startswith(HEADER):
        raise click.ClickException(
            f"{path} is neither an artifact, which `tracemill export` writes, nor the text of a graph, with a line"
            f" {HEADER!r}"
        )
    try:
        graph = parse_to_show(text[start:])
    except ParseError as error:
        raise click.ClickException(f"{path}: {error.message}") from error
    arrays = graph_constants(graph)
    is_whole = not arrays and not graph_functions(graph)
    return Compared(str(path), graph, _head(graph), {}, False, is_whole)


def _head(graph: Graph) -> tuple[str, ...]:
    arguments = [f"{name}: {value.type}" for name, value in zip(graph.input_names, graph.inputs, strict=True)]
    return (f"function {graph.name}", *arguments, *(f"returns {value.type}" for value in graph.outputs))


def _of_artifact(path: Path, artifact: Artifact) -> Compared:
    program, interface, settings = artifact.program, artifact.interface, artifact.settings
    inputs = dict(zip(artifact.paths, program.graph.inputs, strict=True))
    results = path_names(program.out_tree, "returns ")
    lines = [f"function {interface.name}{interface.signature}"]
    lines += [f"{name}: {value.type}" for name, value in inputs.items()]
    for name, leaf in zip(results, program.out_leaves, strict=True):
        type = program.graph.outputs[leaf.index].type if isinstance(leaf, ArrayOutput) else repr(leaf.value)
        lines.append(f"{name.strip()}: {type}")
    lines += [f"updates {artifact.paths[index]}" for index, _ in program.mutated]
    lines += [f"{name} = {value}" for name, value in asdict(settings).items()]
    lines += [f"target {target}" for target in artifact.targets]
    lines += [f"doc {line}".rstrip() for line in (interface.doc or "").splitlines()]
    return Compared(str(path), program.graph, tuple(lines), artifact.code, settings.fast_math, True)


def differences(before: Compared, after: Compared, backend: str) -> list[Part]:
    """The parts of two programs, including equal ones. The sources are those of `backend`."""
    alignment = alignment_of(before.graph, after.graph)
    old, new = alignment.codes()
    names = before.path, after.path
    parts = [
        Part("signature", _diff(before.about, after.about, names)),
        Part("graph", _diff(old.splitlines(), new.splitlines(), names)),
        _constants(alignment),
    ]
    if before.is_whole and after.is_whole:
        is_same = old == new and before.fast_math == after.fast_math and parts[2].is_equal
        sources = ([], []) if is_same else (_kernels(before, backend), _kernels(after, backend))
        parts.append(Part("kernels", _diff(*sources, names)))
    if before.code or after.code:
        parts.append(_machine_code(before, after))
    return parts


def _diff(before: Sequence[str], after: Sequence[str], names: tuple[str, str]) -> str:
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))


# ---- arrays ------------------------------------------------------------------------------------------


def _constants(alignment: Alignment) -> Part:
    """The corresponding arrays that are not equal, and by how much they differ."""
    rows = [
        _compared(old, new)
        for old, new in dict.fromkeys(alignment.constants)
        if old.type == new.type and old.ndim and old.digest != new.digest
    ]
    paired = [pair for pair in alignment.constants if pair[0].type == pair[1].type]
    for graph, known, where in (
        (alignment.before, {old.digest for old, _ in paired}, "before"),
        (alignment.after, {new.digest for _, new in paired}, "after"),
    ):
        rows += [
            {"type": str(Constant(array).type), "difference": f"only {where}"}
            for digest, array in graph_constants(graph).items()
            if digest not in known
        ]
    text = "\n".join(f"{row['type']}: {row['difference']}" for row in rows)
    return Part("constants", text, rows)


def _compared(old: Constant, new: Constant) -> dict[str, Any]:
    row: dict[str, Any] = {"type": str(old.type)}
    if isinstance(old, UnknownConstant) or isinstance(new, UnknownConstant):
        return row | {"difference": "another digest: the numbers are not in the texts"}
    a, b = old.array, new.array
    if not is_inexact(a.dtype):
        return row | {"difference": f"{np.count_nonzero(a != b)} of {a.size} elements differ"}
    a, b = a.astype(wide(a)), b.astype(wide(b))
    differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    count = int(np.count_nonzero(differ))
    if not count:
        return row | {"difference": "only signs of zeros, or bits of NaN"}
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(a - b)[differ]))
        relative = largest / float(np.max(np.abs(a[differ])))
    words = f"{count} of {a.size} numbers differ, by up to {largest:.3g}"
    return row | {"difference": words, "elements": count, "largest": largest, "relative": relative}


# ---- code --------------------------------------------------------------------------------------------


def _machine_code(before: Compared, after: Compared) -> Part:
    """The files of each target; a target that only one program has is a row."""
    rows: list[dict[str, str]] = []
    for target in sorted({*before.code, *after.code}):
        ours, theirs = before.code.get(target, {}), after.code.get(target, {})
        if not (ours and theirs):
            found = ours or theirs
            size = show_bytes(sum(map(len, found.values())))
            where = f"only {'before' if ours else 'after'}, {size}"
            rows.append({"target": target, "file": f"{len(found)} files", "difference": where})
            continue
        for name in sorted({*ours, *theirs}):
            if ours.get(name) != theirs.get(name):
                what = f"{_size(ours.get(name))} became {_size(theirs.get(name))}"
                rows.append({"target": target, "file": name, "difference": what})
    text = "\n".join(f"{row['target']} {row['file']}: {row['difference']}" for row in rows)
    return Part("machine code", text, rows)


def _size(content: bytes | None) -> str:
    return "nothing" if content is None else show_bytes(len(content))


def _kernels(compared: Compared, backend: str) -> list[str]:
    """The functions that are generated here, or the module if there are none; without the user's lines."""
    target = target_of(backend, compared.fast_math)
    optimised, _ = optimize_in_stages(inline_user_rules(_without_lines(compared.graph)), target.backend)
    source = print_program(optimised, target, check=False)
    functions = dict.fromkeys(function.text for function in source.functions.values())
    return "\n".join(functions or [_ARRAY.sub(r"\1…\2", source.python)]).splitlines()


def _without_lines(graph: Graph) -> Graph:
    known: dict[int, Graph] = {}

    def param(value: Param) -> Param:
        if isinstance(value, Graph):
            return known.get(id(value)) or known.setdefault(id(value), _without_lines(value))
        return tuple(map(param, value)) if isinstance(value, tuple) else value

    calls = tuple(
        replace(call, location=None, params={name: param(value) for name, value in call.params.items()})
        for call in graph.calls
    )
    return replace(graph, calls=calls)


def as_rows(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    """Parts as JSON-ready records."""
    for part in parts:
        data = {} if part.data is None else {"differences": part.data}
        yield {"part": part.name, "equal": part.is_equal, "text": part.text, **data}
