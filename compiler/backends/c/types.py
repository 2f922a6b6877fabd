"""The C types of the dtypes."""

from typing import Final

from ...dtypes import DType

C_TYPES: Final = {
    "bool": "bool",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float16": "uint16_t",  # C has no such arithmetic: values that are only moved are moved as bits
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float complex",
    "complex128": "double complex",
}
"""By NumPy's names. The headers complex.h, stdbool.h and stdint.h define those that are not keywords."""


def c_type(dtype: DType) -> str:
    """The C type of a number.

    >>> import numpy as np
    >>> c_type(np.dtype(np.float32)), c_type(np.dtype(np.int64))
    ('float', 'int64_t')
    """
    return C_TYPES[dtype.name]


def element_type(dtype: DType) -> str:
    """The C type of an element in memory: a bool is a byte there, because gcc does not vectorise loops over arrays of
    bool.

    It is read into a bool and written from one: ``const bool x = a[i]; b[i] = !x;``.
    """
    return "uint8_t" if dtype.kind == "b" else c_type(dtype)
