"""What artifacts are made for: this machine's processor, and GPUs that need not be there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ...compiler.errors import ArgumentValueError
from ...compiler.ir import Graph

CPU: Final = "cpu"


def check_targets(targets: str | Iterable[str]) -> tuple[str, ...]:
    """The targets, each once; `ArgumentValueError` for a name that is none."""
    wanted = tuple(dict.fromkeys([targets] if isinstance(targets, str) else targets))
    for target in wanted:
        if target != CPU:
            raise ArgumentValueError(f"target {target!r} is unknown: choose 'cpu' or one like 'cuda:sm_90'")
    return wanted


def code_for(
    graph: Graph, targets: Sequence[str], donated: Sequence[int]
) -> Mapping[str, Mapping[str, bytes]]:
    """The files of each target for GPUs."""
    return {}
