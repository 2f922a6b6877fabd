"""`Artifact`: a function that was traced ahead of time, as it is stored in files."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...compiler.ir import Graph
from ...compiler.options import flag
from ...compiler.program import ArrayOutput, Program, argument_names, users_name
from ...compiler.shapes.likely_sizes import likely_sizes
from ..input_file import path_of
from ..signature import Signature
from .interface import Interface
from .loaded_function import LoadedFunction
from .targets import CPU


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
    trusts_code: bool = field(default=True, compare=False)
    """Whether that code is run. If not, as for files unless `load` is told otherwise, code is made of the graph."""

    max_steps: int | None = field(default=None, compare=False)
    """How many steps each loop of the function may take in a call, as `load` was told; None for any number."""

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

    @property
    def paths(self) -> list[str]:
        """How Python reaches each input of the graph, by the parameters' names: ``weights['w']``."""
        names = argument_names(self.signature.tree)
        shown = [users_name(self.interface.stand_in, name) for name in names]
        return [name for name, spec in zip(shown, self.signature.specs, strict=True) if spec.is_traced]

    @property
    def likely_sizes(self) -> Mapping[str, int]:
        """Values of the named sizes with which it can be tried. `DimSpecError` if none are found."""
        known = self.signature.sizes
        return likely_sizes(known.dims, known.assumptions.relations)

    def save(self, path: str | os.PathLike[str], format: str = "bundle", *, overwrite: bool = False) -> Path:
        """Write a file in one step: no other process sees half of it.

        Args:
            path: where. A link to a file is followed, and stays a link.
            format: ``"bundle"`` for a file that `load` reads; ``"python"`` or ``"c"`` for a folder with sources that
                need no Tracemill: ``NAME.py``, for NumPy alone, or ``NAME.c``, ``NAME.h`` and a ``Makefile``. A path
                that ends in ``.py`` is that file. What was exported for GPUs, too, has ``NAME_triton.py`` beside it,
                which needs torch and triton.
            overwrite: replace files that exist. Devices, pipes, sockets and folders are never replaced.

        Returns:
            The path.

        Raises:
            ArgumentValueError: there is no such format.
            ExportError: the format cannot hold the function.
            OutputExistsError: (a FileExistsError) a file exists, and `overwrite` is not set. Nothing is written.
            OutputFileError: (an OSError) the path leads to a folder, a device, a pipe or a socket.
            TransformTypeError: `path` is not a str or path, or `overwrite` not a bool.
            OSError: the file cannot be written.
        """
        from .saving import save_artifact

        return save_artifact(self, path_of("save", path), format, overwrite=flag("overwrite", overwrite))

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
        return f"{self.interface.name}({arguments}) -> {shown}{self.signature.where}"
