"""Python's built-in functions in converted code, where Python's own would need the value of a traced number."""

import bisect
import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import user_location, users_frame
from ...compiler.callers.users_operators import BINARY
from ...compiler.errors import ClockError, UnsupportedFunctionError
from ...compiler.frontend.outside.read_names import note_contents, note_missing
from ...compiler.message_values import MESSAGE_VALUES
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.registry import CONSTRUCTORS
from ...compiler.tracing.rows import stack_of
from ...compiler.tracing.trace import require_trace
from ...compiler.tracing.traced_array import array_on, located
from ...compiler.tracing.traced_memory import contains_traced, is_traced
from ..branching.branches import raise_where
from ..branching.one_of import OneOf, is_one_of
from ..branching.python_numbers import (
    as_place,
    as_python_number,
    complex_of,
    is_unknown,
    is_unknown_integer,
    selected,
)
from ..branching.watching import watching
from .entries import select
from .loops.iterations import StagedRange, Zipped, enumerated, plainly, reversed_iterations, zipped
from .loops.open_generators import OpenPairs
from .mathematics.real import is_computed
from .mathematics.rounding import rounded
from .operators import (
    SHOWN_AS_THEY_ARE,
    compared,
    iterated,
    operate,
    summed,
    users_method,
    with_texts,
)
from .orderings import (
    are_orderable,
    best,
    best_of_many,
    extreme_length,
    in_order,
    is_reversed,
    magnitude,
    place_among,
)
from .special_methods import as_index

Callee = Callable[[Any], Any]
"""Returns what converted code calls instead of a function."""

_LONGEST_FOLD: Final = 64
_BISECTIONS: Final = {bisect.bisect_left: "left", bisect.bisect_right: "right"}
_NUMPY_NUMBERS: Final = tuple(np.dtype(code).type for code in "?bhilqBHILQefdFD")
_COMPARISONS: Final = ("lt", "le", "gt", "ge", "eq", "ne", "is_", "is_not")


def built_in_meanings(callee: Callee) -> dict[Any, Callable[..., Any]]:
    """What converted code calls instead of built-in functions and classes. `callee` replaces their arguments."""
    return {
        range: _range,
        zip: _zip,
        enumerate: _enumerate,
        reversed: _reversed,
        abs: _special_method(abs, "__abs__", magnitude),
        int: _special_method(int, "__int__", _int),
        float: _special_method(float, "__float__", _float),
        complex: _special_method(complex, "__complex__", _complex),
        bool: _special_method(bool, "__bool__", _bool),
        round: _special_method(round, "__round__", _round),
        next: _next,
        globals: _globals,
        hasattr: _hasattr,
        **{getattr(operator, name): partial(operate, name.strip("_")) for name in BINARY},
        **{getattr(operator, name): partial(compared, name) for name in _COMPARISONS},
        min: _extreme(min, partial(compared, "lt"), callee),
        max: _extreme(max, partial(compared, "gt"), callee),
        any: _any,
        all: _all,
        pow: _pow,
        sum: _sum,
        **{own: _text(own) for own in (str, repr, format, ascii)},
        np.datetime64: _datetime64,
        isinstance: is_instance,
        **{kind: _numpy_number(kind) for kind in _NUMPY_NUMBERS},
        type: _type,
        sorted: _sorting(callee),
        np.ndarray: _ndarray,
        math.prod: _prod,
        **{own: _place_in_order(own, side) for own, side in _BISECTIONS.items()},
        np.nditer: _nditer,
        np.fromiter: _fromiter,
        len: _len,
    }


def _globals() -> Any:
    """``globals()``, whose names are looked up as texts: all of them are compared before each call."""
    frame = users_frame()
    assert frame is not None
    note_contents("globals()", frame.f_globals)
    return frame.f_globals


def _len(x: Any) -> Any:
    """``len(x)``. It may be a symbolic size for a traced array, where Python's own returns an int."""
    if (own := users_method(x, "__len__")) is not None:
        return own()
    return x.__len__() if is_traced(x) else len(x)


def _hasattr(x: Any, name: str) -> bool:
    if is_traced(x) and x.is_scalar:  # a number has no length, and Python's own has no shape
        return hasattr(x.dtype.type if x.weak is None else x.weak, name)
    found = hasattr(x, name)
    if not found:
        note_missing(x, name)
    return found


_POSITIONAL: Final = (abs, bool, float)
"""Functions without names of arguments."""


def _special_method(own: Any, name: str, known: Any = None) -> Callable[..., Any]:
    """A built-in function that calls a special method of its argument, which may be the user's."""

    def asking(*given: Any, **more: Any) -> Any:
        method = users_method(given[0], name) if given else None
        if method is not None:
            return method(*given[1:])
        if more and own in _POSITIONAL:
            return own(*given, **more)  # an error of Python's
        return (own if known is None else known)(*given, **more)

    return asking


def _next(*given: Any, **more: Any) -> Any:
    """``next(iterator)`` or ``next(iterator, default)``"""
    following = users_method(given[0], "__next__") if len(given) in (1, 2) and not more else None
    if following is None:
        return next(*given, **more)
    try:
        return following()
    except StopIteration:
        if len(given) == 1:
            raise
        return given[1]


def _range(*bounds: Any) -> Any:
    bounds = tuple(as_place(as_index(one)) for one in bounds)
    if any(is_traced(one) or isinstance(one, SymbolicSize) for one in bounds):
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if all(_is_bound(one) for one in (start, stop)) and _is_step(step):
            return StagedRange(start, stop, step)
    return range(*bounds)


def _is_bound(x: Any) -> bool:
    if is_traced(x):
        return bool(x.ndim == 0 and x.dtype.kind in "iu")
    return isinstance(x, (int, np.integer, SymbolicSize))


def _is_step(x: Any) -> bool:
    """Whether a loop can be traced with this step of a range. A traced one must not be zero when the program runs."""
    if not is_unknown_integer(x):
        return type(x) is int and x != 0
    raise_where(np.equal(x, 0), ValueError("range() arg 3 must not be zero"), user_location())
    return True


def _zip(*parts: Any, strict: bool = False) -> Any:
    found = zipped(*parts, strict=strict) if any(map(_is_staged, parts)) else None
    return zip(*map(plainly, parts), strict=strict) if found is None else found


def _enumerate(part: Any, start: Any = 0) -> Any:
    found = enumerated(part, start) if _is_staged(part) else None
    return enumerate(plainly(part), start) if found is None else found


def _reversed(part: Any) -> Any:
    found = reversed_iterations(part) if _is_staged(part) else None
    return reversed(plainly(part)) if found is None else found


def _is_staged(part: Any) -> bool:
    return is_traced(part) or isinstance(part, (range, StagedRange, Zipped, np.ndarray))


def _int(*given: Any, **more: Any) -> Any:
    if len(given) == 1 and not more and is_unknown(given[0]):
        return as_python_number(np.trunc(given[0]) if given[0].dtype.kind == "f" else given[0], int)
    if len(given) == 1 and not more and isinstance(given[0], SymbolicSize):
        return given[0]  # one program serves all lengths
    return int(*given, **more)


def _float(*given: Any) -> Any:
    if len(given) == 1 and is_computed(given[0]) and given[0].dtype.kind != "c":
        return as_python_number(given[0], float)
    if len(given) == 1 and isinstance(given[0], SymbolicSize):
        return as_python_number(given[0].as_number(), float)
    return float(*given)


def _numpy_number(kind: "type[Any]") -> Callable[..., Any]:
    """``np.float32(x)``"""

    def number(*given: Any, **more: Any) -> Any:
        if len(given) == 1 and not more and isinstance(given[0], SymbolicSize):
            given = (given[0].as_number(),)
        if len(given) == 1 and not more and is_traced(given[0]):
            found = given[0].astype(kind)
            return np.reshape(found, ())[()] if found.ndim == 0 else found
        return kind(*given, **more)

    return number


def refuse_call(x: Any) -> None:
    """Raise Python's error for a call of a number or an array."""
    if _stands_for_something(x):
        raise TypeError(f"'{_class_name(x)}' object is not callable")


def _class_name(x: Any) -> str:
    kind = _class_of(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def is_instance(x: Any, kinds: Any) -> bool:
    """``isinstance``. A traced array or number has the class that it has in Python."""
    return issubclass(_class_of(x), kinds) if _stands_for_something(x) else isinstance(x, kinds)


def _type(*given: Any, **more: Any) -> Any:
    if len(given) == 1 and is_one_of(given[0]):
        return OneOf.asked(given[0], _type)
    if len(given) == 1 and _stands_for_something(given[0]):
        return _class_of(given[0])
    if len(given) == 3 and (frame := users_frame()) is not None:
        name, bases, members = given
        return type(name, bases, {"__module__": frame.f_globals.get("__name__")} | dict(members), **more)
    return type(*given, **more)


def _stands_for_something(x: Any) -> bool:
    return is_traced(x) or isinstance(x, SymbolicSize)


def _class_of(x: Any) -> "type[Any]":
    """The class that a traced array or number has in Python."""
    if isinstance(x, SymbolicSize):
        return int
    if not x.is_scalar:
        return np.ndarray
    kind: type[Any] = x.dtype.type if x.weak is None else x.weak
    return kind


def _complex(*given: Any, **more: Any) -> Any:
    parts = (*given, *(more[name] for name in ("real", "imag") if name in more))
    if len(given) == 1 and not more and is_computed(given[0]):
        return as_python_number(given[0], complex)
    if len(parts) == 2 and any(map(is_computed, parts)):
        if not any(np.iscomplexobj(one) for one in parts):
            return complex_of(*parts)
        return as_python_number(parts[0] + parts[1] * 1j, complex)
    return complex(*given, **more)


def _bool(*given: Any) -> Any:
    if len(given) == 1 and is_unknown(given[0]):
        return as_python_number(given[0] != 0, bool)
    return bool(*given)


def _round(*given: Any, **more: Any) -> Any:
    if not given and "number" in more:
        given = (more.pop("number"),)
    if not given or len(given) + len(more) > 2 or more.keys() - {"ndigits"}:
        return round(*given, **more)  # an error of Python's
    x: Any = given[0]
    ndigits: Any = given[1] if len(given) == 2 else more.get("ndigits")
    if is_unknown(x) and x.weak is not None and x.weak is not complex:
        if x.weak is float and type(ndigits) is int:
            return rounded(x, ndigits)
        nearest = np.round(x, 0 if ndigits is None else ndigits)
        return as_python_number(nearest, int if ndigits is None else x.weak)
    return round(x) if ndigits is None else round(x, ndigits)


def _extreme(own: Any, better: Callable[[Any, Any], Any], callee: Callee) -> Callable[..., Any]:
    """``min`` or ``max``: the first of the best entries, with Python's comparisons."""

    def extreme(*given: Any, **options: Any) -> Any:
        entries = list(given[0]) if len(given) == 1 else list(given)
        known = {"key", "default"} if len(given) == 1 else {"key"}
        is_refused = bool(options.keys() - known)
        if not entries or is_refused or type(given[0]) is str:
            return own(entries, **options) if len(given) == 1 else own(*given, **options)
        key = options.get("key")
        if key is None and (length := extreme_length(entries, largest=own is max)) is not None:
            return length
        keys = entries if key is None else list(map(callee(key), entries))
        if any(users_method(one, "__lt__") is not None for one in keys):
            return _first_of(entries, keys, better)
        if not are_orderable(keys):
            return entries[own(range(len(keys)), key=keys.__getitem__)]
        if len(entries) > _LONGEST_FOLD and all(np.ndim(one) == 0 for one in keys):
            return best_of_many(entries, keys, largest=own is max)
        if key is not None or type(keys[0]) in (tuple, list):
            return best(entries, keys, better)
        found = entries[0]
        for one in entries[1:]:
            is_better = better(one, found)
            found = selected(is_better, one, found) if is_traced(is_better) else one if is_better else found
        return found

    return extreme


def _first_of(entries: Sequence[Any], keys: Sequence[Any], better: Callable[[Any, Any], Any]) -> Any:
    """The first of the best entries, by the comparisons of a user's class."""
    found, key = entries[0], keys[0]
    for one, other in zip(entries[1:], keys[1:], strict=True):
        is_better = better(other, key)
        if is_unknown(is_better):
            found, key = select(is_better, one, found), select(is_better, other, key)
        elif is_better:
            found, key = one, other
    return found


def _ndarray(shape: Any, dtype: Any = float, buffer: Any = None, *more: Any, **options: Any) -> Any:
    if buffer is None and not more and contains_traced(shape if isinstance(shape, list | tuple) else [shape]):
        return located(CONSTRUCTORS["empty"], shape, dtype, **options)
    return np.ndarray(shape, dtype, buffer, *more, **options)


def _place_in_order(own: Any, side: Any) -> Callable[..., Any]:
    """``bisect`` in sorted numbers."""

    def place(entries: Any, x: Any, *ends: Any, **more: Any) -> Any:
        found = place_among(entries, x, side, ends or more)
        return own(entries, x, *ends, **more) if found is None else as_python_number(found, int)

    return place


def _nditer(op: Any, *settings: Any, **more: Any) -> Any:
    """``np.nditer`` without settings: the elements in the order of memory."""
    operands = op if isinstance(op, list | tuple) else [op]
    if not any(map(is_traced, operands)):
        return np.nditer(op, *settings, **more)
    shapes = {np.shape(one) for one in operands}
    if settings or more or len(shapes) > 1:
        raise UnsupportedFunctionError(
            "np.nditer of traced arrays gives elements to read, of arrays of one shape. To write, or to know where an "
            "element stands: for i in np.ndindex(x.shape): x[i] = …, or for i, v in np.ndenumerate(x)",
            user_location(),
        )
    rows = [np.ravel(one, "K" if len(operands) == 1 else "C") for one in operands]
    return rows[0] if len(rows) == 1 else _zip(*rows)


def _fromiter(entries: Any, dtype: Any, count: int = -1, **more: Any) -> Any:
    listed = list(itertools.islice(entries, count) if count >= 0 else entries)
    if not any(map(contains_traced, listed)):
        return np.fromiter(listed, dtype, count, **more)
    return located(CONSTRUCTORS["array"], listed, dtype)


def _sorting(callee: Callee) -> Callable[..., Any]:
    """``sorted``"""

    def in_new_list(*given: Any, **options: Any) -> Any:
        if len(given) != 1 or options.keys() - {"key", "reverse"}:
            return sorted(*given, **options)  # an error of Python's
        key = options.get("key")
        return in_order(
            given[0], None if key is None else callee(key), reverse=is_reversed(options.get("reverse", False))
        )

    return in_new_list


def _any(given: Any) -> Any:
    return _found(any, given, np.logical_or, stops_at=True)


def _all(given: Any) -> Any:
    return _found(all, given, np.logical_and, stops_at=False)


def _found(own: Any, given: Any, join: Any, *, stops_at: bool) -> Any:
    """``any`` or ``all``. As in Python, entries after a known one that decides are not evaluated."""
    if is_traced(given):
        return (
            as_python_number((np.any if stops_at else np.all)(given), bool) if given.ndim == 1 else own(given)
        )
    given = iterated(given)
    if not isinstance(given, (list, tuple)) and not hasattr(type(given), "__next__"):
        return own(given)
    result: Any = not stops_at
    following = iter(given)
    with ExitStack() as stack:
        for one in following:
            if is_unknown(one):
                if not is_traced(result):  # Python might not evaluate the entries after this one
                    stack.enter_context(watching(f"`{own.__name__}`", {}, user_location()))
                result = join(result, one)
            elif bool(one) is stops_at:
                return stops_at
    return as_python_number(result, bool) if is_traced(result) else result


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    """``pow``. With a modulus, whose steps need more than 64 bits, the program is for the values of the ints."""
    is_of_size = isinstance(base, SymbolicSize) and type(exp) is type(mod) is int
    if mod is not None and not is_of_size:
        known: list[Any] = [
            operator.index(one) if _stands_for_something(one) else one for one in (base, exp, mod)
        ]
        return pow(known[0], known[1], known[2])
    if is_traced(base) or is_traced(exp):
        return base**exp
    if mod is None:
        return operate("pow", base, exp)
    own: Any = base
    return pow(own, exp, mod)


def _prod(given: Any, /, *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, given, start)


def _sum(*given: Any, **more: Any) -> Any:
    """``sum``. The rows of one array, as comprehensions over many items make them, are added in their order."""
    if not given or len(given) + len(more) > 2 or more.keys() - {"start"}:
        own: Any = sum
        return own(*given, **more)  # an error of Python's
    entries: Any = given[0]
    start: Any = given[1] if len(given) == 2 else more.get("start", 0)
    if isinstance(entries, OpenPairs):
        if found := entries.folded(sum, start):
            return found[0]
        entries = [value() for _, value in entries]
    entries = entries if isinstance(entries, (list, tuple)) else list(iterated(entries))
    rows = stack_of(entries) if len(entries) > _LONGEST_FOLD else None
    if rows is None:
        return summed(entries, start)
    first, others = start + entries[0], array_on(*rows)[1:]
    dtype = np.result_type(first.dtype, others.dtype)
    added = np.concatenate([np.expand_dims(first, 0).astype(dtype), others.astype(dtype)])
    total = np.add.accumulate(added, axis=0, dtype=dtype)[-1]
    return total if first.weak is None else as_python_number(total, first.weak)


def shown(x: Any) -> Any:
    """What an f-string shows: the number, for a Python int or a size that is known while tracing."""
    if type(x) in SHOWN_AS_THEY_ARE:
        return x
    if MESSAGE_VALUES.get() is not None:
        return x if is_unknown(x) else with_texts(x)
    is_number = isinstance(x, SymbolicSize) or (is_unknown(x) and x.weak is int)
    return operator.index(x) if is_number else with_texts(x)


def _datetime64(*given: Any, **more: Any) -> Any:
    """``np.datetime64``, which reads the clock for "now" and "today"."""
    trace = require_trace().outermost()
    if trace.is_kept and given and isinstance(given[0], str) and given[0] in ("now", "today"):
        raise ClockError(
            f'np.datetime64("{given[0]}") was called while tracing {trace.name}: the time would be frozen into the '
            "program, the same at each run. Read the clock outside, and pass what you need as an argument",
            user_location(),
        )
    return np.datetime64(*given, **more)


def _text(own: Any) -> Callable[..., Any]:
    """``str`` and others, which need the value of a size. Traced numbers show theirs."""

    def text(*given: Any, **more: Any) -> Any:
        if not given:
            return own(**more)
        x, *rest = given
        is_size = MESSAGE_VALUES.get() is None and isinstance(x, SymbolicSize)
        return own(operator.index(x) if is_size else with_texts(x), *rest, **more)

    return text
