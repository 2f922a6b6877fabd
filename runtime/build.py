"""From a traced graph to a function that runs: optimise, print, cache, load."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compiler.backends.numpy import callbacks, entry_name, print_module
from ..compiler.errors import BackendError
from ..compiler.ir import Graph
from ..compiler.op import has_effect
from ..passes.decompose import decompose_composites
from ..passes.fold_constants import fold_constants
from ..passes.inline_rules import inline_rules
from ..passes.pipeline import apply, run
from ..passes.remove_dead_code import remove_dead_code
from ..passes.share_subexpressions import share_subexpressions
from ..passes.simplify import simplify
from .cache import cache_key, default_cache
from .environment import checking
from .load import load_module

PASSES = (
    decompose_composites,
    remove_dead_code,
    simplify,
    fold_constants,
    share_subexpressions,
    simplify,
    remove_dead_code,
)
"""What every program goes through, in this order."""

BACKENDS = ("auto", "numpy")


@dataclass(slots=True)
class Statistics:
    """Counts of this process, for tests and for the curious."""

    compiled: int = 0
    """Programs that were optimised and printed."""
    from_disk: int = 0
    """Programs that came from the disk cache."""


statistics = Statistics()


@dataclass(frozen=True)
class Build:
    """A program that can run, and where it came from."""

    function: Callable[..., tuple[Any, ...]]
    source: str
    path: Path | None
    """Where the generated source lies; None if it could not be cached."""
    from_disk: bool = False


def final(graph: Graph) -> Graph:
    """The graph as it is compiled and cached: no transform will ask for the rules that its calls hold."""
    return apply(inline_rules, graph, check=checking())


def optimise(graph: Graph) -> tuple[Graph, list[tuple[str, Graph]]]:
    """The graph after all passes, and after each."""
    stages: list[tuple[str, Graph]] = []
    return run(graph, PASSES, check=checking(), record=stages), stages


def check_backend(backend: str) -> str:
    """The backend to use; `BackendError` for a name that is none."""
    if backend not in BACKENDS:
        raise BackendError(f"backend {backend!r} is unknown: choose one of {', '.join(map(repr, BACKENDS))}")
    return "numpy"


def build(graph: Graph, backend: str) -> Build:
    """Make `graph` runnable, from the disk cache if it is there."""
    backend = check_backend(backend)
    graph = final(graph)
    text = str(graph)
    # A program that calls back into Python is not cached: a Python function has no text to know it by.
    key = (
        None
        if any(has_effect(call, "calls Python") for call in graph.calls)
        else cache_key(ir=text, backend=backend)
    )
    cache = default_cache()
    entry = cache.load(key) if key else None
    if entry is not None:
        source = entry.text("program.py")
        statistics.from_disk += 1
        return Build(
            load_module(source, entry_name(graph)), source, entry.folder / "program.py", from_disk=True
        )
    optimised, _ = optimise(graph)
    source = print_module(optimised)
    statistics.compiled += 1
    folder = None
    if key:
        members = {"program.py": source.encode(), "graph.txt": text.encode()}
        folder = cache.store(key, members, {"function": graph.name, "backend": backend})
    function = load_module(source, entry_name(graph), callbacks(optimised))
    return Build(function, source, folder / "program.py" if folder else None)
