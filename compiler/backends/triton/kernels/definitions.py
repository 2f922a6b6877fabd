"""The definitions of the functions that Triton kernels call, from the texts in the folder ``functions``.

A term ``+ STIRLING[0]`` at the end of a line stands for the first number of that table of coefficients, and a line that
ends in ``+ STIRLING[1:]`` for one with each of the others.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from ....dtypes import dtype_named
from ....errors import InternalError
from ....ops.special.coefficients import BY_NAME
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
_TERM = re.compile(r"^(.*) \+ ([A-Z]\w+)\[(0|1:)\]$", re.MULTILINE)


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
    for paragraph in _with_tables((folder / f"{file}.triton").read_text(encoding="utf-8")).split("\n\n\n"):
        (name,) = _DEFINED.findall(paragraph)
        found[name] = paragraph.strip() + "\n"
    return found


def _with_tables(text: str) -> str:
    """The numbers of tables for their names."""

    def lines(found: re.Match[str]) -> str:
        table = BY_NAME[found[2]]
        numbers = table[:1] if found[3] == "0" else table[1:]
        return "\n".join(f"{found[1]} {'-' if number < 0 else '+'} {abs(number)!r}" for number in numbers)

    return _TERM.sub(lines, text)
