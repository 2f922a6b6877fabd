"""Arrays in ``.npy`` and ``.npz`` files as arguments of a function, and its results as such files."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import optree
from numpy.lib.format import MAGIC_PREFIX

from ..compiler.dtypes import Array, is_supported
from ..compiler.program import NAMESPACE, path_names
from ..runtime.artifact.artifact import Artifact
from ..runtime.output_file import write_output, write_outputs
from ..runtime.signature import ArraySpec, StaticSpec

_NAMED = re.compile(r"([^\W\d]\w*(?:\.\w+)*)=(.+)", re.DOTALL)
_ZIP = b"PK"
"""How a .npz file begins."""
_PART = re.compile(r"\[?'?(\w+)'?\]?")


def arguments_from(artifact: Artifact, given: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call from files: ``x.npy`` for the next one, ``w=x.npy`` by name, ``all.npz`` by its names.

    Names are dotted, as in ``layers.0.w``. A file without a name whose own is that of an argument is that one.

    Raises:
        click.UsageError: a file is none of these, or an argument is given twice, or not at all.
    """
    wanted = dotted_names(artifact)
    found: dict[str, Array] = {}
    nameless: list[tuple[str, Array]] = []
    for text in given:
        for name, array in _arrays(text):
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
    """A number of NumPy's or Python's where that is an argument."""
    if isinstance(spec, ArraySpec) or array.ndim:
        return array
    return array[()] if spec.type is np.generic else array.item()


def _arrays(text: str) -> Iterator[tuple[str, Array]]:
    """The arrays of a file, by name."""
    named = _NAMED.fullmatch(text)
    name, path = (named[1], Path(named[2])) if named else ("", Path(text))
    if path.suffix not in (".npy", ".npz"):
        raise click.UsageError(
            f"{text!r} is no .npy or .npz file: write --in x.npy, --in w=x.npy or --in all.npz"
        )
    try:
        with path.open("rb") as file:
            if not file.read(len(MAGIC_PREFIX)).startswith(
                (MAGIC_PREFIX, _ZIP)
            ):  # NumPy takes it for a pickle
                raise ValueError(f"it is no {path.suffix} file, which NumPy writes")
        loaded: Any = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            yield name or path.stem, loaded
            return
        with loaded as archive:
            for key in archive.files:
                yield (f"{name}.{key}" if name else key), archive[key]
    except (OSError, ValueError, EOFError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise click.ClickException(f"cannot read arrays from {path}: {reason}") from error


def write_results(results: Any, output: Path, *, overwrite: bool) -> list[tuple[str, Array]]:
    """Results as files: one ``.npz``, or a folder with a ``.npy`` for each leaf. Gives their names and arrays."""
    leaves, tree = optree.tree_flatten(results, namespace=NAMESPACE)
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
