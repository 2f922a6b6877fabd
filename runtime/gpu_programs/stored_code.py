"""Code compiled ahead of time, on the GPU of this machine: its own machine code, or the PTX of an older one."""

import logging
from collections.abc import Iterable, Iterator, Mapping

from ...compiler.errors import GpuCodeError
from ...compiler.ir import Graph
from ...compiler.text.printer import to_text
from ..gpu.device import Device
from ..machine.target import GRAPH
from ..machine.triton_compiler import target_named
from ..programs.built import Build
from ..stage_times import stage
from .stored_program import StoredProgram, program_in

_log = logging.getLogger("tracemill")

Code = Mapping[str, Mapping[str, bytes]]
"""The files of programs by GPU, ``"cuda:sm_90"``."""


def build_of_stored(code: Code, graph: Graph, device: Device) -> Build | None:
    """The program that was compiled ahead of time for a graph, loaded; None if it was for another graph, or if there
    is none.

    The GPU's own machine code comes first, then its PTX, then that of the nearest older one that newer GPUs can run.

    Raises:
        GpuCodeError: neither is there, or the driver refuses them.
    """
    if not code:
        return None
    text = to_text(graph, locations=False).encode()
    stored = [target for target, files in code.items() if files.get(GRAPH) == text]
    if not stored:
        return None
    refused: list[str] = []
    for target, program, as_ptx in _candidates(code, stored, device):
        said = f"PTX of {target}, which the driver compiles for {device.name}, a {device.target}"
        try:
            with stage("load"):
                function = program.loaded(device, as_ptx=as_ptx, origin=said if as_ptx else "")
        except GpuCodeError as error:
            refused.append(error.message)
            continue
        if not as_ptx:
            return Build(function, program.text, None)
        _log.info("%s: %s; export with targets=%r for code of its own", graph.name, said, device.target)
        return Build(function, f"# {said}\n{program.text}", None)
    if refused:
        raise GpuCodeError("; and ".join(refused))
    raise GpuCodeError(
        f"{device.name} cannot run {graph.name}: it is a {device.target}, and there is code for {', '.join(stored)},"
        f" of which it runs none. Export it with targets={device.target!r}, or install Triton, which compiles it here;"
        " code for cuda:sm_80 runs on all newer GPUs"
    )


def _candidates(
    code: Code, stored: Iterable[str], device: Device
) -> Iterator[tuple[str, StoredProgram, bool]]:
    """Targets with programs that may run, also as PTX, the best one first."""
    own = _number(device.target)
    for target in sorted((target for target in stored if _number(target) <= own), key=_number, reverse=True):
        program = program_in(code[target])
        if target == device.target:
            yield target, program, False
        if program.has_ptx if target == device.target else program.is_for_newer:
            yield target, program, True


def _number(target: str) -> int:
    return int(target_named(target).architecture)
