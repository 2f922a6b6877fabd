"""`load`: a function from a file."""

import io
import os
from collections.abc import Iterable
from typing import IO, Any

from ...compiler.errors import ArtifactError, DonationError, TransformTypeError
from ..target import check_backend
from .archive import WHOLE, Archive, opened
from .artifact import Artifact
from .damage import DamageError
from .loaded_function import LoadedFunction
from .manifest import MANIFEST
from .reading import artifact_in


def load(
    path: str | os.PathLike[str], *, backend: str = "auto", types: Iterable[type[Any]] = ()
) -> LoadedFunction:
    """The function in a file that `Artifact.save` wrote.

    All of the file is checked before it is used: sizes, digests, the graph and its types. Nothing in it is executed,
    imported, or unpacked to disk: code is made anew from the graph, or found in the disk cache.

    Args:
        path: the file.
        backend: as of `compile`.
        types: the classes of named tuples and registered objects that the function takes or returns: a file names
            them, and they are never imported by that name.

    Raises:
        ArtifactError: (a ValueError) the file is damaged, is none of ours, or was written by a newer version. The
            message says which member is wrong, and how.
        OSError: there is no such file, or it cannot be read.
        BackendError, TransformTypeError: there is no such backend; `types` holds something else.

    >>> import numpy as np, tracemill as tm
    >>> _ = tm.export(np.exp, "f64[2]").save("exp.tmill")
    >>> f = tm.load("exp.tmill")
    >>> f(np.zeros(2))
    array([1., 1.])
    >>> tm.vmap(f)(np.zeros((3, 2))).shape
    (3, 2)
    """
    check_backend(backend)
    types = tuple(types)
    for given in types:
        if not isinstance(given, type):
            raise TransformTypeError(
                f"load: types must hold classes, not {type(given).__name__}: {given!r:.60}"
            )
    return load_artifact(path, types).function(backend=backend)


def load_artifact(path: str | os.PathLike[str], types: Iterable[type[Any]] = ()) -> Artifact:
    """The artifact in a file, checked. Raises as `load` does."""
    try:
        with opened(path) as file:
            return _read(file, tuple(types))
    except DamageError as damage:
        raise _error(os.fspath(path), damage) from damage.__cause__


def artifact_of(content: bytes, types: Iterable[type[Any]] = ()) -> Artifact:
    """The artifact in the bytes of a file, checked. `ArtifactError` as of `load`."""
    try:
        return _read(io.BytesIO(content), tuple(types))
    except DamageError as damage:
        raise _error(f"{len(content)} bytes", damage) from damage.__cause__


def _read(file: IO[bytes], types: tuple[type[Any], ...]) -> Artifact:
    artifact = artifact_in(Archive(file), types)
    try:
        artifact.function()  # whose settings must be those of its parameters
    except DonationError as error:
        raise DamageError(MANIFEST, error.message) from error
    return artifact


def _error(what: str, damage: DamageError) -> ArtifactError:
    place = "" if damage.member == WHOLE else f"{damage.member}: "
    return ArtifactError(f"{what}: {place}{damage.reason}. {damage.remedy}")
