"""NumPy's functions, methods and ufuncs on traced arrays, by NumPy's own chapters.

Importing this package fills the tables of `registry` and of `interception`.
"""

from . import array_api, methods, refused, result_order
from .analysis import differences, functional, polynomials, signals
from .arrays import constructors as creation
from .arrays import (
    editing,
    flat,
    joining,
    known_positions,
    matrices,
    padding,
    ranges,
    rearranging,
    reshaping,
    splitting,
    triangles,
    windows,
)
from .indexing import indexing_functions, sets, sorting
from .linalg import einsum, factorizations, fft, linear_algebra, linear_systems, products
from .statistics import averages as statistics
from .statistics import histograms, nan_reductions, order_statistics
from .ufuncs import (
    bits,
    complex_domain,
    composed_ufuncs,
    dtype_functions,
    logic,
    mathematics,
    operators,
    reductions,
    special,
    ufunc_methods,
)
from .ufuncs import ufunc_calls as ufuncs

result_order.give_results_numpys_order()

__all__ = [
    "array_api",
    "bits",
    "complex_domain",
    "composed_ufuncs",
    "creation",
    "differences",
    "dtype_functions",
    "editing",
    "einsum",
    "factorizations",
    "fft",
    "flat",
    "functional",
    "histograms",
    "indexing_functions",
    "joining",
    "known_positions",
    "linear_algebra",
    "linear_systems",
    "logic",
    "mathematics",
    "matrices",
    "methods",
    "nan_reductions",
    "operators",
    "order_statistics",
    "padding",
    "polynomials",
    "products",
    "ranges",
    "rearranging",
    "reductions",
    "refused",
    "reshaping",
    "sets",
    "signals",
    "sorting",
    "special",
    "splitting",
    "statistics",
    "triangles",
    "ufunc_methods",
    "ufuncs",
    "windows",
]
