"""`ReadName`: a name outside the traced function that it reads, and the value of the name while tracing.

It is a global, a variable of an enclosing function, or an attribute of ``self``. A program is valid as long as each
name still has this value.
"""

import builtins
import dis
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from operator import attrgetter
from types import CellType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..callers.number_code import NumberFunctions
from ..callers.user_code import HOOKS, is_users
from ..dtypes import Array, is_supported
from ..nesting import shown
from ..tracing.outside.code_names import CodeNames
from ..tracing.outside.object_walk import ObjectWalk, Place
from ..tracing.trace import content_of
from ..tracing.traced_memory import is_traced

_ABSENT: Final = object()
_CHANGING: Final = object()
"""The value of what is another one in each call."""
_DEEPEST: Final = 24
_MOST_ENTRIES: Final = 1000
"""How many entries and attributes are compared before each call."""
_SHOWING_NAMES: Final = frozenset({"vars", "__dict__"})
"""Names in the code of a function that looks up attributes by their names as texts."""
_VALUES: Final = (bool, int, float, complex, str, bytes, np.generic)
"""Types that are compared by value. Other objects are compared by identity."""
_content = attrgetter("cell_contents")

REACHED: "ContextVar[ReadNames | None]" = ContextVar("reached", default=None)
"""The names that the functions of the outermost trace have read so far."""


@dataclass(frozen=True, slots=True)
class ReadName:
    """A name, and its value while tracing."""

    text: str
    """As the user would write it: ``SCALE``, ``self.rate``."""
    read: Callable[[Any], Any]
    """Gets the current value of `place`."""
    place: Any
    value: Any

    def now(self) -> Any:
        """The current value; a special value if the name no longer exists."""
        try:
            return self.read(self.place)
        except (AttributeError, LookupError, ValueError):  # an attribute, a key, the content of a cell
            return _ABSENT

    @property
    def holder(self) -> Any:
        """The dict or the cell that holds the value."""
        return getattr(self.read, "__self__", self.place)

    @property
    def key(self) -> tuple[int, str]:
        """Tells the name from others."""
        return id(self.holder), self.text

    @property
    def change(self) -> str:
        """A line that explains how the value has changed; empty if it has not."""
        if self.value is _CHANGING:
            return f"the function changes {self.text} whenever it runs, and computes with it"
        now = self.now()
        if _is_same(self.value, now):
            return ""
        if self.value is _ABSENT:
            return f"{self.text} exists now"
        return (
            f"{self.text} no longer exists" if now is _ABSENT else f"{self.text} {_became(self.value, now)}"
        )


class ReadNames:
    """The names that the functions of a trace have read so far."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], ReadName] = {}
        self.defaults: dict[int, Array] = {}
        """The arrays among the defaults of parameters, by id."""
        self.codes: set[CodeType] = set()
        """The code of the user's functions that have run."""
        self.runs_as_written = False
        """Whether one of them has run without hooks, so that the functions that it calls are not noted."""
        self.of_numbers: dict[FunctionType, NumberFunctions] = {}
        """For functions that were called, what is known about calls with Python's own numbers."""
        self._made: set[int] = set()

    def note(self, one: ReadName) -> None:
        """Note a name, once for each place that it is read from."""
        self.names.setdefault(one.key, one)

    def note_made(self, new: Any) -> None:
        """Note an internal object of the trace, whose attributes are not compared. The object is not kept alive."""
        self._made.add(id(new))

    def is_made(self, x: Any) -> bool:
        """Whether an object was made in the trace."""
        return id(x) in self._made


def note_made(new: Any) -> None:
    """Note an object that the traced function has made."""
    if (found := REACHED.get()) is not None:
        found.note_made(new)


def is_made(x: Any) -> bool:
    """Whether the traced function has made an object."""
    found = REACHED.get()
    return found is not None and found.is_made(x)


def note_as_written(function: Any) -> None:
    """Note that a function runs without hooks."""
    found = REACHED.get()
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if found is not None and (not isinstance(code, CodeType) or is_users(code.co_filename)):
        found.runs_as_written = True


def have_changed(names: Iterable[ReadName]) -> bool:
    """Whether a name has another value than it had."""
    return any(one.now() is not one.value and not _is_same(one.value, one.now()) for one in names)


def note_reached(function: Any, arguments: Iterable[tuple[str, Any]] = ()) -> None:
    """Note the names that a function reads before it runs, including attributes of its object and its arguments."""
    found = REACHED.get()
    if found is None:
        return
    objects = dict(arguments)
    if isinstance(function, MethodType):
        objects.setdefault("", function.__self__)
        function = function.__func__
    if not isinstance(function, FunctionType) or not is_users(function.__code__.co_filename):
        return
    found.codes.add(function.__code__)
    defaults = _arrays_in([function.__defaults__ or (), function.__kwdefaults__ or {}])
    found.defaults.update((id(x), x) for x in defaults)
    names = list(_names(function, objects))
    for one in names:
        if not is_traced(one.value):
            found.note(one)
    if not _SHOWING_NAMES.isdisjoint(function.__code__.co_names):
        held = {one.text: one.value for one in names} | objects
        for text, x in held.items():
            if is_users(getattr(sys.modules.get(type(x).__module__), "__file__", None) or ""):
                note_contents(f"vars({text})", getattr(x, "__dict__", {}))


def note_read(text: str, read: Callable[..., Any], *given: Any) -> Any:
    """Call a function that reads something outside, and note its result, which is compared before each call."""
    value = read(*given)
    if (found := REACHED.get()) is not None:
        text = f"{text}({', '.join(map(repr, given))})"
        found.names.setdefault((0, text), ReadName(text, lambda place: read(*place), given, value))
    return value


def note_contents(text: str, names: dict[str, Any]) -> None:
    """Note all names of a module or an object, where the function looks them up as texts."""
    found = REACHED.get()
    if found is not None and not any(map(is_traced, names.values())):
        found.note(ReadName(text, lambda held: tuple(held.items()), names, tuple(names.items())))


def note_missing(x: Any, name: str) -> None:
    """Note that an object has no such attribute, which is then looked for before each call."""
    if (found := REACHED.get()) is not None and not found.is_made(x):
        for one in _missing(type(x).__name__, x, name):
            found.note(one)


def reads_attributes(function: Any) -> bool:
    """Whether the user's function reads attributes of its arguments."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not is_users(code.co_filename):
        return False
    return any(names and root in code.co_varnames for root, names in _chains(code))


def objects_among(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments that are objects of user classes, with the names of their parameters."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if isinstance(code, CodeType) else ()
    names = names[isinstance(function, MethodType) :]
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        if hasattr(value, "__dict__") and not (
            is_traced(value) or isinstance(value, (ModuleType, FunctionType))
        ):
            yield name, value


def unchanged(names: Iterable[ReadName]) -> tuple[ReadName, ...]:
    """The names that the function itself has not set while it was traced."""
    return tuple(one for one in names if not one.change)


def changed_by_itself(what: str) -> ReadName:
    """What a function changes outside whenever it runs, and computes with: each call traces it again."""
    return ReadName(what, lambda _: None, None, _CHANGING)


@dataclass(frozen=True, slots=True)
class ReadArray:
    """An array from outside that NumPy may have read while the function was traced, without the trace."""

    array: "ref[Array]"
    content: bytes | None
    """The part of its contents that is compared; None if it is an input of the program, which reads it in each call."""

    @property
    def has_changed(self) -> bool:
        array = self.array()
        return self.content is not None and array is not None and content_of(array) != self.content


def entries_read(walk: ObjectWalk, found: ReadNames) -> Iterator[ReadName]:
    """Entries of lists and dicts and attributes of objects that the functions of a trace may have read, and lengths."""
    mentioned = _mentioned(walk, found)
    implicit = (one for function in walk.implicit.values() for one in _names(function, {}))
    by_key = {one.key: one for one in implicit if not is_traced(one.value)}
    yield from (one for key, one in by_key.items() if key not in found.names)
    logs = set[int]()
    for path, x, length, way in walk.ways.values():
        if mentioned.only_appends(path):
            logs.add(id(x))
        elif not isinstance(x, np.ndarray) and mentioned.leads(way):
            yield ReadName(f"len({path})", len, x, length)
    places = (place for place in walk.slots if _is_compared(place, found) and mentioned.leads(place.way))
    for place in islice((place for place in places if id(place.holder) not in logs), _MOST_ENTRIES):
        yield ReadName(place.path, *_reader(place), place.value)


def asks_identity(walk: ObjectWalk | None, found: ReadNames) -> bool:
    """Whether the functions of a trace ask if two objects are the same."""
    return walk is not None and _mentioned(walk, found).asks_identity


def _mentioned(walk: ObjectWalk, found: ReadNames) -> CodeNames:
    """What the functions of a trace mention; all that they could reach if some may have run unnoticed."""
    return CodeNames(found.codes | walk.implicit.keys() | (walk.codes if found.runs_as_written else set()))


def _is_compared(place: Place, found: ReadNames) -> bool:
    """Whether a place is not compared as a name already, and may be rebound between calls."""
    if isinstance(place.holder, type) and hasattr(type(place.value), "__get__"):
        return False  # a method
    is_variable = isinstance(place.holder, CellType) or (
        isinstance(place.holder, dict) and "__builtins__" in place.holder
    )
    return found.runs_as_written or not is_variable


def _reader(place: Place) -> tuple[Callable[[Any], Any], Any]:
    """What reads a place, and what it is given."""
    if isinstance(place.holder, CellType):
        return _content, place.holder
    if isinstance(place.holder, (dict, list, deque, np.ndarray)):
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
    met = {id(x): x for one in found.names.values() for x in _arrays_in(one.value)} | found.defaults
    if walk is not None:
        mentioned = _mentioned(walk, found)
        ways = ((x, way) for _, x, _, way in walk.ways.values() if isinstance(x, np.ndarray))
        met |= {id(x): x for x, way in ways if is_supported(x.dtype) and mentioned.leads(way)}
    if isinstance(function, partial):
        met |= {id(x): x for x in _arrays_in([*function.args, function.keywords])}
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

    return tuple(ReadArray(ref(x), content_of(x) if counts(bounds[key]) else None) for key, x in met.items())


def _meets(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether the memory between two addresses overlaps any of the others."""
    return any(span[0] < high and low < span[1] for low, high in others)


def _arrays_in(x: Any, depth: int = 0) -> Iterator[Array]:
    if is_traced(x) or depth > _DEEPEST:
        return
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, (tuple, list, deque, dict)):
        for one in x.values() if isinstance(x, dict) else x:
            yield from _arrays_in(one, depth + 1)


def _names(function: FunctionType, objects: dict[str, Any]) -> Iterator[ReadName]:
    code, module = function.__code__, function.__globals__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    first = code.co_varnames[0] if code.co_argcount else ""
    for root, attributes in _chains(code):
        if root in cells and code.co_qualname.startswith(HOOKS):
            continue  # it is defined in a converted function, which was noted
        if root in cells and root not in (HOOKS, "__class__"):
            one = ReadName(root, _content, cells[root], _content_of(cells[root]))
        elif root in code.co_varnames:
            held = objects.get(root, objects.get("", _ABSENT) if root == first else _ABSENT)
            if held is not _ABSENT:
                yield from _attributes(root, held, attributes)
            continue
        elif root in module:
            one = ReadName(root, module.__getitem__, root, module[root])
        else:
            if not hasattr(builtins, root):
                yield ReadName(root, module.__getitem__, root, _ABSENT)
            continue
        if one.value is not _ABSENT:
            if not isinstance(one.value, ModuleType):
                yield one
            yield from _attributes(root, one.value, attributes)


def _attributes(text: str, held: Any, names: Iterable[str]) -> Iterator[ReadName]:
    """``self.layer.rate`` as far as these are plain attributes, which can be read without running the user's code."""
    for name in names:
        if (made := REACHED.get()) is not None and made.is_made(held):
            return
        found = _attribute(held, name)
        if found is None:
            yield from _missing(text, held, name)
            return
        read, value = found
        text = f"{text}.{name}"
        yield ReadName(text, read, name, value)
        own: Any = getattr(held, "__dict__", None)
        if (
            isinstance(own, dict) and name not in own
        ):  # it is the attribute of the class, unless the object gets its own
            yield ReadName(f"{text} of the object", own.get, name, None)
        held = value


def _attribute(held: Any, name: str) -> tuple[Callable[[Any], Any], Any] | None:
    if isinstance(held, (np.ndarray, np.generic)) or is_traced(held):
        return None
    if isinstance(held, ModuleType):
        is_own = is_users(getattr(held, "__file__", None) or "<frozen>")
        return (vars(held).__getitem__, vars(held)[name]) if is_own and name in vars(held) else None
    own: Any = getattr(held, "__dict__", None)
    if isinstance(own, dict) and name in own:
        return own.__getitem__, own[name]
    for kind in (held if isinstance(held, type) else type(held)).__mro__:
        value = vars(kind).get(name, _ABSENT)
        if isinstance(value, MemberDescriptorType):
            return partial(getattr, held), getattr(held, name, _ABSENT)
        if value is not _ABSENT:
            return None if hasattr(type(value), "__get__") else (vars(kind).__getitem__, value)
    return None


def _missing(text: str, held: Any, name: str) -> Iterator[ReadName]:
    """The name of an attribute that an object of the user does not have."""
    if is_traced(held) or not hasattr(held, "__dict__") or hasattr(type(held), "__getattr__"):
        return
    if isinstance(held, ModuleType) and not is_users(getattr(held, "__file__", None) or "<frozen>"):
        return
    one = ReadName(f"{text}.{name}", partial(_stored, name), held, _ABSENT)
    if one.now() is _ABSENT:
        yield one


def _stored(name: str, held: Any) -> Any:
    """What an object or its class stores under a name. No code of the user runs."""
    kinds = held.__mro__ if isinstance(held, type) else type(held).__mro__
    for namespace in (vars(held), *map(vars, kinds)):
        if name in namespace:
            return namespace[name]
    raise AttributeError(name)


def _content_of(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is set later
        return _ABSENT


@lru_cache(4096)
def _chains(code: CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The names that code and its inner functions read from outside, each with the attributes that follow."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    own: set[str] = set()
    stack = [code]
    while stack:
        one = stack.pop()
        stack += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
        own |= set(one.co_cellvars) - set(code.co_varnames)
        root, attributes = "", list[str]()
        for step in dis.get_instructions(one):
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and root:
                attributes.append(step.argval)
                continue
            if root:
                found[root, tuple(attributes)] = None
            root, attributes = _root(step, is_outer=one is code), []
        if root:
            found[root, tuple(attributes)] = None
    return tuple((root, names) for root, names in found if root not in own)


def _root(step: dis.Instruction, *, is_outer: bool) -> str:
    """The name outside the function that an instruction reads; empty if there is none."""
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
        return str(step.argval)
    if is_outer and step.opname.startswith("LOAD_FAST"):
        return str(step.argval[-1] if isinstance(step.argval, tuple) else step.argval)
    return ""


def _is_same(before: Any, now: Any) -> bool:
    if before is now:
        return True
    if type(before) is not type(now):
        return False
    if isinstance(before, tuple):
        return len(before) == len(now) and all(map(_is_same, before, now))
    return isinstance(before, _VALUES) and repr(before) == repr(now)


def _became(before: Any, now: Any) -> str:
    if isinstance(before, _VALUES) and isinstance(now, _VALUES):
        return f"was {shown(before, 40)} and is {shown(now, 40)}"
    return (
        f"is another {type(now).__name__}" if type(before) is type(now) else f"is a {type(now).__name__} now"
    )
