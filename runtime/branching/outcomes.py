"""`Outcome`: how a block of a function ended, and what its variables are then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .slots import Slot
from .slots_outside import note_set


class Unset:
    """Stands for the value of a variable that has none."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET: Final = Unset()

FELL: Final = 0
"""The block fell off its end: of a turn, the loop goes on."""
BROKEN: Final = 1
"""The loop ends."""
RETURNED: Final = 2
"""The function returns."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a block ended. Where that depends on values, `kind` is a traced number."""

    kind: Any
    value: Any
    """What the function returns, if it does; else UNSET."""
    names: Mapping[str, Any]
    """The variables that are set."""
    slots: Mapping[Slot, Any] = field(default_factory=dict)
    """The attributes and entries that have changed."""

    def applied(self) -> "Outcome":
        """The same, after attributes and entries have been set."""
        for slot, value in self.slots.items():
            note_set(slot)
            slot.set(value)
        return self
