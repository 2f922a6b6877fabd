"""Operators and attributes in code that has hooks for them: the user's methods are converted.

They also handle tuples that hold traced numbers, and `OneOf`.
"""

import operator
import sys
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from types import FunctionType, MethodType, ModuleType, NoneType
from typing import Any, Final

import numpy as np
import optree

from ...compiler.callers.user_code import OPERATORS, is_defined_by_user, is_users, user_location
from ...compiler.callers.users_operators import BINARY, defines_operators, users_method_of
from ...compiler.errors import ConcretizationError
from ...compiler.frontend.conversion import OperatorsNeededError, call_converted, converted
from ...compiler.frontend.expressions import comparison
from ...compiler.frontend.outside.read_names import note_made
from ...compiler.message_values import MESSAGE_VALUES
from ...compiler.message_values import percent as filled_in
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import TracedMemory, is_traced
from ..branching.containers import CONTAINERS
from ..branching.object_identity import is_same_object
from ..branching.one_of import OneOf, entries_of, is_one_of, place_of
from ..branching.python_numbers import as_python_number, is_unknown
from ..branching.watching import watch_called
from .texts_of_sizes import in_message, with_numbers
from .user_call import call

REFLECTED: Final = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_NAMES: Final = (*BINARY, "lshift", "rshift", "and", "or", "xor")
_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(operator, f"__{name}__") for name in _NAMES
}
_IN_PLACE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(operator, f"__i{name}__") for name in _NAMES
}
_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "invert": operator.invert,
}
_SIGNS: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()",
    "matmul": "@", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
_SEQUENCES: Final = (tuple, list)
_SEQUENCES_OF_PYTHON: Final = (tuple, list, str, bytes, bytearray, deque, array)
"""They only have ``+`` and ``*`` of sequences, which Python tries after the methods of the other operand."""
_CONTAINERS: Final = (tuple, list, dict)
_KINDS: Final = {"b": bool, "i": int, "f": float, "c": complex}


_IS_CLASS_STATEMENT: Final = 1 << 9
"""CPython's flag of types that are not written in C."""
_PLAIN: Final = frozenset(
    {int, float, complex, bool, NoneType, ModuleType, np.ndarray, *np.sctypeDict.values()}
)


class _PlainTypes(dict["type[Any]", bool]):
    """Whether a type is one of numbers, arrays or traced arrays, whose operators are not the user's.

    Containers are not, because of what they hold.
    """

    def __missing__(self, kind: "type[Any]") -> bool:
        found = kind in _PLAIN or issubclass(kind, TracedMemory)
        if found:  # classes of the user come and go
            self[kind] = True
        return found


PLAIN_TYPES: Final = _PlainTypes()


def users_method(x: Any, name: str) -> "Callable[..., Any] | None":
    """A special method of an object of a user's class, which runs converted; None if there is none."""
    found = users_method_of(type(x), name)
    if found is None or (trace := current_trace()) is None:
        return None
    if trace.is_evaluating:
        return MethodType(converted_once(trace, found), x)
    return partial(_called, MethodType(found, x))


def converted_once(trace: Any, function: FunctionType) -> Callable[..., Any]:
    """A function of the user, converted once in a trace in which each call is computed at once."""
    if function not in trace.converted:
        trace.converted[function] = converted(function)
    known: Callable[..., Any] = trace.converted[function]
    return known


def _called(method: MethodType, *given: Any) -> Any:
    watch_called(method)
    return call_converted(method, *given)


def operate(name: str, x: Any, y: Any) -> Any:
    """``x + y``, and other binary operators."""
    if PLAIN_TYPES[type(x)] and PLAIN_TYPES[type(y)]:
        return _BINARY[name](x, y)
    if name == "mod" and type(x) is str:
        return percent(x, y)
    if is_one_of(x):
        return OneOf.asked(x, lambda one: operate(name, one, y))
    if is_one_of(y):
        return OneOf.asked(y, lambda one: operate(name, x, one))
    if name in ("matmul", "mul") and "scipy.sparse" in sys.modules:
        from .mathematics.sparse_products import is_sparse_product, sparse_product

        if is_sparse_product(name, x, y):
            return sparse_product(x, y)
    if not (users_method(x, f"__{name}__") or users_method(y, f"__r{name}__")):
        return _BINARY[name](x, y)
    if is_traced(x) and x.weak is None and _is_converted(y):
        return _BINARY[name](x, np.asarray(y))
    return answered(name, _SIGNS[name], x, y)


def answered(name: str, sign: str, x: Any, y: Any) -> Any:
    """What the methods of two operands give, or Python's error."""
    return _known(_asked(name, x, y), name, sign, x, y)


def _is_converted(y: Any) -> bool:
    """Whether NumPy's arrays take an object for an array, without asking its methods."""
    kind = type(y)
    says = hasattr(kind, "__array_ufunc__") or getattr(kind, "__array_priority__", 0) > 0
    return hasattr(kind, "__array__") and not says


def _asked(name: str, x: Any, y: Any) -> Any:
    """What the methods of two operands give, in the order in which Python asks them."""
    mine, theirs = (x, f"__{name}__", y), (y, f"__r{name}__", x)
    if type(x) is type(y):
        return _answer(*mine)
    is_last = isinstance(x, _SEQUENCES_OF_PYTHON) and users_method(x, f"__{name}__") is None
    turns = (theirs, mine) if is_last or _overrides(x, y, f"__r{name}__") else (mine, theirs)
    return next((found for turn in turns if (found := _answer(*turn)) is not NotImplemented), NotImplemented)


def _known(found: Any, name: str, sign: str, x: Any, y: Any) -> Any:
    """What the operands gave, or Python's error if they gave nothing."""
    if found is not NotImplemented:
        return found
    for one, other in ((x, y), (y, x)):
        if name == "mul" and isinstance(one, _SEQUENCES_OF_PYTHON):
            raise TypeError(f"can't multiply sequence by non-int of type '{_kind_name(other)}'")
    raise TypeError(f"unsupported operand type(s) for {sign}: '{_kind_name(x)}' and '{_kind_name(y)}'")


def _kind_name(x: Any) -> str:
    """The name of a type in Python's errors, which has its module if it is written in C."""
    kind = type(x)
    is_pythons = kind.__flags__ & _IS_CLASS_STATEMENT or kind.__module__ == "builtins"
    return kind.__name__ if is_pythons else f"{kind.__module__}.{kind.__name__}"


def _answer(x: Any, name: str, y: Any) -> Any:
    """What a method gives, be it the user's or not; NotImplemented if there is none."""
    if (own := users_method(x, name)) is not None:
        return own(y)
    method = getattr(type(x), name, None)
    if isinstance(x, _SEQUENCES_OF_PYTHON) and name.endswith("mul__") and not hasattr(type(y), "__index__"):
        return NotImplemented
    return NotImplemented if method is None else method(x, y)


def _overrides(x: Any, y: Any, name: str) -> bool:
    """Whether the class of `y` is derived from that of `x` and has a method of its own, which Python asks first."""
    is_derived = issubclass(type(y), type(x))
    return is_derived and getattr(type(y), name, None) is not getattr(type(x), name, None)


def update(name: str, x: Any, y: Any) -> Any:
    """``x += y``, and other operators in place."""
    if PLAIN_TYPES[type(x)] and PLAIN_TYPES[type(y)]:
        return _IN_PLACE[name](x, y)
    if is_one_of(x) or is_one_of(y):
        return operate(name, x, y)
    in_place = f"__i{name}__"
    methods = (users_method(x, in_place), users_method(x, f"__{name}__"), users_method(y, f"__r{name}__"))
    if not any(methods):
        return _IN_PLACE[name](x, y)
    if is_traced(x) and _is_converted(y):  # as NumPy, which keeps the array
        return _IN_PLACE[name](x, np.asarray(y))
    if methods[0] or not isinstance(x, _SEQUENCES_OF_PYTHON):
        found = _answer(x, in_place, y)
        if found is not NotImplemented:
            return found
    return _known(_asked(name, x, y), name, f"{_SIGNS[name].split()[0]}=", x, y)


_NUMBERS: Final = frozenset({int, float, bool, complex, NoneType})
_PLAIN_OPERANDS: Final = _NUMBERS | {str}
"""The types of most operands that are no arrays. Their operators are Python's, but for ``text % x``."""


_OF_PYTHON: Final = frozenset({dict, list, str, tuple, set, deque})
"""The types of containers and texts, whose attributes are their methods."""


def quick(
    name: str, own: Callable[[Any, Any], Any], general: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    """The hook of an operator, given Python's own, and what handles operands of all types."""
    kinds = _NUMBERS if name == "mod" else _PLAIN_OPERANDS

    def hook(x: Any, y: Any) -> Any:
        if type(x) in kinds and type(y) in kinds:
            return own(x, y)
        return general(name, x, y)

    return hook


def operator_hooks() -> dict[str, Callable[[Any, Any], Any]]:
    """The hooks of binary operators, and of those in place."""
    found = {f"operate_{name}": quick(name, own, operate) for name, own in _BINARY.items()}
    return found | {f"update_{name}": quick(name, own, update) for name, own in _BINARY.items()}


def summed(entries: Sequence[Any], start: Any) -> Any:
    """``sum`` of a list, by the operators of users' classes."""
    if any(users_method(one, "__add__") or users_method(one, "__radd__") for one in entries):
        return reduce(partial(operate, "add"), entries, start)
    return sum(entries, start)


def unary(name: str, x: Any) -> Any:
    """``-x``, and other unary operators."""
    if PLAIN_TYPES[type(x)]:
        return _UNARY[name](x)
    if is_one_of(x):
        return OneOf.asked(x, lambda one: unary(name, one))
    own = users_method(x, f"__{name}__")
    return _UNARY[name](x) if own is None else own()


def compared(name: str, x: Any, y: Any) -> Any:
    """``x < y``, other comparisons, and ``x is y``."""
    if is_one_of(x):
        return OneOf.asked(x, lambda one: compared(name, one, y))
    if is_one_of(y):
        return OneOf.asked(y, lambda one: compared(name, x, one))
    if name not in REFLECTED:
        return _identity(name, x, y) if name in ("is_", "is_not") else comparison(name)(x, y)
    if type(x) in _SEQUENCES and type(x) is type(y) and _holds_unknown(x, y):
        return _compared_in_order(name, x, y)
    if not (_has_comparison(x, name) or _has_comparison(y, REFLECTED[name])):
        return comparison(name)(x, y)
    mine, theirs = partial(_compared_by, x, name, y), partial(_compared_by, y, REFLECTED[name], x)
    goes_last = is_traced(x) or (type(x) is not type(y) and issubclass(type(y), type(x)))
    for turn in [theirs, mine] if goes_last else [mine, theirs]:
        if (found := turn()) is not NotImplemented:
            return found
    if name in ("eq", "ne"):
        return (x is y) is (name == "eq")
    kinds = f"'{_kind_name(x)}' and '{_kind_name(y)}'"
    raise TypeError(f"'{_SIGNS[name]}' not supported between instances of {kinds}")


def _has_comparison(x: Any, name: str) -> bool:
    """Whether the user has written what a comparison asks. ``!=`` asks ``==`` if there is nothing else."""
    methods = ("__ne__", "__eq__") if name == "ne" else (f"__{name}__",)
    return any(users_method(x, one) is not None for one in methods)


def _compared_by(x: Any, name: str, y: Any) -> Any:
    """The answer of the method of `x`."""
    if fields := _fields(x, name):
        return NotImplemented if type(x) is not type(y) else compared(name, fields(x), fields(y))
    if name == "ne" and users_method(x, "__ne__") is None and users_method(x, "__eq__") is not None:
        found = _compared_by(x, "eq", y)
        if is_traced(found):
            return as_python_number(np.logical_not(found), bool)
        return found if found is NotImplemented else not found
    return _answer(x, f"__{name}__", y)


def _identity(name: str, x: Any, y: Any) -> Any:
    """``x is y`` or ``x is not y``"""
    found: Any
    if _has_identity(x) or _has_identity(y):
        found = is_same_object(x, y)
    elif x is y or not (is_unknown(x) or is_unknown(y)) or _kind(x) != _kind(y):
        found = x is y
    else:
        found = _is_same_truth(name, x, y)
    if not is_traced(found):
        return found if name == "is_" else not found
    return as_python_number(found if name == "is_" else np.logical_not(found), bool)


def _has_identity(x: Any) -> bool:
    """Whether it is a container or an array, which a variable may be depending on values."""
    return isinstance(x, CONTAINERS) or (is_traced(x) and not x.is_scalar)


def _kind(x: Any) -> str:
    """The kind of a number, as dtypes name it; empty for anything else."""
    if is_traced(x) or isinstance(x, np.generic):
        kind: str = x.dtype.kind
        return "i" if kind == "u" else kind
    return next((name for name, python in _KINDS.items() if isinstance(x, python)), "")


def _is_same_truth(name: str, x: Any, y: Any) -> Any:
    """``x is y`` for two bools. They are Python's own if they are computed from Python's numbers alone.

    Raises:
        ConcretizationError: one may be NumPy's, which is neither True nor False; or they are other numbers.
    """
    if _kind(x) != "b":
        raise ConcretizationError(
            f"`{name.replace('_', ' ').strip()}` of two numbers asks whether they are one object, which a program "
            "cannot tell: compare them, `x == y`",
            user_location(),
        )
    if any(is_traced(one) and not _is_pythons(one) for one in (x, y)):
        raise ConcretizationError(
            "`is` of a traced bool and True, False or another bool: it may be one of Python's, or one of NumPy's, "
            "which is neither: write `if flag:` and `if not flag:`, or compare, `flag == True`",
            user_location(),
        )
    return np.equal(x, y)


def _is_pythons(x: Any) -> bool:
    return x.weak is bool or bool(x._trace.numbers_used_by(x.value))


def _fields(x: Any, name: str) -> "Callable[[Any], tuple[Any, ...]] | None":
    """The fields that the generated comparison of a dataclass compares, as a function; None for any other method."""
    known = getattr(type(x), "__dataclass_fields__", None)
    method = None if known is None else users_method_of(type(x), f"__{name}__")
    if known is None or method is None or method.__code__.co_filename != "<string>":
        return None
    return lambda one: tuple(getattr(one, field.name) for field in known.values() if field.compare)


def _holds_unknown(*sequences: Any) -> bool:
    return any(
        is_unknown(one)
        or (type(one) in _SEQUENCES and _holds_unknown(one))
        or users_method_of(type(one), "__lt__")
        for sequence in sequences
        for one in sequence
    )


def _compared_in_order(name: str, x: Any, y: Any) -> Any:
    """Compare two tuples: the first entries that differ decide; if there are none, the lengths do."""
    if name == "ne":
        return as_python_number(np.logical_not(compared("eq", x, y)), bool)
    if name == "eq" and len(x) != len(y):
        return False
    found: Any = comparison(name)(len(x), len(y))
    for one, other in zip(reversed(x[: len(y)]), reversed(y[: len(x)]), strict=True):
        are_equal = compared("eq", one, other)
        decided = False if name == "eq" else compared(name, one, other)
        is_pythons = name == "eq" or all(_is_pythons_bool(one) for one in (found, decided))
        found = np.where(are_equal, found, decided)[()]
        if is_pythons:
            found = as_python_number(found, bool)
    return found


def _is_pythons_bool(x: Any) -> bool:
    return x.weak is bool if is_traced(x) else type(x) is bool


def truth(x: Any) -> Any:
    """``bool(x)``, as a condition evaluates it."""
    if type(x) is bool or PLAIN_TYPES[type(x)]:
        return x
    if is_one_of(x):
        return OneOf.asked(x, _as_bool)
    if (own := users_method(x, "__bool__")) is not None:
        found = own()
        if not (type(found) is bool or is_traced(found)):
            raise TypeError(f"__bool__ should return bool, returned {_kind_name(found)}")
        return found
    if users_method_of(type(x), "__len__") is None or (own := users_method(x, "__len__")) is None:
        return x
    found = own()
    if not is_traced(found) and operator.index(found) < 0:
        raise ValueError("__len__() should return >= 0")
    return found


def _as_bool(x: Any) -> Any:
    found = truth(x)
    return found != 0 if is_traced(found) else bool(found)


class _Shown:
    """Stands for an object of a user's class where Python makes a text of it, so that its methods run converted."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __repr__(self) -> str:
        own = users_method(self._x, "__repr__")
        return repr(self._x) if own is None else text_in_call(own())

    def __str__(self) -> str:
        if (own := users_method(self._x, "__str__")) is not None:
            return text_in_call(own())
        kind: Any = type(self._x)
        return repr(self) if kind.__str__ is object.__str__ else str(self._x)

    def __format__(self, spec: str) -> str:
        if (own := users_method(self._x, "__format__")) is not None:
            return text_in_call(own(spec))
        kind: Any = type(self._x)
        return str(self) if kind.__format__ is object.__format__ and not spec else format(self._x, spec)


def text_in_call(text: Any) -> str:
    """One of several texts in the call that is being traced. The program is then for calls that choose it as well."""
    known: str = entries_of(text)[operator.index(place_of(text))] if is_one_of(text) else text
    return known


SHOWN_AS_THEY_ARE: Final = frozenset({bool, float, int, str})
"""Types of objects whose text needs no hooks."""


def with_texts(x: Any) -> Any:
    """An object as `str`, `repr`, `format` and f-strings should get it."""
    if _may_show_sizes(x):
        return with_numbers(x) if MESSAGE_VALUES.get() is None else in_message(x)
    methods = ("__str__", "__repr__", "__format__")
    return _Shown(x) if any(users_method(x, name) is not None for name in methods) else x


def _may_show_sizes(x: Any) -> bool:
    return isinstance(x, SymbolicSize) or type(x) in _CONTAINERS or optree.is_namedtuple_class(type(x))


def percent(text: Any, given: Any) -> Any:
    """``text % given``"""
    is_tuple = isinstance(given, tuple)
    shown = tuple(map(_in_percent, given)) if is_tuple else _in_percent(given)
    return filled_in(text, shown) if isinstance(text, str) else text % given


def _in_percent(x: Any) -> Any:
    """An object that can only be shown by ``%s`` and ``%r``, as these should get it; anything else as it is."""
    if type(x) in SHOWN_AS_THEY_ARE:
        return x
    if isinstance(x, SymbolicSize):
        return x if MESSAGE_VALUES.get() is None else x.as_number()
    if _may_show_sizes(x):
        return with_texts(x)
    others = ("__getitem__", "__int__", "__index__", "__float__")
    return x if any(hasattr(type(x), name) for name in others) else with_texts(x)


def attribute(x: Any, name: str) -> Any:
    """``x.name``, which a property or ``__getattr__`` may compute."""
    kind = type(x)
    if kind in _OF_PYTHON or PLAIN_TYPES[kind]:
        return getattr(x, name)
    if kind is OneOf and name == "__class__":
        return OneOf.asked(x, lambda one: attribute(one, name))
    read: Any = kind.__getattribute__
    is_usual = kind.__module__ != "builtins" and read is object.__getattribute__
    if not is_usual or is_traced(x) or current_trace() is None:
        return getattr(x, name)
    found = _of_class(kind, name)
    if type(found) is FunctionType or (
        found is None and name in getattr(x, "__dict__", ())
    ):  # most attributes
        return getattr(x, name)
    own = users_method(x, "__getattr__")
    try:
        if type(found) is property and found.fget is not None and _is_users(found.fget):
            return _called(MethodType(found.fget, x))
        if type(found) is cached_property and _is_users(found.func) and name not in vars(x):
            vars(x)[name] = _called(MethodType(found.func, x))
            return vars(x)[name]
        return _by_descriptor(x, name, found, own)
    except AttributeError:
        if own is None:
            raise
        return own(name)


def _by_descriptor(x: Any, name: str, found: Any, own: Any) -> Any:
    """``x.name``, which ``__get__`` of the user's descriptor `found` may compute. `own` is ``__getattr__``."""
    get = users_method(found, "__get__")
    if get is not None and (name not in getattr(x, "__dict__", ()) or hasattr(type(found), "__set__")):
        return get(x, type(x))
    return getattr(x, name) if own is None else object.__getattribute__(x, name)


def _of_class(kind: "type[Any]", name: str) -> Any:
    """What a class and its bases have under a name, as it is written there."""
    for one in kind.__mro__:
        if name in one.__dict__:
            return one.__dict__[name]
    return None


def _is_users(function: Any) -> bool:
    return type(function) is FunctionType and is_users(function.__code__.co_filename)


def set_attribute(value: Any, x: Any, name: str) -> None:
    """``x.name = value``, which a property may handle."""
    kind: Any = type(x)
    found = None if kind.__module__ == "builtins" or current_trace() is None else _of_class(kind, name)
    if found is None and kind.__setattr__ is object.__setattr__:
        setattr(x, name, value)
        return
    if type(found) is property and found.fset is not None and _is_users(found.fset):
        _called(MethodType(found.fset, x), value)
    elif (own := users_method(found, "__set__")) is not None:
        own(x, value)
    elif (own := users_method(x, "__setattr__")) is not None:
        own(name, value)
    else:
        setattr(x, name, value)


def delete_attribute(x: Any, name: str) -> None:
    """``del x.name``"""
    if (own := users_method(x, "__delattr__")) is not None:
        own(name)
    else:
        call(delattr, x, name)


def delete_item(x: Any, index: Any) -> None:
    """``del x[index]``"""
    if (own := users_method(x, "__delitem__")) is not None:
        own(index)
    else:
        call(operator.delitem, x, index)


def iterated(x: Any) -> Any:
    """What Python iterates over. Iterators of a user's class run converted."""
    if (own := users_method(x, "__iter__")) is not None:
        found = own()
        return found if found is not x and users_method(found, "__next__") is None else _following(found)
    return x


def _following(x: Any) -> Any:
    """The items of a user's iterator."""
    following = users_method(x, "__next__")
    while following is not None:
        try:
            item = following()
        except StopIteration:
            return
        yield item


def maker(made: type) -> Callable[..., Any]:
    """A function that makes an object of a user's class with its ``__init__`` converted; any other class itself."""
    if not is_defined_by_user(made):
        return made
    if not OPERATORS.get() and defines_operators(made):
        raise OperatorsNeededError  # its methods may ask for the types of traced numbers
    start: Any = made.__init__  # type: ignore[misc]
    create: Any = made.__new__
    is_plain = type(made) is type and create is object.__new__ and isinstance(start, FunctionType)

    def make(*given: Any, **more: Any) -> Any:
        new: Any = object.__new__(made) if is_plain else made(*given, **more)
        note_made(new)
        if is_plain:
            trace = current_trace()
            if trace is not None and trace.is_evaluating:
                converted_once(trace, start)(new, *given, **more)
            else:
                call_converted(MethodType(start, new), *given, **more)
        return new

    return make
