"""What converted code calls instead of functions of SciPy, so that they handle traced arrays.

SciPy's functions in Python are converted where traced arrays are among their arguments, as the user's are; with other
arguments they run as they are. Those that are written for the Array API take the namespace of traced arrays, also if
some of their arrays are NumPy's and whether or not ``SCIPY_ARRAY_API`` is set. Functions in C, and some others, have a
version of Tracemill's.
"""

import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any, Final, NoReturn

import numpy as np

from ....compiler.errors import ArgumentValueError, UnsupportedFunctionError
from ....compiler.frontend.conversion import converted_library
from ....compiler.nesting import shown
from ....compiler.numpy_surface import scipy_surface
from ....compiler.numpy_surface.array_api import array_api
from ....compiler.tracing.registry import STAGED_STAND_INS, STAND_INS
from ....compiler.tracing.traced_array import located
from ....compiler.tracing.traced_memory import contains_traced, is_traced

assert scipy_surface.__all__  # importing it has registered its functions

_SETTINGS: Final = frozenset(
    "overwrite_a overwrite_ab overwrite_b overwrite_x check_finite workers plan lwork lapack_driver driver".split()
)
"""Parameters that do not change the result."""


def scipy_meaning(function: Any) -> Callable[..., Any] | None:
    """What converted code calls instead of a function of SciPy; None if it calls the function itself."""
    if not hasattr(function, "__name__"):  # an object that can be called
        return partial(_method, MethodType(type(function).__call__, function))
    name = f"{function.__module__.split('.')[1]}.{function.__name__}"
    if function.__name__ in _QUESTIONS:
        return partial(_QUESTIONS[function.__name__], function)
    if (ours := STAND_INS.get(name)) is not None and _is_public(function):
        return partial(_choosing, partial(_stand_in, function, ours, name), function)
    if (
        ours := STAND_INS.get(f"{function.__module__.removeprefix('scipy.')}.{function.__name__}")
    ) is not None:
        return partial(_choosing, partial(located, ours), function)  # a function in C behind SciPy's own
    if type(function) is MethodType:
        return partial(_method, function)
    found = _of_traced_arguments(function)
    return found and partial(_choosing, found, function)


def library_meaning(function: Any) -> Callable[..., Any] | None:
    """The same for a function, a method or an object of another library that is written in Python: it is converted."""
    if type(function) is MethodType:
        return partial(_method, function)
    if isinstance(function, type | FunctionType):
        found = _of_traced_arguments(function)
        return found and partial(_choosing, found, function)
    return partial(_method, MethodType(type(function).__call__, function))


def _of_traced_arguments(function: Any) -> Callable[..., Any] | None:
    """What is called instead if an argument is traced."""
    if isinstance(function, type):
        return partial(_made, function) if _is_plain(function) else None
    if type(function) is FunctionType:
        return partial(_converted, function)
    if inspect.isbuiltin(function) or type(function).__name__ in _CYTHON:
        return partial(_refused, function)
    return None


_CYTHON: Final = ("cython_function_or_method", "fused_cython_function")


def _is_public(function: Any) -> bool:
    """Whether it is the function of that name in the public module, not a helper of it."""
    module = sys.modules.get(".".join(function.__module__.split(".")[:2]))
    public = getattr(module, function.__name__, None)
    return public is function or getattr(public, "__wrapped__", None) is function


def _choosing(ours: Callable[..., Any], function: Callable[..., Any], /, *given: Any, **more: Any) -> Any:
    """Call Tracemill's version of a function if an argument is traced."""
    is_traced = any(map(contains_traced, (*given, *more.values())))
    return ours(*given, **more) if is_traced else function(*given, **more)


def _converted(function: FunctionType, /, *given: Any, **more: Any) -> Any:
    if function.__code__.co_name != "axis_nan_policy_wrapper" or more.get("_no_deco"):
        return converted_library(function)(*given, **more)
    arguments = inspect.signature(function).bind_partial(*given, **more).arguments
    _check_nan_policy(function, arguments)
    return _with_missing(function, arguments, converted_library(function)(*given, **more))


def _check_nan_policy(function: FunctionType, arguments: Mapping[str, Any]) -> None:
    """SciPy would ignore the policy for several axes: traced arrays are not of NumPy's namespace."""
    policy = arguments.get("nan_policy", "propagate")
    if policy in ("omit", "raise") and arguments.get("axis", 0) is not None:
        values = (value for argument in arguments.values() for value in _each(argument))
        if any(is_traced(value) and value.ndim > 1 for value in values):
            raise ArgumentValueError(
                f"scipy.stats.{function.__name__} of a traced array with several axes has no nan_policy "
                f"{shown(policy)}: call it for one row at a time, or call SciPy outside"
            )


def _with_missing(function: FunctionType, arguments: Mapping[str, Any], result: Any) -> Any:
    """The result with NaN where a sample has one. SciPy leaves that to the function itself for several axes, too."""
    parameters = inspect.signature(function).parameters
    axis = arguments.get("axis", parameters["axis"].default)
    samples = [
        value
        for argument in arguments.values()
        for value in _each(argument)
        if (is_traced(value) or isinstance(value, np.ndarray)) and value.ndim > 1 and value.dtype.kind in "fc"
    ]
    override = inspect.getclosurevars(function).nonlocals.get("override", {})
    if axis is None or not samples or not override.get("nan_propagation", True):
        return result
    keepdims = arguments.get("keepdims", False)
    is_missing: Any = False
    for sample in samples:
        is_missing = np.logical_or(is_missing, np.any(np.isnan(sample), axis=axis, keepdims=keepdims))

    def marked(one: Any) -> Any:
        return np.where(is_missing, np.nan, one) if is_traced(one) and one.shape == is_missing.shape else one

    if isinstance(result, tuple):
        return (
            type(result)(*map(marked, result)) if hasattr(result, "_fields") else tuple(map(marked, result))
        )
    return marked(result)


def _each(argument: Any) -> tuple[Any, ...]:
    """The samples that a parameter such as ``*samples`` got, or the argument itself."""
    return argument if isinstance(argument, tuple) else (argument,)


def _refused(function: Any, /, *given: Any, **more: Any) -> NoReturn:
    """A function in C, which may return with its work undone where it gets something else than an array."""
    raise UnsupportedFunctionError(
        f"{function.__module__}.{function.__name__} cannot be traced: it is written in C. Call it outside, "
        "or through tm.pure_callback"
    )


def _method(method: MethodType, /, *given: Any, **more: Any) -> Any:
    """A method with a traced argument, or of an object that holds a traced array."""
    own, function = method.__self__, method.__func__
    if isinstance(function, FunctionType) and any(
        map(contains_traced, (*given, *more.values(), *_held(own)))
    ):
        return converted_library(function)(own, *given, **more)
    return method(*given, **more)


def _held(x: Any) -> Iterator[Any]:
    """The attributes of an object itself."""
    yield from getattr(x, "__dict__", {}).values()
    for name in getattr(type(x), "__slots__", ()):
        yield getattr(x, name, None)


def _is_plain(made: type) -> bool:
    """Whether objects of a class begin in its ``__init__``, in Python."""
    create: Any = made.__new__
    start: Any = made.__init__  # type: ignore[misc]
    return type(made) in (type, ABCMeta) and create is object.__new__ and isinstance(start, FunctionType)


def _made(made: type, /, *given: Any, **more: Any) -> Any:
    """A new object, with its ``__init__`` converted."""
    new: Any = object.__new__(made)
    converted_library(made.__init__)(new, *given, **more)  # type: ignore[misc]
    return new


def _namespace(function: Any, /, *arrays: Any, **options: Any) -> Any:
    """The namespace of some arrays, one of which may be traced."""
    return array_api if any(map(contains_traced, arrays)) else function(*arrays, **options)


def _is_writeable(function: Any, /, x: Any) -> bool:
    """Whether elements of an array can be set: not those of a traced number, which stands for NumPy's scalar."""
    return not x.is_scalar if is_traced(x) else bool(function(x))


_QUESTIONS: Final = {"array_namespace": _namespace, "is_writeable_array": _is_writeable}
"""What functions for the Array API ask about arrays."""


def _stand_in(function: Any, ours: Callable[..., Any], name: str, /, *given: Any, **more: Any) -> Any:
    """Call Tracemill's version with the arguments that differ from SciPy's defaults."""
    signature = inspect.signature(function)
    bound = signature.bind(*given, **more)
    known = inspect.signature(ours).parameters
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for number, (parameter, argument) in enumerate(bound.arguments.items()):
        if signature.parameters[parameter].kind is inspect.Parameter.VAR_POSITIONAL:
            positional += argument
        elif number == 0:  # NumPy's has another name
            positional.append(argument)
        elif parameter in known:
            named[parameter] = argument
        elif parameter not in _SETTINGS and argument is not signature.parameters[parameter].default:
            raise ArgumentValueError(
                f"scipy.{name} of a traced array has no {parameter}: leave it out, or call SciPy outside"
            )
    if name in STAGED_STAND_INS and isinstance(ours, FunctionType):
        ours = converted_library(ours)
    return located(ours, *positional, **named)
