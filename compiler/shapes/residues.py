"""Cases by the remainders of sizes, in which all quotients by numbers are plain sums."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import inf, lcm

from ..intervals import Interval
from .bounds import Ranges, own_range
from .division import replaced
from .terms import Atom, Operation, Size, Terms, add, atom, atoms_in, constant_of, number, scale, sizes_in

MOST_CASES = 64


def cases(sums: Sequence[Terms], ranges: Ranges) -> Iterator[Mapping[Atom, Terms]]:
    """For each remainder of the sizes in quotients, their replacements; none if there are too many."""
    divisors: dict[Size, int] = {}
    for found in dict.fromkeys(one for terms in sums for one in atoms_in(terms)):
        if isinstance(found, Operation) and found.op in ("//", "%"):
            divisor = constant_of(found.args[1])
            for size in sizes_in(found.args[0]) if divisor else ():
                divisors[size] = lcm(divisors.get(size, 1), divisor or 1)
    count = 1
    for divisor in divisors.values():
        count *= divisor
    if not divisors or count > MOST_CASES:
        return
    for remainders in product(*(range(divisor) for divisor in divisors.values())):
        chosen = zip(divisors.items(), remainders, strict=True)
        case = {size: _case(size, divisor, rest, ranges) for (size, divisor), rest in chosen}
        known: dict[Atom, Terms] = {size: terms for size, terms in case.items() if terms is not None}
        if len(known) == len(case):
            yield known


def _case(size: Size, divisor: int, rest: int, ranges: Ranges) -> Terms | None:
    """``divisor * k + rest`` for a size `k` in its range, or None if there is none."""
    low, high = _range(size, ranges)
    least = max(0, -(-(int(low) - rest) // divisor))
    most = None if high == inf else (int(high) - rest) // divisor
    if most is not None and most < least:
        return None
    # Its name is not an identifier: no other dim has it.
    part = Size(f"{size.text}/{divisor}+{rest}", least, most, 1)
    return add(scale(atom(part), divisor), number(rest))


def _range(size: Size, ranges: Ranges) -> Interval:
    return ranges.get(size) or own_range(size)


def in_case(terms: Terms, case: Mapping[Atom, Terms]) -> Terms | None:
    """The sum in a case, or None if it divides by 0."""
    try:
        return replaced(terms, case)
    except ZeroDivisionError:
        return None
