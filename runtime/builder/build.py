"""From a traced graph to a function that runs: optimise, print, cache, load.

What is on disk is loaded without the passes and printers, which take as long to import as all else together.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from ...compiler.errors import CompilerError, MissingCompilerError
from ...compiler.ir import Graph
from ...compiler.shapes.scope import Observed
from ...passes.lowering.collect_index_checks import checks_indices, index_sites
from ...passes.lowering.inline_rules import inline_rules
from ..cache.disk_cache import DiskCache, cache_key, default_cache, versions_in_use
from ..cache.entry import Entry
from ..cache.guard_codec import guards_text
from ..cache.guarded_lookup import GUARDS, guarded_entry, holds
from ..cache.log_lines import GRAPH, load_text, log_load, log_store
from ..machine.target import NUMPY, Target, target_of
from ..machine.threads import get_num_threads
from ..machine.toolchain import warn_once
from ..programs.built import Build, statistics
from ..programs.canonicalize import can_be_cached, canonicalize
from ..programs.load_module import load_module
from ..programs.shared_library import LIBRARY, link
from ..stage_times import note_from_disk, stage
from .index_errors import raising

ENTRY: Final = "entry"
"""What an entry of the disk cache says of a program: the name of its function."""

SHARED: dict[str, Any] = {"threads": get_num_threads, "pools": {}}
"""What modules that compute tiles find in the place of their own: how many threads there are, and these."""


def build(graph: Graph, target: Target, donated: Sequence[int] = (), scope: Observed | None = None) -> Build:
    """Make `graph` runnable, from the disk cache if it is there; results may overwrite the `donated` inputs.

    The `scope` is asked about named sizes, and knows afterwards what the program assumes of them.
    """
    sites = index_sites(inline_rules(graph)) if checks_indices(graph) else ()
    built = _build(canonicalize(graph, target.backend), target, donated, scope)
    return replace(built, function=raising(built.function, sites)) if sites else built


def _build(graph: Graph, target: Target, donated: Sequence[int], scope: Observed | None) -> Build:
    """As `build`, of a prepared graph."""
    if target.backend == "triton":
        return _build_for_gpu(graph, target, donated, scope)
    try:
        return _build_for_host(graph, target, donated, scope)
    except (MissingCompilerError, CompilerError) as error:
        if not target.falls_back:
            raise
        warn_once(error)
        return build(graph, NUMPY, donated, scope)


def _build_for_host(graph: Graph, target: Target, donated: Sequence[int], scope: Observed | None) -> Build:
    text = str(graph)
    cache = default_cache()
    key, entry = None, None
    if can_be_cached(graph):
        key, entry = _found(cache, text, graph, target, donated, scope)
    known = len(scope.assumed) if scope else 0
    log_load(cache, key, graph.name, target.backend, text, found=entry is not None)
    if entry is not None:
        statistics.from_disk += 1
        note_from_disk()
        with stage("load"):
            return _from_disk(entry)
    from ...compiler.backends.numpy.printer import callbacks, entry_name
    from ..programs.optimize import optimize
    from ..programs.print_program import print_program

    compiled = optimize(graph, target.backend)
    with stage("print"):
        source = print_program(compiled, target, donated)
    members = {"program.py": source.python.encode(), GRAPH: text.encode()}
    if source.c is not None:
        assert target.toolchain is not None
        with stage("compile"):
            library = target.toolchain.compile(
                source.c, fast_math=target.options.fast_math, keeps_text=not target.falls_back
            )
        members |= {"program.c": source.c.encode(), LIBRARY: library}
    statistics.compiled += 1
    if scope is not None:
        members[GUARDS] = guards_text(scope.assumed[known:]).encode()
    about = {"function": graph.name, "backend": target.backend, ENTRY: entry_name(graph)}
    folder = cache.store(key, members, about) if key else None
    if scope is not None and key and folder is not None and not holds(cache, key, members):
        folder = None  # another process was first, with a program that was made for other sizes
    if key:
        log_store(cache, key, graph.name, stored=folder is not None)
    with stage("load"):
        function = load_module(source.python, about[ENTRY], {**SHARED, **callbacks(compiled)})
        if source.c is not None:
            try:
                link(function, members[LIBRARY], folder)
            except CompilerError:  # the compiler may have made garbage, which nobody must find again
                if key:
                    cache.remove(key)
                raise
    return Build(function, source.python, folder / "program.py" if folder else None, c_source=source.c)


def why_cached(
    graph: Graph, target: Target, donated: Sequence[int] = (), scope: Observed | None = None
) -> str:
    """Whether a program of the host would come from the disk cache, and why not: a line. Nothing is made."""
    graph = canonicalize(graph, target.backend)
    text, cache = str(graph), default_cache()
    if not can_be_cached(graph):
        return load_text(cache, None, graph.name, target.backend, text, found=False)
    if scope is not None:
        key, entry = _found(cache, text, graph, target, donated, scope)
        return load_text(cache, key, graph.name, target.backend, text, found=entry is not None)
    key = _key(text, target, donated)
    found = cache.why_not is None and any(entry.key == key for entry in cache.entries())
    return load_text(cache, key, graph.name, target.backend, text, found=found)


def _build_for_gpu(graph: Graph, target: Target, donated: Sequence[int], scope: Observed | None) -> Build:
    from ..gpu.device import gpu
    from ..gpu.host_program import REASONS, HostProgram, say_once
    from ..gpu_programs.build import build_for_gpu

    try:
        return build_for_gpu(graph, target, scope)
    except REASONS as error:
        if not target.falls_back:
            raise
        say_once(graph.name, error)
    built = build(graph, target_of("auto", target.options.fast_math), donated, scope)
    return replace(built, function=HostProgram(built.function, gpu(target.gpu)))


def _key(text: str, target: Target, donated: Sequence[int], sizes: str = "") -> str:
    options: dict[str, Any] = asdict(target.options) if target.backend == "c" else {}
    if donated:
        options["donated"] = list(donated)
    if sizes:
        options["sizes"] = sizes
    return cache_key(
        ir=text, backend=target.backend, options=options, versions={**versions_in_use(), **target.key}
    )


def _found(
    cache: DiskCache, text: str, graph: Graph, target: Target, donated: Sequence[int], scope: Observed | None
) -> tuple[str, Entry | None]:
    return guarded_entry(cache, lambda sizes: _key(text, target, donated, sizes), graph, scope)


def _from_disk(entry: Entry) -> Build:
    source = entry.text("program.py")
    function = load_module(source, entry.about[ENTRY], SHARED)
    if LIBRARY in entry.members:
        link(function, entry.members[LIBRARY], entry.folder)
    c_source = entry.text("program.c") if "program.c" in entry.members else None
    return Build(function, source, entry.folder / "program.py", from_disk=True, c_source=c_source)
