"""All values of a size that has few: comparisons of it alone are tried on each, which is quicker than to prove them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from .bounds import Interval, own_range
from .dim import Comparison
from .terms import Size, sizes_in

MOST_VALUES: Final = 64

Verdict: TypeAlias = bool | Literal["open"] | None
"""True, False or None as `Assumptions.decide` gives them; "open" where the values do not tell."""


@dataclass(frozen=True, slots=True)
class Trials:
    """All values of a size that satisfy what is known of it alone; none if there are too many."""

    size: Size
    values: Sequence[int]
    are_possible: bool
    """Each is one for some sizes of the others. Else what is known of them together may rule it out."""

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
    """The values of a size of which these relations hold, and which lies in its range, in its multiples."""
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
