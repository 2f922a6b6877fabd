"""Plausible values of dims, for when no call gives them."""

from collections.abc import Sequence
from itertools import islice, product

from ..errors import DimSpecError
from .dim import Comparison, Dim
from .scope import usual
from .terms import Size

MOST_TRIED = 100_000
_SMALL = (1, 2, 3, 4, 5, 6, 7, 8)


def likely_sizes(dims: Sequence[Dim], relations: Sequence[Comparison]) -> dict[str, int]:
    """Sizes within the limits of the dims for which the relations hold.

    >>> import tracemill as tm
    >>> A, B = tm.Dim("A", min=1), tm.Dim("B", max=64)
    >>> likely_sizes([A, B], [2 * A <= B])
    {'A': 1, 'B': 64}

    Raises:
        DimSpecError: none are found.
    """
    named = [dim.size for dim in dims]
    sizes = [size for size in named if size is not None]
    for values in islice(product(*map(_candidates, sizes)), MOST_TRIED):
        found = dict(zip([size.text for size in sizes], values, strict=True))
        if all(relation.holds(found) for relation in relations):
            return found
    raise DimSpecError(
        f"no sizes are found for which {' and '.join(map(repr, relations))}: write numbers for some of the dims"
    )


def _candidates(size: Size) -> list[int]:
    """The usual one, then others in ascending order."""
    least = -(-size.min // size.multiple_of)
    small = [(least + step) * size.multiple_of for step in (0, *_SMALL)]
    larger = [multiple * size.multiple_of for multiple in (10, 16, 32, 64, 128, 512, 1000)]
    return [
        value
        for value in dict.fromkeys((usual(size), *small, *larger))
        if size.min <= value and (size.max is None or value <= size.max)
    ]
