"""`callee`: what converted code calls instead of a function."""

import functools
import itertools
import operator
import sys
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, BuiltinMethodType, FunctionType, MethodType
from typing import Any, Final

import numpy as np
import optree

from ...compiler.arguments.leaves import flattened
from ...compiler.callers.user_code import OPERATORS, is_defined_by_user, is_users, user_location
from ...compiler.error_state import set_users_error_state, users_error_state
from ...compiler.frontend.conversion import (
    call_converted,
    converted,
    has_run_as_written,
    known_number_functions,
)
from ...compiler.frontend.outside.read_names import reads_attributes
from ...compiler.numpy_surface.written_elements import TEXTS_OF_NUMBERS
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.trace import current_trace, require_trace
from ...compiler.tracing.traced_memory import contains_size, contains_traced, is_traced
from ..branching.one_of import OneOf, is_one_of
from ..branching.python_numbers import as_place
from ..branching.stand_ins import update_stand_ins
from ..branching.watching import is_watched, watch_called, watching
from ..eager.environment import reader
from ..eager.generator_states import generator_of
from ..eager.impure_calls import is_impure
from ..eager.line_writers import refuse_stream, writer_name
from .built_in_functions import built_in_meanings, refuse_call
from .comprehensions import known_tests
from .entries import call_one
from .library_functions import MANAGER_MAKER, library_meanings, managing
from .mathematics.complex import COMPLEX_MATHEMATICS
from .mathematics.real import MATHEMATICS
from .methods import UNCHANGED_METHODS, array_method, method_on_values, plain_method
from .numpy_functions import numpy_meaning
from .operators import converted_once, delete_attribute, iterated, maker, set_attribute
from .special_methods import as_numpys, special_method_meanings
from .user_call import call

_Cached: Final = type(functools.lru_cache(str))
_PREPARING: Final[dict[Any, Callable[[Any], Any]]] = {
    **dict.fromkeys((list, tuple, set, frozenset, sum, sorted, zip, enumerate, map, dict), iterated),
    **dict.fromkeys((np.array, np.asarray), lambda x: iterated(as_numpys(x))),
}
"""Functions that iterate over their arguments, and what they get instead of an object of a user's class."""
_IMPURE: Final = (breakpoint, print, id, type, input, open, setattr, super, object)
_FUNCTIONS: Final = (FunctionType, MethodType, BuiltinFunctionType, partial, type)
_DEFINED: Final = (FunctionType, MethodType)
_SHOWING_EXCEPTIONS: Final = frozenset(
    (sys.exception, sys.exc_info, traceback.format_exc, traceback.print_exc, traceback.format_exception)
)
"""Functions that show the exception that a handler handles."""
_OF_EXCEPTION: Final[dict[Any, Callable[..., Any]]] = {
    sys.exception: lambda error: error,
    sys.exc_info: lambda error: (type(error), error, error.__traceback__),
    traceback.format_exc: lambda error, limit=None, chain=True: "".join(
        traceback.format_exception(error, limit=limit, chain=chain)
    ),
}
"""The same for NumPy's own exception, which stands for one of Tracemill's."""
_TESTERS: Final = (filter, itertools.takewhile, itertools.dropwhile, itertools.filterfalse)
_CALLERS: Final = (map, functools.reduce, itertools.accumulate, itertools.starmap)

_SEEDED: Final = frozenset({"default_rng", "RandomState", "SeedSequence", "Generator", "Random"}) | frozenset(
    {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
)
"""Functions that begin with a Python number and need its value."""
_OF_NUMPY: Final = frozenset({np.ufunc, type(np.dot)})
"""Types of functions of NumPy, none of which draws."""
_COMMON: Final = frozenset({*_DEFINED, *_OF_NUMPY})
"""Types of functions that are called most."""
_OF_NUMBERS: Final = frozenset({"calendar", "datetime", "decimal", "fractions", "json"})
"""Modules of Python whose functions need numbers."""


def callee(function: Any) -> Any:
    """The function that converted code calls instead of `function`."""
    kind = type(function)
    trace = current_trace()
    if trace is None:
        return converted(function) if kind in (FunctionType, MethodType, partial) else function
    if trace.is_evaluating:
        found: Any = None
        if kind is BuiltinFunctionType and trace.parent is None:
            names: Any = UNCHANGED_METHODS.get(type(function.__self__))
            if names is not None and function.__name__ in names:
                return function
            found = _QUICK.get(function) if names is None else plain_method(function, _meaning_of_c)
        elif kind is type:
            found = _QUICK.get(function)
        found = found or _in_evaluation(trace, function, kind)
        return _callee(function, kind) if found is None else found
    return _callee(function, kind)


def _meaning_of_c(function: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = _callee(function, type(function))
    return found


def _quick(own: Any, kinds: frozenset[type]) -> Callable[..., Any]:
    """A function that calls Python's own for one argument of one of these types."""

    def called(*given: Any, **more: Any) -> Any:
        if len(given) == 1 and not more and type(given[0]) in kinds:
            return own(given[0])
        return _meaning_of_c(own)(*given, **more)

    return called


def _quick_range(*given: Any) -> Any:
    if {*map(type, given)} == {int}:
        return range(*given)
    return _meaning_of_c(range)(*given)


def _quick_extreme(own: Any) -> Callable[..., Any]:
    def called(*given: Any, **more: Any) -> Any:
        if len(given) == 2 and not more and type(given[0]) in _NUMBERS and type(given[1]) in _NUMBERS:
            return own(given[0], given[1])
        return _meaning_of_c(own)(*given, **more)

    return called


_NUMBERS: Final = frozenset({bool, float, int})
_QUICK: Final[dict[Any, Callable[..., Any]]] = {
    len: _quick(len, frozenset({dict, frozenset, list, range, set, str, tuple})),
    range: _quick_range,
    min: _quick_extreme(min),
    max: _quick_extreme(max),
    **{own: _quick(own, _NUMBERS) for own in (abs, bool, round)},
    **{own: _quick(own, _NUMBERS | {str}) for own in (float, int, str)},
    **{own: _quick(own, frozenset({int})) for own in (bin, chr, hex)},
    ord: _quick(ord, frozenset({str})),
}


def _callee(function: Any, kind: type) -> Any:
    """The same in a trace."""
    found: Callable[..., Any] | None = None
    if kind in _COMMON and not (OPERATORS.get() or is_watched()):
        if kind in _OF_NUMPY:
            found = _of_numpy(function)
        elif has_run_as_written(function):
            found = partial(call_converted, function)
    found = found or _called_instead(function, kind)
    return partial(_called_and_settled, found) if update_stand_ins() else found


@functools.lru_cache(4096)
def _of_numpy(function: Any) -> "Callable[..., Any] | None":
    """The replacement for a function of NumPy, if it has one."""
    return _MEANINGS.get(function) or numpy_meaning(function)


def _called_and_settled(function: Any, *given: Any, **more: Any) -> Any:
    """Call a function, which may change containers that others stand for."""
    result = function(*given, **more)
    update_stand_ins()
    return result


def _called_instead(function: Any, kind: type) -> "Callable[..., Any]":
    if (found := _special(function, kind)) is not None:
        return found
    if kind is partial and (is_impure(function.func) or _is_scipys(function.func)):
        return partial(_called_visibly, function)
    watch_called(function)
    if (found := _meaning(function, kind)) is not None:
        if not (OPERATORS.get() and _is_pure(function)):
            return found
        return partial(_called_of_each, found, _PREPARING.get(function))
    if OPERATORS.get() and _is_pure(function):
        return partial(_called_of_each, function, _PREPARING.get(function))
    numbers = known_number_functions(function)
    for one in () if numbers is None else numbers.functions:
        watch_called(one)
    is_asked = numbers is not None or reads_attributes(function)
    return partial(call_converted, function) if is_asked else converted(function)


def _is_scipys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").startswith("scipy.")


def _in_evaluation(trace: Any, function: Any, kind: type) -> "Callable[..., Any] | None":
    """The replacement for the user's functions, and for functions and methods of arrays, where each call is computed at
    once."""
    if kind is MethodType and type(function.__self__) is trace.array_class:
        return function  # type: ignore[no-any-return]
    meaning: Callable[..., Any] | None = trace.meaning(function)
    if meaning is not None:
        return meaning
    if kind is FunctionType:
        return converted_once(trace, function) if is_users(function.__code__.co_filename) else None
    if kind is MethodType and type(inner := function.__func__) is FunctionType:
        is_own = is_users(inner.__code__.co_filename)
        return MethodType(converted_once(trace, inner), function.__self__) if is_own else None
    if kind is type and is_defined_by_user(function):
        known: Callable[..., Any] | None = trace.converted.get(function)
        if known is None:
            known = trace.converted[function] = maker(function)
        return known
    return None


def _special(function: Any, kind: type) -> "Callable[..., Any] | None":
    """The replacement for methods of traced arrays and random generators, and for `OneOf` and ``np.vectorize``."""
    refuse_call(function)
    if kind in _OBJECTS:
        return partial(_OBJECTS[kind], function)
    if kind is MethodType and is_traced(function.__self__):
        return array_method(function)
    if kind in _WRITERS and function in _SHOWING_EXCEPTIONS and (error := sys.exception()) is not None:
        from .texts import caught

        own = caught(error)
        if own is not error and function in _OF_EXCEPTION:
            return partial(_OF_EXCEPTION[function], own)
    if kind in _WRITERS:
        refuse_stream(function)
        if writer_name(function):
            return partial(_written, function)
    if kind is FunctionType and function.__code__ is MANAGER_MAKER:
        return partial(managing, callee, function)
    if kind is _Cached and isinstance(function.__wrapped__, FunctionType):
        return partial(_cached, function)
    return (None if kind in _OF_NUMPY else _draw_method(function)) or reader(function)


def _written(function: Any, *given: Any, **more: Any) -> None:
    """A call of `print`, or of a function of `logging` or `warnings`, under another name."""
    from .texts import written

    written(function, lambda: (given, more))


def _draw_method(function: Any) -> "Callable[..., Any] | None":
    """The replacement for a method of a random generator; None for others, and as long as nothing draws."""
    trace: Any = require_trace().outermost()
    if trace.is_evaluating and (generator := generator_of(function)) is not None:
        trace.note_draw(generator)
    if "numpy.random" not in sys.modules:
        return None
    from .draws import draw_method

    return draw_method(function)


def _meaning(function: Any, kind: type) -> "Callable[..., Any] | None":
    """The replacement for functions of Python and NumPy, for methods of containers, and for classes."""
    if kind is MethodType and isinstance(function.__func__, FunctionType):
        if (function.__func__.__module__ or "").startswith(("scipy.", "numpy.polynomial.")):
            return _meaning_in_module(function)
        is_maker = isinstance(function.__self__, type) and function.__module__ in _OF_NUMBERS
        return partial(_called_with_numbers, function) if is_maker else None
    if kind is BuiltinMethodType and (method := method_on_values(function, callee)) is not None:
        return method
    try:
        found = _MEANINGS.get(function) or numpy_meaning(function) or _meaning_in_module(function)
    except TypeError:  # not hashable
        found = _meaning_in_module(function)
    if found is None and _is_seeded(function):
        return partial(_called_with_seed, function)
    if found is None and getattr(function, "__module__", None) in _OF_NUMBERS:
        return partial(_called_with_numbers, function)
    return maker(function) if found is None and isinstance(function, type) else found


def _meaning_in_module(function: Any) -> "Callable[..., Any] | None":
    module = getattr(function, "__module__", None)
    if type(module) is str and module.startswith("numpy.testing."):
        from .mathematics.numpy_assertions import assertion_meaning

        return assertion_meaning(function)
    if type(module) is str and module.startswith("scipy."):
        from .mathematics.scipy_functions import scipy_meaning

        return scipy_meaning(function)
    if type(module) is str and module.startswith("numpy.polynomial."):
        from .mathematics.scipy_functions import library_meaning

        return library_meaning(function)
    if module != "statistics":
        return None
    from .mathematics.statistics import statistics_meaning

    return statistics_meaning(function)


def _is_seeded(function: Any) -> bool:
    """Whether it makes a random generator of NumPy or Python, which needs the value of its seed."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    return name in _SEEDED and module.partition(".")[0] in ("numpy", "random")


def _cached(function: Any, *given: Any, **more: Any) -> Any:
    """Call a function with an ``lru_cache``; for traced arguments and sizes, without the cache."""
    if any(contains_traced(one) or contains_size(one) for one in (*given, *more.values())):
        return callee(function.__wrapped__)(*given, **more)
    return function(*given, **more)


def _is_pure(function: Any) -> bool:
    """Whether a function of Python or NumPy can be applied to each entry of a `OneOf`."""
    if isinstance(getattr(function, "__self__", None), (list, dict, set, deque)):
        return False
    if type(function).__hash__ is None:
        return False
    module = getattr(function, "__module__", None) or type(function).__module__
    return not any(function is one for one in _IMPURE) and module.partition(".")[0] in (
        "builtins",
        "math",
        "numpy",
        "operator",
    )


def _called_of_each(function: Any, prepare: "Callable[[Any], Any] | None", *given: Any, **more: Any) -> Any:
    """Apply a function to each entry of a `OneOf`, or to what it reads of the user's objects."""
    if prepare is not None:
        given = tuple(map(prepare, given))
    arguments: dict[Any, Any] = dict(enumerate(given)) | more
    key = next((key for key, one in arguments.items() if is_one_of(one)), None)
    if key is None:
        return function(*given, **more)

    def of_one(each: Any) -> Any:
        filled = arguments | {key: each}
        positional = [filled.pop(number) for number in range(len(given))]
        return _called_of_each(function, prepare, *positional, **filled)

    return OneOf.asked(arguments[key], of_one)


def _called_one(chosen: OneOf, *given: Any, **more: Any) -> Any:
    return call_one(chosen, callee, given, more)


def _vectorized(function: Any, *given: Any, **named: Any) -> Any:
    watch_called(function.pyfunc)
    if not any(map(contains_traced, (*given, *named.values()))):
        return call(function, *given, **named)
    from .vectorized import vectorized

    with watching("`np.vectorize`", {}, user_location()):  # it is traced once for all elements
        watch_called(function.pyfunc)
        return vectorized(function, callee, given, named)


_WRITERS: Final = (BuiltinFunctionType, FunctionType, MethodType)
_OBJECTS: Final[dict[type, Callable[..., Any]]] = {OneOf: _called_one, np.vectorize: _vectorized}
"""What calling an object does, by its class."""


def _called_with_seed(function: Any, *given: Any, **more: Any) -> Any:
    """Make a random generator, which needs the values of ints. The program is then for these values."""
    from .draws import seeded

    given = tuple(map(_known_int, given))
    more = {name: _known_int(x) for name, x in more.items()}
    return seeded(function, given, more)


def _called_with_numbers(function: Any, *given: Any, **more: Any) -> Any:
    """Call a function that needs the values of ints and sizes, also of those in containers."""
    leaves, tree = flattened((given, more))
    to_known = _KNOWN.get(function.__module__, _known_number)
    known: Any = optree.tree_unflatten(tree, map(to_known, leaves))
    return function(*known[0], **known[1])


def _known_number(x: Any) -> Any:
    return bool(as_place(x)) if is_traced(x) and x.weak is bool else _known_int(x)


def _shown_number(x: Any) -> Any:
    """A number of which ``json.dumps`` makes a text, as an f-string may where each call is computed at once."""
    trace = current_trace()
    if trace is not None and trace.is_evaluating and is_traced(x) and x.is_scalar:
        return x.concrete()[()] if x.weak is None else x.concrete().item()
    return _known_number(x)


def _exact_number(x: Any) -> Any:
    """A number of which another number is made, where each call is computed at once. A derivative would be lost."""
    trace = current_trace()
    if trace is not None and trace.is_evaluating and is_traced(x) and x.is_scalar and x.dtype.kind == "f":
        number = float(x)
        return number if x.weak is not None else x.dtype.type(number)
    return _known_number(x)


_KNOWN: Final = {"json": _shown_number, "decimal": _exact_number, "fractions": _exact_number}


def _known_int(x: Any) -> Any:
    is_int = isinstance(x, SymbolicSize) or (is_traced(x) and x.ndim == 0 and x.dtype.kind in "iu")
    return operator.index(x) if is_int else x


def _islice(entries: Any, *ends: Any) -> Any:
    """``itertools.islice``, which does not take the numbers of a program for integers."""
    return itertools.islice(iterated(entries), *map(_known_int, ends))


def _iter(*given: Any) -> Any:
    return iter(_called(given[0]), given[1]) if len(given) == 2 else iter(iterated(given[0]))


def _calling(own: Any) -> Callable[..., Any]:
    """A built-in function that calls its argument."""

    def function(*given: Any, **more: Any) -> Any:
        return own(*map(_called, given), **{name: _called(x) for name, x in more.items()})

    return function


def _called(x: Any) -> Any:
    found = callee(x) if isinstance(x, _FUNCTIONS) or type(x) is OneOf else x
    return (
        partial(_called_visibly, x)
        if found is x and isinstance(x, BuiltinFunctionType) and is_impure(x)
        else found
    )


def _called_visibly(function: Any, *given: Any, **named: Any) -> Any:
    """A call from Python's code of a clock or a draw, which Python reports; those from C it does not."""
    if isinstance(function, partial):
        return callee(function.func)(*function.args, *given, **(function.keywords | named))
    return function(*given, **named)


_OF_ARGUMENTS: Final[dict[Any, Callable[..., Any]]] = {
    **built_in_meanings(callee),
    iter: _iter,
    itertools.islice: _islice,
    operator.call: lambda function, /, *given, **named: callee(function)(*given, **named),
    **{own: _calling(own) for own in _CALLERS},
    **{own: known_tests(own, _called) for own in _TESTERS},
    **library_meanings(callee),
    setattr: lambda x, name, value, /: set_attribute(value, x, name),
    delattr: delete_attribute,
    np.geterr: users_error_state,
    np.seterr: set_users_error_state,
    **TEXTS_OF_NUMBERS,
    **MATHEMATICS,
    **COMPLEX_MATHEMATICS,
}
_MEANINGS: Final = _OF_ARGUMENTS | special_method_meanings(_OF_ARGUMENTS)
