"""From a traced graph to a function that runs: optimise, print, cache, load."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..compiler.backends.c.function import CFunction
from ..compiler.backends.c.library import CLibrary, PrintFunction
from ..compiler.backends.c.source import print_function, print_source
from ..compiler.backends.numpy.printer import callbacks, entry_name, memory_plan, print_module
from ..compiler.errors import MissingCompilerError
from ..compiler.ir import Call, Graph
from ..compiler.memory_use import MemoryUse, memory_use
from .built import Build, statistics
from .cache import cache_key, default_cache, versions_in_use
from .cache_entry import Entry
from .cache_log import GRAPH, log_load, log_store
from .load import load_module
from .optimise import can_be_cached, optimised, prepared
from .shared_library import LIBRARY, link
from .stage_times import note_from_disk, stage
from .target import NUMPY, Target, target_of
from .threads import get_num_threads

if TYPE_CHECKING:
    from ..compiler.backends.triton.plan import Plan

SHARED: dict[str, Any] = {"threads": get_num_threads, "pools": {}}
"""What modules that compute tiles find in the place of their own: how many threads there are, and these."""


@dataclass(frozen=True)
class Source:
    """A program as text."""

    python: str
    c: str | None = None
    """The C functions that the Python module calls; None if it calls none."""
    functions: Mapping[Call, CFunction] = field(default_factory=dict["Call", "CFunction"])
    """Those that calls of the graph have become."""
    plan: "Plan | None" = None
    """What launches the Triton functions that the Python module is; None of other backends."""


def c_printer(target: Target) -> PrintFunction:
    """What prints the C functions of programs for a target."""
    return partial(print_function, options=target.options)


def print_program(
    graph: Graph,
    target: Target,
    donated: Sequence[int] = (),
    *,
    check: bool = True,
    print_c: PrintFunction | None = None,
) -> Source:
    """The generated text of a graph that has been through all passes; results may overwrite the `donated` inputs.

    With `check` the module can compare itself with the meanings of the ops. `print_c` prints C functions as
    `c_printer` of the target does.
    """
    if target.backend == "triton":
        from ..compiler.backends.triton.program import triton_program
        from .gpu.known_choices import known_choices

        program = triton_program(graph, known_choices(target), fast_math=target.options.fast_math)
        return Source(program.text, plan=program.plan)
    if target.backend == "numpy":
        return Source(print_module(graph, donated=donated, check=check))
    assert target.toolchain is not None
    flags = target.toolchain.flags_for(fast_math=target.options.fast_math)
    library = CLibrary(print_c or c_printer(target), flags)
    python = print_module(graph, library=library, donated=donated, check=check)
    if not library.functions:
        return Source(python)
    by_call = library.function_by_call
    beside_products = any(call.op == "dot" and call not in by_call for call in graph.calls)
    text = print_source(graph.name, library.functions, beside_products=beside_products)
    return Source(python, text, by_call)


def memory_of(
    graph: Graph,
    target: Target,
    donated: Sequence[int] = (),
    plan: "Plan | None" = None,
    print_c: PrintFunction | None = None,
) -> MemoryUse:
    """What the program of `print_program` needs while it runs; `plan` is that of one for a GPU."""
    if plan is not None:
        from ..compiler.backends.triton.lifetimes import lifetimes_of

        arguments, outputs = (
            sum(slot.type.nbytes for slot in slots) for slots in (plan.inputs, plan.outputs)
        )
        return MemoryUse(arguments, outputs, plan.arena_bytes, tuple(lifetimes_of(plan)), len(plan.steps))
    library = CLibrary(print_c or c_printer(target)) if target.backend == "c" else None
    return memory_use(graph, memory_plan(graph, library, donated))


def build(graph: Graph, target: Target, donated: Sequence[int] = ()) -> Build:
    """Make `graph` runnable, from the disk cache if it is there; results may overwrite the `donated` inputs."""
    graph = prepared(graph, target.backend)
    if target.backend == "triton":
        return _build_for_gpu(graph, target, donated)
    text = str(graph)
    is_cached = can_be_cached(graph)
    key = _key(text, target, donated) if is_cached else None
    cache = default_cache()
    entry = cache.load(key) if key else None
    log_load(cache, key, graph.name, target.backend, text, found=entry is not None)
    if entry is not None:
        statistics.from_disk += 1
        note_from_disk()
        with stage("load"):
            return _from_disk(entry, entry_name(graph))
    compiled = optimised(graph, target.backend)
    with stage("print"):
        source = print_program(compiled, target, donated)
    members = {"program.py": source.python.encode(), GRAPH: text.encode()}
    if source.c is not None:
        assert target.toolchain is not None
        try:
            with stage("compile"):
                library = target.toolchain.compile(source.c, fast_math=target.options.fast_math)
        except MissingCompilerError:  # the cache remembers one that is gone
            if target.falls_back:
                return build(graph, NUMPY, donated)
            raise
        members |= {"program.c": source.c.encode(), LIBRARY: library}
    statistics.compiled += 1
    folder = cache.store(key, members, {"function": graph.name, "backend": target.backend}) if key else None
    if key:
        log_store(cache, key, graph.name, stored=folder is not None)
    with stage("load"):
        function = load_module(source.python, entry_name(graph), {**SHARED, **callbacks(compiled)})
        if source.c is not None:
            link(function, members[LIBRARY], folder)
    return Build(function, source.python, folder / "program.py" if folder else None, c_source=source.c)


def _build_for_gpu(graph: Graph, target: Target, donated: Sequence[int]) -> Build:
    from .gpu.build import build_for_gpu
    from .gpu.device import gpu
    from .gpu.host_program import REASONS, HostProgram, say_once

    try:
        return build_for_gpu(graph, target)
    except REASONS as error:
        if not target.falls_back:
            raise
        say_once(graph.name, error)
    built = build(graph, target_of("auto", target.options.fast_math), donated)
    return replace(built, function=HostProgram(built.function, gpu(target.gpu)))


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
