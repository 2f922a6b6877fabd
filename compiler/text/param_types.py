"""Whether the parameters of a call have the types in its op's type rule: a text may contain anything."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..ir import Graph, Param
from ..nesting import shown
from ..op import all_ops
from ..symbolic_size import SymbolicSize


def param_problem(op: str, params: Mapping[str, Param]) -> str | None:
    """Which parameter has another type than the op takes, or None. The rule itself checks missing and unknown ones.

    >>> param_problem("sum", {"axes": (0, 1)}) is None
    True
    >>> param_problem("sum", {"axes": (0, "1")})
    "parameter axes is (0, '1'), and should be tuple[int, ...]"
    """
    known = param_types(op)
    for name, param in params.items():
        if name not in known:
            if not _is_plain(param):
                return f"parameter {name} is {shown(param)}, which this op does not have"
        elif not _is_a(param, known[name]):
            return f"parameter {name} is {shown(param)}, and should be {_shown(known[name])}"
    return None


@cache
def param_types(op: str) -> Mapping[str, Any]:
    """The annotation of each parameter of an op's type rule, without the types of its operands."""
    rule = inspect.unwrap(all_ops()[op].type)
    kinds = {
        name: parameter.kind
        for name, parameter in inspect.signature(rule).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    return {name: hint for name, hint in get_type_hints(rule).items() if name in kinds}


def _is_plain(param: Any) -> bool:
    """A parameter that a rule passes on: integers, or a user's rule."""
    if isinstance(param, tuple):
        return all(map(_is_plain, param))
    return (
        type(param) is int
        or isinstance(param, SymbolicSize)
        or (callable(param) and not isinstance(param, Graph))
    )


def _is_a(param: Any, hint: Any) -> bool:
    """Whether a parameter has a type: a bool is not an int here, an int is not a float, and a symbolic size is an
    int."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_is_a(param, one) for one in inner)
    if origin is tuple:
        return isinstance(param, tuple) and _items_are(param, inner)
    if origin is np.dtype:
        return isinstance(param, np.dtype)
    if origin is Callable:
        return callable(param)
    if hint is int and isinstance(param, SymbolicSize):
        return True
    return hint is Any or type(param) is (NoneType if hint is None else hint)


def _items_are(items: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is ...:
        return all(_is_a(item, inner[0]) for item in items)
    return len(items) == len(inner) and all(map(_is_a, items, inner))


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
