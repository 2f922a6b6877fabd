"""The targets of artifacts: this machine's processor, and GPUs that this machine need not have."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ...compiler.errors import ArgumentValueError, ParseError
from ...compiler.ir import Graph
from ...compiler.nesting import shown
from ..machine.target import GRAPH

CPU: Final = "cpu"
CPU_C: Final = "cpu-c"
"""The processor of this machine, through its C compiler: only in the disk cache, since files contain no CPU code."""
_FOLDERS: Final = {"cubin": "kernels", "ptx": "kernels", "py": "src", "bin": "consts"}
"""The folders of files for GPUs in a bundle, by their type."""
_CUDA: Final = re.compile(r"cuda:(sm_([0-9]{2,3}))")


def check_targets(targets: object) -> tuple[str, ...]:
    """The targets, each once; raises `ArgumentValueError` for an unknown one."""
    given: list[object] = (
        [*targets] if isinstance(targets, Iterable) and not isinstance(targets, str) else [targets]
    )
    wanted: dict[str, None] = {}
    for target in given:
        if not isinstance(target, str) or (target not in (CPU, CPU_C) and not _CUDA.fullmatch(target)):
            raise ArgumentValueError(
                f"target {shown(target)} is unknown: choose 'cpu', 'cpu-c', or one like 'cuda:sm_90'"
            )
        wanted[target] = None
    return tuple(wanted)


def code_for(graph: Graph, targets: Sequence[str], *, fast_math: bool) -> Mapping[str, Mapping[str, bytes]]:
    """The files of each target for GPUs. Raises Triton's errors."""
    wanted = [target for target in targets if target not in (CPU, CPU_C)]
    if not wanted:
        return {}
    from ..gpu_programs.ahead import files_for

    return {target: files_for(graph, target, fast_math=fast_math) for target in wanted}


def member_of(target: str, file: str, format: int) -> str:
    """The member of a bundle that holds a file of a target. ValueError if there is no such target.

    >>> member_of("cuda:sm_90", "kernel_0.cubin", 2), member_of("cuda:sm_90", "kernel_0.cubin", 1)
    ('kernels/sm_90_kernel_0.cubin', 'sm_90/kernel_0.cubin')
    """
    found = _CUDA.fullmatch(target)
    if found is None:
        raise ValueError(f"{shown(target, 40)} is not a target")
    if format == 1:
        return f"{found[1]}/{file}"
    return f"{_FOLDERS.get(file.rpartition('.')[2], 'plans')}/{found[1]}_{file}"


def check_code(target: str, files: Mapping[str, bytes], graph: Graph) -> None:
    """ParseError unless files are a program for a target, with the arguments and results of the graph."""
    from ..gpu_programs.stored_program import program_in

    found = _CUDA.fullmatch(target)
    if found is None:
        raise ParseError(f"{shown(target, 40)} is not a target")
    if GRAPH not in files:
        raise ParseError(f"there is no {GRAPH}")
    plan = program_in(files, int(found[2])).plan
    for values, slots in ((graph.inputs, plan.inputs), (graph.outputs, plan.outputs)):
        if [value.type for value in values] != [slot.type for slot in slots]:
            raise ParseError("the plan takes or gives other arrays than the graph")
