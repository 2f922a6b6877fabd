"""`overwritable`: which inputs of a loop nest an output may overwrite while they are read.

An element must not be overwritten before its last read. Iterations of a loop may run in any order, on threads and in
vectors: no other iteration may read what one of them writes. Within an iteration, the order of statements counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import gcd, inf
from typing import Final

from ..affine import Affine, Variable, same
from ..symbolic_size import SymbolicSize, is_known, max_expr, min_expr, remainder, typical
from .nest import Accumulate, Block, Buffer, Choose, Load, Loop, Nest, Store
from .walk import expressions

_SEARCHES: Final = frozenset({"argmax", "argmin"})
"""Reductions that may read a number again after the loop, to find its position."""


@dataclass(frozen=True, slots=True)
class _Access:
    """An element that is read or written in the iterations of the enclosing loops."""

    buffer: Buffer
    place: Affine
    loops: tuple[tuple[int, Variable], ...]
    """The enclosing loops from the outside in, each with the number of its statement."""
    time: float
    """The number of its statement: higher numbers run later in the same iteration. A statement reads before it
    writes."""


def overwritable(nest: Nest) -> Mapping[int, Sequence[int]]:
    """For outputs by number: the inputs with their dtype and size that may share their memory, if there are any."""
    loads, stores = _accesses(nest.body)
    found: dict[int, Sequence[int]] = {}
    for number, output in enumerate(nest.outputs):
        written = [store for store in stores if store.buffer is output]
        if not written or not all(map(_never_repeats, written)):
            continue
        places = [
            place
            for place, x in enumerate(nest.inputs)
            if x.dtype == output.dtype
            and same(x.size, output.size)
            and all(_is_safe(load, store) for load in loads if load.buffer is x for store in written)
        ]
        if places:
            found[number] = places
    return found


def _accesses(body: Block) -> tuple[Sequence[_Access], Sequence[_Access]]:
    """The reads, and the writes."""
    loads: list[_Access] = []
    stores: list[_Access] = []
    numbers = count()

    def walk(body: Block, loops: tuple[tuple[int, Variable], ...]) -> None:
        for statement in body:
            number = next(numbers)
            if isinstance(statement, Loop):
                walk(statement.body, (*loops, (number, statement.variable)))
            elif isinstance(statement, Choose):
                walk(statement.then_body, loops)
                walk(statement.else_body, loops)
                number = next(numbers)
            searches = isinstance(statement, Accumulate) and statement.accumulator.op in _SEARCHES
            around, time = ((), inf) if searches else (loops, number)
            found = (x for x in expressions(statement) if isinstance(x, Load))
            loads.extend(_Access(x.buffer, x.place, around, time) for x in found)
            if isinstance(statement, Store):
                stores.append(_Access(statement.buffer, statement.place, loops, number))

    walk(body, ())
    return loads, stores


def _never_repeats(store: _Access) -> bool:
    """Whether every iteration of the loops around a store writes to a different place."""
    factors = [
        (_distance(store.place.factor(v)), v.extent) for _, v in store.loops if not is_known(v.extent <= 1)
    ]
    reach = 0
    for factor, extent in sorted(factors, key=lambda one: tuple(map(typical, one))):
        if not is_known(factor > reach):
            return False
        reach += factor * (extent - 1)
    return store.place.is_linear


def _is_safe(load: _Access, store: _Access) -> bool:
    """Whether no element is read after it has been written.

    In other iterations of the common loops, the elements read differ from those written here: both places are the
    same sum, which differs between iterations by at least its `step`, plus a rest in a window that is no longer than
    that.
    """
    both = list(_shared(load, store))
    is_earlier = load.time <= store.time
    if not both and is_earlier:
        return True
    (terms, rest), (others, other) = _split(load.place, both), _split(store.place, both)
    if terms != others:
        return False
    step = _common([factor for _, factor in terms.terms])
    window = max_expr(rest.high, other.high) - min_expr(rest.low, other.low)
    if not same(step, 0) and not is_known(window < step):
        return False
    return is_earlier or is_known(rest.high < other.low) or is_known(other.high < rest.low)


def _distance(factor: int | None) -> int:
    """How far a factor moves; 0 if the direction is unknown."""
    if factor is None:
        return 0
    return factor if is_known(factor >= 0) else -factor if is_known(factor <= 0) else 0


def _common(factors: Sequence[int]) -> int:
    """A number that divides all factors: the greatest one, or for symbolic sizes one of them, or 1."""
    if not any(isinstance(factor, SymbolicSize) for factor in factors):
        return gcd(*factors)
    steps = sorted(map(_distance, factors), key=typical)
    return next((s for s in steps if not same(s, 0) and all(same(remainder(f, s), 0) for f in factors)), 1)


def _shared(load: _Access, store: _Access) -> Iterator[Variable]:
    """The variables of the common loops."""
    for (number, variable), (other, _) in zip(load.loops, store.loops, strict=False):
        if number != other:
            return
        yield variable


def _split(place: Affine, variables: Sequence[Variable]) -> tuple[Affine, Affine]:
    """The terms of these variables, and the rest."""
    own = tuple(term for term in place.terms if term[0] in variables)
    rest = tuple(term for term in place.terms if term[0] not in variables)
    return Affine(0, own), Affine(place.constant, rest)
