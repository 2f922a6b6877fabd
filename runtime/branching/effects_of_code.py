"""Whether functions may do more than to return a value, judged by what their code could do.

`watching` finds what was changed, by comparison. It does not see what is printed, drawn or read, and it undoes changes
too late for what else sees them. Code that must not do such things is checked here, before it is called.
"""

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import is_library
from ..control_flow.changing_code import does_any

_STORING: Final = frozenset(
    {
        "STORE_GLOBAL",
        "DELETE_GLOBAL",
        "STORE_ATTR",
        "DELETE_ATTR",
        "STORE_SUBSCR",
        "DELETE_SUBSCR",
        "YIELD_VALUE",
    }
)
_CHANGING: Final = frozenset(
    """
    add append appendleft clear discard extend extendleft insert pop popitem popleft remove reverse setdefault sort
    update __delitem__ __iadd__ __setattr__ __setitem__ delattr eval exec globals input next open print send setattr
    vars warn write
    beta binomial bytes choice exponential gamma integers normal permutation poisson rand randint randn random shuffle
    standard_normal uniform
    """.split()
)
"""Names of methods and functions that change, show or draw something."""
_KINDS: Final = (
    bool,
    bytes,
    complex,
    dict,
    float,
    int,
    list,
    set,
    str,
    tuple,
    enumerate,
    range,
    reversed,
    zip,
)


def has_no_effects(function: Any) -> bool:
    """Whether calling a function can only return a value, or raise an exception."""
    function = getattr(function, "__func__", function) if isinstance(function, MethodType) else function
    if isinstance(function, FunctionType):
        if is_library(function.__code__.co_filename):
            return True
        given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        only_computes = not does_any(function.__code__, _CHANGING, _STORING)
        return only_computes and all(map(_is_constant, given))
    if isinstance(function, type):
        return function in _KINDS or issubclass(function, np.generic)
    is_known = isinstance(function, (BuiltinFunctionType, np.ufunc)) or type(function).__module__ == "numpy"
    return is_known and getattr(function, "__name__", "print") not in _CHANGING


def _is_constant(x: Any) -> bool:
    if isinstance(x, tuple):
        return all(map(_is_constant, x))
    return x is None or isinstance(x, (bool, int, float, complex, str, bytes))
