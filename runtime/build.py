"""From a traced graph to a function that runs: optimise, print, cache, load."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..compiler.backends.c.function import CFunction, COptions
from ..compiler.backends.c.library import CLibrary
from ..compiler.backends.c.source import print_function, print_source
from ..compiler.backends.numpy.printer import callbacks, entry_name, memory_plan, print_module
from ..compiler.errors import BackendError, MissingCompilerError
from ..compiler.ir import Call, Graph
from ..compiler.memory_use import MemoryUse, memory_use
from ..compiler.op import has_effect
from ..passes.decompose import decompose_composites
from ..passes.fold_constants import fold_constants
from ..passes.fuse import fuse
from ..passes.inline_calls import inline_calls
from ..passes.inline_rules import inline_rules
from ..passes.pipeline import apply, run
from ..passes.remove_dead_code import remove_dead_code
from ..passes.reroll import reroll
from ..passes.share_subexpressions import share_subexpressions
from ..passes.simplify import simplify
from ..passes.tile import tile
from .blas import products
from .cache import cache_key, default_cache, versions_in_use
from .cache_entry import Entry
from .environment import checking, usual_backend
from .load import load_module
from .shared_library import LIBRARY, link
from .threads import get_num_threads
from .toolchain import Toolchain, toolchain, working_toolchain

FIRST = (decompose_composites, remove_dead_code, reroll)
"""What they leave is what the disk cache knows a program by: a Python loop as a loop, whose text is short."""

OTHERS = (simplify, fold_constants, share_subexpressions, simplify, remove_dead_code)

PASSES = (*FIRST, *OTHERS)
"""What every program goes through, in this order."""

PASSES_FOR = {"c": (inline_calls, fuse), "numpy": (tile,)}
"""What it goes through then, by backend."""

SHARED: dict[str, Any] = {"threads": get_num_threads, "pools": {}}
"""What modules that compute tiles find in the place of their own: how many threads there are, and these."""

BACKENDS = ("auto", "c", "numpy")


@dataclass(slots=True)
class Statistics:
    """Counts of this process, for tests and for the curious."""

    compiled: int = 0
    """Programs that were optimised and printed."""
    from_disk: int = 0
    """Programs that came from the disk cache."""


statistics = Statistics()


@dataclass(frozen=True, slots=True)
class Target:
    """What a program is made for."""

    backend: str
    """``"c"`` or ``"numpy"``."""
    options: COptions
    toolchain: Toolchain | None
    """The compiler of the C functions; None if there are none."""
    falls_back: bool = False
    """Without a compiler, NumPy will do."""

    @property
    def key(self) -> dict[str, str]:
        """What it adds to the versions in a cache key."""
        return dict(self.toolchain.identity()) if self.toolchain else {}


NUMPY = Target("numpy", COptions(), None)


@dataclass(frozen=True)
class Source:
    """A program as text."""

    python: str
    c: str | None = None
    """The C functions that the Python module calls; None if it calls none."""
    functions: Mapping[Call, CFunction] = field(default_factory=dict["Call", "CFunction"])
    """Those that calls of the graph have become."""


@dataclass(frozen=True)
class Build:
    """A program that can run, and where it came from."""

    function: Callable[..., tuple[Any, ...]]
    source: str
    path: Path | None
    """Where the generated source lies; None if it could not be cached."""
    from_disk: bool = False
    c_source: str | None = None


def final(graph: Graph) -> Graph:
    """The graph as it is compiled: no transform will ask for the rules that its calls hold."""
    return apply(inline_rules, graph, check=checking())


def optimise(graph: Graph, target: Target) -> tuple[Graph, list[tuple[str, Graph]]]:
    """The graph after all passes, and after each."""
    stages: list[tuple[str, Graph]] = []
    passes = (*PASSES, *PASSES_FOR[target.backend])
    return run(graph, passes, check=checking(), record=stages), stages


def check_backend(backend: str, setting: str = "backend") -> None:
    """`BackendError` for a name that is none, of what was set."""
    if backend not in BACKENDS:
        raise BackendError(
            f"{setting} {backend!r} is unknown: choose one of {', '.join(map(repr, BACKENDS))}"
        )


def target_of(backend: str, fast_math: bool) -> Target:
    """What to build for: ``"auto"`` is C where a compiler works, and NumPy elsewhere.

    Raises:
        BackendError, MissingCompilerError, CompilerError: there is no such backend, or no C compiler for it.
    """
    wanted = usual_backend() if backend == "auto" else backend
    check_backend(wanted, "TRACEMILL_BACKEND" if backend == "auto" else "backend")
    if wanted == "numpy":
        return NUMPY
    compiler = toolchain() if wanted == "c" else working_toolchain()
    if compiler is None:
        return NUMPY
    options = COptions(fast_math=fast_math, blas=products() is not None)
    return Target("c", options, compiler, falls_back=wanted == "auto")


def print_program(
    optimised: Graph, target: Target, donated: Sequence[int] = (), *, check: bool = True
) -> Source:
    """The generated text of a graph that has been through all passes; results may overwrite the `donated` inputs.

    With `check` the module can compare itself with the meanings of the ops.
    """
    if target.backend == "numpy":
        return Source(print_module(optimised, donated=donated, check=check))
    assert target.toolchain is not None
    flags = target.toolchain.flags_for(fast_math=target.options.fast_math)
    library = CLibrary(partial(print_function, options=target.options), flags)
    python = print_module(optimised, library=library, donated=donated, check=check)
    if not library.functions:
        return Source(python)
    by_call = library.function_by_call
    beside_products = any(call.op == "dot" and call not in by_call for call in optimised.calls)
    text = print_source(optimised.name, library.functions, beside_products=beside_products)
    return Source(python, text, by_call)


def memory_of(optimised: Graph, target: Target, donated: Sequence[int] = ()) -> MemoryUse:
    """What the program of `print_program` needs while it runs."""
    library = CLibrary(partial(print_function, options=target.options)) if target.backend == "c" else None
    return memory_use(optimised, memory_plan(optimised, library, donated))


def build(graph: Graph, target: Target, donated: Sequence[int] = ()) -> Build:
    """Make `graph` runnable, from the disk cache if it is there; results may overwrite the `donated` inputs."""
    graph = run(final(graph), FIRST, check=checking())
    text = str(graph)
    # A program that calls back into Python is not cached: a Python function has no text to know it by.
    is_cached = not any(has_effect(call, "calls Python") for call in graph.calls)
    key = _key(text, target, donated) if is_cached else None
    cache = default_cache()
    entry = cache.load(key) if key else None
    if entry is not None:
        statistics.from_disk += 1
        return _from_disk(entry, entry_name(graph))
    optimised = run(graph, (*OTHERS, *PASSES_FOR[target.backend]), check=checking())
    source = print_program(optimised, target, donated)
    members = {"program.py": source.python.encode(), "graph.txt": text.encode()}
    if source.c is not None:
        assert target.toolchain is not None
        try:
            library = target.toolchain.compile(source.c, fast_math=target.options.fast_math)
        except MissingCompilerError:  # the cache remembers one that is gone
            if target.falls_back:
                return build(graph, NUMPY, donated)
            raise
        members |= {"program.c": source.c.encode(), LIBRARY: library}
    statistics.compiled += 1
    folder = cache.store(key, members, {"function": graph.name, "backend": target.backend}) if key else None
    function = load_module(source.python, entry_name(graph), {**SHARED, **callbacks(optimised)})
    if source.c is not None:
        link(function, members[LIBRARY], folder)
    return Build(function, source.python, folder / "program.py" if folder else None, c_source=source.c)


def _key(text: str, target: Target, donated: Sequence[int]) -> str:
    options: dict[str, Any] = asdict(target.options) if target.backend == "c" else {}
    if donated:
        options["donated"] = list(donated)
    return cache_key(
        ir=text, backend=target.backend, options=options, versions={**versions_in_use(), **target.key}
    )


def _from_disk(entry: Entry, name: str) -> Build:
    source = entry.text("program.py")
    function = load_module(source, name, SHARED)
    if LIBRARY in entry.members:
        link(function, entry.members[LIBRARY], entry.folder)
    c_source = entry.text("program.c") if "program.c" in entry.members else None
    return Build(function, source, entry.folder / "program.py", from_disk=True, c_source=c_source)
