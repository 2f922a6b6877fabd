"""`watching`: finds and undoes the side effects of a block that is traced once but may run any number of times.

Tracing records what the block does to arrays of the program. Changes of lists, dicts, sets, objects and NumPy arrays
are found by comparing them before and after the block.
"""

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from random import Random
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeVar

import numpy as np

from ...compiler.callers.user_code import HOOKS, user_location
from ...compiler.errors import SideEffectError
from ...compiler.frontend.cells import CELL
from ...compiler.ir import Location
from ...compiler.nesting import shown
from ...compiler.tracing.sharing import undone_if_it_fails
from ...compiler.tracing.trace import LARGEST_CONTENT
from ...compiler.tracing.traced_array import is_numpy_array, is_traced
from .one_of import entries_of, is_one_of
from .slots import CONTAINERS, Slot, Stream, attributes, changed_slots, content_of

T = TypeVar("T")

_DEEPEST: Final = 4
_MOST: Final = 10_000

_LIBRARIES: Final = frozenset({"tracemill", "numpy", "scipy"})
"""The objects of these libraries keep internal state that does not concern the user."""

_Watched = tuple[str, Any, Any]
"""An object that can change: how the function reaches it, the object, and a copy of its contents."""


class Watch:
    """The objects that a block reaches and can change, with their contents from before the block."""

    def __init__(self, where: str, names: Mapping[str, Any], line: "Location | None") -> None:
        self.where, self.line = where, line
        self.before: list[_Watched] = []
        self.before_calls: Callable[[Any], None] = lambda function: None
        """Is asked about each function that the block calls, before the call."""
        self._known: set[int] = set()
        self.add(names)

    def add(self, names: Mapping[str, Any]) -> None:
        """Watch also the objects that these names reach."""
        self.keep((path, x, _state(x)) for path, x in _reached(names) if id(x) not in self._known)

    def keep(self, watched: Iterable[_Watched]) -> None:
        for one in watched:
            if id(one[1]) not in self._known:
                self._known.add(id(one[1]))
                self.before.append(one)

    def take(self, *, may_grow: bool = False) -> dict[Slot, Any]:
        """Undo all changes, and return the attributes and entries that had changed, with their new values.

        With `may_grow`, items appended to a list are among them.

        Raises:
            SideEffectError: something else has changed, such as the length of a list.
        """
        found: dict[Slot, Any] = {}
        refused: list[str] = []
        lists: list[str] = []
        for path, x, state in self.before:
            if _is_state(x, state):
                continue
            slots = changed_slots(path, x, state, may_grow=may_grow)
            if slots is None:
                refused.append(f"`{path}`, a {_kind(x)}")
                lists += [path] * (type(x) is list)
            found.update((slot, slot.value) for slot in slots or ())
            _restore(x, state)
        if refused:
            error = self.refusal(refused[0])
            error.lists = tuple(lists) if len(lists) == len(refused) else ()
            raise error
        return found

    def refusal(self, changed: str) -> SideEffectError:
        """The error for a change that cannot be traced."""
        return SideEffectError(
            f"{self.where} depends on values, so it is traced once, although it may run many times or not at all; and "
            f"it changes {changed}. Instead, assign to a variable, write to the entries of an array that the function "
            "makes, such as np.zeros(…), or append to the list in both branches",
            self.line,
        )

    def run(
        self, block: Callable[[], T], slots: Mapping[Slot, Any], *, may_grow: bool = False
    ) -> tuple[T, dict[Slot, Any]]:
        """Run a block with values in slots. Returns its result and the new values of slots, and undoes all changes."""
        try:
            for slot, value in slots.items():
                slot.set(value)
            found = block()
        except BaseException:
            self.restore()
            raise
        changed = self.take(may_grow=may_grow)
        return found, {slot: slot.value for slot in slots} | changed

    def restore(self) -> None:
        """Undo all changes."""
        for _, x, state in self.before:
            if not _is_state(x, state):
                _restore(x, state)


_watch: ContextVar["Watch | None"] = ContextVar("watch", default=None)


def is_watched() -> bool:
    """Whether the current code is traced once but may run many times or not at all."""
    return _watch.get() is not None


def watch_called(function: Any) -> None:
    """Watch also what a function reaches that is about to be called, if anything is watched."""
    watch = _watch.get()
    if watch is None:
        return
    own = getattr(function, "__self__", None)
    if function is next or hasattr(own, "__next__") or isinstance(own, Random) or _draws(own):
        raise SideEffectError(
            f"{getattr(function, '__name__', function)} returns something new at each call, and is called in a "
            "branch or a loop that depends on values, which is traced once: call it before, and use one entry in each "
            "iteration",
            user_location(),
        )
    watch.before_calls(function)
    reached: dict[str, Any] = {"self": own}
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        module, code = function.__globals__, function.__code__
        reached |= {name: module[name] for name in code.co_names if name in module}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            reached[f"{CELL}{name}"] = cell
    watch.add(reached)


def watch_stream(name: str, stream: Stream) -> None:
    """Watch the state of a generator that is about to be drawn from, if anything is watched."""
    watch = _watch.get()
    if watch is not None:
        watch.add({name: stream})


def _draws(own: Any) -> bool:
    """Whether it is one of NumPy's random generators."""
    random = sys.modules.get("numpy.random")
    return random is not None and isinstance(own, (random.Generator, random.RandomState))


@contextmanager
def watching(where: str, names: Mapping[str, Any], line: "Location | None") -> Generator[Watch]:
    """Undo the block's changes of the objects that `names` reach.

    Raises:
        SideEffectError: the block changed something, and `Watch.take` was not called to handle it.
    """
    outer, watch = _watch.get(), Watch(where, names, line)
    token = _watch.set(watch)
    try:
        with undone_if_it_fails():
            yield watch
    except BaseException:
        watch.restore()
        raise
    finally:
        _watch.reset(token)
        if outer is not None:
            outer.keep(watch.before)
    if left := watch.take():
        changed = next(iter(left))
        raise SideEffectError(
            f"{where} depends on values, and changes `{changed}`: compute the new value there, and change `{changed}` "
            "after it",
            line,
        )


def _kind(x: Any) -> str:
    if is_numpy_array(x):
        return "NumPy array from outside the function"
    return type(x).__name__ if isinstance(x, CONTAINERS) else f"{type(x).__name__} with attributes"


def _reached(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The objects that can be changed, with the paths that lead to them."""
    seen: set[int] = set()
    level: list[tuple[str, Any]] = [
        (name.removeprefix(CELL), x)
        for name, x in names.items()
        if not name.startswith(HOOKS) or name.startswith(CELL)
    ]
    for _ in range(_DEEPEST):
        following: list[tuple[str, Any]] = []
        for path, x in level:
            if is_one_of(x):
                following += [(path, one) for one in entries_of(x)]
                continue
            if id(x) in seen or not _can_change(x):
                continue
            if len(seen) > _MOST:
                return
            seen.add(id(x))
            if not isinstance(x, tuple):
                yield path, x
            following += _parts(path, x)
        level = following


def _can_change(x: Any) -> bool:
    if is_traced(x) or isinstance(x, (type, ModuleType, FunctionType, MethodType)):
        return False
    if isinstance(x, (*CONTAINERS, tuple, np.ndarray, Stream, CellType)):
        return True
    if type(x).__module__.partition(".")[0] in _LIBRARIES | {"builtins"}:
        return False
    return isinstance(getattr(x, "__dict__", None), dict) or hasattr(type(x), "__slots__")


def _parts(path: str, x: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(x, dict):
        return [(f"{path}[{shown(key, 20)}]", one) for key, one in x.items()]
    if isinstance(x, (list, tuple, deque)):
        return [(f"{path}[{place}]", one) for place, one in enumerate(x)]
    if isinstance(x, (set, np.ndarray)):
        return ()
    if isinstance(x, CellType):
        return [(path, one) for one in content_of(x).values()]
    return [(f"{path}.{name}", one) for name, one in attributes(x).items()]


def _state(x: Any) -> Any:
    """A copy of its contents; for a large array, of its first and last entries."""
    if isinstance(x, np.ndarray):
        return x.copy() if x.nbytes <= LARGEST_CONTENT else (x.flat[:64].copy(), x.flat[-64:].copy())
    return _copy(x) if isinstance(x, CONTAINERS) else attributes(x)


def _copy(x: Any) -> Any:
    """A copy of a container as one of Python's own types."""
    kind = next(kind for kind in CONTAINERS if isinstance(x, kind))
    return kind(x)


def _is_state(x: Any, state: Any) -> bool:
    if isinstance(x, np.ndarray):
        if isinstance(state, tuple):
            return _is_equal(x.flat[:64], state[0]) and _is_equal(x.flat[-64:], state[1])
        return _is_equal(x, state)
    if isinstance(x, set):
        return bool(x == state)
    now = x if isinstance(x, CONTAINERS) else attributes(x)
    if isinstance(now, dict):
        return list(now) == list(state) and all(now[key] is state[key] for key in now)
    return len(now) == len(state) and all(one is other for one, other in zip(now, state, strict=True))


def _is_equal(x: Any, y: Any) -> bool:
    return bool(x.shape == y.shape and x.tobytes() == y.tobytes())


def _restore(x: Any, state: Any) -> None:
    if isinstance(x, np.ndarray):
        if not isinstance(state, tuple):
            x[...] = state
    elif isinstance(x, (list, deque)):
        x.clear()
        x.extend(state)
    elif isinstance(x, (dict, set)):
        x.clear()
        x.update(state)
    else:
        for name in attributes(x).keys() - state.keys():
            object.__delattr__(x, name)
        for name, value in state.items():
            object.__setattr__(x, name, value)
