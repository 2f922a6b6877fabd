"""NumPy's functions, methods and ufuncs on traced arrays, by NumPy's own chapters.

Importing this package fills the tables of `registry` and of `interception`.
"""

from . import (
    composed_ufuncs,
    creation,
    dtype_functions,
    editing,
    flat,
    indexing_functions,
    joining,
    mathematics,
    matrices,
    methods,
    operators,
    padding,
    products,
    ranges,
    rearranging,
    reductions,
    refused,
    reshaping,
    splitting,
    taking,
    ufunc_methods,
    ufuncs,
)

__all__ = [
    "composed_ufuncs",
    "creation",
    "dtype_functions",
    "editing",
    "flat",
    "indexing_functions",
    "joining",
    "mathematics",
    "matrices",
    "methods",
    "operators",
    "padding",
    "products",
    "ranges",
    "rearranging",
    "reductions",
    "refused",
    "reshaping",
    "splitting",
    "taking",
    "ufunc_methods",
    "ufuncs",
]
