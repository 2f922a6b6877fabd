"""`Artifact`: a function that was traced ahead of time, in the form in which files store it."""

import os
from dataclasses import dataclass
from pathlib import Path

from ...compiler.arguments.option_checks import flag
from ..bundle.contents import Contents
from ..files.input_file import path_of
from .loaded_function import LoadedFunction


@dataclass(frozen=True)
class Artifact(Contents):
    """An exported function: its program, with all arrays that it needs. Made by `export`.

    >>> import numpy as np, tracemill as tm
    >>> artifact = tm.export(np.hypot, "f64[3]", "f64[3]")
    >>> print(artifact.graph.code)
    def hypot(...
    >>> path = artifact.save("hypot.tmill")
    >>> tm.load(path)(np.full(3, 3.0), np.full(3, 4.0))
    array([5., 5., 5.])
    """

    def function(self, *, backend: str = "auto") -> LoadedFunction:
        """The function, compiled on its first call. `backend` is that of `compile`.

        >>> import numpy as np, tracemill as tm
        >>> artifact = tm.export(lambda x: 2 * x, "x: f64[3]")
        >>> artifact.function()(np.ones(3))
        array([2., 2., 2.])
        """
        return LoadedFunction(self, backend)

    def save(self, path: str | os.PathLike[str], format: str = "bundle", *, overwrite: bool = False) -> Path:
        """Write a file in one step: no other process sees a partial file.

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

        >>> import tempfile, numpy as np, tracemill as tm
        >>> artifact = tm.export(lambda x: 2 * x, "x: f64[3]")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tm.load(artifact.save(f"{folder}/double.tmill"))(np.ones(3))
        array([2., 2., 2.])
        """
        from .saving import save_artifact

        return save_artifact(self, path_of("save", path), format, overwrite=flag("overwrite", overwrite))

    def __repr__(self) -> str:
        return f"<Artifact {self} for {', '.join(self.targets)}>"
