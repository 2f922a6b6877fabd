"""`minimax`: the polynomial with the smallest maximum error on an interval, by the exchange algorithm of Remez.

Remez, "Sur le calcul effectif des polynomes d'approximation de Tchebichef", C. R. Acad. Sci. Paris 199 (1934).
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import mpmath
from mpmath import mp

Real: TypeAlias = Any
"""A number of mpmath, which has no types."""
Function: TypeAlias = Callable[[Real], Real]

DIGITS: Final = 70
_POINTS: Final = 400
"""The error is computed at this many points."""
_ROUNDS: Final = 12
_LEVEL: Final = 1.0005
"""The search ends when the largest error is at most this many times the smallest possible one."""
_LEAST_WEIGHT: Final = 1e-18


def minimax(
    wanted: Function, weight: Function, interval: tuple[Real, Real], count: int, bits: int
) -> list[Real]:
    """The coefficients of the best polynomial, the constant first, each rounded to `bits` bits.

    The largest ``weight(x) * abs(polynomial(x) - wanted(x))`` on the interval is the smallest possible one, but for
    the rounding of coefficients: they are rounded one by one, the highest power first, and each time the lower ones
    are fitted again.
    """
    rounded: dict[int, Real] = {}
    wanted, weight = cache(wanted), cache(weight)
    with mp.workdps(DIGITS):
        for left in range(count, 0, -1):

            def rest(x: Real) -> Real:
                return wanted(x) - sum(c * x**power for power, c in rounded.items())

            rounded[left - 1] = _rounded(_fitted(rest, weight, interval, left)[-1], bits)
    return [rounded[power] for power in range(count)]


def _rounded(x: Real, bits: int) -> Real:
    with mp.workprec(bits):
        return +x


def _fitted(wanted: Function, weight: Function, interval: tuple[Real, Real], count: int) -> list[Real]:
    """The exact coefficients of the best polynomial with this many."""
    grid = _extrema(interval, _POINTS)
    weights = [max(weight(x), mpmath.mpf(_LEAST_WEIGHT)) for x in grid]
    values = [wanted(x) for x in grid]
    chosen = [round(place * (_POINTS - 1) / count) for place in range(count + 1)]
    found: list[Real] = []
    for _ in range(_ROUNDS):
        *found, level = _levelled([(grid[i], weights[i], values[i]) for i in chosen])
        errors = [
            w * (mpmath.polyval(found[::-1], x) - f) for x, w, f in zip(grid, weights, values, strict=True)
        ]
        chosen = _peaks(errors, count + 1)
        if len(chosen) <= count or max(map(abs, errors)) < _LEVEL * abs(level):
            break
    return found


def _extrema(interval: tuple[Real, Real], count: int) -> list[Real]:
    """The points where a Chebyshev polynomial is largest, which are dense at the ends of the interval."""
    low, high = map(mpmath.mpf, interval)
    return [
        (low + high) / 2 - (high - low) / 2 * mpmath.cos(mp.pi * place / (count - 1))
        for place in range(count)
    ]


def _levelled(points: Sequence[tuple[Real, Real, Real]]) -> list[Real]:
    """The polynomial whose error has the same size and changing signs at these points, and the error."""
    count = len(points)
    matrix, right = mpmath.matrix(count, count), mpmath.matrix(count, 1)
    for row, (x, weight, value) in enumerate(points):
        for power in range(count - 1):
            matrix[row, power] = x**power
        matrix[row, count - 1] = (-1) ** row / weight
        right[row] = value
    return list(mpmath.lu_solve(matrix, right))


def _peaks(errors: Sequence[Real], count: int) -> list[int]:
    """The places of the largest errors of changing sign; the smaller ones at the ends are left out."""
    found: list[int] = []
    for place, error in enumerate(errors):
        if not found or (error > 0) != (errors[found[-1]] > 0):
            found.append(place)
        elif abs(error) > abs(errors[found[-1]]):
            found[-1] = place
    while len(found) > count:
        del found[0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1]
    return found
