"""From a traced graph to a function that runs: look it up, or optimise, print, compile and store it; then load it.

A program on disk is loaded without the passes and printers, which take as long to import as everything else together.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from ...compiler.errors import CompilerError, MissingCompilerError
from ...compiler.ir import Graph
from ...compiler.op import has_effect
from ...compiler.shapes.scope import Observed, relations
from ...compiler.shapes.terms import sizes_in
from ...passes.lowering.collect_checks import check_sites, has_checks
from ...passes.lowering.inline_rules import inline_rules
from ...passes.stages import stages_of
from ..cache.disk_cache import DiskCache, default_cache
from ..cache.entry import Entry
from ..cache.guard_codec import guards_text
from ..cache.guarded_lookup import GUARDS, guarded_entry, holds
from ..cache.log_lines import GRAPH, load_text, log_load, log_store
from ..machine.target import NUMPY, Target, target_of
from ..machine.toolchain import warn_once
from ..programs.built import Build, statistics
from ..programs.canonicalize import can_be_cached, canonicalize
from ..programs.strategy import Strategy
from ..stage_times import note_from_disk, stage
from .host_strategy import HostStrategy
from .raised_errors import raising
from .stages import Staged, has_stages
from .tiers import Tiered


def build(graph: Graph, target: Target, donated: Sequence[int] = (), scope: Observed | None = None) -> Build:
    """Make `graph` runnable, from the disk cache if it is there; results may overwrite the `donated` inputs.

    The `scope` answers questions about named sizes, and afterwards contains the assumptions of the program.
    """
    sites = check_sites(inline_rules(graph)) if has_checks(graph) else ()
    built = _build(canonicalize(graph, target.backend), target, donated, scope)
    return replace(built, function=raising(built.function, sites, graph, donated)) if sites else built


def _build(graph: Graph, target: Target, donated: Sequence[int], scope: Observed | None) -> Build:
    """Like `build`, for a canonical graph."""
    if has_stages(graph, target.backend):
        return _build_in_stages(graph, target, scope)
    if target.backend == "triton":
        return _build_for_gpu(graph, target, donated, scope)
    try:
        if target.tier and scope is None:
            return _build_in_tiers(target, graph, donated)
        return _build_by(HostStrategy(target), graph, donated, scope)
    except (MissingCompilerError, CompilerError) as error:
        if not target.falls_back:
            raise
        warn_once(error)
        return build(graph, NUMPY, donated, scope)


def _does_anything(graph: Graph) -> bool:
    """Whether it computes a value that is needed, prints, or may raise an error."""
    return bool(graph.outputs) or any(map(has_effect, graph.calls))


def _build_in_stages(graph: Graph, target: Target, scope: Observed | None) -> Build:
    """A program whose stages are programs of their own."""
    stages = stages_of(graph)
    builds = [
        _build(stage.graph, target, (), scope) if _does_anything(stage.graph) else None for stage in stages
    ]
    made = [built for built in builds if built is not None]
    return Build(
        Staged(graph, stages, [None if built is None else built.function for built in builds]),
        "\n\n".join(built.source for built in made),
        next((built.path for built in made), None),
        from_disk=all(built.from_disk for built in made),
        c_source="\n".join(built.c_source for built in made if built.c_source is not None) or None,
    )


def _build_in_tiers(target: Target, graph: Graph, donated: Sequence[int]) -> Build:
    """The program in C if it is on disk; otherwise NumPy's statements until it has been compiled."""
    strategy = HostStrategy(target)
    if can_be_cached(graph):
        _, entry = _look_up(default_cache(), strategy, _identity(str(graph)), graph, donated, None)
        if entry is not None:
            return _build_by(strategy, graph, donated, None)
    first = _build_by(HostStrategy(NUMPY), graph, donated, None)
    tiered = Tiered(
        first.function, lambda: _build_by(strategy, graph, donated, None), may_stay=target.falls_back
    )
    return replace(first, function=tiered)


def _build_for_gpu(graph: Graph, target: Target, donated: Sequence[int], scope: Observed | None) -> Build:
    """Build with Triton, or for the host if Triton is missing and the target allows that."""
    from ..gpu.device import gpu
    from ..gpu.host_program import REASONS, HostProgram, warn_of_host_fallback
    from ..gpu_programs.gpu_strategy import GpuStrategy, build_ahead_of_time

    try:
        device = gpu(target.gpu)
        ahead, refused = build_ahead_of_time(target, graph, device)
        return ahead or _build_by(GpuStrategy(target, device, refused), graph, donated, scope)
    except REASONS as error:
        if not target.falls_back:
            raise
        warn_of_host_fallback(graph.name, error)
    built = build(graph, target_of("auto", target.options.fast_math), donated, scope)
    return replace(built, function=HostProgram(built.function, gpu(target.gpu)))


def _build_by(strategy: Strategy, graph: Graph, donated: Sequence[int], scope: Observed | None) -> Build:
    """Find a program on disk, or print, compile and store it."""
    key, entry = None, None
    with stage("look up"):
        text, cache = str(graph), default_cache()
        identity = _identity(text)
        if can_be_cached(graph):
            key, entry = _look_up(cache, strategy, identity, graph, donated, scope)
    known = len(scope.assumed) if scope else 0
    log_load(cache, key, graph.name, strategy.backend, text, found=entry is not None)
    if entry is not None:
        statistics.from_disk += 1
        note_from_disk()
        with stage("load"):
            return strategy.stored(entry)
    with stage("import"):
        from ..programs.optimize import optimize

    printed = strategy.printed(optimize(graph, strategy.backend), donated)
    statistics.compiled += 1
    folder = None
    if key is not None:
        if scope is None:
            key = strategy.key(identity, donated, "")  # with the choices made for kernels that were measured
        members = {**printed.members, GRAPH: text.encode()}
        if scope is not None:
            members[GUARDS] = guards_text(scope.assumed[known:]).encode()
        about = {"function": graph.name, "backend": strategy.backend, **printed.about}
        with stage("store"):
            folder = cache.store(key, members, about)
        if scope is not None and folder is not None and not holds(cache, key, members):
            folder = None  # another process was first, with a program made for other sizes
        log_store(cache, key, graph.name, stored=folder is not None)
    with stage("load"):
        try:
            return printed.load(folder)
        except CompilerError:  # the compiler may have produced garbage, which must not be found again
            if key is not None:
                cache.remove(key)
            raise


def _look_up(
    cache: DiskCache,
    strategy: Strategy,
    identity: str,
    graph: Graph,
    donated: Sequence[int],
    scope: Observed | None,
) -> tuple[str, Entry | None]:
    return guarded_entry(cache, lambda sizes: strategy.key(identity, donated, sizes), graph, scope)


def _identity(text: str) -> str:
    """A graph's text, and the assumptions about its sizes that passes rely on.

    The text of a stage lacks them, because an earlier stage made them.
    """
    known = relations()
    if not known:
        return text
    words = frozenset(re.findall(r"\w+", text))
    concerns = any(size.text in words for one in known for size in sizes_in(one.terms))
    return f"{text}\n{' and '.join(sorted(map(repr, known)))}" if concerns else text


def why_cached(
    graph: Graph, target: Target, donated: Sequence[int] = (), scope: Observed | None = None
) -> str:
    """Whether a program of the host would come from the disk cache, and if not, why: one line. Nothing is compiled."""
    graph, strategy = canonicalize(graph, target.backend), HostStrategy(target)
    text, cache = str(graph), default_cache()
    identity = _identity(text)
    key, found = None, False
    if can_be_cached(graph) and scope is not None:
        key, entry = _look_up(cache, strategy, identity, graph, donated, scope)
        found = entry is not None
    elif can_be_cached(graph):
        key = strategy.key(identity, donated, "")
        found = cache.why_not is None and any(entry.key == key for entry in cache.entries())
    return load_text(cache, key, graph.name, target.backend, text, found=found)
