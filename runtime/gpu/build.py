"""From a graph to a program on a GPU: optimise, print Triton, compile it for that GPU, cache, load."""

import json
import logging
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from ...compiler.backends.triton.choice import Choice
from ...compiler.backends.triton.plan import Plan
from ...compiler.backends.triton.plan_document import arrays_of, document, plan_of
from ...compiler.backends.triton.program import TritonProgram, triton_program
from ...compiler.byte_counts import show_bytes
from ...compiler.dtypes import dtype_name, dtype_named
from ...compiler.errors import ParseError
from ...compiler.ir import Graph
from ..built import Build, statistics
from ..cache import cache_key, default_cache, versions_in_use
from ..cache_entry import Entry
from ..cache_log import log_load, log_store
from ..optimise import can_be_cached, optimised
from ..stage_times import note_from_disk, stage
from ..target import Target
from ..triton_build import BuiltKernel, build_program, target_named
from .device import Device, gpu
from .loading import about_kernel, loaded_kernel, loaded_kernels
from .lock_entry import choices_in
from .lock_file import read_lock
from .program import GpuProgram
from .tune import architecture, tuned

KERNELS: Final = "kernels.py"
"""The member of a cache entry that is the text of the Triton functions, to be read by people alone."""

PLAN: Final = "plan.json"

_log = logging.getLogger("tracemill")


def build_for_gpu(graph: Graph, target: Target) -> Build:
    """Make a prepared graph runnable on a GPU, from the disk cache if it is there.

    If the target has a lock file, what is chosen of kernels stands there, or is measured now and added to it.

    Raises:
        LockFileError: that file is damaged, or cannot be written.
        MissingPackageError, NoDriverError, NoGpuError: what runs kernels is not there.
        KernelError, GpuCodeError: Triton does not compile a kernel, or the GPU does not run it.
    """
    device, fast_math = gpu(target.gpu), target.options.fast_math
    text = str(graph)
    is_cached = can_be_cached(graph)
    choices = {} if target.lock is None else choices_in(read_lock(target.lock), architecture(device))
    key = _key(text, target, device, choices)
    cache = default_cache()
    entry = cache.load(key) if is_cached else None
    log_load(cache, key if is_cached else None, graph.name, "triton", text, found=entry is not None)
    if entry is not None:
        statistics.from_disk += 1
        note_from_disk()
        with stage("load"):
            return _from_disk(entry, device)
    compiled = optimised(graph, "triton")
    with stage("print"):
        program = triton_program(compiled, choices, fast_math=fast_math)
    if target.lock is not None:
        choices = tuned(program.kernels, device, target.lock, fast_math=fast_math)
        program = triton_program(compiled, choices, fast_math=fast_math)
        key = _key(text, target, device, choices)
    _report_host_steps(program.plan)
    with stage("compile"):
        built = build_program(program, target_named(device.target))
    statistics.compiled += 1
    about = {"function": graph.name, "backend": "triton"}
    members = _members(program, built) | {"graph.txt": text.encode()}
    folder = cache.store(key, members, about) if is_cached else None
    if is_cached:
        log_store(cache, key, graph.name, stored=folder is not None)
    with stage("load"):
        function = GpuProgram(program.plan, loaded_kernels(device, built), device)
    return Build(function, program.text, folder / KERNELS if folder else None)


def _key(text: str, target: Target, device: Device, choices: Mapping[str, Choice]) -> str:
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "none"
    options: dict[str, Any] = {"fast_math": target.options.fast_math}
    if target.lock is not None:
        options["choices"] = "; ".join(f"{kernel}: {choice}" for kernel, choice in sorted(choices.items()))
    versions = {**versions_in_use(), "triton": triton, "target": device.target}
    return cache_key(ir=text, backend="triton", options=options, versions=versions)


def _report_host_steps(plan: Plan) -> None:
    for step in plan.host_steps:
        _log.info(
            "%s: %s on the host, by NumPy: no kernel computes this, and %s are copied in each call",
            plan.name,
            ", ".join(step.ops),
            show_bytes(step.bytes_copied),
        )


# ---- on disk -------------------------------------------------------------------------------------------


def _members(program: TritonProgram, built: Mapping[str, BuiltKernel]) -> dict[str, bytes]:
    kernels = [{"function": name, **about_kernel(kernel)} for name, kernel in built.items()]
    arrays = arrays_of(program.plan)
    types = {digest: [dtype_name(array.dtype), *array.shape] for digest, array in arrays.items()}
    stored = {"plan": document(program.plan), "kernels": kernels, "arrays": types}
    members = {KERNELS: program.text.encode(), PLAN: json.dumps(stored, indent=1).encode()}
    for number, kernel in enumerate(built.values()):
        members[f"kernel_{number}.cubin"] = kernel.code
    return members | {_file_of(digest): array.tobytes() for digest, array in arrays.items()}


def _file_of(digest: str) -> str:
    """The member that holds the array of a digest, ``sha256:…``: no file of Windows has a colon in its name."""
    return f"{digest.rpartition(':')[2]}.bin"


def _from_disk(entry: Entry, device: Device) -> Build:
    stored = json.loads(entry.text(PLAN))
    arrays = {
        digest: np.frombuffer(entry.members[_file_of(digest)], dtype_named(dtype)).reshape(shape)
        for digest, (dtype, *shape) in stored["arrays"].items()
    }
    plan = plan_of(stored["plan"], arrays)
    loaded = {
        about["function"]: loaded_kernel(device, entry.members[f"kernel_{number}.cubin"], about)
        for number, about in enumerate(stored["kernels"])
    }
    if missing := {step.function for step in plan.launches} - set(loaded):
        raise ParseError(f"a plan launches functions that are not beside it: {', '.join(sorted(missing))}")
    function = GpuProgram(plan, loaded, device)
    return Build(function, entry.text(KERNELS), entry.folder / KERNELS, from_disk=True)
