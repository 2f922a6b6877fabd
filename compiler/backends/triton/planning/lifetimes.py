"""When a program for a GPU needs each piece of its memory."""

from collections.abc import Iterator
from typing import TypeAlias

from ....analysis.memory_use import Lifetime
from ..plan import Plan, Region, Slot

_Key: TypeAlias = tuple[Region, int, str]


def lifetimes_of(plan: Plan) -> Iterator[Lifetime]:
    """Arguments, then outputs and the arena's arrays in the order of their use. The memory inside loops is left out."""
    end = max(0, len(plan.steps) - 1)
    for slot in plan.inputs:
        yield Lifetime(slot.name, slot.type.nbytes, "argument", None, 0, end)
    first: dict[_Key, int] = {}
    last: dict[_Key, int] = {}
    slots: dict[_Key, Slot] = {}
    for number, step in enumerate(plan.steps):
        for slot in step.touched:
            if slot.region in (Region.ARENA, Region.OUTPUT):
                key: _Key = (slot.region, slot.at, slot.name)
                slots.setdefault(key, slot)
                first.setdefault(key, number)
                last[key] = number
    for key, slot in sorted(slots.items(), key=lambda item: first[item[0]]):
        is_output = slot.region is Region.OUTPUT
        place, offset = ("output", None) if is_output else ("arena", slot.at)
        yield Lifetime(
            slot.name, slot.type.nbytes, place, offset, first[key], end if is_output else last[key]
        )
