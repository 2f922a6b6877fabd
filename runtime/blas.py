"""The products of matrices of the BLAS that NumPy has loaded, for C to call."""

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

_ROWS, _AS_IT_IS, _TURNED = 101, 111, 112


class Products(ctypes.Structure):
    """What C reads: the addresses of two functions, and whether their integers have 64 bits."""

    _fields_ = (("of_floats", ctypes.c_void_p), ("of_doubles", ctypes.c_void_p), ("is_wide", ctypes.c_int))


_NAMES = (
    ("scipy_cblas_{}gemm64_", True),
    ("cblas_{}gemm64_", True),
    ("scipy_cblas_{}gemm", False),
    ("cblas_{}gemm", False),
)
"""What they may be called: in NumPy's own wheels, in those of distributions; with integers of 64 bits or not."""


@cache
def products() -> Products | None:
    """Those that NumPy's BLAS has; None if it has none by a known name, or they do not multiply as they should."""
    try:
        library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
    except (KeyError, OSError, TypeError):
        return None
    for name, is_wide in _NAMES:
        try:
            single, double = (getattr(library, name.format(letter)) for letter in "sd")
        except AttributeError:
            continue
        integer = ctypes.c_int64 if is_wide else ctypes.c_int
        if multiplies(single, ctypes.c_float, integer) and multiplies(double, ctypes.c_double, integer):
            addresses = [ctypes.cast(function, ctypes.c_void_p) for function in (single, double)]
            return Products(*addresses, is_wide)
    return None


def address_of_products() -> int:
    """Where C reads them; 0 if there are none."""
    found = products()
    return 0 if found is None else ctypes.addressof(found)


def multiplies(function: Any, number: Any, integer: Any) -> bool:
    """Whether a function gives the known product of two small matrices, of which one is given transposed."""
    x = np.arange(1, 13, dtype=number).reshape(2, 6)
    y = np.arange(5, 17, dtype=number).reshape(4, 3)
    out = np.full((2, 4), np.nan, number)
    pointer, order = ctypes.c_void_p, ctypes.c_int
    function.restype = None
    function.argtypes = [
        *(order, order, order, integer, integer, integer),
        *(number, pointer, integer, pointer, integer, number, pointer, integer),
    ]
    data = (array.ctypes.data for array in (x, y, out))
    function(_ROWS, _AS_IT_IS, _TURNED, 2, 4, 3, 1, next(data), 6, next(data), 3, 0, next(data), 4)
    return bool((out == [[38, 56, 74, 92], [146, 218, 290, 362]]).all())
