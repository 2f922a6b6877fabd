"""`load`: a function from a file."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import IO, Any, Final

from ...compiler.arguments.byte_counts import parse_bytes
from ...compiler.arguments.option_checks import flag
from ...compiler.errors import ArtifactError, DonationError, TransformArgumentError, TransformTypeError
from ...compiler.nesting import shown
from ..bundle.archive import WHOLE, Archive
from ..bundle.damage import DamageError
from ..bundle.manifest import MANIFEST
from ..files.input_file import opened, path_of
from ..int_options import positive_int
from ..machine.target import check_backend
from ..tracebacks import with_users_frames
from .artifact import Artifact
from .loaded_function import LoadedFunction
from .reading import artifact_in


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read; `load` explains the options."""

    types: tuple[type[Any], ...] = ()
    max_bytes: int | None = None
    trust_code: bool = False
    max_steps: int | None = None


USUAL: Final = Reading()


@with_users_frames
def load(
    path: str | os.PathLike[str],
    *,
    backend: str = "auto",
    types: Iterable[type[Any]] = (),
    max_bytes: int | str | None = None,
    trust_code: bool = False,
    max_steps: int | None = None,
) -> LoadedFunction:
    """The function in a file that `Artifact.save` wrote.

    All of the file is checked before it is used: sizes, digests, the graph and its types. Nothing in it is executed,
    imported, or unpacked to disk: code is generated from the graph, or found in the disk cache. Only `trust_code`
    changes that.

    Args:
        path: the file, as a str or a path.
        backend: as of `compile`.
        types: the classes of named tuples and registered objects that the function takes or returns: a file names
            them, and they are never imported by that name.
        max_bytes: how much memory what is in the file may take, unpacked: a number of bytes, or a text such as
            ``"2GB"``. By default 256 MB, or 4 times the size of the file if that is more. It is checked before
            anything is unpacked.
        trust_code: run the machine code for GPUs that is in the file. Machine code can do anything, and no check finds
            out what it does: set this only for files from people whom you would let run programs on your machine. By
            default kernels are made anew from the graph, which needs Triton.
        max_steps: end a call with an error where a `while_loop` in it goes on after this many steps, counted over the
            whole call if the loop runs several times. Loops whose length is known, `scan` and `fori_loop`, are refused
            at once if they are longer, also within one another. The program is then compiled anew in each process.

    Raises:
        ArtifactError: (a ValueError) the file is damaged, is not an artifact, unpacks to more than `max_bytes`, or was
            written by a newer version. The message says which member is wrong, and how.
        InputFileError: (an OSError) it is not a regular file, but a folder, a pipe, a socket or a device.
        OSError: there is no such file, or it cannot be read.
        StepLimitError: (a RuntimeError; also when called) a loop takes more than `max_steps` steps.
        BackendError, TransformTypeError, TransformArgumentError: there is no such backend; another argument is none.

    >>> import numpy as np, tracemill as tm
    >>> _ = tm.export(np.exp, "f64[2]").save("exp.tmill")
    >>> f = tm.load("exp.tmill")
    >>> f(np.zeros(2))
    array([1., 1.])
    >>> tm.vmap(f)(np.zeros((3, 2))).shape
    (3, 2)
    """
    check_backend(backend)
    classes: Any = types
    types = tuple(classes) if isinstance(classes, Iterable) else (classes,)
    for given in types:
        if not isinstance(given, type):
            raise TransformTypeError(
                f"load: types must contain classes, not {type(given).__name__}: {shown(given)}"
            )
    most = None if max_bytes is None else parse_bytes("load", max_bytes, "max_bytes")
    steps = (
        max_steps if max_steps is None else positive_int("load: max_steps", max_steps, TransformArgumentError)
    )
    reading = Reading(types, most, flag("trust_code", trust_code), steps)
    return load_artifact(path_of("load", path), reading).function(backend=backend)


def load_artifact(path: str | os.PathLike[str], reading: Reading = USUAL) -> Artifact:
    """The artifact in a file, checked. Raises like `load`."""
    with opened(path) as file:
        return read_artifact(file, os.fspath(path), reading)


def read_artifact(file: IO[bytes], name: str, reading: Reading = USUAL) -> Artifact:
    """The artifact in an open file, checked. `ArtifactError` tells its name."""
    try:
        return _read(file, reading)
    except DamageError as damage:
        place = "" if damage.member == WHOLE else f"{damage.member}: "
        raise ArtifactError(f"{name}: {place}{damage.reason}. {damage.remedy}") from damage.__cause__


def _read(file: IO[bytes], reading: Reading) -> Artifact:
    artifact = artifact_in(Archive(file, reading.max_bytes), reading.types)
    artifact = replace(artifact, trusts_code=reading.trust_code, max_steps=reading.max_steps)
    try:
        artifact.function()  # whose settings must be those of its parameters
    except DonationError as error:
        raise DamageError(MANIFEST, error.message) from error
    return artifact
