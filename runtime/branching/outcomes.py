"""`Outcome`: how a block of a function ended, and the values of its variables then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .containers import contents_of
from .slots import Slot
from .slots_outside import note_set
from .stand_ins import update_stand_ins
from .stand_ins_in_blocks import renew_notes


class Unset:
    """Stands for the value of an unset variable."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET: Final = Unset()

FELL: Final = 0
"""Control reached the end of the block; a loop continues with the next iteration."""
BROKEN: Final = 1
"""A `break` ended the loop."""
RETURNED: Final = 2
"""The function returned."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a block ended. If that depends on values, `kind` is a traced number."""

    kind: Any
    value: Any
    """The value that the function returns; UNSET if it does not return."""
    names: Mapping[str, Any]
    """The variables that are set."""
    slots: Mapping[Slot, Any] = field(default_factory=dict)
    """The attributes and entries that have changed."""

    def applied(self) -> "Outcome":
        """Set the changed attributes and entries; returns the outcome itself."""
        for slot, value in self.slots.items():
            note_set(slot)
            slot.set(value)
        renew_notes(slot.holder for slot in self.slots)
        renew_notes(one for one, _ in contents_of((self.value, *self.names.values(), *self.slots.values())))
        update_stand_ins()
        return self
