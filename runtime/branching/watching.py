"""`watching`: finds and undoes the side effects of a block that is traced once but may run any number of times.

Tracing records what the block does to arrays of the program. Other changes are found by comparing the objects that the
block and the functions that it calls can reach, before and after it.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from random import Random
from types import FunctionType
from typing import Any, TypeVar

from ...compiler.callers.user_code import user_location
from ...compiler.errors import SideEffectError
from ...compiler.frontend.closure_cells import CELL
from ...compiler.ir import Location
from ...compiler.tracing.sharing import rollback_on_error
from .containers import CONTAINERS
from .object_states import described, globals_set, identity, is_state, reached, restore, state_of
from .slots import GeneratorState, Slot, changed_slots
from .stand_ins import sources_of, update_stand_ins
from .stand_ins_in_blocks import (
    check_arrays,
    forget_finished,
    forget_on_error,
    renew_notes,
    restoring_stand_ins,
)
from .variables import Held, held

T = TypeVar("T")

_Watched = tuple[str, Any, Any]
"""An object that can change: how the function reaches it, the object, and a copy of its contents."""


class Watch:
    """The objects that a block reaches and can change, with their contents from before the block."""

    def __init__(self, where: str, names: Mapping[str, Any], line: "Location | None") -> None:
        self.where, self.line = where, line
        self.before: list[_Watched] = []
        self.before_calls: Callable[[Any], None] = lambda function: None
        """Is asked about each function that the block calls, before the call."""
        self._known: set[Any] = set()
        self._of_functions: set[Any] = set()
        """The objects that functions reach which the block calls, by their identity. Unlike objects of its variables,
        none of these is made by the block."""
        self._keep((path, x, state_of(x)) for path, x in _reached(names))
        self.flattened: dict[Slot, Held] = {}
        """The attributes and entries that had changed, as the block has left them: containers in them still hold what
        it has put there."""

    def add(self, names: Mapping[str, Any]) -> None:
        """Watch also the objects that these names of a function reach."""
        found = list(_reached(names))
        self._of_functions |= {identity(x) for _, x in found}
        self._keep((path, x, state_of(x)) for path, x in found if identity(x) not in self._known)

    def add_from(self, inner: "Watch") -> None:
        """Watch also what functions reach that a block in this one has called."""
        self._of_functions |= inner._of_functions
        self._keep(one for one in inner.before if identity(one[1]) in inner._of_functions)

    def _keep(self, watched: Iterable[_Watched]) -> None:
        for one in watched:
            if identity(one[1]) not in self._known:
                self._known.add(identity(one[1]))
                self.before.append(one)

    def leave_alone(self, x: Any) -> None:
        """Do not watch an object that only the block uses."""
        self._known.add(identity(x))

    def knows(self, x: Any) -> bool:
        """Whether an object could be reached before the block."""
        return identity(x) in self._known

    def has_changed(self, x: Any) -> bool:
        """Whether an object that could be reached before the block has changed."""
        return any(one is x and not is_state(one, state) for _, one, state in self.before)

    def take(self, *, may_grow: bool = False) -> dict[Slot, Any]:
        """Undo all changes, and return the attributes and entries that had changed, with their new values.

        With `may_grow`, items appended to a list are among them.

        Raises:
            SideEffectError: something else has changed, such as the length of a list.
        """
        found: dict[Slot, Any] = {}
        refused: list[str] = []
        lists: list[str] = []
        changed = [(path, x, state) for path, x, state in self.before if not is_state(x, state)]
        for path, x, state in changed:
            slots = changed_slots(path, x, state, may_grow=may_grow)
            if slots is None:
                refused.append(described(path, x, state))
                lists += [path] * (type(x) is list)
            found.update((slot, slot.value) for slot in slots or ())
        self.flattened = {slot: held(value) for slot, value in found.items()}
        for _, x, state in changed:
            restore(x, state)
        if refused:
            error = self.refusal(refused[0])
            error.lists = tuple(lists) if len(lists) == len(refused) else ()
            raise error
        return found

    def refusal(self, changed: str) -> SideEffectError:
        """The error for a change that cannot be traced."""
        is_loop = self.where.startswith(("`for`", "`while`"))
        why = (
            f"one trace of {self.where} must serve all iterations"
            if is_loop
            else f"{self.where} depends on values, so it is traced whether it runs or not"
        )
        append = "" if is_loop else ", or append to the list in both branches"
        return SideEffectError(
            f"{why}, but it changes {changed}. Instead, assign to a variable, or write to the entries of an array "
            f"that the function makes, such as np.zeros(…){append}",
            self.line,
        )

    def run(
        self, block: Callable[[], T], slots: Mapping[Slot, Any], *, may_grow: bool = False
    ) -> tuple[T, dict[Slot, Any]]:
        """Run a block with values in slots. Returns its result and the new values of slots, and undoes all changes."""
        with restoring_stand_ins():
            try:
                for slot, value in slots.items():
                    slot.set(value)
                renew_notes(slot.holder for slot in slots)
                found = block()
                update_stand_ins()
                check_arrays()
            except BaseException:
                self.restore()
                raise
            left = {slot: slot.value for slot in slots}
            flattened = {slot: held(value) for slot, value in left.items()}
            changed = self.take(may_grow=may_grow)
            self.flattened = flattened | self.flattened
        return found, left | changed

    def restore(self) -> None:
        """Undo all changes."""
        for _, x, state in self.before:
            if not is_state(x, state):
                restore(x, state)


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
    watch.add(reached_by(function))


def _reached(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The objects that can be changed, and those that a stand-in stands for, with the paths that lead to them."""
    for path, x in reached(names):
        yield path, x
        if isinstance(x, CONTAINERS):
            for one in sources_of(x):
                if one is not x:
                    yield from reached({path: one})


def reached_by(function: Any) -> dict[str, Any]:
    """What calling a function, a class or an object can change, by how the function reaches it."""
    found: dict[str, Any] = {}
    while isinstance(function, partial):
        found |= {"args": function.args, "keywords": function.keywords}
        function = function.func
    if isinstance(function, type):
        found["cls"], function = function, function.__init__  # type: ignore[misc]
    else:
        found["self"] = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType) and isinstance(call := type(function).__call__, FunctionType):
        found["self"], function = function, call
    if isinstance(function, FunctionType):
        module, code = function.__globals__, function.__code__
        found[function.__name__] = function
        found |= {name: module[name] for name in code.co_names if name in module}
        found |= {f"global {one.name}": one for one in globals_set(code, module)}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            found[f"{CELL}{name}"] = cell
    return found


def watch_stream(name: str, stream: GeneratorState) -> None:
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
        with rollback_on_error(), forget_on_error():
            yield watch
    except BaseException:
        watch.restore()
        raise
    finally:
        _watch.reset(token)
        if outer is not None:
            outer.add_from(watch)
        forget_finished()
    if left := watch.take():
        changed = next(iter(left))
        raise SideEffectError(
            f"{where} depends on values, and changes `{changed}`: compute the new value there, and change `{changed}` "
            "after it",
            line,
        )
