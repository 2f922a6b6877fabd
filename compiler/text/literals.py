"""Numbers as exact text: every bit of every dtype survives printing and parsing.

A number is Python's shortest spelling that rounds to it (``0.1``, ``-0.0``, ``inf``); ``nan`` is NumPy's
NaN, and other NaNs are their bits in hexadecimal (``0xfff8000000000000``).
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import Array, DType, dtype_name, real_dtype
from ..ir import Shape

LONGEST_NUMBER = 400  # characters


def scalar_text(array: Array) -> str:
    """An array without axes: ``f32(0.5)``, ``c64(1.0, -2.0)``."""
    return f"{dtype_name(array.dtype)}({', '.join(number_texts(array))})"


def array_text(array: Array) -> str:
    """Nested lists: ``[[1, 2], [3, 4]]``; complex numbers as pairs; ``[]`` for empty arrays."""
    if not array.size:
        return "[]"
    texts = number_texts(array)
    if array.dtype.kind == "c":
        texts = [f"({re}, {im})" for re, im in zip(texts[::2], texts[1::2], strict=True)]
    return _nested(iter(texts), array.shape)


def _nested(texts: Iterator[str], shape: Shape) -> str:
    if not shape:
        return next(texts)
    return f"[{', '.join(_nested(texts, shape[1:]) for _ in range(shape[0]))}]"


def number_texts(array: Array) -> list[str]:
    """One text per entry, in row-major order; two per complex entry."""
    flat = np.ascontiguousarray(array).reshape(-1)
    dtype = real_dtype(flat.dtype)
    if flat.dtype.kind == "c":
        flat = flat.view(dtype)
    if dtype.kind in "biu":
        return [str(number) for number in flat.tolist()]
    bits = flat.view(_bits_dtype(dtype)).tolist()
    return [_float_text(number, pattern, dtype) for number, pattern in zip(flat, bits, strict=True)]


def _float_text(number: Any, bits: int, dtype: DType) -> str:
    exact = float(number)
    if math.isnan(exact):
        return "nan" if bits == _nan_bits(dtype) else f"0x{bits:0{2 * dtype.itemsize}x}"
    if dtype.itemsize == 8:
        return repr(exact)
    short = float(
        str(number)
    )  # the shortest decimal for this dtype; rounding it twice may give another number
    with np.errstate(over="ignore"):
        same = np.array(short).astype(dtype) == number
    return repr(short if same else exact)


@cache
def _bits_dtype(dtype: DType) -> DType:
    return np.dtype(f"u{dtype.itemsize}")


@cache
def _nan_bits(dtype: DType) -> int:
    return int(np.array(math.nan).astype(dtype).reshape(1).view(_bits_dtype(dtype))[0])


def read_numbers(texts: Sequence[str], dtype: DType) -> Array:
    """The inverse of `number_texts`: a flat array. ValueError says what is wrong with any other text."""
    real = real_dtype(dtype)
    numbers = [_read_number(text, real) for text in texts]
    if real.kind in "biu":
        return np.array(numbers, real)
    with np.errstate(over="ignore"):
        flat = np.array([x if isinstance(x, float) else 0.0 for x in numbers]).astype(real)
    for index, (text, number) in enumerate(zip(texts, numbers, strict=True)):
        if isinstance(number, int):
            flat[index : index + 1].view(_bits_dtype(real))[0] = number
        elif math.isfinite(number) and not np.isfinite(flat[index]):
            raise ValueError(f"{text} does not fit {dtype_name(real)}")
    return flat.view(dtype)


def is_bits(text: str) -> bool:
    return text.startswith("0x")


def _read_number(text: str, dtype: DType) -> Any:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number is at most {LONGEST_NUMBER} characters long")
    if dtype.kind == "b":
        if text not in ("True", "False"):
            raise ValueError(f"{text} is neither True nor False")
        return text == "True"
    if dtype.kind in "iu" or is_bits(text):
        target = _bits_dtype(dtype) if is_bits(text) and dtype.kind not in "iu" else dtype
        number = int(text, 16 if is_bits(text) else 10)
        limits = np.iinfo(target)
        if not limits.min <= number <= limits.max:
            raise ValueError(f"{text} does not fit {dtype_name(dtype)}")
        return number
    return float(text)
