"""NumPy's functions, methods and ufuncs on traced arrays, by NumPy's own chapters.

Importing this package fills the tables of `tracing.registry`.
"""

import numpy as np

from . import array_api, dtype_functions, methods, ownership, refused, result_order, written_elements
from .analysis import differences, functional, polynomials, signals
from .arrays import (
    constructors,
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
from .statistics import averages, histograms, nan_reductions, order_statistics
from .ufuncs import (
    bits,
    clipping,
    complex_domain,
    composed_ufuncs,
    log_sums,
    logic,
    mathematics,
    operators,
    reductions,
    repeated_calls,
    special,
    ufunc_calls,
    ufunc_methods,
)

result_order.give_results_numpys_order()
ownership.give_results_numpys_ownership()
repeated_calls.record_again(np.dot)

__all__ = [
    "array_api",
    "averages",
    "bits",
    "clipping",
    "complex_domain",
    "composed_ufuncs",
    "constructors",
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
    "log_sums",
    "logic",
    "mathematics",
    "matrices",
    "methods",
    "nan_reductions",
    "operators",
    "order_statistics",
    "ownership",
    "padding",
    "polynomials",
    "products",
    "ranges",
    "rearranging",
    "reductions",
    "refused",
    "repeated_calls",
    "reshaping",
    "sets",
    "signals",
    "sorting",
    "special",
    "splitting",
    "triangles",
    "ufunc_calls",
    "ufunc_methods",
    "windows",
    "written_elements",
]
