"""Tracing, transforming, compiling and running the user's functions.

Every traced function is converted, so the hooks that converted code calls are registered first.
"""

from .staging.statements import hooks as hooks
