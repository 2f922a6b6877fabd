"""`Slot`: an attribute of an object, or an entry of a list or a dict: a branch or a loop may set it like a variable."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CellType
from typing import Any, Final

from ...compiler.nesting import shown

CONTAINERS: Final = (list, dict, set, deque)


@dataclass(frozen=True)
class Tail:
    """The key of what has been appended to a list."""

    start: int


@dataclass(frozen=True)
class Slot:
    """Where a value stands in something that can change."""

    place: tuple[int, Any]
    """The id of what holds it, and the key there."""
    path: str = field(compare=False)
    """How the function reaches it."""
    holder: Any = field(compare=False)

    @classmethod
    def of(cls, path: str, holder: Any, key: Any) -> "Slot":
        if isinstance(holder, CellType):
            return cls((id(holder), key), path, holder)
        place = f"{key.start}:" if isinstance(key, Tail) else shown(key, 20)
        name = f"{path}[{place}]" if isinstance(holder, CONTAINERS) else f"{path}.{key}"
        return cls((id(holder), key), name, holder)

    @property
    def value(self) -> Any:
        """What stands there now."""
        key = self.place[1]
        return self.holder[key.start :] if isinstance(key, Tail) else contents(self.holder)[key]

    @property
    def is_tail(self) -> bool:
        """Whether it is what has been appended to a list."""
        return isinstance(self.place[1], Tail)

    def set(self, value: Any) -> None:
        """Put something else there."""
        holder, key = self.holder, self.place[1]
        if isinstance(key, Tail):
            holder[key.start :] = value
        elif isinstance(holder, (list, dict, deque)):
            holder[key] = value
        else:
            object.__setattr__(holder, key, value)

    def __str__(self) -> str:
        return self.path


class Stream:
    """The state of a random generator that a function has seeded: a variable, as far as branches and loops go."""

    def __init__(self, state: Any) -> None:
        self.state = state
        """Numbers of 64 bits, which may be traced."""


def contents(x: Any) -> Mapping[Any, Any]:
    """What stands in a list, a dict or an object, by key."""
    if isinstance(x, (list, deque)):
        return dict(enumerate(x))
    return dict(x) if isinstance(x, dict) else attributes(x)


def content_of(cell: CellType) -> dict[str, Any]:
    """What stands in the cell of a variable, if that is set."""
    try:
        return {"cell_contents": cell.cell_contents}
    except ValueError:
        return {}


def attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object itself, those in `__slots__` included; of the cell of a variable, its content."""
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
    """The slots of something that hold something else than before; None if more than that has changed.

    If a list may grow, what was appended to it is one of them.
    """
    if may_grow and isinstance(x, list) and len(x) > len(state):
        changed = [Slot.of(path, x, place) for place, one in enumerate(state) if x[place] is not one]
        return [*changed, Slot.of(path, x, Tail(len(state)))]
    if isinstance(x, set) or not isinstance(state, (list, dict, deque)):
        return None
    before = contents(state)
    now = contents(x)
    if list(before) != list(now):
        return None
    return [Slot.of(path, x, key) for key in now if now[key] is not before[key]]
