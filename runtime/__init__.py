"""Tracing, transforming, compiling and running the user's functions.

Whoever traces a function gets it converted, so the hooks that converted code calls are registered first.
"""

from .staging import hooks as hooks
