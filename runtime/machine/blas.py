"""The matrix products of the BLAS that NumPy has loaded, for calls from C."""

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

_ROWS, _AS_IT_IS, _TURNED = 101, 111, 112


class Products(ctypes.Structure):
    """What C reads: the addresses of two functions, whether their integers have 64 bits, and the addresses of the
    batched ones.

    A batch of one product is computed by the calling thread, where OpenBLAS would start its own threads for the
    product.
    """

    _fields_ = (
        ("of_floats", ctypes.c_void_p),
        ("of_doubles", ctypes.c_void_p),
        ("is_wide", ctypes.c_int),
        ("batches_of_floats", ctypes.c_void_p),
        ("batches_of_doubles", ctypes.c_void_p),
    )

    @property
    def has_batches(self) -> bool:
        return bool(self.batches_of_floats and self.batches_of_doubles)


_NAMES = (
    ("scipy_cblas_{}gemm64_", True),
    ("cblas_{}gemm64_", True),
    ("scipy_cblas_{}gemm", False),
    ("cblas_{}gemm", False),
)
"""Their possible names: in NumPy's own wheels and in those of distributions; with integers of 64 bits or not."""

_PROCESSOR = "scipy_openblas_get_corename64_"
_WITH_512_BITS = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""The processors for whose kernels OpenBLAS uses vectors of 512 bits. It may choose others' on a processor that it
does not know."""

_BATCHES = "scipy_cblas_{}gemm_batch64_"


@cache
def products() -> Products | None:
    """The functions of NumPy's BLAS; None if it has none with a known name, or if they multiply incorrectly."""
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
            batches = _batches(library) if name == _NAMES[0][0] else ()
            single, double, *others = (
                ctypes.cast(function, ctypes.c_void_p) for function in (single, double, *batches)
            )
            return Products(single, double, is_wide, *others)
    return None


def _batches(library: ctypes.CDLL) -> Sequence[Any]:
    """The functions of the OpenBLAS in NumPy's own wheels, for floats and for doubles, or none: NumPy 2.0 lacks
    them."""
    try:
        single, double = (getattr(library, _BATCHES.format(letter)) for letter in "sd")
    except AttributeError:
        return ()
    found = multiplies_batches(single, ctypes.c_float) and multiplies_batches(double, ctypes.c_double)
    return (single, double) if found else ()


@cache
def has_narrow_vectors() -> bool:
    """Whether NumPy's BLAS is known to use vectors of fewer than 512 bits: the OpenBLAS of its own wheels says which
    processor its kernels are for."""
    try:
        library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
        processor = getattr(library, _PROCESSOR)
    except (KeyError, OSError, TypeError, AttributeError):
        return False
    processor.restype = ctypes.c_char_p
    name = processor()
    return name is not None and name.decode("ascii", "replace") not in _WITH_512_BITS


def address_of_products() -> int:
    """The address from which C reads them; 0 if there are none."""
    found = products()
    return 0 if found is None else ctypes.addressof(found)


def multiplies(function: Any, number: Any, integer: Any) -> bool:
    """Whether a function gives the known product of two small matrices, one of them transposed."""
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


def multiplies_batches(function: Any, number: Any) -> bool:
    """Whether a function gives the known product of two matrices, one of them transposed, as a batch.

    They are not small: OpenBLAS fails on batches of small ones.
    """
    rows, columns, length = 102, 104, 106
    x = np.arange(rows * length, dtype=number).reshape(rows, length) % 7
    y = np.arange(columns * length, dtype=number).reshape(columns, length) % 5
    out = np.full((rows, columns), np.nan, number)
    integer, order, pointer = ctypes.c_int64, ctypes.c_int, ctypes.c_void_p

    def one(type: Any, value: Any) -> Any:
        return ctypes.byref(type(value))

    def data(array: Any) -> Any:
        return one(pointer, array.ctypes.data)

    function.restype = None
    function(
        *(order(_ROWS), one(order, _AS_IT_IS), one(order, _TURNED)),
        *(one(integer, rows), one(integer, columns), one(integer, length)),
        *(one(number, 1), data(x), one(integer, length), data(y), one(integer, length)),
        *(one(number, 0), data(out), one(integer, columns), integer(1), one(integer, 1)),
    )
    return bool((out == np.einsum("ik,jk->ij", x, y)).all())
