"""Lists and dicts that the iterations of a staged loop exchange among its variables.

A staged loop carries the values in the containers of its variables, and each iteration gets new containers for them. It
follows which variables have exchanged their containers, as ``a, b = b, a`` does. Where two variables may have the same
container afterwards, neither can be written to.
"""

import gc
import sys
from collections import Counter
from collections.abc import Hashable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from itertools import starmap
from types import BuiltinMethodType, FrameType, GeneratorType, MethodType
from typing import Any, Final

from ....compiler.callers.user_code import HOOKS, is_own
from ....compiler.tracing.outside.users_classes import is_users_class
from ....compiler.tracing.traced_memory import is_traced
from ...branching.containers import contents_of, has_contents, outermost
from ...branching.object_identity import note_entered
from ...branching.object_states import reached
from ...branching.stand_ins import CopiedContainer, sources_of, stand_in_of
from ...branching.variables import held
from ...branching.watching import Watch

_HOLDERS: Final = (
    Iterator, GeneratorType, MethodType, BuiltinMethodType, BaseException, KeysView, ValuesView, ItemsView
)  # fmt: skip
_PASSED: Final = (tuple, list, dict)
_DEEPEST: Final = 3
_NAMES: Final = f"{HOOKS}_names"
"""The variable of a block with its arguments. A function has none."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Variables that exchange their containers."""

    keys: list[Hashable]
    outside: list[Any]
    """Containers from outside the loop that they may have."""
    is_permutation: bool
    """Whether no two of them have the same container, if they had different ones before."""
    is_written: bool
    """Whether an iteration writes to these containers."""


class Exchange:
    """What an iteration does with the containers that it gets."""

    def __init__(self, given: Mapping[Any, Any], entered: Mapping[Any, Any], watch: Watch) -> None:
        """`entered` are the values from before the loop, and `given` what the iteration gets in their place."""
        self._watch = watch
        self._given = {key: list(contents_of(x)) for key, x in given.items()}
        """For each variable, the containers in its value, with their contents."""
        self._entered = {key: list(contents_of(entered[key])) for key in given}
        self._groups: list[_Group] = []
        for found in self._given.values():
            for one, _ in found:
                watch.leave_alone(one)
        note_entered(one for found in self._given.values() for one, _ in found)
        note_entered(one for x in given.values() for one in held(x).arrays if is_traced(one) and one.ndim)

    def leave(self, left: Mapping[Any, Any]) -> None:
        """Note the values that an iteration leaves."""
        owner = {id(one): key for key, found in self._given.items() for one, _ in found}
        containers = {key: [one for one, _ in contents_of(left[key])] for key in self._given if key in left}
        bases = {
            key: [base for one in found for base in sources_of(one)] for key, found in containers.items()
        }
        uses = Counter(id(base) for found in bases.values() for base in found)
        users: dict[int, list[Hashable]] = {}
        linked: dict[Hashable, set[Hashable]] = {key: {key} for key in self._given}
        for key, found in bases.items():
            for base in found:
                for other in (owner.get(id(base), key), *users.setdefault(id(base), [])):
                    linked[key].add(other)
                    linked[other].add(key)
                users[id(base)].append(key)
        self._groups = []
        for keys in _components(linked):
            found = [base for key in keys for base in bases.get(key, ())]
            if not found and not any(self._given[key] for key in keys):
                continue
            these = [one for key in keys for one in containers.get(key, ())]
            outside = [base for base in found if id(base) not in owner and self._watch.knows(base)]
            known = (one for key in keys for one in (*self._given[key], *self._entered[key]))
            is_written = not all(starmap(has_contents, known)) or any(map(self._watch.has_changed, outside))
            is_permutation = len(found) == len(these) and all(uses[id(base)] == 1 for base in found)
            notes = map(stand_in_of, these)
            groups = {None if note is None else note.group for note in notes}
            is_permutation = is_permutation or (len(groups) == 1 and None not in groups)
            self._groups.append(_Group(keys, outside, is_permutation, is_written))

    def relate(self, entered: Mapping[Any, Any], found: Mapping[Any, Any]) -> None:
        """Relate the containers after the loop with those from before it.

        Raises:
            SideEffectError: an iteration writes to a container that several variables may have.
        """
        for group in self._groups:
            entering = [one for key in group.keys for one, _ in contents_of(entered[key])]
            before = [base for one in entering for base in sources_of(one)]
            after = [(key, one) for key in group.keys for one in outermost(found[key])]
            is_permutation = group.is_permutation and len(set(map(id, before))) == len(entering)
            distinct = object() if is_permutation else None
            for key, one in after:
                others = [] if is_permutation else [other for of, other in after if of != key]
                note = CopiedContainer(one, [*before, *group.outside, *others])
                note.group = distinct
                if group.is_written and (
                    group.outside
                    or not is_permutation
                    or _are_reached(before, frozenset(group.keys))
                    or _are_held(before)
                ):
                    raise note.refusal()


def _are_reached(objects: Sequence[Any], variables: frozenset[Any]) -> bool:
    """Whether the user's functions that are running reach one of some objects by other ways than these variables.

    A block of a function has a frame of its own. The variables of the same name in the frames around it get what the
    block leaves in its own.
    """
    wanted = set(map(id, objects))
    frame: FrameType | None = sys._getframe()
    own: str | None = None
    while frame is not None:
        code = frame.f_code
        if HOOKS in code.co_freevars:
            own = code.co_qualname if own is None else own
            names = {name: x for name, x in frame.f_locals.items() if not name.startswith(HOOKS)}
            if own == code.co_qualname:
                names = {name: x for name, x in names.items() if name not in variables}
                own = own if _NAMES in frame.f_locals else ""
            names |= {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals}
            if any(id(x) in wanted for _, x in reached(names)):
                return True
        frame = frame.f_back
    return False


def _are_held(objects: Sequence[Any]) -> bool:
    """Whether an iterator, a generator, a method or an exception holds one of some objects, directly, or in containers
    and objects of users' classes."""
    level: list[Any] = list(objects)
    for _ in range(_DEEPEST):
        holders = [one for one in gc.get_referrers(*level) if one is not level]
        if any(isinstance(one, _HOLDERS) and not _is_own_generator(one) for one in holders):
            return True
        level = [one for one in holders if isinstance(one, _PASSED) or is_users_class(type(one))]
    return False


def _is_own_generator(x: Any) -> bool:
    return isinstance(x, GeneratorType) and is_own(x.gi_code.co_filename)


def _components(linked: Mapping[Hashable, set[Hashable]]) -> Iterator[list[Hashable]]:
    """The groups of variables that are linked, directly or by others."""
    seen: set[Hashable] = set()
    for start in linked:
        stack, group = [start], []
        while stack:
            key = stack.pop()
            if key not in seen:
                seen.add(key)
                group.append(key)
                stack += linked[key]
        if group:
            yield group
