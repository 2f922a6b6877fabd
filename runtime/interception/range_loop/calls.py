"""Functions and methods in loops that are read: those of NumPy that compute, a few of Python's, and the user's."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, Final

import numpy as np

from ....compiler.callers.user_code import is_library
from ....compiler.interception.constructors import in_users_code, is_length
from ....compiler.symbolic_size import SymbolicSize, is_known
from ....compiler.tracing.traced_array import contains_size, contains_traced
from .arithmetic import as_operand, check_meets
from .counted import BoundedInt
from .values import (
    NUMBERS,
    NotInLanguageError,
    is_admitted,
    is_array,
    is_dtype_type,
    is_traced_exactly,
    is_weak_float,
)

_FUNCTIONS: Final = frozenset(
    """
    all amax amin any arange argmax argmin argsort around array asarray atleast_1d atleast_2d average broadcast_to clip
    column_stack concatenate cross cumprod cumsum diag diagonal diff dot einsum empty expand_dims eye flip fliplr flipud
    full full_like hstack identity imag inner kron linalg.det linalg.inv linalg.norm linalg.solve linspace max mean min
    moveaxis nanmax nanmean nanmin nansum ones ones_like outer prod ptp ravel real repeat reshape roll rot90 round sort
    squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose tri tril triu var vdot vstack
    where zeros zeros_like
    """.split()
)
"""Of NumPy, which neither write to their arguments, draw numbers, nor call functions of the user's."""

_METHODS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("all", "any", "argmax", "argmin", "max", "min", "sum", "prod", "mean", "std", "var"), 1),
    **dict.fromkeys(("astype", "cumsum", "cumprod", "dot", "flatten", "ravel", "round", "squeeze"), 1),
    "clip": 2,
    "conj": 0,
    "copy": 0,
    "diagonal": 3,
    "reshape": 32,
    "swapaxes": 2,
    "trace": 3,
    "transpose": 32,
}
"""Of arrays, with how many of their first arguments are not ``out``."""

_OPTIONS: Final = frozenset(
    {
        "axes",
        "axis",
        "axis1",
        "axis2",
        "ddof",
        "decimals",
        "dtype",
        "endpoint",
        "initial",
        "k",
        "keepdims",
        "max",
        "min",
    }
    | {"num", "offset", "optimize", "ord", "shape"}
)
"""What may be given by name. Not ``out``, ``where`` and ``copy``."""

_NOT_OF_COUNTERS: Final = frozenset(
    {
        "power",
        "float_power",
        "left_shift",
        "right_shift",
        "ldexp",
        "gcd",
        "lcm",
        "divmod",
        "floor_divide",
        "matmul",
    }
    | {"remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_count", "invert", "vecdot"}
    | {"matvec", "vecmat"}
)
"""ufuncs that raise for some of Python's numbers, or do not take them."""


def call_function(function: Any, args: Sequence[Any], options: Mapping[str, Any], text: str) -> Any:
    """What a function of NumPy's or Python's gives in the user's code, where `text` stands for it."""
    if type(function) is np.ufunc:
        return _of_ufunc(function, args, options)
    found = in_users_code(function)
    if found is None:
        return _of_python(function, args, options, text)
    if found.name not in _FUNCTIONS:
        raise NotInLanguageError(f"it calls `np.{found.name}`")
    _check_options(found.name, options)
    if any("out" in known.bind(*args, **options).arguments for known in _signatures(function, found.meaning)):
        raise NotInLanguageError(f"it calls `np.{found.name}` with `out`")
    given = [*args, *options.values()]
    if found.name == "where" and len(args) == 3:
        args = _operands(args)
    elif _holds_numbers_of_turns(given):
        raise NotInLanguageError(f"it gives its counter to `np.{found.name}`")
    if found.makes_arrays or contains_traced(given) or contains_size(given):
        return found.meaning(*args, **options)
    return function(*args, **options)


def is_users(function: Any) -> bool:
    """Whether it is a function of Python's own kind, and neither NumPy's nor ours."""
    return (
        type(function) is FunctionType
        and in_users_code(function) is None
        and not is_length(function)
        and not is_library(function.__code__.co_filename)
    )


def arguments_by_name(
    function: FunctionType, args: Sequence[Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The variables with which a function of the user's begins."""
    if vars(function).keys() & {"__signature__", "__wrapped__"}:
        raise NotInLanguageError(f"it calls `{function.__name__}`, which wraps another function")
    found = signature(function)
    if any(x.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for x in found.parameters.values()):
        raise NotInLanguageError(f"it calls `{function.__name__}`, which takes any arguments")
    if not all(map(is_admitted, (*args, *options.values()))):
        raise NotInLanguageError(f"it gives a list to `{function.__name__}`")
    bound = found.bind(*args, **options)
    bound.apply_defaults()
    return {**_around(function), **bound.arguments}


def _around(function: FunctionType) -> dict[str, Any]:
    """The variables that it has from functions around it."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has none yet
            continue
    return found


def call_method(of: Any, name: str, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a method of an array gives."""
    if not is_array(of) or name not in _METHODS or len(args) > _METHODS[name]:
        raise NotInLanguageError(f"it calls `{name}`")
    _check_options(name, options)
    given = [*args, *options.values()]
    if _holds_numbers_of_turns(given) or (not is_traced_exactly(of) and contains_traced(given)):
        raise NotInLanguageError(f"it gives its counter to `{name}`")
    return getattr(of, name)(*args, **options)


def _of_ufunc(ufunc: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    name = str(ufunc.__name__)
    is_numpys = getattr(np, name, None) is ufunc
    if not is_numpys or len(args) != ufunc.nin or options.keys() - {"dtype"}:
        raise NotInLanguageError(f"it calls `{name}` with more than its operands")
    if _holds_numbers_of_turns(args) and (name in _NOT_OF_COUNTERS or options):
        raise NotInLanguageError(f"it gives its counter to `np.{name}`")
    return ufunc(*_operands(args), **options)


def _operands(args: Sequence[Any]) -> list[Any]:
    dtypes = [x.dtype for x in args if is_array(x)]
    for x in args:
        if not (
            is_array(x) or is_weak_float(x) or isinstance(x, BoundedInt | SymbolicSize) or type(x) in NUMBERS
        ):
            raise NotInLanguageError(f"it gives {type(x).__name__} to a function of arrays")
        for dtype in dtypes:
            check_meets(x, dtype)
    return list(map(as_operand, args))


def _of_python(function: Any, args: Sequence[Any], options: Mapping[str, Any], text: str) -> Any:
    if options or not args:
        raise NotInLanguageError(f"it calls `{text}`")
    x = args[0]
    if len(args) > 1:
        if (function is builtins.min or function is builtins.max) and all(map(_is_size, args)):
            return function(*args)
    elif type(x) is BoundedInt:
        if function is builtins.float:
            return x.number * 1.0
        if function is builtins.int or (function is builtins.abs and is_known(x.low >= 0)):
            return x
    elif is_length(function) and type(x) is tuple:
        return len(x)
    elif is_length(function) and is_array(x) and x.shape:
        return x.shape[0]
    elif (function is builtins.abs and is_array(x)) or (
        (function is builtins.abs or is_dtype_type(function)) and type(x) in NUMBERS
    ):
        return function(x)
    raise NotInLanguageError(f"it calls `{text}`")


def _is_size(x: Any) -> bool:
    return type(x) in (int, float) or isinstance(x, SymbolicSize)


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    if unknown := options.keys() - _OPTIONS:
        raise NotInLanguageError(f"it calls `{name}` with `{min(unknown)}`")


def _holds_numbers_of_turns(given: Any) -> bool:
    """Whether numbers that are Python's, and others in each turn, are among values."""
    if isinstance(given, list | tuple):
        return any(map(_holds_numbers_of_turns, given))
    return type(given) is BoundedInt or is_weak_float(given)


@lru_cache(256)
def _signatures(*functions: Callable[..., Any]) -> list[Signature]:
    """Of those that have one: some of NumPy's are not written in Python, and some of ours take what others do."""
    found: list[Signature] = []
    for function in functions:
        with suppress(ValueError):
            found.append(signature(function))
    return found
