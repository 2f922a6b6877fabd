"""`ObjectWalk`: walks through all that functions can reach through their variables, and replaces NumPy arrays there.

An object that cannot change, such as a tuple, is rebuilt, and the new one replaces the old one.
"""

import builtins
import gc
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from operator import attrgetter, methodcaller
from random import Random
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final

import numpy as np

from ...callers.user_code import is_users, is_users_module
from ...dtypes import Array
from ...nesting import shown
from ...symbolic_size import SymbolicSize
from ..traced_memory import is_traced
from .entries import Entries
from .place import ABSENT, Namespace, Place, Way
from .users_classes import (
    NOT_OF_OPERATORS,
    OURS,
    is_operator,
    is_users_class,
    operators_of,
    slots_of,
    without_pythons,
)

_Cached: Final = type(lru_cache(abs))
_DEEPEST: Final = 24
MOST_MET: Final = 50_000
_LONG: Final = 1000
"""Lists that are longer are searched only if they hold something other than numbers and texts."""
_REBUILT: Final = (tuple, MethodType, BuiltinFunctionType, MethodWrapperType, np.ndarray)
"""Objects that may be replaced by others, at once."""
_UNWATCHED: Final = ("logging", "threading", "unittest")
"""Libraries whose objects change when they are used, and decide no result."""
_PLAIN: Final = (
    int,
    float,
    complex,
    str,
    bytes,
    np.generic,
    np.dtype,
    np.ufunc,
    CodeType,
    type(None),
)


@dataclass
class ObjectWalk:
    """A walk through everything that functions can reach, once each."""

    replacement: Callable[[Array], Any] = lambda array: array
    """Returns the replacement of an array, which may be the array itself."""
    arrays: dict[int, tuple[str, Array]] = field(default_factory=dict)
    """The arrays found, by id, with the path to each."""
    places: list[tuple[Place, Any]] = field(default_factory=list)
    """The places where a replacement must be put, and the replacements."""
    stuck: list[tuple[str, Array]] = field(default_factory=list)
    """The arrays with a replacement that are held where nothing can be replaced."""
    slots: list[Place] = field(default_factory=list)
    """All places found."""
    containers: list[Any] = field(default_factory=list)
    """The lists, dicts, sets and the like found, and the attributes of objects."""
    ways: dict[int, tuple[str, Any, Entries | None, Way]] = field(default_factory=dict)
    """By id of an array, or of a container other than a dict of attributes: the path, it, what a container holds, and
    the way."""
    namespaces: dict[int, Namespace] = field(default_factory=dict)
    """By id: the attributes of the user's objects, classes and modules, and global variables."""
    objects: list[tuple[str, Any, Way]] = field(default_factory=list)
    """The user's objects that were found, each with the path and the way."""
    sources: list[tuple[str, Any]] = field(default_factory=list)
    """The iterators and random generators found, with the path to each."""
    caches: list[tuple[Any, dict[Any, Any]]] = field(default_factory=list)
    """The functions with `functools.lru_cache` found, with their entries."""
    functions: list[FunctionType] = field(default_factory=list)
    """The user's functions that were found, other than methods of objects."""
    codes: set[CodeType] = field(default_factory=set)
    """The code of the user's functions that were found."""
    kinds: set[type] = field(default_factory=set)
    """The classes of the objects that were found."""
    implicit: dict[CodeType, FunctionType] = field(default_factory=dict)
    """The properties and special methods, which run without being mentioned, by their code."""
    asked: set[str] = field(default_factory=set)
    """The attributes for which an `operator.attrgetter` or `operator.methodcaller` asks."""
    has_met_traced: bool = False
    """Whether a traced array or a symbolic size was found."""
    _way: Way = None
    _later: list[tuple[Any, str, Way]] = field(default_factory=list)
    """What is nested so deeply that Python's stack may not suffice, with the path and the way: it is searched last."""
    _noted: set[type] = field(default_factory=set)
    _met: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """For each id, the object, which is kept alive so that its id stays unique, and its replacement."""

    def of(self, x: Any, path: str, depth: int = 0) -> Any:
        """The replacement of `x`, which may be `x` itself."""
        if isinstance(x, _PLAIN):
            return x
        if is_traced(x) or isinstance(x, SymbolicSize):
            self.has_met_traced = True
            return x
        if id(x) in self._met:
            return self._met[id(x)][1]
        if not self.is_complete:
            return x
        if depth > _DEEPEST and not isinstance(x, _REBUILT):
            self._later.append((x, f"…{path[-40:]}", self._way))
            return x
        self._met[id(x)] = x, x
        found = self._of(x, path, depth + 1)
        self._met[id(x)] = x, found
        while depth == 0 and self._later:
            one, its_path, self._way = self._later.pop()
            self.of(one, its_path, 1)
        return found

    def containers_met(self) -> Iterator[tuple[str, Any, Entries, Way]]:
        """The containers other than dicts of attributes, as in `ways`."""
        return (
            (path, x, entries, way) for path, x, entries, way in self.ways.values() if entries is not None
        )

    def _note_entries(self, x: Any, path: str) -> None:
        self.ways[id(x)] = path, x, Entries(x), self._way

    def _note_namespace(
        self, path: str, names: Mapping[str, Any], kind: type | None = None, *, is_watched: bool = False
    ) -> None:
        holder = names if kind is None else kind
        if id(holder) not in self.namespaces or not self.namespaces[id(holder)].path:
            self.namespaces[id(holder)] = Namespace(
                path, names, kind, frozenset(names), is_watched, self._way
            )

    def has_met(self, x: Any) -> bool:
        """Whether the walk came to an object, or may have missed some."""
        return id(x) in self._met or not self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether the walk came to everything: it ends at a great number of objects."""
        return len(self._met) <= MOST_MET

    def _of(self, x: Any, path: str, depth: int) -> Any:  # noqa: C901, PLR0912, PLR0915 (a line for each kind)
        match x:
            case np.ndarray():
                return self._array(x, path, depth)
            case tuple():
                return self._tuple(x, path, depth)
            case MethodType():
                own = self.of(x.__self__, path, depth)
                self.of(x.__func__, path, depth)
                return x if own is x.__self__ else MethodType(x.__func__, own)
            case BuiltinFunctionType() | MethodWrapperType():
                own = x.__self__
                if isinstance(own, ModuleType) or own is None:
                    return x
                found = self.of(own, path, depth)
                return x if found is own else getattr(found, x.__name__)
            case FunctionType():
                self._function(x, path, depth)
            case ModuleType():
                if x.__name__.partition(".")[0] != OURS and is_users_module(x):
                    self._note_namespace(path, vars(x), is_watched=True)
                    self._slots(vars(x), without_pythons(vars(x)), path, depth)
            case type():
                if is_users_class(x):
                    self._note_code(x)
                    self._note_code(type(x))
                    self._note_namespace(path, vars(x), x, is_watched=True)
                    self._slots(x, without_pythons(vars(x)) | operators_of(x), path, depth)
                    self._makers(x, depth)
                    for kind in (*x.__bases__, type(x)):
                        self.of(kind, kind.__name__, depth)
            case dict():
                if x is not builtins.__dict__:  # `eval` puts it into its namespaces
                    self._entries(x, path, depth)
            case set():
                self.containers.append(x)
                self._note_entries(x, path)
            case list() | deque():
                self.containers.append(x)
                self._note_entries(x, path)
                if len(x) <= _LONG or not all(issubclass(kind, _PLAIN) for kind in set(map(type, x))):
                    for place, one in enumerate(x):
                        self._slot(x, place, one, f"{path}[{place}]", depth)
            case bytearray() | array():
                self.containers.append(x)
                self._note_entries(x, path)
            case CellType():
                with suppress(ValueError):  # it is unset
                    self._slot(x, "cell_contents", x.cell_contents, path, depth)
            case partial():
                for name, one in (("func", x.func), ("args", x.args)):
                    self._slot(x, name, one, f"{path}.{name}", depth)
                self._entries(x.keywords, path, depth)
            case attrgetter() | methodcaller():
                parts: Any = x.__reduce__()
                self.asked |= {part for text in parts[1] if isinstance(text, str) for part in text.split(".")}
            case MappingProxyType():
                for one in gc.get_referents(x):
                    self.of(one, path, depth)
            case memoryview():
                self._sealed([x.obj], path, depth)
            case np.flatiter():
                self._sealed([x.base], path, depth)
            case np.nditer():
                self._sealed(x.operands, path, depth)
            case ContextVar():
                self._note_entries(x, path)
                self._sealed([x.get(None)], path, depth)
            case GeneratorType():
                self.sources.append((path, x))
                if x.gi_frame is not None and not x.gi_running:
                    self._sealed(x.gi_frame.f_locals.values(), path, depth)
            case _:
                self._object(x, path, depth)
        return x

    def _array(self, x: Array, path: str, depth: int) -> Any:
        if x.dtype == object:
            for place in np.ndindex(x.shape):
                self._slot(x, place, x[place], f"{path}[{', '.join(map(str, place))}]", depth)
            return x
        self.arrays[id(x)] = path, x
        self.ways[id(x)] = path, x, None, self._way
        return self.replacement(x)

    def _tuple(self, x: Any, path: str, depth: int) -> Any:
        found = [self.of(one, f"{path}[{place}]", depth) for place, one in enumerate(x)]
        if all(one is old for one, old in zip(found, x, strict=True)):
            return x
        return tuple.__new__(type(x), found)

    def _function(self, x: FunctionType, path: str, depth: int) -> None:
        name = x.__name__ if path == "" else path
        if not is_users(x.__code__.co_filename):
            for cell in x.__closure__ or ():
                with suppress(ValueError):  # it is unset
                    self._wrapped([cell.cell_contents], depth)
            self._wrapped([vars(x).get("__wrapped__")], depth)
            return
        before, self._way = self._way, x.__code__
        self.codes.add(x.__code__)
        self.functions.append(x)
        if x.__defaults__:
            self._slot(x, "__defaults__", x.__defaults__, f"{name}.__defaults__", depth)
        if x.__kwdefaults__:
            self._entries(x.__kwdefaults__, f"{name}.__kwdefaults__", depth)
        self._entries(vars(x), name + ".", depth, as_attributes=True)
        for variable, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            self.of(cell, variable, depth)
        self.named(x.__code__, x.__globals__, depth)
        self._way = before

    def _makers(self, kind: type, depth: int) -> None:
        """What ``__init__`` and others that make or copy objects of a class refer to."""
        before, self._way = self._way, None
        for name in sorted(NOT_OF_OPERATORS & vars(kind).keys()):
            function = getattr(vars(kind)[name], "__func__", vars(kind)[name])
            if isinstance(function, FunctionType):
                self.of(function, f"{kind.__name__}.{name}", depth)
        self._way = before

    def named(self, code: CodeType, module: dict[str, Any], depth: int = 0) -> None:
        """The global variables that code or an inner function mentions; all of them if it mentions ``globals``."""
        self._note_namespace("", module, is_watched=True)
        mentioned = dict.fromkeys(_names(code))
        for name in without_pythons(module) if "globals" in mentioned else mentioned:
            if name in module:
                self._slot(module, name, module[name], name, depth)

    def _wrapped(self, found: Iterable[Any], depth: int) -> None:
        """The user's functions that a function or an object of Tracemill refers to."""
        for one in found:
            if (
                isinstance(one, (FunctionType, MethodType, partial))
                or is_users_class(type(one))
                or _is_ours(one)
            ):
                self.of(one, getattr(one, "__name__", ""), depth)

    def _object(self, x: Any, path: str, depth: int) -> None:  # noqa: C901, PLR0912 (a line for each kind)
        attributes = getattr(x, "__dict__", None)
        if _is_ours(x):
            if isinstance(attributes, dict) and "__wrapped__" in attributes:
                self._wrapped([attributes["__wrapped__"]], depth)
            elif callable(x):
                self._wrapped(_of_object(x).values(), depth)
            return
        if isinstance(x, property):
            self._sealed((one for one in (x.fget, x.fset) if one is not None), path, depth)
            return
        if isinstance(x, Random):
            self.sources.append((path, x))
            return
        if hasattr(type(x), "__next__"):
            if type(x).__module__ in ("builtins", "itertools"):
                self.sources.append((path, x))
            self._sealed(gc.get_referents(x), path, depth)
            return
        is_library = not (
            is_users_class(type(x))
            or isinstance(x, SimpleNamespace)
            or type(x).__module__.partition(".")[0] in _UNWATCHED
        )
        if isinstance(attributes, dict) and is_library:  # its methods read them, and the user's code does not
            self._entries(attributes, f"vars({path})", depth)
        elif isinstance(attributes, dict):
            self._entries(attributes, path + ".", depth, as_attributes=True)
        elif is_library and type(x).__module__ not in ("builtins", "functools", "typing"):
            self._note_entries(x, path)
            self._sealed(gc.get_referents(x), path, depth)
        if not is_library:
            self.objects.append((path, x, self._way))
            if isinstance(attributes, dict):
                self._note_namespace(path, attributes)
        self._slots(x, slots_of(x), path, depth, by_name=not is_library)
        self.kinds.add(type(x))
        for kind in type(x).__mro__:
            self._note_code(kind)
        if is_users_class(type(x)):
            self.of(type(x), type(x).__name__, depth)
        elif hasattr(x, "__wrapped__"):
            self._cached(x, path, depth)

    def _note_code(self, kind: type) -> None:
        """Note the code of the methods and the properties of a class."""
        if kind in self._noted or kind.__module__ == "builtins":
            return
        self._noted.add(kind)
        for name, one in vars(kind).items():
            getter = (
                one.fget
                if isinstance(one, property)
                else one.func
                if isinstance(one, cached_property)
                else None
            )
            function = one if getter is None else getter
            if isinstance(function, FunctionType) and is_users(function.__code__.co_filename):
                self.codes.add(function.__code__)
                if getter is not None or is_operator(name):
                    self.implicit[function.__code__] = function

    def _cached(self, x: Any, path: str, depth: int) -> None:
        """The cached results of a function with `functools.lru_cache`."""
        for one in gc.get_referents(x):
            if isinstance(x, _Cached) and type(one) is dict and one is not vars(x):
                self.caches.append((x, one))
            if isinstance(one, dict):  # not a container to be restored: its order is kept elsewhere
                for key, result in list(one.items()):
                    self._slot(one, key, result, path, depth)
            elif isinstance(one, (np.ndarray, tuple, list)):
                self._sealed([one], path, depth)

    def _sealed(self, held: Iterable[Any], path: str, depth: int) -> None:
        """The objects that are held where nothing can be replaced."""
        for one in held:
            if self.of(one, path, depth) is not one:
                self.stuck.append((path, one))

    def _slots(
        self, holder: Any, attributes: Mapping[str, Any], path: str, depth: int, *, by_name: bool = True
    ) -> None:
        """Attributes. Code comes to each `by_name`, unless it is an operator, or methods of a library read it."""
        before = self._way
        for name, one in list(attributes.items()):
            self._way = name if by_name and not is_operator(name) else before
            self._slot(holder, name, one, f"{path}.{name}", depth)
        self._way = before

    def _entries(self, x: dict[Any, Any], path: str, depth: int, *, as_attributes: bool = False) -> None:
        self.containers.append(x)
        if isinstance(x, defaultdict):
            self._sealed([x.default_factory], path, depth)
        if not as_attributes:
            self._note_entries(x, path)
        before = self._way
        for key, one in list(x.items()):
            self._way = key if as_attributes else before
            self._slot(x, key, one, f"{path}{key}" if as_attributes else f"{path}[{shown(key, 20)}]", depth)
        self._way = before

    def _slot(self, holder: Any, key: Any, value: Any, path: str, depth: int) -> None:
        place = Place(holder, key, value, path, self._way)
        self.slots.append(place)
        if value is ABSENT:
            return
        found = self.of(value, path, depth)
        if found is not value:
            self.places.append((place, found))


def _is_ours(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == OURS


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _of_object(x: Any) -> dict[str, Any]:
    return dict(getattr(x, "__dict__", ())) | slots_of(x)
