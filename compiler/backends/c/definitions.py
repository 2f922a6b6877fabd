"""The definitions of the C functions that expressions call.

The folder ``functions`` holds them, once for all dtypes of a kind: ``INT``, ``UINT``, ``REAL`` and ``COMPLEX`` stand
for a C type, and at the end of a name for its dtype. ``tm_sign_i32`` is ``tm_sign_INT`` with ``int32_t`` for ``INT``
and ``uint32_t`` for ``UINT``. Beside a ``REAL``, ``BITS`` and ``SIGNED`` are the integers of its size, and ``fabsF``
is the function ``fabs`` or ``fabsf``. Beside a ``COMPLEX``, ``REAL`` is the type of its parts. A function that
differs between dtypes has the dtype's own name. A line ``STIRLING,`` stands for that table of coefficients, and
``COUNT_STIRLING`` for its length. Functions that no file holds are made from the NumPy definition of an op: `meaning`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from ...dtypes import DType, dtype_name, dtype_named, dtype_names, kind, real_dtype
from ...ops.special.coefficients import BY_NAME
from .expression import functions_in, is_vectorized
from .literals import function_suffix
from .meaning import meaning_text
from .types import c_type

VECTOR_MATH: Final = "TM_VECTOR_MATH"
"""The macro that says that the mathematical library has vector variants."""

_WORDS: Final = {"i": "INT", "u": "UINT", "f": "REAL", "c": "COMPLEX"}
_TABLE: Final = re.compile(r"^( +)([A-Z]\w+),$", re.MULTILINE)
_COUNT: Final = re.compile(r"\bCOUNT_([A-Z]\w+)")


def source_of(needs: Iterable[str]) -> str:
    """The definitions of these functions and of all that they call, each once, after those that it calls.

    Functions of math.h that have vector variants are declared to have them where `VECTOR_MATH` is defined.
    """
    ordered: dict[str, None] = {}
    for name in sorted(needs):
        _collect(name, ordered)
    vectorized = sorted(filter(is_vectorized, ordered))
    definitions = [_inlined(definition(name)) for name in ordered if not is_vectorized(name)]
    declarations = [_declaration(name) for name in vectorized]
    if declarations:
        definitions.insert(0, "\n".join([f"#ifdef {VECTOR_MATH}", *declarations, "#endif\n"]))
    return "\n".join(definitions)


def _collect(name: str, ordered: dict[str, None]) -> None:
    if name in ordered:
        return
    if not is_vectorized(name):
        for needed in sorted(functions_in(definition(name)) - {name}):
            _collect(needed, ordered)
    ordered[name] = None


def _inlined(text: str) -> str:
    """The same function, inlined also where compilers find it too long, because a loop that calls one has no vectors.

    These are the functions that may be the C library's and their polynomials, which have neither branches nor loops.
    """
    if "__FMA__" not in text and "_tail_" not in text.partition("(")[0]:
        return text
    return text.replace("static inline ", "static inline __attribute__((always_inline)) ")


def _declaration(name: str) -> str:
    """Declares the vector variants of a function to the compiler."""
    type = "float" if name.endswith("f") and name != "erf" else "double"
    arguments = ", ".join([type] * (2 if name.removesuffix("f") in ("atan2", "hypot", "pow") else 1))
    return f'__attribute__((simd("notinbranch"))) {type} {name}({arguments});'


@cache
def definition(name: str) -> str:
    """The text of one function: from its file, or from the NumPy definition of the op of its name."""
    if name in _templates():
        return _templates()[name]
    parts = name.split("_")
    dtypes: list[DType] = []
    while parts[-1] in dtype_names():
        dtypes.insert(0, dtype_named(parts.pop()))
    template = _templates().get("_".join([*parts, *(_WORDS.get(kind(dtype), "BOOL") for dtype in dtypes)]))
    if template is None:
        return meaning_text(name, "_".join(parts).removeprefix("tm_"), dtypes[0])
    return _filled(template, dtypes)


def _filled(template: str, dtypes: list[DType]) -> str:
    stand = {word: dtype for dtype in dtypes for word, dtype in _words(dtype)}
    text = re.sub(r"_(U?INT|REAL|COMPLEX)(?=_|\b)", lambda found: f"_{dtype_name(stand[found[1]])}", template)
    text = re.sub(r"\b(U?INT|REAL|COMPLEX|BITS|SIGNED)\b", lambda found: c_type(stand[found[1]]), text)
    suffix = function_suffix(stand["REAL"]) if "REAL" in stand else ""
    return re.sub(r"\b([a-z]\w*)F\(", rf"\1{suffix}(", text)


def _words(dtype: DType) -> Iterator[tuple[str, DType]]:
    """The words of a template that depend on the dtype."""
    yield _WORDS[kind(dtype)], dtype
    if kind(dtype) == "i":
        yield "UINT", np.dtype(f"u{dtype.itemsize}")
    if kind(dtype) in "fc":
        yield "REAL", real_dtype(dtype)
        yield "BITS", np.dtype(f"u{real_dtype(dtype).itemsize}")
        yield "SIGNED", np.dtype(f"i{real_dtype(dtype).itemsize}")


@cache
def _templates() -> Mapping[str, str]:
    """The definitions in all files by the name of the function, with the comment above each."""
    found: dict[str, str] = {}
    folder = files(__name__.rpartition(".")[0]) / "functions"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".h"):
            found |= definitions_in(_with_tables(file.read_text(encoding="utf-8")))
    return found


def _with_tables(text: str) -> str:
    """The numbers of tables for their names, four in a line, and their lengths."""
    text = _TABLE.sub(lambda found: _rows(BY_NAME[found[2]], found[1]), text)
    return _COUNT.sub(lambda found: str(len(BY_NAME[found[1]])), text)


def _rows(numbers: Sequence[float], indent: str) -> str:
    rows = (numbers[first : first + 4] for first in range(0, len(numbers), 4))
    return "\n".join(f"{indent}{', '.join(map(repr, row))}," for row in rows)


def definitions_in(text: str) -> dict[str, str]:
    """The definitions in a file of C functions by name: paragraphs that begin with comments, up to a closing brace."""
    found = re.findall(r"((?://.*\n)*static inline [^(;]*\b(tm_\w+)\([\s\S]*?\n}\n)", text)
    return {name: definition for definition, name in found}
