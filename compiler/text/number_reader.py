"""Reads numbers, strings and small arrays of the text of a graph."""

import json

import numpy as np

from ..dtypes import Array, DType
from ..ir import ArrayType, Shape
from ..verifier import LONGEST_INT, MOST_AXES
from .lexer import Line
from .literals import LONGEST_NUMBER, read_numbers
from .naming import INLINE_SIZE


def read_number(line: Line, text: str) -> int | float:
    """A number among parameters."""
    if len(text) > LONGEST_NUMBER or text.startswith(("0x", "-0x")):
        raise line.error(f"expected a decimal number of at most {LONGEST_NUMBER} digits, found {text[:40]}")
    number = int(text) if text.removeprefix("-").isdecimal() else float(text)
    if isinstance(number, int) and number.bit_length() > LONGEST_INT:
        raise line.error(f"expected an integer of at most {LONGEST_INT} bits, found {text[:40]}…")
    return number


def read_string(line: Line) -> str:
    text = line.take("string", "a string")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise line.error(f"expected a string as in JSON: {error}") from error
    return str(found)


def read_scalar(line: Line, dtype: DType) -> Array:
    """An array without axes, after its opening bracket: ``0.5)``."""
    texts = _entry(line, dtype)
    line.expect(")")
    return _read(line, texts, dtype).reshape(())


def _entry(line: Line, dtype: DType) -> list[str]:
    """The texts of one number: two, separated by a comma, for a complex number."""
    texts = [_number_text(line)]
    if dtype.kind == "c":
        line.expect(",")
        texts.append(_number_text(line))
    return texts


def _number_text(line: Line) -> str:
    kind, text = line.tokens[line.position]
    if kind != "number" and text not in ("True", "False", "inf", "nan"):
        raise line.expected("a number")
    line.position += 1
    return text


def _read(line: Line, texts: list[str], dtype: DType) -> Array:
    try:
        return read_numbers(texts, dtype)
    except ValueError as error:
        raise line.error(f"expected numbers of the dtype {dtype}: {error}") from error


def read_array(line: Line, type: ArrayType) -> Array:
    """The nested lists of a small constant of this type."""
    if type.size > INLINE_SIZE:
        raise line.expected(f"a digest, as more than {INLINE_SIZE} elements have one")
    if type.size == 0:
        line.expect("[")
        line.expect("]")
        return np.zeros(type.shape, type.dtype)
    return _read(line, _entries(line, type.dtype, type.shape), type.dtype).reshape(type.shape)


def _entries(line: Line, dtype: DType, shape: Shape) -> list[str]:
    assert len(shape) <= MOST_AXES  # limits the recursion
    if not shape:
        in_pair = dtype.kind == "c"
        if in_pair:
            line.expect("(")
        texts = _entry(line, dtype)
        if in_pair:
            line.expect(")")
        return texts
    texts = []
    for index in range(shape[0]):
        line.expect("," if index else "[")
        texts += _entries(line, dtype, shape[1:])
    line.expect("]")
    return texts
