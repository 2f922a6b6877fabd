"""NumPy's functions, methods and ufuncs on traced arrays, by NumPy's own chapters.

Importing this package fills the tables of `registry` and of `interception`.
"""

from . import creation, joining, mathematics, products, reductions, reshaping, ufuncs

__all__ = ["creation", "joining", "mathematics", "products", "reductions", "reshaping", "ufuncs"]
