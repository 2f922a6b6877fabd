"""Whether functions may change something that others see, judged by their code and by what it can reach."""

import dis
import sys
from collections import deque
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
_CONTAINERS: Final = frozenset({dict, list, set, deque})
"""Types of containers, which change only if code does so with their methods, or with statements."""
_METHODS: Final = frozenset(
    """
    add append appendleft clear difference_update discard extend extendleft getattr insert intersection_update
    methodcaller pop popitem popleft remove reverse rotate setdefault sort symmetric_difference_update update
    __dict__ __delattr__ __delitem__ __iadd__ __iand__ __imul__ __ior__ __isub__ __ixor__ __setattr__ __setitem__
    delitem iadd iand iconcat imul ior isub ixor setitem
    """.split()
)
"""Names of methods and functions that change containers and objects, or that find such methods."""
_STATEMENTS: Final = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "INPLACE"})
"""Instructions that change containers. All operators in place count as one."""
_COMPUTING: Final = frozenset({"builtins", "cmath", "functools", "math", "numpy", "operator", "scipy"})
"""The packages whose functions only compute, or change what they are given."""


def may_change_objects(*functions: Any) -> bool:
    """Whether functions of the user may change an object or a variable outside of themselves.

    They do not if all that they reach is known not to change: numbers, texts, arrays and functions of the same kind,
    and containers and objects of the user's classes if no code changes such.
    """
    reached = list(reached_objects(functions))
    if any(map(_may_change, reached)):
        return True
    return any(map(_is_container, reached)) and any(map(_changes_containers, reached))


def _is_container(one: Any) -> bool:
    return not isinstance(one, type) and (type(one) in _CONTAINERS or _is_of_user(type(one)))


def _is_of_user(kind: type) -> bool:
    """Whether a class and its bases are the user's, so that all that its objects do is in code of the user."""
    return type(kind) is type and all(
        base is object or is_users(getattr(sys.modules.get(base.__module__), "__file__", None) or "<frozen>")
        for base in kind.__mro__
    )


def _changes_containers(one: Any) -> bool:
    if isinstance(one, FunctionType):
        return not is_library(one.__code__.co_filename) and does_any(one.__code__, _METHODS, _STATEMENTS)
    return isinstance(one, BuiltinFunctionType) and one.__name__ in _METHODS


def _may_change(one: Any) -> bool:
    if type(one) in _CONTAINERS:
        return len(one) > TABLE  # then its entries are not known
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
    if _is_of_user(type(one)):
        return False
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
        if step.opname == "BINARY_OP" and "INPLACE" in instructions and step.argrepr.endswith("="):
            return True
    return any(does_any(one, names, instructions) for one in code.co_consts if isinstance(one, CodeType))
