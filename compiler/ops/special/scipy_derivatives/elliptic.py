"""Derivatives of elliptic integrals, of Jacobi's functions, and of hypergeometric functions.

The complete integrals are hypergeometric functions, whose derivatives lose no digits near m = 0. The incomplete ones
are Carlson's symmetric integrals: DLMF 19.18 and 19.25. For angles beyond a quarter turn, F(φ + nπ) = F(φ) + 2nK.
"""

import math
from typing import Final

from .rule import Rule
from .terms import Term, apply, cos, exp, log, sin, special, sqrt, where

HALF_PI: Final = math.pi / 2


def _k_slope(m: Term) -> Term:
    return math.pi / 8 * special("hyp2f1", 1.5, 1.5, 2.0, m)


def _e_slope(m: Term) -> Term:
    return -math.pi / 8 * special("hyp2f1", 0.5, 1.5, 2.0, m)


def _reduced(angle: Term) -> tuple[Term, Term, Term]:
    """Twice the number of half turns, and the sine and the square of the cosine of what remains."""
    turns = apply("rint", angle / math.pi)
    rest = angle - math.pi * turns
    cosine = cos(rest)
    return 2 * turns, sin(rest), cosine * cosine


def _f_by_m(angle: Term, m: Term) -> Term:
    turns, sine, square = _reduced(angle)
    cube = sine * sine * sine
    part = cube * special("elliprd", square, 1.0, 1 - m * sine * sine) / 6
    return part + where(turns.is_equal(0), 0.0, turns * _k_slope(where(turns.is_equal(0), 0.5 * m, m)))


def _e_by_m(angle: Term, m: Term) -> Term:
    turns, sine, square = _reduced(angle)
    below = 1 - m * sine * sine
    cube = sine * sine * sine
    # ½ ∫ sin² / Δ = ½ (F − E) / m, where F − E = m s³ R_D(c², Δ², 1) / 3
    part = -cube * special("elliprd", square, below, 1.0) / 6
    return part + where(turns.is_equal(0), 0.0, turns * _e_slope(where(turns.is_equal(0), 0.5 * m, m)))


def _delta(angle: Term, m: Term) -> Term:
    sine = sin(angle)
    return sqrt(1 - m * sine * sine)


def _jacobi_by_u(out: tuple[Term, ...], u: Term, m: Term) -> tuple[Term, ...]:
    sn, cn, dn, _ = out
    return cn * dn, -sn * dn, -m * sn * cn, dn


def _jacobi_by_m(out: tuple[Term, ...], u: Term, m: Term) -> tuple[Term, ...]:
    sn, cn, dn, angle = out
    moved = -dn * _f_by_m(angle, m)
    return cn * moved, -sn * moved, -(0.5 * sn * sn + m * sn * cn * moved) / dn, moved


# ---- Carlson's integrals -----------------------------------------------------------------------------------


def _rd(x: Term | float, y: Term | float, z: Term | float) -> Term:
    return special("elliprd", x, y, z)


def _rg(x: Term, y: Term, z: Term) -> Term:
    return 0.25 * special("elliprf", x, y, z) - x * _rd(y, z, x) / 12


def _rd_by_side(out: Term, x: Term, y: Term, z: Term) -> Term:
    """By x: 0/0 where x = z."""
    return (_rd(y, z, x) - out) / (2 * (x - z))


def _rj_by_side(out: Term, x: Term, y: Term, z: Term, p: Term) -> Term:
    """By x: 0/0 where x = p."""
    return (_rd(y, z, x) - out) / (2 * (x - p))


def _rd_by_last(out: Term, x: Term, y: Term, z: Term) -> Term:
    """R_D is homogeneous of degree −3/2."""
    return (-1.5 * out - x * _rd_by_side(out, x, y, z) - y * _rd_by_side(out, y, x, z)) / z


def _rj_by_last(out: Term, x: Term, y: Term, z: Term, p: Term) -> Term:
    sides = x * _rj_by_side(out, x, y, z, p) + y * _rj_by_side(out, y, z, x, p)
    return (-1.5 * out - sides - z * _rj_by_side(out, z, x, y, p)) / p


def _agm_slope(out: Term, a: Term, b: Term) -> Term:
    """M = π / (2 R_F(0, a², b²))."""
    return 2 / (3 * math.pi) * out * out * a * _rd(0.0, b * b, a * a)


# ---- hypergeometric functions and their kin --------------------------------------------------------------------


def _omega(out: Term, z: Term) -> Term:
    return out / (1 + out)


def _lambert(out: Term, z: Term, *rest: Term) -> Term:
    """1 / (eᵂ (1 + W))."""
    return exp(-out) / (1 + out)


def _log_wright(out: Term, a: Term, b: Term, x: Term) -> Term:
    return exp(special("log_wright_bessel", a, a + b, x) - out)


def _spence(out: Term, z: Term) -> Term:
    """log z / (1 − z), −1 at 1."""
    is_one = z.is_equal(1)
    gap = where(is_one, 1.0, z - 1)
    near = apply("log1p", gap) if z.value.dtype.kind == "f" else log(where(is_one, 2.0, z))
    return where(is_one, -1.0, -near / gap)


DERIVATIVES: Final[dict[str, tuple[Rule | None, ...]]] = {
    "ellipk": (lambda out, m: _k_slope(m),),
    "ellipkm1": (lambda out, p: -special("elliprd", 0.0, 1.0, p) / 6,),
    "ellipe": (lambda out, m: _e_slope(m),),
    "ellipkinc": (lambda out, angle, m: 1 / _delta(angle, m), lambda out, angle, m: _f_by_m(angle, m)),
    "ellipeinc": (lambda out, angle, m: _delta(angle, m), lambda out, angle, m: _e_by_m(angle, m)),
    "ellipj": (_jacobi_by_u, _jacobi_by_m),
    "elliprc": (lambda out, x, y: -_rd(y, y, x) / 6, lambda out, x, y: -_rd(x, y, y) / 3),
    "elliprf": (
        lambda out, x, y, z: -_rd(y, z, x) / 6,
        lambda out, x, y, z: -_rd(x, z, y) / 6,
        lambda out, x, y, z: -_rd(x, y, z) / 6,
    ),
    "elliprg": (
        lambda out, x, y, z: _rg(x, y, z),
        lambda out, x, y, z: _rg(y, x, z),
        lambda out, x, y, z: _rg(z, x, y),
    ),
    "elliprd": (
        _rd_by_side,
        lambda out, x, y, z: _rd_by_side(out, y, x, z),
        _rd_by_last,
    ),
    "elliprj": (
        _rj_by_side,
        lambda out, x, y, z, p: _rj_by_side(out, y, z, x, p),
        lambda out, x, y, z, p: _rj_by_side(out, z, x, y, p),
        _rj_by_last,
    ),
    "agm": (_agm_slope, lambda out, a, b: _agm_slope(out, b, a)),
    "hyp0f1": (None, lambda out, v, z: special("hyp0f1", v + 1, z) / v),
    "hyp1f1": (None, None, lambda out, a, b, z: a / b * special("hyp1f1", a + 1, b + 1, z)),
    "hyp2f1": (
        None, None, None, lambda out, a, b, c, z: a * b / c * special("hyp2f1", a + 1, b + 1, c + 1, z),
    ),
    "hyperu": (None, None, lambda out, a, b, z: -a * special("hyperu", a + 1, b + 1, z)),
    "wright_bessel": (None, None, lambda out, a, b, x: special("wright_bessel", a, a + b, x)),
    "log_wright_bessel": (None, None, _log_wright),
    "wrightomega": (_omega,),
    "_lambertw": (_lambert, None, None),
    "spence": (_spence,),
    "_zeta": (None, lambda out, x, q: -x * special("_zeta", x + 1, q)),
}  # fmt: skip
