"""`largest`: the most that a size can be if some of the named sizes in it have a maximum."""

from collections.abc import Mapping
from functools import reduce
from math import inf
from typing import Any

from ..symbolic_size import SymbolicSize, max_expr, min_expr, quotient
from .dim import Dim, of_terms
from .terms import Atom, Monomial, Operation, Size, Terms, sizes_in


def largest(size: Any, most: Mapping[str, Any]) -> Any:
    """An upper bound of a size, in which no name of `most` occurs. Those names are between 0 and their maximum.

    `most` maps names to ints or to sizes with other names.

    >>> import tracemill as tm
    >>> n, N = tm.Dim("n"), tm.Dim("N")
    >>> largest(8 * n + 8 * (N - n), {"n": N}), largest(tm.Dim.maximum(4 * n, 1), {"n": 10})
    (8*N, 40)

    Raises:
        ValueError: nothing is known about one of its parts.
    """
    if not isinstance(size, SymbolicSize) or not most:
        return size
    assert isinstance(size, Dim)
    return _end(size.terms, most, 1)


def _end(terms: Terms, most: Mapping[str, Any], sign: int) -> Any:
    """The upper end of a sum if `sign` is 1, and its lower end if it is -1."""
    if not _names(terms) & most.keys():
        return of_terms(terms)
    return sum(count * _product(monomial, most, sign if count > 0 else -sign) for monomial, count in terms)


def _product(monomial: Monomial, most: Mapping[str, Any], sign: int) -> Any:
    if len(monomial) == 1:
        return _atom(monomial[0], most, sign)
    result: Any = 1
    for one in monomial:
        low, high = _atom(one, most, -1), _atom(one, most, 1)
        if _lower_bound(low) < 0:
            raise ValueError(f"{one.text} may be negative")
        result = result * (high if sign > 0 else low)
    return result


def _atom(found: Atom, most: Mapping[str, Any], sign: int) -> Any:
    """In units of a size's multiple, as in sums."""
    terms: Terms = (((found,), 1),)
    if not _names(terms) & most.keys():
        return of_terms(terms)
    if isinstance(found, Size):
        return most[found.text] // found.multiple_of if sign > 0 else 0
    return _operation(found, most, sign)


def _operation(found: Operation, most: Mapping[str, Any], sign: int) -> Any:
    if found.op in ("min", "max"):
        ends = [_end(arg, most, sign) for arg in found.args]
        return reduce(min_expr if found.op == "min" else max_expr, ends)
    left, right = found.args
    if found.op == "%":
        return max_expr(_end(right, most, 1) - 1, 0) if sign > 0 else 0
    divisor = of_terms(right)
    if isinstance(divisor, int) and divisor >= 1:
        return quotient(_end(left, most, sign), divisor)
    if _lower_bound(_end(left, most, -1)) < 0 or _lower_bound(_end(right, most, -1)) < 0:
        raise ValueError(f"{found.text} may be negative")
    return _end(left, most, 1) if sign > 0 else 0


def _names(terms: Terms) -> set[str]:
    return {size.text for size in sizes_in(terms)}


def _lower_bound(size: Any) -> float:
    bounds = size.bounds if isinstance(size, SymbolicSize) else (size, inf)
    return float(bounds[0])
