"""The tunable parameters of a kernel, which override the rules for blocks and tiles."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from ...arguments.option_checks import is_int
from ...errors import ArgumentValueError
from ...nesting import shown

MOST: Final = {"warps": 32, "stages": 8, "parts": 1 << 16, "programs": 1 << 16}
"""Other fields may be as large as the number of elements of a Triton block."""

LARGEST_BLOCK: Final = 1 << 20
_COUNTS: Final = ("stages", "parts", "programs")
"""The fields that need not be powers of two."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The parameters of the functions of one kernel. None follows the rules, and so do parameters that a kernel does
    not have.

    Raises:
        ArgumentValueError: a number that no kernel can have.
    """

    elements: int | None = None
    """Elements that a program of a loop nest computes at once."""
    rows: int | None = None
    """Rows of the tile of a product."""
    columns: int | None = None
    """Columns of that tile; for a loop nest, sums computed side by side if neighbours in memory belong to different
    ones."""
    depth: int | None = None
    """Products added in one step of the loop."""
    warps: int | None = None
    """Groups of threads that compute a program."""
    stages: int | None = None
    """Loop iterations for which operands are loaded ahead into shared memory."""
    parts: int | None = None
    """Pieces into which sums of products are split."""
    programs: int | None = None
    """The maximum number of programs that go over rows in turn and accumulate columns; or over the tiles of a product
    whose operands the hardware copies."""

    def __post_init__(self) -> None:
        for name, number in self.fields.items():
            _check(name, number)

    @property
    def fields(self) -> dict[str, int]:
        """The parameters that are set."""
        return {name: number for name, number in asdict(self).items() if number is not None}

    def __str__(self) -> str:
        return ", ".join(f"{name} {number}" for name, number in self.fields.items()) or "by the rules"


RULES: Final = Choice()
"""Whether nothing is set."""

NAMES: Final = tuple(field.name for field in fields(Choice))


def choice_of(found: Mapping[str, Any]) -> Choice:
    """The choice with these fields.

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
    if not is_int(number, 1) or number > most:
        raise ArgumentValueError(f"{name} is a whole number from 1 to {most}, not {shown(number)}")
    if name not in _COUNTS and number & (number - 1):
        raise ArgumentValueError(f"{name} is a power of two, not {number}")
