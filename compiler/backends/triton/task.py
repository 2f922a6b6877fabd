"""`Task`: what a call of a graph becomes in a plan, before arrays have places."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...ir import ArrayType, Value
from .plan import Slot, Step

StepsAt: TypeAlias = Callable[[Sequence[Slot], Sequence[Slot], Sequence[Slot]], Sequence[Step]]
"""``steps_at(inputs, outputs, scratch)``: the steps, once the places of the arrays are known."""


@dataclass(frozen=True, slots=True)
class Task:
    """Calls that run as one step or a few."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    scratch: tuple[ArrayType, ...]
    """Its workspace."""
    steps_at: StepsAt
