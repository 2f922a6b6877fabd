"""`number_functions`: functions that need no hooks in calls with Python's own numbers and texts.

Such code cannot make a traced value: it names only Python's functions that compute, functions of `math` and similar
modules, constants, and other functions of this kind. With plain arguments, Python can run it at its own speed. So it
can run methods of objects that hold only numbers and texts, if all that their class may run for them is of this kind.
"""

import builtins
import dis
from abc import ABC, ABCMeta
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final, Generic

from .user_code import is_defined_by_user, is_users

_MOST_ITEMS: Final = 256
"""The most items of containers that are looked at before a call."""
_ABSENT: Final = object()
_NUMBERS: Final = frozenset({bool, bytes, complex, float, int, range, str, type(None)})
_CONTAINERS: Final = frozenset({dict, frozenset, list, set, tuple})
_CACHED: Final = type(lru_cache(len))
_MODULES: Final = frozenset(
    "bisect cmath collections functools heapq itertools math operator string typing".split()
)
_FUNCTIONS: Final = frozenset(
    """
    abs all any bin bool bytes chr complex dict divmod enumerate filter float format frozenset hex int isinstance iter
    len list map max min next oct ord pow range repr reversed round set slice sorted str sum tuple type zip
    """.split()
)
_EFFECTS: Final = frozenset(
    """
    BEFORE_ASYNC_WITH BEFORE_WITH DELETE_ATTR DELETE_GLOBAL DELETE_NAME IMPORT_FROM IMPORT_NAME LOAD_BUILD_CLASS
    LOAD_NAME LOAD_SPECIAL STORE_ATTR STORE_GLOBAL STORE_NAME
    """.split()
)
"""Python's instructions for what only hooks can follow. The two beginning with `BEFORE`, and `LOAD_SPECIAL` in Python
3.14, enter a `with` block."""
_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__"})
"""What Python runs when a class or an object is made, which this code does not do."""
_EMPTY_BASES: Final = (object, ABC, Generic)
_LATER: Final = CO_COROUTINE | CO_ASYNC_GENERATOR


@dataclass(slots=True)
class NumberFunctions:
    """A function and those that it calls, as long as the names in them have the values that were seen."""

    functions: tuple[FunctionType, ...]
    globals: Sequence[tuple[Mapping[str, Any], str, Any]]
    """The globals that they name, with their modules and their values; for methods, also what their class holds."""
    containers: Sequence[Any]
    """The containers among these values, and among defaults."""
    attributes: frozenset[str] = frozenset()
    """The names of attributes in their code."""
    are_noted: bool = False
    """Whether the names that they read have been noted."""
    noted: set[int] = field(default_factory=set)
    """The objects, by id, whose attributes have been noted, too."""

    def still_hold(self) -> bool:
        """Whether each name still has its value, and containers only hold numbers and texts."""
        return all(
            module.get(name, _ABSENT) is value for module, name, value in self.globals
        ) and are_numbers(self.containers)


def number_functions(function: Any, known: dict[Any, NumberFunctions]) -> NumberFunctions | None:
    """A function or a method that computes with Python's numbers, and the functions that it calls; None for any other.
    What is `known` from earlier calls is asked first."""
    key, kind = key_of(function), None
    if type(key) is tuple:
        function, kind = key
    if key is None or not _may_compute(function):
        return None
    if function.__code__.co_flags & CO_GENERATOR:  # it would run later
        return None
    found = known.get(key)
    if found is None or not found.still_hold():
        found = known[key] = _Search(kind).found(function)
    return found if found.functions else None


def key_of(function: Any) -> Any:
    """What a function is known by; for a method, also the class of its object. None for what is neither."""
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        return function.__func__, type(function.__self__)
    return function if type(function) is FunctionType else None


def _may_compute(function: FunctionType) -> bool:
    """Whether the function itself is of this kind: one of the user's, without variables of functions around it."""
    return function.__closure__ is None and _globals_of(function.__code__) is not None


def are_numbers(values: Iterable[Any]) -> bool:
    """Whether values are Python's numbers and texts, or containers of a few of these."""
    stack, count = list(values), 0
    while stack:
        x = stack.pop()
        kind = type(x)
        if kind in _NUMBERS:
            continue
        count += len(x) if kind in _CONTAINERS else _MOST_ITEMS
        if count > _MOST_ITEMS or kind not in _CONTAINERS:
            return False
        stack += [*x, *x.values()] if kind is dict else [*x]
    return True


class _Search:
    """Follows the names in the code of functions."""

    def __init__(self, kind: type | None) -> None:
        self._kind = kind
        """The class of the object, for a method of it."""
        self._functions: dict[FunctionType, None] = {}
        self._attributes = set[str]()
        self._globals: list[tuple[Mapping[str, Any], str, Any]] = []
        self._containers: list[Any] = []

    def found(self, function: FunctionType) -> NumberFunctions:
        """A function and those that it calls. There are none if it may do anything but compute."""
        is_known = (self._kind is None or self._is_plain(self._kind)) and self._computes(function)
        functions = tuple(self._functions) if is_known else ()
        return NumberFunctions(functions, self._globals, self._containers, frozenset(self._attributes))

    def _is_plain(self, kind: type) -> bool:
        """Whether objects of a class hold all in their ``__dict__``, and what Python runs for them only computes."""
        bases = [base for base in kind.__mro__ if base not in _EMPTY_BASES]
        return type(kind) in (type, ABCMeta) and all(
            is_defined_by_user(base) and all(self._is_harmless(base, name) for name in vars(base))
            for base in bases
        )

    def _is_harmless(self, base: type, name: str) -> bool:
        value = vars(base)[name]
        if isinstance(value, MemberDescriptorType) or name in ("__getattr__", "__getattribute__"):
            return False
        if not isinstance(value, FunctionType) or not name.startswith("__") or name in _MAKING:
            return True
        file = value.__code__.co_filename
        is_of_dataclass = "__dataclass_fields__" in vars(base) and (file == "<string>" or not is_users(file))
        return is_of_dataclass or self._computes(value)

    def _computes(self, function: FunctionType) -> bool:
        if function in self._functions:
            return True
        if not _may_compute(function):
            return False
        self._functions[function] = None
        given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        named = (self._value(name, function.__globals__) for name in _globals_of(function.__code__) or ())
        return all(self._is_known(x) for values in (given, named) for x in values) and (
            self._kind is None or all(map(self._is_known_attribute, _attributes_of(function.__code__)))
        )

    def _is_known_attribute(self, name: str) -> bool:
        """Whether code may ask the object for an attribute: whatever its class has under this name only computes."""
        assert self._kind is not None
        if name in ("__class__", "__dict__"):
            return False
        self._attributes.add(name)
        base = next((base for base in self._kind.__mro__ if name in vars(base)), self._kind)
        value = vars(base).get(name, _ABSENT)
        self._globals.append((vars(base), name, value))
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, staticmethod):
            value = value.__func__
        if isinstance(value, FunctionType):
            return self._computes(value)
        return value is _ABSENT or type(value) in _NUMBERS

    def _value(self, name: str, module: dict[str, Any]) -> Any:
        value = module.get(name, _ABSENT)
        self._globals.append((module, name, value))
        if value is not _ABSENT:
            return value
        own = getattr(builtins, name, None)
        is_error = isinstance(own, type) and issubclass(own, Exception)
        return None if is_error or name in _FUNCTIONS else _ABSENT

    def _is_known(self, x: Any) -> bool:
        """Whether code that names this value still only computes."""
        if type(x) in _CONTAINERS:
            self._containers.append(x)
            return are_numbers(self._containers)
        if type(x) is FunctionType and is_users(x.__code__.co_filename):
            return self._computes(x)
        if type(x) is ModuleType:
            return x.__name__ in _MODULES
        if type(x) is _CACHED:
            return self._is_known(vars(x)["__wrapped__"])
        if isinstance(x, (BuiltinFunctionType, FunctionType, type)):
            return (x.__module__ or "").lstrip("_") in _MODULES
        return type(x) in _NUMBERS


@lru_cache(4096)
def _globals_of(code: CodeType) -> frozenset[str] | None:
    """The globals that the user's code and its inner functions name; None if it may do what only hooks can follow."""
    if code.co_flags & _LATER or not is_users(code.co_filename):
        return None
    return _named(code)


@lru_cache(4096)
def _attributes_of(code: CodeType) -> frozenset[str]:
    """The names of attributes in code, and in its inner functions."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_ATTR", "LOAD_METHOD")}
    return frozenset(own).union(*map(_attributes_of, inner))


def _named(code: CodeType) -> frozenset[str] | None:
    names = set[str]()
    for step in dis.get_instructions(code):
        if step.opname in _EFFECTS:
            return None
        if step.opname == "LOAD_GLOBAL":
            names.add(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _named(inner)
            if more is None:
                return None
            names |= more
    return frozenset(names)
