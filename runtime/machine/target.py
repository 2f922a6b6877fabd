"""The target of a program: a backend, its options, a compiler or a GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ...compiler.arguments.option_checks import is_choice
from ...compiler.backends.c.function import COptions
from ...compiler.errors import BackendError
from ...compiler.nesting import shown
from ..environment import usual_backend
from .toolchain import Toolchain, toolchain, working_toolchain

GRAPH: Final = "graph.txt"
"""In the files of a program that was compiled ahead of time: its graph."""

BACKENDS: Final = ("auto", "c", "numpy", "triton")
SYMBOLIC: Final = frozenset({"c", "numpy", "triton"})
"""The backends whose programs can serve arrays of many sizes; the others are compiled for each size."""


def takes_symbolic_sizes(backend: str) -> bool:
    """Whether one program of a backend can serve arrays of many sizes."""
    return backend in SYMBOLIC


@dataclass(frozen=True, slots=True)
class Target:
    """What a program is compiled for."""

    backend: str
    """``"c"``, ``"numpy"`` or ``"triton"``."""
    options: COptions
    toolchain: Toolchain | None
    """The compiler of the C functions; None if there are none."""
    falls_back: bool = False
    """Without a compiler, NumPy is enough; without Triton, a program of the host on copies."""
    gpu: int = 0
    """The number of the GPU on which Triton's kernels run."""
    lock: Path | None = None
    """The file with the choices for Triton's kernels; missing ones are measured. None if rules decide."""
    code: Mapping[str, Mapping[str, bytes]] = field(
        default_factory=dict[str, Mapping[str, bytes]], hash=False
    )
    """Code compiled ahead of time: the files of a program by GPU, ``"cuda:sm_90"``, and the text of its graph."""
    tier: bool = False
    """Whether NumPy computes until the C functions have been compiled."""

    @property
    def key(self) -> Mapping[str, str]:
        """Additional versions for a cache key."""
        return dict(self.toolchain.identity()) if self.toolchain else {}


NUMPY: Final = Target("numpy", COptions(), None)


def check_backend(backend: str, setting: str = "backend") -> None:
    """Raises `BackendError` for an unknown name, and says what was set."""
    if not is_choice(backend, BACKENDS):
        raise BackendError(
            f"{setting} {shown(backend)} is unknown: choose one of {', '.join(map(repr, BACKENDS))}"
        )


def target_of(backend: str, fast_math: bool, gpu: int | None = None, lock: Path | None = None) -> Target:
    """The target: ``"auto"`` is the GPU of the arguments, otherwise C if a compiler works, otherwise NumPy.

    Raises:
        BackendError, MissingCompilerError, CompilerError: there is no such backend, or no C compiler for it; or the
            arguments lie on a GPU, and it computes on the host; or there is a lock file, and it has nothing to choose.
    """
    wanted = backend if backend != "auto" or gpu is not None else usual_backend()
    check_backend(wanted, "TRACEMILL_BACKEND" if backend == "auto" else "backend")
    if gpu is not None and wanted not in ("auto", "triton"):
        raise BackendError(
            f"backend {wanted!r} computes on the host, but an array is on GPU {gpu}: copy it with x.numpy(), or"
            " choose backend='triton'"
        )
    if wanted == "triton" or gpu is not None:
        falls_back = wanted == "auto" and usual_backend() != "triton"
        return Target("triton", COptions(fast_math=fast_math), None, falls_back, gpu or 0, lock)
    if lock is not None:
        raise BackendError(
            "autotune measures kernels on a GPU, and this runs on the host: choose backend='triton', or put arguments"
            " onto the GPU with tm.device_put"
        )
    if wanted == "numpy":
        return NUMPY
    compiler = toolchain() if wanted == "c" else working_toolchain()
    if compiler is None:
        return NUMPY
    return Target("c", COptions(fast_math=fast_math), compiler, falls_back=wanted == "auto")
