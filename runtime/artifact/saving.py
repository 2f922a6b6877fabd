"""Writes artifacts to disk in each format, completely or not at all."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from ...compiler.backends.python.standalone.traced_function import TracedFunction
from ...compiler.errors import ArgumentValueError, ExportError
from ...compiler.nesting import shown
from ..bundle.contents import Contents
from ..bundle.targets import CPU
from ..bundle.writing import bundle_bytes
from ..files.output_file import write_output, write_outputs
from ..variants.signature import arguments_for
from ..variants.symbolic_call import SymbolicCall
from .c_export import as_c
from .python_export import as_python

BUNDLE: Final = "bundle"
PYTHON: Final = "python"
C: Final = "c"
EXTENSION: Final = ".tmill"


def save_artifact(artifact: Contents, path: Path, format: str, *, overwrite: bool) -> Path:
    """Write a file, or the files of a folder. Raises like `Artifact.save`."""
    if format == BUNDLE:
        write_output(path, bundle_bytes(artifact), overwrite=overwrite)
        return path
    if format not in FORMATS:
        raise ArgumentValueError(f"format {shown(format)} is unknown: choose one of {', '.join(FORMATS)}")
    files = SOURCES[format](artifact)
    folder = path
    if format == PYTHON and path.suffix == ".py":
        folder, usual = path.parent, Path(next(iter(files))).stem
        files = {path.stem + name.removeprefix(usual): content for name, content in files.items()}
    in_order = dict(reversed(files.items()))  # the first one needs the others
    write_outputs(folder, in_order, overwrite=overwrite)
    return path


def _python(artifact: Contents) -> dict[str, bytes]:
    signature, interface = artifact.signature, artifact.interface
    function = TracedFunction(
        artifact.program,
        signature.tree,
        arguments_for(signature),
        interface.signature,
        interface.doc,
        interface.name,
    )
    if signature.dims:
        call = SymbolicCall(signature, artifact.likely_sizes)
        with call.answering():
            as_python(
                function
            )  # assumptions about sizes made while printing become facts that the file checks
            files = dict(as_python(function))
    else:
        files = dict(as_python(function))
    if artifact.targets != (CPU,):
        from ..gpu_programs.python_export import as_triton

        files |= as_triton(function, fast_math=artifact.settings.fast_math)
    return {
        name: content.encode() if isinstance(content, str) else content for name, content in files.items()
    }


def _c(artifact: Contents) -> dict[str, bytes]:
    interface, signature = artifact.interface, artifact.signature
    call = SymbolicCall(signature, artifact.likely_sizes) if signature.dims else None
    with call.answering() if call else nullcontext():
        files = as_c(
            artifact.program,
            interface.doc,
            name=interface.name,
            paths=artifact.paths,
            fast_math=artifact.settings.fast_math,
        )
    if call and call.scope.assumed:
        guard = call.scope.assumed[0]
        raise ExportError(
            f"{interface.name} cannot be written as C for all sizes, only where {guard.comparison!r}: add that as a"
            " constraint, or export in another format",
            guard.location,
        )
    return {name: text.encode() for name, text in files.items()}


SOURCES: Final[Mapping[str, Callable[[Contents], dict[str, bytes]]]] = {PYTHON: _python, C: _c}
"""Formats that are folders of sources."""

FORMATS: Final = (BUNDLE, *SOURCES)
