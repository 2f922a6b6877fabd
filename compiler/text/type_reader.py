"""Reads types and sizes of the text of a graph: ``f32[N, 2*K + 1]``."""

import re
from typing import TYPE_CHECKING, Any

from ..dtypes import DType, dtype_named, dtype_names
from ..ir import ArrayType, Extent
from ..verifier import shape_problem
from .lexer import Line

if TYPE_CHECKING:
    from ..shapes.reading import Sizes

DTYPES = frozenset(dtype_names())
_LONGEST_DIM_DIGITS = 15
_DECLARATION = r"\s*[A-Za-z_]\w*\s+(?:in\s+[0-9]+\.\.[0-9]*|%\s+[0-9]+\s+==\s+0)\s*"
_DECLARATIONS = re.compile(rf"#{_DECLARATION}(?:,{_DECLARATION})*", re.ASCII)


def declared_sizes(line: Line) -> "Sizes":
    """The dims whose limits are in the comment of the first definition; other comments have none."""
    if not _DECLARATIONS.fullmatch(line.comment):
        return {}
    from ..shapes.reading import read_declarations

    return read_declarations(line.comment.removeprefix("#").split(","))[0]


def read_type(line: Line, sizes: "Sizes") -> ArrayType:
    """``f32[2, 3]``, ``f32[N, 2*K + 1]``."""
    dtype = _dtype(line)
    line.expect("[")
    shape: list[Extent] = []
    while not line.accept("]"):
        shape.append(_dim(line, sizes))
        if not line.at("]"):
            line.expect(",")
    if problem := shape_problem(tuple(shape)):
        raise line.error(problem)
    return ArrayType(dtype, tuple(shape))


def _dim(line: Line, sizes: "Sizes") -> Extent:
    """A number, or an expression of sizes up to the comma or bracket that ends it."""
    kind, dim = line.tokens[line.position]
    if kind == "number" and line.tokens[line.position + 1][1] in (",", "]"):
        line.position += 1
        if not dim.isdecimal() or len(dim) > _LONGEST_DIM_DIGITS:
            raise line.error(f"expected a dimension from 0 to 2**48 − 1, found {dim[:40]}")
        return int(dim)
    return read_size(line, sizes)


def read_size(line: Line, sizes: "Sizes") -> Extent:
    """An expression of sizes."""
    words = line.take_size()
    if not words:
        raise line.expected("a dimension, or ']'")
    from ..shapes.reading import read_dim

    found: Any = read_dim(" ".join(words), sizes)
    return found  # type: ignore[no-any-return]


def _dtype(line: Line) -> DType:
    name = line.take("name", "a dtype")
    if name not in DTYPES:
        line.position -= 1
        raise line.expected(f"a dtype ({', '.join(dtype_names())})")
    return dtype_named(name)


def read_return_types(line: Line, sizes: "Sizes") -> tuple[ArrayType, ...]:
    if not line.accept("("):
        return (read_type(line, sizes),)
    types: list[ArrayType] = []
    while not line.accept(")"):
        types.append(read_type(line, sizes))
        if not line.at(")"):
            line.expect(",")
    return tuple(types)
