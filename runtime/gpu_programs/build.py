"""From a graph to a program on a GPU: optimise, print Triton, compile it for that GPU, cache, load."""

import logging
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...compiler.backends.triton.choice import Choice
from ...compiler.backends.triton.plan import Plan
from ...compiler.backends.triton.planning.program import triton_program
from ...compiler.errors import GpuCodeError, MissingPackageError
from ...compiler.ir import Graph
from ...compiler.shapes.scope import Observed
from ...compiler.text.units import show_bytes
from ..cache.disk_cache import cache_key, default_cache, versions_in_use
from ..cache.guard_codec import guards_text
from ..cache.guarded_lookup import GUARDS, guarded_entry, holds
from ..cache.log_lines import log_load, log_store
from ..gpu.by_cupy import is_by_cupy
from ..gpu.device import Device, gpu
from ..gpu.loading import loaded_kernels
from ..gpu.program import GpuProgram
from ..gpu_choices.lock_entry import architecture, choices_in
from ..gpu_choices.lock_file import read_lock
from ..machine.target import Target
from ..machine.triton_compiler import build_program, target_named
from ..programs.built import Build, statistics
from ..programs.canonicalize import can_be_cached
from ..programs.optimize import optimize
from ..stage_times import note_from_disk, stage
from .stored_code import build_of_stored
from .stored_program import KERNELS, files_of, program_in
from .tune import tuned

_log = logging.getLogger("tracemill")


def build_for_gpu(graph: Graph, target: Target, scope: Observed | None = None) -> Build:
    """Make a prepared graph runnable on a GPU, from the disk cache if it is there.

    The `scope` is asked about named sizes, and knows afterwards what the program assumes of them. If the target has a
    lock file, what is chosen of kernels stands there, or is measured now and added to it.

    Raises:
        LockFileError: that file is damaged, or cannot be written.
        MissingPackageError, NoDriverError, NoGpuError: what runs kernels is not there.
        KernelError, GpuCodeError: Triton does not compile a kernel, or the GPU does not run it.
    """
    device, fast_math = gpu(target.gpu), target.options.fast_math
    text = str(graph)
    refused = None
    try:
        if (ahead := build_of_stored(target.code, graph, device)) is not None:
            return ahead
    except GpuCodeError as error:  # compiled anew, for this GPU and driver
        refused = error.message
    is_cached = can_be_cached(graph)
    choices = {} if target.lock is None else choices_in(read_lock(target.lock), architecture(device))
    cache = default_cache()
    key, entry = "", None
    if is_cached:
        key, entry = guarded_entry(
            cache, lambda sizes: _key(text, target, device, choices, sizes), graph, scope
        )
    known = len(scope.assumed) if scope else 0
    log_load(cache, key if is_cached else None, graph.name, "triton", text, found=entry is not None)
    if entry is not None:
        statistics.from_disk += 1
        note_from_disk()
        with stage("load"):
            stored = program_in(entry.members)
            path = entry.folder / KERNELS
            return Build(stored.loaded(device), stored.text, path, from_disk=True)
    compiled = optimize(graph, "triton")
    with stage("print"):
        program = triton_program(compiled, choices, fast_math=fast_math)
    if target.lock is not None:
        choices = tuned(program.kernels, device, target.lock, fast_math=fast_math)
        program = triton_program(compiled, choices, fast_math=fast_math)
        key = _key(text, target, device, choices) if scope is None else key
    _report_host_steps(program.plan)
    try:
        with stage("compile"):
            built = build_program(program, target_named(device.target))
    except MissingPackageError as error:
        if refused is None:
            raise
        raise GpuCodeError(refused) from error
    statistics.compiled += 1
    about = {"function": graph.name, "backend": "triton"}
    members = files_of(program, built) | {"graph.txt": text.encode()}
    if scope is not None:
        members[GUARDS] = guards_text(scope.assumed[known:]).encode()
    folder = cache.store(key, members, about) if is_cached else None
    if scope is not None and folder is not None and not holds(cache, key, members):
        folder = None  # another process was first, with a program that was made for other sizes
    if is_cached:
        log_store(cache, key, graph.name, stored=folder is not None)
    with stage("load"):
        function = GpuProgram(program.plan, loaded_kernels(device, built), device)
    return Build(function, program.text, folder / KERNELS if folder else None)


def _key(text: str, target: Target, device: Device, choices: Mapping[str, Choice], sizes: str = "") -> str:
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "none"
    options: dict[str, Any] = {"fast_math": target.options.fast_math}
    if target.lock is not None:
        options["choices"] = "; ".join(f"{kernel}: {choice}" for kernel, choice in sorted(choices.items()))
    if sizes:
        options["sizes"] = sizes
    versions = {**versions_in_use(), "triton": triton, "target": device.target}
    return cache_key(ir=text, backend="triton", options=options, versions=versions)


def _report_host_steps(plan: Plan) -> None:
    for step in plan.host_steps:
        if is_by_cupy(step):
            _log.info("%s: %s by CuPy, as no kernel computes this", plan.name, ", ".join(step.ops))
            continue
        _log.info(
            "%s: %s on the host, by NumPy: no kernel computes this, and %s are copied in each call",
            plan.name,
            ", ".join(step.ops),
            show_bytes(step.bytes_copied),
        )
