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
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import attrgetter
from types import CellType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ...callers.number_code import NumberFunctions
from ...callers.qualified_names import is_inside_converted
from ...callers.user_code import HOOKS, is_users, is_users_module
from ...dtypes import Array
from ...labelled.classes import MEMORY
from ...tracing.outside.entries import Entries, became, is_same
from ...tracing.outside.place import ABSENT
from ...tracing.traced_memory import is_traced

_CHANGING: Final = object()
"""The value of what is another one in each call."""
_DEEPEST: Final = 24
_METADATA: Final = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides"})
_SHOWING_NAMES: Final = frozenset({"vars", "__dict__"})
"""Names in the code of a function that looks up attributes by their names as texts."""
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
    is_metadata: bool = False
    """Whether only the shape or the dtype of an array is read."""

    def now(self) -> Any:
        """The current value; a special value if the name no longer exists."""
        try:
            return self.read(self.place)
        except (AttributeError, LookupError, ValueError):  # an attribute, a key, the content of a cell
            return ABSENT

    @property
    def holder(self) -> Any:
        """The dict or the cell that holds the value."""
        return getattr(self.read, "__self__", self.place)

    @property
    def place_key(self) -> tuple[int, str]:
        """Tells the place that holds the value from others, if a name leads to it."""
        return id(self.holder), self.place if isinstance(self.place, str) else ""

    @property
    def key(self) -> tuple[int, str]:
        """Tells the name from others."""
        return id(self.holder), self.text

    @property
    def change(self) -> str:
        """A line that explains how the value has changed; empty if it has not."""
        if self.value is _CHANGING:
            return f"the function changes {self.text} whenever it runs, and computes with it"
        if isinstance(self.read, Entries):
            return self.read.difference(self.text, self.place)
        now = self.now()
        if is_same(self.value, now):
            return ""
        if self.value is ABSENT:
            return f"{self.text} exists now"
        return f"{self.text} no longer exists" if now is ABSENT else f"{self.text} {became(self.value, now)}"


@dataclass(frozen=True, slots=True)
class NoNames(ReadName):
    """Names that an object, a class, a module or the global variables lack. `read` compares them with the others."""

    namespace: Mapping[str, Any] = field(default_factory=dict)
    unwanted: Callable[[str], bool] = bool
    """Whether a name makes a difference."""
    code: str = ""
    """The name of the code that reads the names."""

    @property
    def key(self) -> tuple[int, str]:
        return id(self.namespace), f"{self.text}, read in {self.code}"

    @property
    def change(self) -> str:
        found = (name for name in self.namespace if self.unwanted(name))
        return next((f"{self.text}{name} exists now" for name in found), "")


def no_names(text: str, namespace: Mapping[str, Any], names: frozenset[str], code: str = "") -> NoNames:
    """That a namespace has none of some names."""
    # Python runs through the mapping in the first case, and through the shorter one, but more slowly, in the second.
    read, place = (
        (names.isdisjoint, namespace)
        if len(namespace) <= len(names)
        else (namespace.keys().isdisjoint, names)
    )
    return NoNames(text, read, place, value=True, namespace=namespace, unwanted=names.__contains__, code=code)


def no_new_names(text: str, namespace: Mapping[str, Any], names: frozenset[str]) -> NoNames:
    """That a namespace has no names other than some."""
    known: Any = namespace.keys()
    return NoNames(
        text,
        known.__le__,
        names,
        value=True,
        namespace=namespace,
        unwanted=lambda name: name not in names,
    )


class ReadNames:
    """The names that the functions of a trace have read so far."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], ReadName] = {}
        self.defaults: dict[int, Array] = {}
        """The arrays among the defaults of parameters, by id."""
        self.codes: set[CodeType] = set()
        """The code of the user's functions that have run."""
        self.outermost: CodeType | None = None
        """The code of the first of them."""
        self.runs_as_written = False
        """Whether one of them has run without hooks, so that the functions that it calls are not noted."""
        self.of_numbers: dict[Any, NumberFunctions] = {}
        """For functions that were called, what is known about calls with Python's own numbers."""
        self._made: set[int] = set()

    def note(self, one: ReadName) -> None:
        """Note a name, once for each place that it is read from."""
        self.names.setdefault(one.key, one)

    def note_made(self, new: Any) -> None:
        """Note an internal object of the trace, whose attributes are not compared. The object is not kept alive."""
        self._made.add(id(new))

    @property
    def changed(self) -> str:
        """The first name that the function itself has changed after reading it; empty if there is none."""
        return next((one.text for one in self.names.values() if one.change), "")

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
    return any(one.now() is not one.value and not is_same(one.value, one.now()) for one in names)


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
    found.outermost = found.outermost or function.__code__
    found.codes.add(function.__code__)
    defaults = arrays_in([function.__defaults__ or (), function.__kwdefaults__ or {}])
    found.defaults.update((id(x), x) for x in defaults)
    names = list(names_in(function, objects))
    for one in names:
        if not is_traced(one.value):
            found.note(one)
            note_table(one.text, one.value)
    if not _SHOWING_NAMES.isdisjoint(function.__code__.co_names):
        held = {one.text: one.value for one in names} | objects
        for text, x in held.items():
            if is_users(getattr(sys.modules.get(type(x).__module__), "__file__", None) or ""):
                note_contents(f"vars({text})", getattr(x, "__dict__", {}))


def note_table(text: str, x: Any) -> None:
    """Note the memory of an object of pandas or xarray, whose columns may be replaced."""
    if (found := REACHED.get()) is not None and (read := MEMORY.get(type(x))) is not None:
        found.note(ReadName(f"the data of {text}", read, x, read(x)))
    elif MEMORY and type(x) is tuple:
        for place, item in enumerate(x):
            note_table(f"{text}[{place}]", item)


def note_attributes(x: Any, names: Iterable[str]) -> None:
    """Note the attributes of an object that code without hooks may read."""
    found = REACHED.get()
    if found is None:
        return
    for name in names:
        for one in _attributes(type(x).__name__, x, [name]):
            if not is_traced(one.value):
                found.note(one)
                note_table(one.text, one.value)


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
    return any(names and root in code.co_varnames for root, names in chains(code))


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


def arrays_in(x: Any, depth: int = 0) -> Iterator[Array]:
    """The NumPy arrays in nested containers."""
    if is_traced(x) or depth > _DEEPEST:
        return
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, (tuple, list, deque, dict)):
        for one in x.values() if isinstance(x, dict) else x:
            yield from arrays_in(one, depth + 1)


def names_in(function: FunctionType, objects: dict[str, Any]) -> Iterator[ReadName]:
    """The names from outside that a function reads, and the attributes of `objects`, its arguments."""
    code, module = function.__code__, function.__globals__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    first = code.co_varnames[0] if code.co_argcount else ""
    missing = list[str]()
    for root, attributes in chains(code):
        if root in cells and is_inside_converted(code):
            continue  # it is defined in a converted function, which was noted
        if root in cells and root not in (HOOKS, "__class__"):
            one = ReadName(root, _content, cells[root], _content_of(cells[root]))
        elif root in code.co_varnames:
            held = objects.get(root, objects.get("", ABSENT) if root == first else ABSENT)
            if held is not ABSENT:
                yield from _attributes(root, held, attributes)
            continue
        elif root in module:
            one = ReadName(root, module.__getitem__, root, module[root])
        else:
            missing.append(root)
            continue
        if one.value is not ABSENT:
            if isinstance(one.value, np.ndarray) and not _METADATA.isdisjoint(attributes[:1]):
                yield replace(one, text=f"{root}.{attributes[0]}", is_metadata=True)
            elif not isinstance(one.value, ModuleType):
                yield one
            yield from _attributes(root, one.value, attributes)
    if missing:
        yield from _not_global(code, module, frozenset(missing))


def _not_global(code: CodeType, module: dict[str, Any], names: frozenset[str]) -> Iterator[ReadName]:
    """That names are no global variables: the names of Python's functions, of those that are put there, or of none."""
    yield no_names("", module, names, code.co_qualname)
    held = vars(builtins)
    if unknown := names - held.keys():
        yield no_names("", held, unknown, code.co_qualname)
    for name in names & held.keys():
        if getattr(held[name], "__module__", None) != builtins.__name__:
            yield ReadName(name, held.__getitem__, name, held[name])


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
        is_own = is_users_module(held) and name in vars(held)
        return (vars(held).__getitem__, vars(held)[name]) if is_own else None
    own: Any = getattr(held, "__dict__", None)
    if isinstance(own, dict) and name in own:
        return own.__getitem__, own[name]
    for kind in (held if isinstance(held, type) else type(held)).__mro__:
        value = vars(kind).get(name, ABSENT)
        if isinstance(value, MemberDescriptorType):
            return partial(getattr, held), getattr(held, name, ABSENT)
        if value is not ABSENT:
            return None if hasattr(type(value), "__get__") else (vars(kind).__getitem__, value)
    return None


def _missing(text: str, held: Any, name: str) -> Iterator[ReadName]:
    """The name of an attribute that an object of the user does not have."""
    if is_traced(held) or not hasattr(held, "__dict__") or hasattr(type(held), "__getattr__"):
        return
    if isinstance(held, ModuleType) and not is_users_module(held):
        return
    one = ReadName(f"{text}.{name}", partial(_stored, name), held, ABSENT)
    if one.now() is ABSENT:
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
        return ABSENT


@lru_cache(4096)
def chains(code: CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
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
