"""`Slot`: an attribute of an object, or an entry of a list or a dict, that a branch or a loop sets like a variable."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CellType
from typing import Any, Final

from ...compiler.nesting import shown

CONTAINERS: Final = (list, dict, set, deque)


@dataclass(frozen=True)
class AppendedItems:
    """The key of the items that were appended to a list."""

    start: int


@dataclass(frozen=True)
class Slot:
    """A place in an object or a container that holds a value."""

    place: tuple[int, Any]
    """The id of the holder, and the key in it."""
    path: str = field(compare=False)
    """How the function reaches it: ``model.weights[0]``."""
    holder: Any = field(compare=False)

    @classmethod
    def of(cls, path: str, holder: Any, key: Any) -> "Slot":
        if isinstance(holder, CellType):
            return cls((id(holder), key), path, holder)
        place = f"{key.start}:" if isinstance(key, AppendedItems) else shown(key, 20)
        name = f"{path}[{place}]" if isinstance(holder, CONTAINERS) else f"{path}.{key}"
        return cls((id(holder), key), name, holder)

    @property
    def value(self) -> Any:
        """The current value."""
        key = self.place[1]
        return self.holder[key.start :] if isinstance(key, AppendedItems) else contents(self.holder)[key]

    @property
    def is_tail(self) -> bool:
        """Whether it stands for the items that were appended to a list."""
        return isinstance(self.place[1], AppendedItems)

    def set(self, value: Any) -> None:
        """Replace the value."""
        holder, key = self.holder, self.place[1]
        if isinstance(key, AppendedItems):
            holder[key.start :] = value
        elif isinstance(holder, (list, dict, deque)):
            holder[key] = value
        else:
            object.__setattr__(holder, key, value)

    def __str__(self) -> str:
        return self.path


class GeneratorState:
    """The state of a random generator that the function has seeded. Branches and loops treat it like a variable."""

    def __init__(self, state: Any) -> None:
        self.state = state
        """64-bit numbers, which may be traced."""


def contents(x: Any) -> Mapping[Any, Any]:
    """The values in a list, a dict or an object, by key."""
    if isinstance(x, (list, deque)):
        return dict(enumerate(x))
    return dict(x) if isinstance(x, dict) else attributes(x)


def content_of(cell: CellType) -> dict[str, Any]:
    """The value in the cell of a variable, by its name; empty if the variable is unset."""
    try:
        return {"cell_contents": cell.cell_contents}
    except ValueError:
        return {}


def attributes(x: Any) -> dict[str, Any]:
    """The attributes of the object itself, including those in `__slots__`; for the cell of a variable, its content."""
    if isinstance(x, CellType):
        return content_of(x)
    found = dict(getattr(x, "__dict__", ()))
    for kind in type(x).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                found[name] = object.__getattribute__(x, name)
    return found


def changed_slots(path: str, x: Any, state: Any, *, may_grow: bool) -> "list[Slot] | None":
    """The slots of `x` whose values have changed; None if anything else has changed.

    If a list may grow, the appended items are one of the slots.
    """
    if may_grow and isinstance(x, list) and len(x) > len(state):
        changed = [Slot.of(path, x, place) for place, one in enumerate(state) if x[place] is not one]
        return [*changed, Slot.of(path, x, AppendedItems(len(state)))]
    if isinstance(x, set) or not isinstance(state, (list, dict, deque)):
        return None
    before = contents(state)
    now = contents(x)
    if list(before) != list(now):
        return None
    return [Slot.of(path, x, key) for key in now if now[key] is not before[key]]
