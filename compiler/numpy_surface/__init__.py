"""NumPy's functions, methods and ufuncs on traced arrays, by NumPy's own chapters.

Importing this package fills the tables of `registry` and of `interception`.
"""

from . import (
    composed_ufuncs,
    creation,
    joining,
    mathematics,
    operators,
    products,
    reductions,
    reshaping,
    ufunc_methods,
    ufuncs,
)

__all__ = [
    "composed_ufuncs",
    "creation",
    "joining",
    "mathematics",
    "operators",
    "products",
    "reductions",
    "reshaping",
    "ufunc_methods",
    "ufuncs",
]
