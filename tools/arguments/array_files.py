"""Arrays in ``.npy`` and ``.npz`` files as arguments of a function, and results written to such files."""

import io
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import click
import numpy as np
import optree
from numpy.lib.format import MAGIC_PREFIX

from ...compiler.arguments.leaves import flattened, path_names
from ...compiler.dtypes import Array, is_supported
from ...runtime.artifact.artifact import Artifact
from ...runtime.bundle.archive import USUAL_GROWTH, USUAL_TOTAL
from ...runtime.files.input_file import opened
from ...runtime.files.output_file import write_output, write_outputs
from ...runtime.variants.signature import ArraySpec, StaticSpec

_NAMED = re.compile(r"([^\W\d]\w*(?:\.\w+)*)=(.+)", re.DOTALL)
_ZIP = b"PK"
"""The first bytes of a .npz file."""
_PART = re.compile(r"\[?'?(\w+)'?\]?")


def arguments_from(
    artifact: Artifact, given: Sequence[str], max_bytes: int | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call from files: ``x.npy`` for the next one, ``w=x.npy`` by name, ``all.npz`` by the names
    of its arrays.

    Names are dotted, as in ``layers.0.w``. If the file's own name is that of an argument, it is used for that
    argument.

    The arrays of a .npz file may have at most `max_bytes` in total: by default 256 MB, or 4 times the size of the
    file if that is more.

    Raises:
        click.ClickException: a file cannot be read, or has more.
        click.UsageError: a file is none of these, or an argument is given twice, or not at all.
    """
    wanted = dotted_names(artifact)
    found: dict[str, Array] = {}
    nameless: list[tuple[str, Array]] = []
    for text in given:
        for name, array in _arrays(text, max_bytes):
            if name in found:
                raise click.UsageError(f"{name} is given twice")
            if name in wanted:
                found[name] = array
            elif _NAMED.fullmatch(text) or text.endswith(".npz"):
                raise click.UsageError(f"{text}: there is no argument {name!r}, only {', '.join(wanted)}")
            else:
                nameless.append((text, array))
    missing = [name for name in wanted if name not in found]
    if len(missing) != len(nameless):
        raise click.UsageError(
            f"{artifact} takes {', '.join(wanted) or 'no arguments'}, and "
            + (
                f"--in gives none for {', '.join(missing[len(nameless) :])}"
                if len(missing) > len(nameless)
                else f"{nameless[-1][0]} is one too many"
            )
        )
    found |= {name: array for name, (_, array) in zip(missing, nameless, strict=True)}
    signature = artifact.signature
    traced = iter(wanted)
    leaves = [
        spec.value if isinstance(spec, StaticSpec) else _as_leaf(found[next(traced)], spec)
        for spec in signature.specs
    ]
    call: Any = optree.tree_unflatten(signature.tree, leaves)
    return call[0], call[1]


def dotted_names(artifact: Artifact) -> list[str]:
    """The arguments by dotted names: ``layers.0.w``."""
    return [".".join(_PART.findall(path)) for path in artifact.paths]


def _as_leaf(array: Array, spec: Any) -> Any:
    """A NumPy scalar or a Python number if the argument is one."""
    if isinstance(spec, ArraySpec) or array.ndim:
        return array
    return array[()] if spec.type is np.generic else array.item()


def _arrays(text: str, max_bytes: int | None) -> Iterator[tuple[str, Array]]:
    """The arrays of a file, by name."""
    named = _NAMED.fullmatch(text)
    name, path = (named[1], Path(named[2])) if named else ("", Path(text))
    if path.suffix not in (".npy", ".npz"):
        raise click.UsageError(
            f"{text!r} is not a .npy or .npz file: write --in x.npy, --in w=x.npy or --in all.npz"
        )
    try:
        with opened(path) as file:
            is_archive = check_arrays(file, max_bytes)
            loaded: Any = np.load(file, allow_pickle=False)
            if not is_archive:
                yield name or path.stem, loaded
                return
            for key in loaded.files:
                yield (f"{name}.{key}" if name else key), loaded[key]
    except (OSError, ValueError, EOFError, KeyError, MemoryError, BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise click.ClickException(f"cannot read arrays from {path}: {reason}") from error


def check_arrays(file: IO[bytes], max_bytes: int | None = None) -> bool:
    """Whether a file, read from its start, is a .npz file whose members have at most `max_bytes` unpacked.

    Raises:
        ValueError: they have more, or it is neither that nor a .npy file: NumPy would take it for a pickle.
        BadZipFile: it starts as a .npz file does, and is none.
    """
    start = file.read(len(MAGIC_PREFIX))
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if start == MAGIC_PREFIX:
        return False
    if not start.startswith(_ZIP):
        raise ValueError("it is not a .npy or .npz file, which NumPy writes")
    total = sum(info.file_size for info in ZipFile(file).infolist())
    most = max(USUAL_TOTAL, USUAL_GROWTH * size) if max_bytes is None else max_bytes
    if total > most:
        raise ValueError(f"its {size} bytes unpack to {total}, and at most {most} are read: see --max-bytes")
    file.seek(0)
    return True


def write_results(results: Any, output: Path, *, overwrite: bool) -> list[tuple[str, Array]]:
    """Results as files: one ``.npz``, or a folder with a ``.npy`` for each leaf. Returns their names and arrays."""
    leaves, tree = flattened(results)
    names = [".".join(_PART.findall(path)) or "result" for path in path_names(tree, "")]
    named = {name: np.asarray(x) for name, x in zip(names, leaves, strict=True)}
    arrays = {name: array for name, array in named.items() if is_supported(array.dtype)}
    if output.suffix == ".npz":
        write_output(output, _npz(arrays), overwrite=overwrite)
    else:
        files = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
        write_outputs(output, files, overwrite=overwrite)
    return list(arrays.items())


def _npz(arrays: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
