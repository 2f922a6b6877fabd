"""What can be chosen of a kernel, in the place of what the rules of blocks and tiles say."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from ...errors import ArgumentValueError
from ...nesting import shown

MOST: Final = {"warps": 32, "stages": 8, "parts": 1 << 16, "programs": 1 << 16}
"""Of other fields there may be as many as a block of Triton's has elements."""

LARGEST_BLOCK: Final = 1 << 20
_COUNTS: Final = ("stages", "parts", "programs")
"""What need not be a power of two."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How the functions of one kernel are cut up. What is None follows the rules, as does what a kernel has not.

    Raises:
        ArgumentValueError: a number that no kernel can have.
    """

    elements: int | None = None
    """A program of a loop nest computes so many at once."""
    rows: int | None = None
    """Of the tile of a product."""
    columns: int | None = None
    """Of that tile; of a loop nest, so many sums side by side where neighbours in memory belong to different ones."""
    depth: int | None = None
    """So many products are added at once."""
    warps: int | None = None
    """Groups of threads that compute a program."""
    stages: int | None = None
    """For so many turns of the loop operands are on their way into shared memory."""
    parts: int | None = None
    """Sums of products are cut into so many."""
    programs: int | None = None
    """So many at most go over rows in turn, and gather columns; or over the tiles of a product, of which the hardware
    copies operands."""

    def __post_init__(self) -> None:
        for name, number in self.fields.items():
            _check(name, number)

    @property
    def fields(self) -> dict[str, int]:
        """What is chosen."""
        return {name: number for name, number in asdict(self).items() if number is not None}

    def __str__(self) -> str:
        return ", ".join(f"{name} {number}" for name, number in self.fields.items()) or "by the rules"


RULES: Final = Choice()
"""Nothing is chosen."""

NAMES: Final = tuple(field.name for field in fields(Choice))


def choice_of(found: Mapping[str, Any]) -> Choice:
    """The choice whose fields these are.

    Raises:
        ArgumentValueError: there is no such field, or no kernel can have such a number.

    >>> choice_of({"warps": 8})
    Choice(elements=None, rows=None, columns=None, depth=None, warps=8, stages=None, parts=None, programs=None)
    """
    if unknown := sorted(set(found) - set(NAMES)):
        raise ArgumentValueError(f"{shown(unknown[0])} cannot be chosen: what can is {', '.join(NAMES)}")
    return Choice(**found)


def _check(name: str, number: Any) -> None:
    most = MOST.get(name, LARGEST_BLOCK)
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
        raise ArgumentValueError(f"{name} is a whole number from 1 to {most}, not {shown(number)}")
    if name not in _COUNTS and number & (number - 1):
        raise ArgumentValueError(f"{name} is a power of two, not {number}")
