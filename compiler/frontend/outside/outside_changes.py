"""Finds what a function changes without the trace, while it is traced: outside, and in lists and dicts of its caller.

The function sees new containers in place of the caller's. A call of the compiled program makes the same changes in the
caller's: it returns the new contents, and they are put there.
"""

import operator
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import optree

from ...arguments.leaves import NAMESPACE, plain_key, with_plain_keys
from ...callers.function_names import describe
from ...callers.users_operators import defines_operators
from ...dtypes import Array
from ...errors import SideEffectError
from ...tracing.outside.contents import OutsideArrays, Written
from ...tracing.outside.object_walk import ObjectWalk
from ...tracing.trace import Trace, array_type
from ...tracing.traced_array import TracedArray
from .read_entries import entries_read
from .read_names import ReadName, ReadNames

Path: TypeAlias = tuple[int, ...]
"""Where an object is in ``(args, kwargs)``: the number of the child at each level."""

_WRITABLE: Final = (list, dict, deque)


@dataclass(frozen=True, slots=True)
class Kept:
    """An object of the caller."""

    path: Path


@dataclass(frozen=True, slots=True)
class New:
    """One of the objects that the function has made."""

    number: int


@dataclass(frozen=True, slots=True)
class NewContents:
    """What a container of the caller holds after the call."""

    path: Path
    keys: tuple[Any, ...] | None
    """The keys of a dict; None for a sequence."""
    entries: tuple[Kept | New, ...]


class WithChanges:
    """The result of a function, and the new contents of containers of its caller, which it has changed."""

    def __init__(self, new: Sequence[Any], result: Kept | New, contents: tuple[NewContents, ...]) -> None:
        self.new, self.result, self.contents = tuple(new), result, contents
        """The objects that the function has made, once each; the result; the new contents."""

    def applied(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result, after putting the new contents into the caller's containers."""

        def object_of(one: Kept | New) -> Any:
            return self.new[one.number] if isinstance(one, New) else _at((args, kwargs), one.path)

        result = object_of(self.result)
        filled = [list(map(object_of, contents.entries)) for contents in self.contents]
        targets = [_at((args, kwargs), contents.path) for contents in self.contents]
        for target, contents, entries in zip(targets, self.contents, filled, strict=True):
            target.clear()
            if contents.keys is None:
                target.extend(entries)
            else:
                target.update(zip(contents.keys, entries, strict=True))
        return result


_register: Any = optree.register_pytree_node  # its annotation asks for a collection
_register(
    WithChanges,
    lambda x: (x.new, (x.result, x.contents)),
    lambda metadata, new: WithChanges(new, *metadata),
    namespace=NAMESPACE,
)


def _children(x: Any) -> list[Any]:
    return list(optree.tree_flatten_one_level(x, namespace=NAMESPACE)[0])


def _at(call: Any, path: Path) -> Any:
    for number in path:
        call = _children(call)[number]
    return call


def are_containers_repeated(args: tuple[Any, ...], kwargs: dict[str, Any], outside: Iterable[Any]) -> bool:
    """Whether a list, a dict or a deque is in several places of a call, or among objects `outside` of it.

    What is changed in one place shows in the others.
    """
    seen, stack = {id(x) for x in outside if isinstance(x, _WRITABLE)}, [args, kwargs]
    while stack:
        x: Any = stack.pop()
        if not optree.tree_is_leaf(x, namespace=NAMESPACE):
            stack += _children(x)
        if isinstance(x, _WRITABLE):
            if id(x) in seen:
                return True
            seen.add(id(x))
    return False


class ArgumentContainers:
    """The containers and registered objects among the arguments, with what they hold before the call."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self._before: list[tuple[str, Path, Any, list[Any], Any, list[Any]]] = []
        """For each one: its name, its path, the object, its children, what else it holds, and the order of its keys."""
        self._objects: dict[int, tuple[Any, Path]] = {}
        """The objects of the caller, by id."""
        self.kinds: set[type] = set()
        """The classes of what holds others."""
        for number, one in enumerate(args):
            self._note(f"args[{number}]", (0, number), one)
        for number, (name, one) in enumerate(sorted(kwargs.items())):
            self._note(f"kwargs[{name!r}]", (1, number), one)

    def _note(self, name: str, path: Path, x: Any) -> None:
        self._objects.setdefault(id(x), (x, path))
        if isinstance(x, TracedArray) or optree.tree_is_leaf(x, namespace=NAMESPACE):
            return
        self.kinds.add(type(x))
        children, metadata, entries, _ = optree.tree_flatten_one_level(x, namespace=NAMESPACE)
        if not isinstance(x, tuple):
            self._before.append((name, path, x, list(children), metadata, _keys(x)))
        for number, (entry, child) in enumerate(zip(entries, children, strict=True)):
            self._note(f"{name}[{entry!r}]", (*path, number), child)

    def note_in(self, trace: Trace) -> None:
        """Let branches and loops change the containers, whose changes the caller will see."""
        trace.outermost().returned |= {id(x) for _, _, x, *_ in self._before if isinstance(x, _WRITABLE)}

    def _changed(self) -> list[tuple[str, Path, Any]]:
        found = []
        for name, path, x, before, metadata, keys in self._before:
            children, now, *_ = optree.tree_flatten_one_level(x, namespace=NAMESPACE)
            is_same = now == metadata and _keys(x) == keys and len(children) == len(before)
            if not (is_same and all(map(operator.is_, children, before))):
                found.append((name, path, x))
        return found

    @property
    def changed(self) -> list[Any]:
        """The lists, dicts and deques that hold something else than before."""
        return [x for _, _, x in self._changed() if isinstance(x, _WRITABLE)]

    def with_changes(self, function: Callable[..., Any], result: Any) -> Any:
        """The result of a function, with what the function has changed if it has.

        Raises:
            SideEffectError: it has changed an object of a registered class.
        """
        changed = self._changed()
        if not changed and not (isinstance(result, (*_WRITABLE, set)) and self.is_callers(result)):
            return result
        new: dict[int, tuple[int, Any]] = {}

        def placed(x: Any) -> Kept | New:
            if self.is_callers(x):
                return Kept(self._objects[id(x)][1])
            return New(new.setdefault(id(x), (len(new), x))[0])

        returned = placed(result)
        contents: list[NewContents] = []
        for name, path, x in changed:
            if not isinstance(x, _WRITABLE):
                raise _refusal(function, name, x)
            entries = tuple(map(placed, x.values() if isinstance(x, dict) else x))
            contents.append(
                NewContents(path, tuple(map(plain_key, _keys(x))) if isinstance(x, dict) else None, entries)
            )
        return WithChanges([with_plain_keys(x) for _, x in new.values()], returned, tuple(contents))

    def is_callers(self, x: Any) -> bool:
        """Whether it is an array or a container of the caller."""
        return id(x) in self._objects and self._objects[id(x)][0] is x

    def change_as_well(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Make the changes of a function also in the containers of other arguments of the same structure.

        Raises:
            SideEffectError: it has changed an object of a registered class.
        """
        for name, path, x in self._changed():
            target = _at((args, kwargs), path)
            if target is x:
                continue
            if not isinstance(x, _WRITABLE):
                raise _refusal(function, name, x)
            target.clear()
            if isinstance(x, dict):
                target.update(x)
            else:
                target.extend(x)

    def refuse_changes(self, function: Callable[..., Any]) -> None:
        """Refuse what a function has changed.

        Raises:
            SideEffectError: it has changed something.
        """
        for name, _, x in self._changed()[:1]:
            raise _refusal(function, name, x)


def _keys(x: Any) -> list[Any]:
    """The keys of a dict, in their order."""
    return list(x) if isinstance(x, dict) else []


def _refusal(function: Callable[..., Any], name: str, x: Any) -> SideEffectError:
    return SideEffectError(
        f"{describe(function)} changes {name}, a {type(x).__name__}, which would stay as it is for the caller: change "
        "a copy, as in copy.copy(x), and return it"
    )


class OutsideChanges:
    """Changes of arrays, which the program must make in each call, and of lists, dicts and objects from outside."""

    def __init__(self, replaced: tuple[Array, ...]) -> None:
        self.replaced = replaced
        """The arrays that the function sees as traced arrays from the beginning."""
        self._outside: OutsideArrays | None = None
        self._roots: tuple[Any, ...] = ()

    def watch(self, roots: Iterable[Any]) -> None:
        """Note the arrays that the function can reach before it runs."""
        self._roots = tuple(roots)
        self._outside = OutsideArrays(self._roots)

    @property
    def outside_objects(self) -> ObjectWalk | None:
        """The objects that the function could reach before it ran."""
        return None if self._outside is None else self._outside.objects

    @property
    def have_operators(self) -> bool:
        """Whether the function can reach objects whose operators need hooks for what they do with traced numbers."""
        return self.outside_objects is not None and any(map(defines_operators, self.outside_objects.kinds))

    def names_read(self, found: ReadNames) -> Iterator[ReadName]:
        """The names, entries and attributes that the function has read."""
        yield from found.names.values()
        if self.outside_objects is not None:
            yield from entries_read(self.outside_objects, found)

    def changed(self) -> str:
        """What the function has changed outside, other than arrays; empty if nothing."""
        return "" if self._outside is None else self._outside.used_up or self._outside.changed

    def changed_objects(self) -> str:
        """`changed`, but not a cache that the function has filled, or a random generator."""
        return "" if self._outside is None else self._outside.changed_objects

    @property
    def keeps_traced(self) -> bool:
        """Whether the function has put a traced array or a symbolic size outside."""
        return self._outside is not None and self._outside.keeps_traced

    @property
    def can_be_undone(self) -> bool:
        """Whether what the function changes outside can be restored: not what it took from an iterator."""
        return self._outside is not None and not self._outside.used_up

    def undo(self) -> None:
        """Restore the lists, dicts and objects that the function has changed outside."""
        if self._outside is not None:
            self._outside.restore()

    def undo_all(self) -> bool:
        """Restore all that the function has changed outside. If something cannot be restored, do nothing: False."""
        if self.can_be_undone:
            self.undo()
        return self.can_be_undone

    @contextmanager
    def undone(self) -> Generator[OutsideArrays]:
        """Undo what the block changes outside. It gives what is outside before that."""
        before = OutsideArrays(self._roots)
        try:
            yield before
        finally:
            for one in before.written():
                if one.can_be_restored:
                    one.restore()
            before.restore()

    def holds(self, first: int, last: int) -> bool:
        """Whether the function can reach the memory between two addresses without having made it."""
        return self._outside is None or self._outside.holds_memory(first, last)

    def found(
        self, adopted: Iterable[Array], seen: set[tuple[int, int]], function: Callable[..., Any]
    ) -> bool:
        """Whether to trace the function again, with traced arrays from the beginning. Its writes are then undone."""
        outside = self._outside
        if outside is None:
            return False
        by_numpy = outside.written(seen)
        new = [x for x in adopted if outside.holds(x)] + [one.array for one in by_numpy]
        new = [x for x in new if not any(np.may_share_memory(x, known) for known in self.replaced)]
        for one in by_numpy:
            if not (one.can_be_restored and any(x is one.array for x in new)):
                raise _written_by_numpy(one, function)
            if changed := outside.changed:
                raise _depends_on_python(one, changed, function)
            one.restore()
        if new:
            outside.restore()
            self.replaced = (*self.replaced, *new)
        return bool(new)


def changed_outside(what: str, function: Callable[..., Any]) -> SideEffectError:
    """The error for a change that would happen only while the function is traced. It may be a cache that is filled."""
    error = SideEffectError(
        f"{describe(function)} changes {what}, which is outside of it, and a program for these values would not "
        "change it in each call: return the new value, and change it after the call"
    )
    error.runs_uncompiled = error.may_fill_cache = True
    return error


def changed_in_step(writes: OutsideChanges, function: Callable[..., Any]) -> SideEffectError | None:
    """The error for a loop whose steps are one program, which would have the changes of one step; None if it changes
    nothing."""
    what = writes.changed_objects()
    if not what:
        return None
    error = SideEffectError(
        f"{describe(function)} changes {what}, which is outside of it, in each step of a loop that is traced once: "
        "carry it from step to step. Without compile, such a loop runs step by step if its condition is the same in "
        "all examples and checkpoint_every is not given"
    )
    error.runs_uncompiled = True
    return error


def _written_by_numpy(one: Written, function: Callable[..., Any]) -> SideEffectError:
    name = one.path or "w"
    return SideEffectError(
        f"{describe(function)} writes to `{name}`, an array from outside of {array_type(one.array)}, while it is "
        f"traced, which would not happen whenever it runs: write to w = np.asarray({name}), as in w[...] = w + 1, or "
        "pass the array as an argument"
    )


def _depends_on_python(one: Written, changed: str, function: Callable[..., Any]) -> SideEffectError:
    name = one.path or "w"
    return SideEffectError(
        f"{describe(function)} writes to `{name}`, an array from outside of {array_type(one.array)}, and changes "
        f"{changed}, too, which is looked at once, when the function is traced: what it writes may then be another "
        f"in each call. Keep {changed} in an array, or change it outside of the function"
    )
