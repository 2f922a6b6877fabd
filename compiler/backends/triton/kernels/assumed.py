"""The sizes for which a kernel is made, if not all: facts about the current call become guards."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, Final

from ....affine import Affine, Variable
from ....errors import UndecidedDimError
from ....ir import Location
from ....shapes.dim import Dim, of_size
from ....shapes.terms import Size
from ....symbolic_size import SymbolicSize, assume, is_known, typical
from ..plan import ALIGNED

LARGEST_BLOCK: Final = 1 << 17
"""Of elements."""

LONGEST: Final = 1 << 31
"""No row with more elements than this is sorted."""

LOOSE: Final = 4
"""A block is for extents down to this fraction of it."""


def power_of_two(size: int) -> int:
    """The smallest power of two that is at least this; for a symbolic size, for its typical value."""
    return 1 << max(0, typical(size) - 1).bit_length()


def pieces(count: int, size: int) -> int:
    """How many pieces of a size contain this many elements."""
    return (count + (size - 1)) // size


def block_of(extent: int, least: int = 1, most: int = LARGEST_BLOCK) -> int | None:
    """A power of two that holds this many elements, and little more; None if none up to `most` does in all calls.

    The one for the current call becomes, by a guard, one for all sizes that need about as many, or at most `least`.
    """
    if not isinstance(extent, SymbolicSize):
        return power_of_two(extent)
    block = least
    while block <= most:
        if is_known(extent <= block):
            return block
        if assume(extent <= block):
            if block > least:
                assume(extent > block // LOOSE)
            return block
        block *= 2
    return None


def assumed(fact: Any) -> bool | None:
    """Whether a comparison holds: for the current call if not for all, by a guard; None if that is not decided."""
    try:
        return bool(fact)
    except UndecidedDimError:
        return None


def bound_of(extent: int, least: int, op: str, location: Location | None) -> int:
    """The same if there must be one, which may be as large as memories are.

    Raises:
        UndecidedDimError: sizes are declared without a maximum.
    """
    bound = block_of(extent, least, LONGEST)
    if bound is None:
        raise unbounded(extent, op, location)
    return bound


def unbounded(size: int, op: str, location: Location | None) -> UndecidedDimError:
    """The error of a call for whose kernel a size needs a maximum."""
    parts = size.sizes if isinstance(size, SymbolicSize) else ()
    name = next((str(part) for part in parts if part.bounds[1] > LONGEST), str(size))
    return UndecidedDimError(
        f"{op} on a GPU needs a maximum for {size}, and none is known. Give {name} a maximum, such as"
        f' tm.Dim("{name}", max=4096), or add the constraint "{name} <= 4096"',
        location,
    )


def held_by(extent: int, most: int) -> int:
    """The smallest power of two that is known to hold this many elements, and is at most another one."""
    if not isinstance(extent, SymbolicSize):
        return min(most, power_of_two(extent))
    block = 1
    while block < most and not is_known(extent <= block):
        block *= 2
    return block


def is_multiple(size: Any, factor: int) -> bool:
    """Whether a size is known to be a multiple of a power of two, because it is a product with a factor that is one."""
    if is_known(size % factor == 0):
        return True
    if not isinstance(size, Dim) or len(size.terms) != 1 or ALIGNED % factor:
        return False
    ((sizes, _),) = size.terms
    named = [of_size(one) for one in sizes if isinstance(one, Size) and one.multiple_of == 1]
    if len(named) < 2:
        return any(is_known(one % factor == 0) for one in named)
    products = (math.prod(others) for others in combinations(named, len(named) - 1))
    return any(is_multiple(product, factor) for product in products)


def aligned_to(size: Any) -> int:
    """The largest power of two up to `ALIGNED` that is known to divide a size."""
    multiple = ALIGNED
    while not is_multiple(size, multiple):
        multiple //= 2
    return multiple


def assume_aligned(places: Iterable[Affine]) -> None:
    """Decide whether rows begin where several elements can be loaded at once: a program is for sizes where all do, or
    not."""
    strides = {stride for place in places for stride in _strides(place)}
    for stride in sorted(strides, key=lambda stride: (len(stride.sizes), str(stride))):
        # A product is aligned if one of its factors is.
        if len(stride.terms) == 1 and not is_multiple(stride, ALIGNED):
            any(assumed(size % ALIGNED == 0) for size in stride.sizes)


def _strides(place: Affine) -> Iterator[Dim]:
    """The symbolic distances of rows, in elements."""
    for atom, factor in place.terms:
        if isinstance(factor, Dim):
            yield factor
        if not isinstance(atom, Variable):
            if isinstance(atom.divisor, Dim):
                yield atom.divisor
            yield from _strides(atom.dividend)
