"""What an object of the user's classes holds: read and set without the properties and descriptors of its class."""

from contextlib import suppress
from types import MemberDescriptorType
from typing import Any, TypeAlias

from ...tracing.outside.users_classes import slot_members

State: TypeAlias = dict["str | MemberDescriptorType", Any]
"""By the descriptor of a slot, or by the name of an entry of ``__dict__``."""


def state_of(x: Any) -> State:
    """The slots and the entries of ``__dict__`` that are set."""
    found: State = {}
    for slot in slot_members(type(x)):
        with suppress(AttributeError):  # it is unset
            found[slot] = slot.__get__(x, type(x))
    found.update(entries_of(x) or {})
    return found


def set_state(x: Any, state: State) -> None:
    """Set what an object holds, and delete the rest."""
    for slot in slot_members(type(x)):
        if slot in state:
            slot.__set__(x, state[slot])
        else:
            with suppress(AttributeError):  # it is unset
                slot.__delete__(x)
    entries = entries_of(x)
    if entries is not None:
        entries.clear()
        entries.update(
            (key, value) for key, value in state.items() if not isinstance(key, MemberDescriptorType)
        )


def entries_of(x: Any) -> dict[str, Any] | None:
    """The ``__dict__`` of an object, if it has one."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def shows_all_slots(kind: type) -> bool:
    """Whether all slots can be found: a class may have replaced the descriptor of one."""
    declared = 0
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else tuple(slots)
        declared += sum(name not in ("__dict__", "__weakref__") for name in names)
    return declared == len(list(slot_members(kind)))


def shown(key: "str | MemberDescriptorType") -> str:
    """The name of an attribute."""
    return key.__name__ if isinstance(key, MemberDescriptorType) else key
