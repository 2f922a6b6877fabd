"""What a traced function reads in containers, objects and arrays from outside, apart from its variables."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from types import CellType
from typing import Any, Final
from weakref import ref
from zlib import crc32

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...dtypes import Array, is_supported
from ...labelled.classes import MEMORY
from ...tracing.outside.code_names import CodeNames
from ...tracing.outside.object_walk import ObjectWalk
from ...tracing.outside.place import Namespace, Place
from ...tracing.outside.users_classes import OPERATORS
from ...tracing.traced_memory import is_traced
from .read_names import ReadName, ReadNames, arrays_in, names_in, no_names, no_new_names

_LARGEST_COPY: Final = 1 << 16
_OF_PYTHON: Final = frozenset({"__slotnames__"})
"""Attributes that Python gives a class when an object is copied."""
_code = attrgetter("__code__")
_dict = attrgetter("__dict__")


@dataclass(frozen=True, slots=True)
class ReadArray:
    """An array from outside that NumPy may have read while the function was traced, without the trace."""

    array: "ref[Array]"
    content: bytes | int | None
    """What is compared; None if it is an input of the program, which reads it in each call."""

    @property
    def has_changed(self) -> bool:
        array = self.array()
        return self.content is not None and array is not None and _content(array) != self.content


def _content(array: Array) -> bytes | int:
    """The bytes of an array, or a checksum of them if it is large: a copy would take as much memory again."""
    if array.nbytes <= _LARGEST_COPY:
        return array.tobytes()
    return crc32(np.ascontiguousarray(array).view(np.uint8).data)


def entries_read(walk: ObjectWalk, found: ReadNames) -> Iterator[ReadName]:
    """The containers and the attributes of objects that the functions of a trace may have read."""
    mentioned = _mentioned(walk, found)
    implicit = (one for function in walk.implicit.values() for one in names_in(function, {}))
    by_key = {one.key: one for one in implicit if not is_traced(one.value)}
    yield from (one for key, one in by_key.items() if key not in found.names)
    for path, x, entries, way in walk.containers_met():
        is_namespace = isinstance(x, dict) and "__builtins__" in x and not found.runs_as_written
        if not (is_namespace or mentioned.only_appends(path)) and mentioned.leads(way):
            yield ReadName(path, entries, x, entries.held)
            yield from _tables_in(path, x)
    for (
        function
    ) in walk.functions:  # another one under the name of the outermost is not the one that is compiled
        if function.__code__ in found.codes and function.__code__ is not found.outermost:
            yield ReadName(f"{function.__qualname__}.__code__", _code, function, function.__code__)
    yield from _lookups(walk, found, mentioned)
    known = {one.place_key for one in found.names.values() if not one.is_metadata}
    for place in walk.slots:
        if isinstance(place.key, str) and (id(place.holder), place.key) in known:
            continue
        if id(place.holder) not in walk.ways and _is_compared(place, found) and mentioned.leads(place.way):
            yield ReadName(place.path, *_reader(place), place.value)


def _lookups(walk: ObjectWalk, found: ReadNames, mentioned: CodeNames) -> Iterator[ReadName]:
    """Where Python looks for the attributes of objects: which class and dict they have, and which names these lack."""
    for path, x, way in walk.objects:
        if mentioned.leads(way):
            yield ReadName(f"the class of {path}", type, x, type(x))
            if isinstance(own := getattr(x, "__dict__", None), dict):
                yield ReadName(f"{path}.__dict__", _dict, x, own)
    for one in walk.namespaces.values():
        if (one.path or found.runs_as_written) and mentioned.leads(one.way):
            yield from _names_missing(one, mentioned)


def _names_missing(space: Namespace, mentioned: CodeNames) -> Iterator[ReadName]:
    """The names that a namespace lacks, as far as code may ask for them."""
    text = f"{space.path}." if space.path else ""
    if mentioned.is_any_attribute:
        yield no_new_names(text, space.values, space.names | _OF_PYTHON)
    elif wanted := (mentioned.names if space.kind is None else mentioned.names | OPERATORS) - space.names:
        yield no_names(text, space.values, wanted)


def _tables_in(path: str, container: Any) -> Iterator[ReadName]:
    """The memory of objects of pandas and xarray in a container, whose columns may be replaced."""
    if not MEMORY or not isinstance(container, dict | list | tuple):
        return
    items = container.items() if isinstance(container, dict) else enumerate(container)
    for key, x in list(items):
        if (read := MEMORY.get(type(x))) is not None:
            yield ReadName(f"the data of {path}[{key!r}]", read, x, read(x))


def asks_identity(walk: ObjectWalk | None, found: ReadNames) -> bool:
    """Whether the functions of a trace ask if two objects are the same."""
    return walk is not None and _mentioned(walk, found).asks_identity


def _mentioned(walk: ObjectWalk, found: ReadNames) -> CodeNames:
    """What the functions of a trace mention; all that they could reach if some may have run unnoticed."""
    codes = found.codes | walk.implicit.keys() | (walk.codes if found.runs_as_written else set())
    return CodeNames(codes, walk.asked)


def _is_compared(place: Place, found: ReadNames) -> bool:
    """Whether a place is not compared as a name already, and may be rebound between calls."""
    is_variable = isinstance(place.holder, CellType) or (
        isinstance(place.holder, dict) and "__builtins__" in place.holder
    )
    return found.runs_as_written or not is_variable


def _reader(place: Place) -> tuple[Callable[[Any], Any], Any]:
    """What reads a place, and what it is given."""
    if isinstance(place.holder, CellType):
        return attrgetter("cell_contents"), place.holder
    if isinstance(place.holder, type):  # not its methods, which are made at each look
        return vars(place.holder).__getitem__, place.key
    if isinstance(place.holder, (dict, np.ndarray)):
        return place.holder.__getitem__, place.key
    return partial(getattr, place.holder), place.key


def arrays_read(
    function: Any,
    found: ReadNames,
    walk: ObjectWalk | None,
    captured: Iterable[Any],
    replaced: Iterable[Array],
    seen: Mapping[tuple[int, int], bool],
    is_from_outside: Callable[[int, int], bool],
) -> tuple[ReadArray, ...]:
    """The NumPy arrays among the values of names, in containers there, and among defaults and bound arguments.

    The contents of an array are compared if the program has not captured it, if NumPy was `seen` to read it, or if
    NumPy may have computed a captured array from it. NumPy reads no array that was `replaced` as a traced one.
    """
    names = [one for one in found.names.values() if not one.is_metadata]
    met = {id(x): x for one in names for x in arrays_in(one.value)} | found.defaults
    if walk is not None:
        mentioned = _mentioned(walk, found)
        for path, container, _, way in walk.containers_met():
            if mentioned.leads(way):
                met |= {id(x): x for one in _tables_in(path, container) for x in arrays_in(one.value)}
        only_metadata = {one.text.partition(".")[0] for one in found.names.values() if one.is_metadata}
        only_metadata -= {one.text for one in names}
        for path, x, entries, way in walk.ways.values():
            if (
                entries is None
                and is_supported(x.dtype)
                and mentioned.leads(way)
                and path not in only_metadata
            ):
                met[id(x)] = x
    if isinstance(function, partial):
        met |= {id(x): x for x in arrays_in([*function.args, function.keywords])}
    inputs = {byte_bounds(x): x.flags.writeable for x in captured if type(x) is np.ndarray}
    bounds = {key: byte_bounds(x) for key, x in met.items()}
    made = [
        span
        for span, is_writeable in (inputs | dict(seen)).items()
        if is_writeable and not _meets(span, bounds.values()) and not is_from_outside(*span)
    ]
    traced = set(map(byte_bounds, replaced))

    def counts(span: tuple[int, int]) -> bool:
        return not _meets(span, traced) and bool(made or _meets(span, seen) or not _meets(span, inputs))

    return tuple(ReadArray(ref(x), _content(x) if counts(bounds[key]) else None) for key, x in met.items())


def _meets(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether the memory between two addresses overlaps any of the others."""
    return any(span[0] < high and low < span[1] for low, high in others)
