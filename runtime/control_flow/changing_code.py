"""Whether functions may change something that others see, judged by their code and by what it can reach."""

import dis
from functools import lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import is_library, is_users
from ...compiler.tracing.traced_memory import is_traced
from ..eager.reached_objects import TABLE, reached_objects

_OUTSIDE: Final = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "YIELD_VALUE"})
_CALLED: Final = frozenset("delattr eval exec globals locals next open send setattr vars".split())
"""Names of functions and methods that may change anything, or give access to it."""
_CONSTANT: Final = (
    type(None), type(...), bool, int, float, complex, str, bytes, slice, range, np.ndarray, np.generic, np.dtype,
    np.ufunc, MethodType, BuiltinFunctionType, partial,
)  # fmt: skip
"""Types of objects that do not change, of arrays, to which writes are recorded, and of what leads to others."""
_COMPUTING: Final = frozenset({"builtins", "cmath", "functools", "math", "numpy", "operator", "scipy"})
"""The packages whose functions only compute, or change what they are given."""


def may_change_objects(*functions: Any) -> bool:
    """Whether functions of the user may change an object or a variable outside of themselves.

    They do not if all that they reach is known not to change: numbers, texts, arrays and functions of the same kind.
    """
    return any(map(_may_change, reached_objects(functions)))


def _may_change(one: Any) -> bool:
    if isinstance(one, FunctionType):
        return not is_library(one.__code__.co_filename) and does_any(one.__code__, _CALLED, _OUTSIDE)
    if isinstance(one, _CONSTANT) or is_traced(one):
        return False
    if isinstance(one, tuple | frozenset):
        return len(one) > TABLE  # then its entries are not known
    if isinstance(one, ModuleType):
        return not _computes(one.__name__) and not is_users(getattr(one, "__file__", None) or "<frozen>")
    if isinstance(one, type):
        return not _computes(one.__module__)
    return type(one).__module__ == "builtins" or not _computes(type(one).__module__)


def _computes(module: str) -> bool:
    package = module.partition(".")[0]
    return package in _COMPUTING or package == __name__.partition(".")[0]


@lru_cache(4096)
def does_any(code: CodeType, names: frozenset[str], instructions: frozenset[str]) -> bool:
    """Whether code, or that of its inner functions, mentions one of these names, has one of these instructions, or sets
    a variable of an enclosing function."""
    if not names.isdisjoint(code.co_names):
        return True
    for step in dis.get_instructions(code):
        is_of_others = step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars
        if step.opname in instructions or is_of_others:
            return True
    return any(does_any(one, names, instructions) for one in code.co_consts if isinstance(one, CodeType))
