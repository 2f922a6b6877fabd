"""The definitions of the functions that Triton kernels call, from the texts in the folder ``functions``."""

import functools
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from ....dtypes import dtype_named
from ....errors import InternalError
from .expression import functions_in
from .meaning import meaning_text

_FILES = (
    "cumulative",
    "incomplete",
    "integers",
    "products",
    "random",
    "reals",
    "reductions",
    "scattering",
    "sorting",
)
_FAST = "fast"
"""Replacements for others with the same names if ``fast_math`` is on."""

_DEFINED = re.compile(r"^def (tm_\w+)\(", re.MULTILINE)


def definitions(names: Iterable[str], *, fast_math: bool = False) -> list[str]:
    """The definitions of these functions and of all that they call, each once, after those that it calls."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name in found:
            return
        text = definition(name, fast_math=fast_math)
        for needed in sorted(functions_in(text) - {name}):
            add(needed)
        found[name] = text

    for name in sorted(names):
        add(name)
    return list(found.values())


def definition(name: str, *, fast_math: bool = False) -> str:
    """The definition of one function: from a file, or from the NumPy definition of an op on elements of a dtype."""
    for file in (*([_FAST] if fast_math else []), *_FILES):
        if name in _texts(file):
            return _texts(file)[name]
    op, _, dtype = name.removeprefix("tm_").rpartition("_")
    try:
        return meaning_text(name, op, dtype_named(dtype))
    except KeyError as error:
        raise InternalError(f"there is no definition of {name} for Triton") from error


@functools.cache
def _texts(file: str) -> Mapping[str, str]:
    folder = files(__name__.rpartition(".")[0]) / "functions"
    found: dict[str, str] = {}
    for paragraph in (folder / f"{file}.triton").read_text(encoding="utf-8").split("\n\n\n"):
        (name,) = _DEFINED.findall(paragraph)
        found[name] = paragraph.strip() + "\n"
    return found
