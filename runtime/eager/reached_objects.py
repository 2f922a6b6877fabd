"""The objects that code can reach: what it names, holds and is called on."""

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial, partialmethod
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

from ...compiler.callers.user_code import is_library
from ...compiler.tracing.trace import Trace
from ...compiler.tracing.traced_memory import is_traced

TABLE: Final = 64
"""Containers with more entries than this are not searched for functions."""
_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
"""The types of most values, which lead to nothing."""
_IMMUTABLE: Final = 1 << 8
"""The flag of classes that are written in C and never change: all their methods are in C, too."""
STANDARD: Final = os.path.join(os.path.dirname(os.__file__), "")
INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
"""Parts of the names of files of the standard library, and of installed packages."""
LABELLED: Final = frozenset({"pandas", "xarray"})
"""Packages with far more code than anyone should search each time that a function is traced. They draw from NumPy's
global generator, unless they are given another."""


def reached_objects(roots: Iterable[Any]) -> Iterator[Any]:
    """All objects that code among these can reach, and the owners of methods written in C."""
    seen: set[tuple[int, frozenset[str]]] = set()
    stack: list[tuple[Any, frozenset[str]]] = [(root, frozenset()) for root in roots]
    while stack:
        value, names = stack.pop()
        if (id(value), names) in seen:
            continue
        seen.add((id(value), names))
        yield value
        if _is_labelled(value):
            yield sys.modules["numpy"].random.mtrand._rand
            continue
        if isinstance(value, BuiltinFunctionType):
            yield value.__self__
            continue
        function = value.__func__ if isinstance(value, MethodType) else value
        if isinstance(function, FunctionType):
            names = names_used(function)
        stack += [(one, names) for one in _reached(value, names)]


def _is_labelled(value: Any) -> bool:
    """Whether this is a function, a class or a module of a package in `LABELLED`, or an object of such a class."""
    if isinstance(value, ModuleType):
        name: Any = value.__name__
    else:
        name = getattr(value if isinstance(value, (type, FunctionType)) else type(value), "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in LABELLED


def names_used(function: FunctionType) -> frozenset[str]:
    """The names of globals and attributes that a function uses; none if it is not the user's."""
    return frozenset() if _is_foreign(function.__code__.co_filename) else names_of(function.__code__)


def _reached(value: Any, names: frozenset[str]) -> Iterable[Any]:
    """The objects that code reaches from `value`, where `names` are the names of the attributes that it uses."""
    if type(value) in _PLAIN:
        return
    if isinstance(value, Trace) or is_traced(value):  # which lead to everything recorded, and to no function
        return
    wrapped = tuple(_wrapped(value))
    yield from wrapped
    if wrapped and _is_transform(value):
        return
    if isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, FunctionType):
        yield from _held_by_function(value, names)
    elif isinstance(value, (list, tuple, set, frozenset, deque, dict)):
        if len(value) <= TABLE:
            yield from value.values() if isinstance(value, dict) else value
    elif isinstance(value, ModuleType):
        if not _is_foreign(getattr(value, "__file__", None) or STANDARD):
            yield from (vars(value)[name] for name in names if name in vars(value))
    elif isinstance(value, type):
        yield from _members(value, names, {})
        yield from () if type(value) is type else _members(type(value), names, {})
    else:
        yield from _members(type(value), names, getattr(value, "__dict__", {}))


def _wrapped(value: Any) -> Iterable[Any]:
    """The function that a wrapper calls; those among which it chooses by the class of its argument."""
    attributes = getattr(value, "__dict__", {})
    registry = attributes.get("registry")
    if isinstance(registry, MappingProxyType):
        yield from registry.values()
    if attributes.get("__wrapped__") is not None:
        yield attributes["__wrapped__"]


def _held_by_function(function: FunctionType, names: frozenset[str]) -> Iterable[Any]:
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
    yield from (cell.cell_contents for cell in function.__closure__ or () if is_filled(cell))
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


def _is_transform(wrapper: Any) -> bool:
    """Whether this is a wrapper by Tracemill, NumPy or SciPy that only calls a function."""
    if isinstance(wrapper, FunctionType):
        return is_library(wrapper.__code__.co_filename)
    module = sys.modules.get(type(wrapper).__module__)
    return is_library(getattr(module, "__file__", None) or "")


def _members(kind: type, names: frozenset[str], attributes: Mapping[str, Any]) -> Iterable[Any]:
    """The methods of a class, and what they and the code outside use of the object and of the class."""
    methods = list(_methods(kind, names))
    yield from methods
    used = names.union(*(names_of(method.__code__) for method in methods))
    yield from (attributes[name] for name in used if name in attributes)
    for base in kind.__mro__:
        if base.__module__ != "builtins":
            shared = (vars(base)[name] for name in used if name in vars(base))
            yield from (one for one in shared if not isinstance(_behind(one), FunctionType))


def _methods(kind: type, names: frozenset[str]) -> Iterable[FunctionType]:
    """The methods with these names, those that Python calls implicitly, and those that they name."""
    members = {
        name: one
        for base in reversed(kind.__mro__)
        if not (base.__flags__ & _IMMUTABLE or _is_labelled(base))
        for name, one in vars(base).items()
    }
    wanted = [name for name in members if name in names or name.startswith("__")]
    while wanted:
        method = _behind(members.pop(wanted.pop(), None))
        if isinstance(method, FunctionType):
            yield method
            wanted += [name for name in names_of(method.__code__) if name in members]


def _behind(member: Any) -> Any:
    """The function of a property, or of a method of the class or with arguments."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property | partialmethod):
        return member.func
    return member.__func__ if isinstance(member, (classmethod, staticmethod)) else member


def _is_foreign(file: str) -> bool:
    """Whether nothing in this file reads clocks or draws for the user, except in functions that are known by name."""
    is_standard = file.startswith(STANDARD) and not any(part in file for part in INSTALLED)
    return is_standard or is_library(file)


@lru_cache(maxsize=4096)
def names_of(code: CodeType) -> frozenset[str]:
    """All names of globals and attributes in a function and in the functions defined inside it.

    Those that begin with @ are not the user's: pytest makes them for assertions, and all of pytest is behind them.
    """
    nested = (names_of(one) for one in code.co_consts if isinstance(one, CodeType))
    return frozenset(name for name in code.co_names if not name.startswith("@")).union(*nested)


def is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that is assigned later
        return False
    return True
