"""`Artifact`: a function that was traced ahead of time, as it is stored in files."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ...compiler.errors import ArgumentValueError
from ...compiler.ir import Graph
from ...compiler.program import ArrayOutput, Program
from ..cache_folder import temporary_in
from ..signature import Signature
from .interface import Interface
from .loaded_function import LoadedFunction
from .targets import CPU
from .writing import bundle_bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """How a function was to be compiled when it was exported."""

    fast_math: bool = False
    donate_argnums: tuple[int, ...] = ()


@dataclass(frozen=True)
class Artifact:
    """A function that was exported: its program, with all arrays that it needs. Made by `export`.

    >>> import numpy as np, tracemill as tm
    >>> artifact = tm.export(np.hypot, "f64[3]", "f64[3]")
    >>> print(artifact.graph.code)
    def hypot(...
    >>> path = artifact.save("hypot.tmill")
    >>> tm.load(path)(np.full(3, 3.0), np.full(3, 4.0))
    array([5., 5., 5.])
    """

    interface: Interface
    """Name, docstring and parameters."""
    signature: Signature
    """The arguments that it takes."""
    program: Program
    """What it computes. It captures nothing."""
    settings: Settings
    code: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    """What it was compiled to ahead of time: the files of each target for GPUs, by name."""

    @property
    def graph(self) -> Graph:
        """The graph as traced, whose inputs are the leaves of the arguments."""
        return self.program.graph

    @property
    def targets(self) -> tuple[str, ...]:
        """What it was made for: ``("cpu", "cuda:sm_90")``."""
        return (CPU, *self.code)

    def function(self, *, backend: str = "auto") -> LoadedFunction:
        """The function, compiled when it is first called. `backend` is that of `compile`."""
        return LoadedFunction(self, backend)

    def save(self, path: str | os.PathLike[str], format: str = "bundle") -> Path:
        """Write a file, all at once: nobody sees it half written.

        Args:
            path: where; what is there is replaced.
            format: ``"bundle"``, which `load` reads.

        Returns:
            The path.

        Raises:
            ArgumentValueError: there is no such format.
            ExportError: the artifact is larger than what `load` reads.
            OSError: the file cannot be written.
        """
        if format not in FORMATS:
            raise ArgumentValueError(f"format {format!r} is unknown: choose one of {', '.join(FORMATS)}")
        path = Path(path)
        write_whole(path, FORMATS[format](self))
        return path

    def __repr__(self) -> str:
        return f"<Artifact {self} for {', '.join(self.targets)}>"

    def __str__(self) -> str:
        arguments = ", ".join(
            f"{name}: {value.type}"
            for name, value in zip(self.graph.input_names, self.graph.inputs, strict=True)
        )
        outputs = self.graph.outputs
        results = [str(outputs[leaf.index].type) if isinstance(leaf, ArrayOutput) else repr(leaf.value)
                   for leaf in self.program.out_leaves]  # fmt: skip
        shown = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.interface.name}({arguments}) -> {shown}"


FORMATS: Final[Mapping[str, Callable[[Artifact], bytes]]] = {"bundle": bundle_bytes}
"""What an artifact can be written as."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that there is never a half of it."""
    temporary = temporary_in(path.absolute().parent)
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
