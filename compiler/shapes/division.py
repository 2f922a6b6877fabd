"""Floor division, remainder, minimum and maximum of sums, simplified as far as what is known about single sizes
allows.

Divisors are never 0: the caller has checked this.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from math import gcd
from typing import Final, Literal

from ..errors import DimSpecError
from .bounds import own_lower_bound
from .spelling import spelled, spelled_operation
from .terms import (
    Atom,
    Monomial,
    Operation,
    Terms,
    add,
    atom,
    constant_of,
    constant_part,
    content,
    multiply,
    number,
    scale,
    substituted,
    without,
)

_LONGEST: Final = 1000
"""The most characters of an operation. A loop that halves a size nests one in each iteration, which may double it."""


def floor_divide(left: Terms, right: Terms) -> Terms:
    """``left // right``, rounded down as in Python and NumPy."""
    divisor = constant_of(right)
    if divisor is None:
        return _by_terms(left, right)[0]
    if divisor < 0:
        left, divisor = scale(left, -1), -divisor
    whole, rest = _split(left, divisor)
    return add(whole, _proper_quotient(rest, divisor))


def remainder(left: Terms, right: Terms) -> Terms:
    """``left % right``, with the sign of the divisor as in Python and NumPy."""
    divisor = constant_of(right)
    if divisor is None:
        return _by_terms(left, right)[1]
    if divisor < 0:
        return scale(remainder(scale(left, -1), number(-divisor)), -1)
    _, rest = _split(left, divisor)
    common = gcd(content(rest), divisor)
    part, offset = _divided(rest, common), constant_part(rest) % common
    return add(scale(_proper_remainder(part, divisor // common), common), number(offset))


def extreme(op: Literal["min", "max"], args: Iterable[Terms]) -> Terms:
    """The minimum or the maximum of several."""
    parts: list[Terms] = []
    for arg in chain.from_iterable(_operands(op, arg) for arg in args):
        if not any(_is_beyond(op, arg, other) for other in parts):
            parts = [other for other in parts if not _is_beyond(op, other, arg)]
            parts.append(arg)
    if len(parts) == 1:
        return parts[0]
    return atom(_operation(op, *sorted(parts, key=spelled)))


def _operands(op: str, terms: Terms) -> tuple[Terms, ...]:
    """The operands of nested minima."""
    if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
        found = terms[0][0][0]
        if isinstance(found, Operation) and found.op == op:
            return found.args
    return (terms,)


def _is_beyond(op: str, left: Terms, right: Terms) -> bool:
    """Whether `left` is never needed in addition to `right`."""
    return own_lower_bound(add(left, right, -1) if op == "min" else add(right, left, -1)) >= 0


def _operation(op: Literal["//", "%", "min", "max"], *args: Terms) -> Operation:
    text = spelled_operation(op, args)
    if len(text) > _LONGEST:
        raise DimSpecError(
            f"an operation on sizes has at most {_LONGEST} characters, not {len(text)}: {text:.60}…"
        )
    return Operation(op, args, text)


def _split(terms: Terms, divisor: int) -> tuple[Terms, Terms]:
    """``terms = divisor * whole + rest`` with coefficients of the rest from 0 to divisor − 1."""
    parts = [(monomial, divmod(count, divisor)) for monomial, count in terms]
    whole = tuple((monomial, quotient) for monomial, (quotient, _) in parts if quotient)
    return whole, tuple((monomial, rest) for monomial, (_, rest) in parts if rest)


def _divided(terms: Terms, divisor: int) -> Terms:
    """All coefficients divided, rounded down."""
    return tuple((monomial, count // divisor) for monomial, count in terms if count // divisor)


def _proper_quotient(rest: Terms, divisor: int) -> Terms:
    common = gcd(content(rest), divisor)
    rest, divisor = _divided(rest, common), divisor // common
    if divisor == 1:
        return rest
    if _lies_below(rest, number(divisor)):
        return ()
    inner = _inner_quotient(rest)
    if inner is not None:
        dividend, first = inner
        return floor_divide(add(dividend, number(first * constant_part(rest))), number(first * divisor))
    return atom(_operation("//", rest, number(divisor)))


def bounded_quotient(terms: Terms) -> Terms | None:
    """An expression that is never negative if this one, a quotient plus a constant, is not: ``N // 4 >= 2`` is ``N >=
    8``."""
    monomial, count = terms[0]
    found = monomial[0] if len(monomial) == 1 else None
    if abs(count) != 1 or not isinstance(found, Operation) or found.op != "//":
        return None
    divisor = constant_of(found.args[1])
    if divisor is None or len(terms) > 1 + bool(constant_part(terms)):
        return None
    room = divisor - 1 if count < 0 else 0
    return add(scale(found.args[0], count), number(constant_part(terms) * divisor + room))


def _inner_quotient(terms: Terms) -> tuple[Terms, int] | None:
    """The dividend and the divisor, if the sum is a quotient plus a constant."""
    monomial, count = terms[0]
    if count != 1 or len(monomial) != 1 or len(terms) > 1 + bool(constant_part(terms)):
        return None
    found = monomial[0]
    if not isinstance(found, Operation) or found.op != "//":
        return None
    divisor = constant_of(found.args[1])
    return None if divisor is None else (found.args[0], divisor)


def _proper_remainder(rest: Terms, divisor: int) -> Terms:
    if divisor == 1:
        return ()
    return rest if _lies_below(rest, number(divisor)) else atom(_operation("%", rest, number(divisor)))


def _lies_below(terms: Terms, most: Terms) -> bool:
    """Whether the sum is always at least 0 and below `most`."""
    return own_lower_bound(terms) >= 0 and own_lower_bound(add(add(most, terms, -1), number(-1))) >= 0


# ---- division by what is not a number -------------------------------------------------------------------


def _by_terms(left: Terms, right: Terms) -> tuple[Terms, Terms]:
    """The quotient and the remainder."""
    whole, rest = _polynomial_division(left, right)
    if not rest:
        return whole, ()
    nearly = _nearly_divided(left, right)
    if nearly is not None:
        return nearly
    factor = _common_factor(rest, right)
    if factor != number(1):
        rest, right = _polynomial_division(rest, factor)[0], _polynomial_division(right, factor)[0]
    quotient: Terms = ()
    if constant_of(right) is not None:
        quotient, last = floor_divide(rest, right), remainder(rest, right)
    elif _lies_below(rest, right):
        last = rest
    else:
        quotient = atom(_operation("//", rest, right))
        last = atom(_operation("%", rest, right))
    return add(whole, quotient), multiply(factor, last)


def _polynomial_division(left: Terms, right: Terms) -> tuple[Terms, Terms]:
    """``left = whole * right + rest``. If `right` is one product, as far as it goes; if it is a sum, exactly or not
    at all."""
    (lead, leading), *others = right
    whole: Terms = ()
    kept: Terms = ()
    rest = left
    while rest:
        monomial, count = rest[0]
        factor = without(monomial, lead)
        if factor is not None and count % leading == 0:
            part: Terms = ((factor, count // leading),)
            whole, rest = add(whole, part), add(rest, multiply(part, right), -1)
        elif others:
            return (), left
        else:
            kept, rest = (*kept, rest[0]), rest[1:]
    return whole, kept


def _nearly_divided(left: Terms, right: Terms) -> tuple[Terms, Terms] | None:
    """The quotient and the remainder if the remainder is a number: ``-N*N`` by ``N + 1`` is ``-N``, with the
    remainder ``N``."""
    (lead, leading), *_ = right
    whole: Terms = ()
    rest = left
    while constant_of(rest) is None:
        monomial, count = rest[0]
        factor = without(monomial, lead)
        if factor is None or count % leading:
            return None
        part: Terms = ((factor, count // leading),)
        whole, rest = add(whole, part), add(rest, multiply(part, right), -1)
    for quotient, last in ((whole, rest), (add(whole, number(-1)), add(rest, right))):
        if _lies_below(last, right):
            return quotient, last
    return None


def _common_factor(left: Terms, right: Terms) -> Terms:
    """The product that divides all terms of both."""
    monomials = [monomial for monomial, _ in (*left, *right)]
    shared: list[Atom] = []
    rest: list[Monomial] = monomials
    for found in monomials[0]:
        fewer = [without(monomial, (found,)) for monomial in rest]
        if all(monomial is not None for monomial in fewer):
            shared.append(found)
            rest = [monomial for monomial in fewer if monomial is not None]
    return ((tuple(shared), gcd(*(count for _, count in (*left, *right)))),)


# ---- substitution ------------------------------------------------------------------------------------


def replaced(terms: Terms, known: Mapping[Atom, Terms]) -> Terms:
    """The sum with atoms replaced by other sums, also inside operations, and simplified again.

    Raises `ZeroDivisionError` if a divisor becomes 0.
    """
    inner: dict[Atom, Terms] = {}
    for monomial, _ in terms:
        for found in monomial:
            if found in known:
                inner[found] = known[found]
            elif isinstance(found, Operation):
                changed = _computed_again(found, known)
                if changed is not None:
                    inner[found] = changed
    return substituted(terms, inner)


def _computed_again(found: Operation, known: Mapping[Atom, Terms]) -> Terms | None:
    """The operation on its new arguments, or None if they do not change."""
    args = tuple(replaced(arg, known) for arg in found.args)
    if args == found.args:
        return None
    if found.op in ("min", "max"):
        return extreme(found.op, args)
    if not args[1]:
        raise ZeroDivisionError(found.text)
    return floor_divide(*args) if found.op == "//" else remainder(*args)
