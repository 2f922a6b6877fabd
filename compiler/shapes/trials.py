"""All values of a size that has few: trying a comparison of this size alone on each is faster than a proof."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from .bounds import Interval, own_range
from .dim import Comparison
from .terms import Size, sizes_in

MOST_VALUES: Final = 64

Verdict: TypeAlias = bool | Literal["open"] | None
"""True, False or None as from `Assumptions.decide`; "open" if the values do not decide."""


@dataclass(frozen=True, slots=True)
class Trials:
    """All values of a size that satisfy what is known about it alone; none if there are too many."""

    size: Size
    values: Sequence[int]
    are_possible: bool
    """Each value is possible for some sizes of the others. Otherwise, what is known about several sizes may exclude
    it."""

    def verdict(self, comparison: Comparison) -> Verdict:
        """Whether a comparison of this size alone holds."""
        seen: set[bool] = set()
        for value in self.values:
            holds = _holds(comparison, self.size, value)
            if holds is None:
                return "open"
            seen.add(holds)
            if len(seen) > 1:
                return None if self.are_possible else "open"
        return seen.pop() if seen else "open"


def trials_of(size: Size, relations: Sequence[Comparison], ranges: Mapping[Size, Interval]) -> Trials:
    """The values of a size in its range, in units of its multiple, for which these relations hold."""
    low, high = ranges.get(size) or own_range(size)
    if high - low >= MOST_VALUES:
        return Trials(size, (), are_possible=False)
    about = [relation for relation in relations if size in sizes_in(relation.terms)]
    own = [relation for relation in about if len({*sizes_in(relation.terms)}) == 1]
    values = [number * size.multiple_of for number in range(int(low), int(high) + 1)]
    found = [value for value in values if all(_holds(one, size, value) for one in own)]
    return Trials(size, found, are_possible=len(own) == len(about))


def _holds(comparison: Comparison, size: Size, value: int) -> bool | None:
    """None if it divides by 0."""
    try:
        return comparison.holds({size.text: value})
    except ZeroDivisionError:
        return None
