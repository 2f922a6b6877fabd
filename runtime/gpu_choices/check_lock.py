"""Whether the choices of a lock file can be used: by their values, and with Triton by compiling them."""

from collections.abc import Mapping
from pathlib import Path

from ...compiler.backends.triton.kernels.kernel_key import kernel_key
from ...compiler.backends.triton.planning.candidates import check_choice
from ...compiler.backends.triton.planning.program import program_of_kernel
from ...compiler.errors import ArgumentValueError, LockFileError, ParseError
from ...compiler.ir import Graph
from ...compiler.text.parser import parse
from ..machine.triton_compiler import Target, build_programs, target_named
from .lock_entry import Entries, LockEntry
from .lock_file import read_lock


def check_lock(path: Path, *, by_compiling: bool = False) -> Entries:
    """The entries of a lock file, if each can be used for the kernel whose text it holds. No GPU is needed.

    Args:
        path: the file.
        by_compiling: let Triton compile each kernel as it is chosen, for its own target.

    Raises:
        LockFileError: there is no such file, it is damaged, a kernel does not allow its choices, Triton does not
            compile it, or it does not fit into registers.
        MissingPackageError: kernels are to be compiled, and Triton is not installed.
    """
    if not path.exists():
        raise LockFileError(f"{path} does not exist: autotune=True writes it on a machine with a GPU")
    entries = read_lock(path)
    graphs = {at: _graph(path, entry) for at, entry in entries.items()}
    if by_compiling:
        for name in sorted({target for target, _ in entries}):
            _compile(path, [(entry, graphs[at]) for at, entry in sorted(entries.items()) if at[0] == name])
    return entries


def _graph(path: Path, entry: LockEntry) -> Graph:
    try:
        graph = parse(entry.graph)
    except ParseError as error:
        raise _wrong(
            path, entry, f"this version of Tracemill does not read the graph: {error.message}"
        ) from error
    if kernel_key(graph, fast_math=entry.fast_math) != entry.key:
        raise _wrong(
            path, entry, "this version of Tracemill writes the graph differently, so this key is unknown"
        )
    for choice in (entry.choice, *(measured.choice for measured in entry.measured)):
        try:
            check_choice(graph, choice)
        except ArgumentValueError as error:
            raise _wrong(path, entry, error.message) from error
    return graph


def _compile(path: Path, kernels: list[tuple[LockEntry, Graph]]) -> None:
    programs = [program_of_kernel(graph, entry.choice, fast_math=entry.fast_math) for entry, graph in kernels]
    for (entry, _), built in zip(kernels, build_programs(programs, _target(kernels[0][0])), strict=True):
        if not isinstance(built, Mapping):
            raise _wrong(path, entry, built.message)
        if spilled := sorted(name for name, kernel in built.items() if kernel.spilled_bytes):
            raise _wrong(path, entry, f"{', '.join(spilled)} does not fit into registers")


def _target(entry: LockEntry) -> Target:
    return target_named(f"{'cuda' if entry.target.startswith('sm_') else 'hip'}:{entry.target}")


def _wrong(path: Path, entry: LockEntry, why: str) -> LockFileError:
    return LockFileError(
        f"{path}:{entry.line}: {why}. Delete this entry, and its kernel is tuned again on a machine with a GPU"
    )
