"""NumPy's functions, methods and ufuncs on traced arrays, by NumPy's own chapters.

Importing this package fills the tables of `registry` and of `interception`.
"""

from . import creation, ufuncs

__all__ = ["creation", "ufuncs"]
