"""Numbers as C expressions with the same bits."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...dtypes import Array, DType, real_dtype
from ..python.text import WIDTH
from .types import c_type, element_type

MOST_CONSTANTS = 4096
"""The maximum number of entries of a constant in the C text: functions with larger ones are left to NumPy."""


def c_literal(number: Array) -> str:
    """An array without axes as an expression of its C type: ``0.5f``, ``(-1.0)``, ``INT64_C(7)``."""
    if c_type(number.dtype) == "uint16_t":
        number = number.view(np.uint16)
    kind = number.dtype.kind
    if kind == "c":
        parts = (_float_text(part) for part in (np.real(number)[()], np.imag(number)[()]))
        return f"__builtin_complex({', '.join(parts)})"
    if kind == "f":
        return _float_text(number[()])
    return _integer_text(int(number), number.dtype)


def c_array(name: str, array: Array) -> str:
    """The definition of a constant array with its elements in memory order; float16 numbers are their bits."""
    opening = f"static const {element_type(array.dtype)} {name}[] = {{"
    if array.size > MOST_CONSTANTS:
        return "\n".join([opening, *filled_rows(c_elements(array)), "};"])
    return f"{opening}{', '.join(c_elements(array))}}};"


def c_elements(array: Array) -> Iterator[str]:
    """The elements in memory order, written like `c_literal`."""
    flat = array.reshape(-1)
    if flat.dtype.name not in ("float32", "float64") or not np.isfinite(flat).all():
        return (c_literal(np.asarray(entry)) for entry in flat)
    texts: list[str] = flat.astype("U32").tolist()  # the same in a tenth of the time
    suffix = function_suffix(flat.dtype)
    return (f"({text}{suffix})" if text.startswith("-") else f"{text}{suffix}" for text in texts)


def filled_rows(elements: Iterable[str]) -> Iterator[str]:
    """The elements in lines of a few, separated by commas.

    >>> list(filled_rows(["1.0", "2.0"]))
    ['    1.0, 2.0']
    """
    row = ""
    for element in elements:
        if row and len(row) + len(element) + 3 > WIDTH:
            yield f"{row},"
            row = ""
        row += f", {element}" if row else f"    {element}"
    yield row


def function_suffix(dtype: DType) -> str:
    """The suffix of literals, and of names in math.h and complex.h, for a dtype: ``f`` for f32 and c64."""
    return "f" if real_dtype(dtype).name == "float32" else ""


def _integer_text(number: int, dtype: DType) -> str:
    """The smallest of the signed integers has no literal: it is written as its successor minus 1."""
    if dtype.kind == "b":
        return str(number)
    if dtype.kind == "i" and number == np.iinfo(dtype).min:
        return f"({_integer_text(number + 1, dtype)} - 1)"
    text = {"i8": f"INT64_C({number})", "u8": f"UINT64_C({number})", "u4": f"{number}u"}.get(
        dtype.str[1:], str(number)
    )
    return f"({text})" if number < 0 else text


def _float_text(number: Any) -> str:
    """The shortest decimal, which a C compiler rounds to these bits; a NaN with a payload by its bits."""
    dtype: DType = number.dtype
    suffix = function_suffix(dtype)
    if np.isnan(number):
        text = _nan_text(int(number.view(f"u{dtype.itemsize}")), np.finfo(dtype).nmant, suffix)
    elif np.isinf(number):
        text = f"__builtin_inf{suffix}()"
    else:
        text = str(abs(number)) + suffix
    return f"(-{text})" if np.signbit(number) else text


def _nan_text(bits: int, mantissa: int, suffix: str) -> str:
    """A NaN without its sign: with its payload, and signalling if its first bit of that is 0."""
    quiet = 1 << (mantissa - 1)
    payload = bits & (quiet - 1)
    return f'__builtin_nan{"" if bits & quiet else "s"}{suffix}("{hex(payload) if payload else ""}")'
