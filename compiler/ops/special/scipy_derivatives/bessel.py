"""Derivatives of Bessel functions and of the solutions of other differential equations, by the argument.

Sources: DLMF 9.2.1, 10.6.1, 10.29.1, 10.61, 11.4, 12.2, 28.2, 30.2. There is no closed form by the order.
"""

import math
from collections.abc import Callable
from typing import Final

from .rule import Rule
from .terms import Term, apply, cos, special, special_results, sqrt, where


def _neighbours(name: str, sign: int = -1, turned: complex = 0) -> tuple[Rule | None, ...]:
    """Half of the function of the order below plus `sign` times the one above, plus `turned` times the function."""

    def rule(out: Term, order: Term, x: Term) -> Term:
        found = 0.5 * (special(name, order - 1, x) + sign * special(name, order + 1, x))
        return found + turned * out if turned else found

    return None, rule


def _kv(out: Term, order: Term, x: Term) -> Term:
    return -0.5 * (special("kv", order - 1, x) + special("kv", order + 1, x))


def _kve(out: Term, order: Term, x: Term) -> Term:
    return out - 0.5 * (special("kve", order - 1, x) + special("kve", order + 1, x))


def _ive(out: Term, order: Term, x: Term) -> Term:
    return 0.5 * (special("ive", order - 1, x) + special("ive", order + 1, x)) - apply("sign", x) * out


def _struve(name: str, sign: int) -> Rule:
    def rule(out: Term, order: Term, x: Term) -> Term:
        power = (0.5 * x) ** order * special("rgamma", order + 1.5) / math.sqrt(math.pi)
        return 0.5 * (special(name, order - 1, x) + sign * special(name, order + 1, x) + power)

    return rule


def _airy(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    first, first_slope, second, second_slope = out
    return first_slope, x * first, second_slope, x * second


def _airye(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    """The scale of the second solution, and of its slope, is 1 for negative numbers."""
    first, first_slope, second, second_slope = out
    root = sqrt(apply("maximum", x, 0.0))
    return (
        first_slope + root * first,
        x * first + root * first_slope,
        second_slope - root * second,
        x * second - root * second_slope,
    )


def _kelvin_slope(function: str, slope: str, other: str, sign: int, at_zero: float) -> Rule:
    """The slope of a slope, `sign` times the other function minus the slope over x, which is `at_zero` at 0."""

    def rule(out: Term, x: Term) -> Term:
        is_zero = x.is_equal(0)
        return sign * special(other, x) - where(is_zero, at_zero, out / where(is_zero, 1.0, x))

    return rule


def _kelvin(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    first, second, first_slope, second_slope = out
    return first_slope, second_slope, 1j * first - first_slope / x, 1j * second - second_slope / x


def _spherical(name: str, sign: int) -> Rule:
    """f″ = (sign + n (n + 1) / x²) f − 2 f′ / x."""

    def rule(out: Term, n: Term, x: Term) -> Term:
        return (sign + n * (n + 1) / (x * x)) * special(name, n, x) - 2 * out / x

    return rule


def _named(name: str) -> Rule:
    """The derivative that SciPy has under a name of its own."""
    return lambda out, *arguments: special(name, *arguments)


# ---- Mathieu, spheroidal and parabolic cylinder functions: y and y′, with y″ from the equation -----------


def _mathieu(value: str, hyperbolic: bool) -> tuple[Rule | None, ...]:
    """y″ = ∓(a − 2 q cos 2x) y; the angular functions take degrees, and give slopes by radians."""

    def rule(out: tuple[Term, ...], order: Term, q: Term, x: Term) -> tuple[Term, ...]:
        scale = 1.0 if hyperbolic else math.pi / 180
        wave = apply("cosh", 2 * x) if hyperbolic else cos(2 * scale * x)
        y, slope = out
        second = (special(value, order, q) - 2 * q * wave) * y
        return scale * slope, (second if hyperbolic else -second) * scale

    return None, None, rule


def _spheroidal(value: str, sign: int, radial: bool, given: bool) -> tuple[Rule | None, ...]:
    """(1 − x²) y″ = 2 x y′ − (λ − s c² x² − m² / (1 − x²)) y; oblate radial functions have −x² for x² twice."""

    def rule(out: tuple[Term, ...], m: Term, n: Term, c: Term, *rest: Term) -> tuple[Term, ...]:
        x, y, slope = rest[-1], *out
        eigenvalue = rest[0] if given else special(value, m, n, c)
        square = x * x
        turn = -1 if radial and sign < 0 else 1  # y(i x)
        gap = 1 - turn * square
        inner = eigenvalue - sign * c * c * (turn * square) - m * m / gap
        return slope, (2 * turn * x * slope - turn * inner * y) / gap

    return (*(None,) * (4 if given else 3), rule)


def _cylinder(second: Callable[[Term, Term], Term]) -> tuple[Rule | None, ...]:
    return None, lambda out, order, x: (out[1], second(order, x) * out[0])


# ---- integrals of Bessel functions -----------------------------------------------------------------------


def _pair(first: str, second: str) -> tuple[Rule]:
    return (lambda out, x: (special(first, x), special(second, x)),)


def _airy_integrals(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    ahead, behind = special_results("airy", x), special_results("airy", -x)
    return ahead[0], ahead[2], behind[0], behind[2]


def _besselpoly(out: Term, a: Term, power: Term, order: Term) -> Term:
    return special("besselpoly", a, power + 1, order - 1) - special("besselpoly", a, power + 1, order + 1)


DERIVATIVES: Final[dict[str, tuple[Rule | None, ...]]] = {
    "jv": _neighbours("jv"),
    "yv": _neighbours("yv"),
    "yn": (None, lambda out, n, x: 0.5 * (special("yv", n - 1, x) - special("yv", n + 1, x))),
    "iv": _neighbours("iv", 1),
    "kv": (None, _kv),
    "kn": (None, _kv),
    "jve": _neighbours("jve"),
    "yve": _neighbours("yve"),
    "ive": (None, _ive),
    "kve": (None, _kve),
    "hankel1": _neighbours("hankel1"),
    "hankel2": _neighbours("hankel2"),
    "hankel1e": _neighbours("hankel1e", turned=-1j),
    "hankel2e": _neighbours("hankel2e", turned=1j),
    "k0": (lambda out, x: -special("k1", x),),
    "k1": (lambda out, x: -special("k0", x) - out / x,),
    "k0e": (lambda out, x: out - special("k1e", x),),
    "k1e": (lambda out, x: out - special("k0e", x) - out / x,),
    "airy": (_airy,),
    "airye": (_airye,),
    "ber": (_named("berp"),),
    "bei": (_named("beip"),),
    "ker": (_named("kerp"),),
    "kei": (_named("keip"),),
    "berp": (_kelvin_slope("ber", "berp", "bei", -1, 0.0),),
    "beip": (_kelvin_slope("bei", "beip", "ber", 1, 0.5),),
    "kerp": (_kelvin_slope("ker", "kerp", "kei", -1, math.nan),),
    "keip": (_kelvin_slope("kei", "keip", "ker", 1, math.nan),),
    "kelvin": (_kelvin,),
    "struve": (None, _struve("struve", -1)),
    "modstruve": (None, _struve("modstruve", 1)),
    "_spherical_jn": (None, _named("_spherical_jn_d")),
    "_spherical_yn": (None, _named("_spherical_yn_d")),
    "_spherical_in": (None, _named("_spherical_in_d")),
    "_spherical_kn": (None, _named("_spherical_kn_d")),
    "_spherical_jn_d": (None, _spherical("_spherical_jn", -1)),
    "_spherical_yn_d": (None, _spherical("_spherical_yn", -1)),
    "_spherical_in_d": (None, _spherical("_spherical_in", 1)),
    "_spherical_kn_d": (None, _spherical("_spherical_kn", 1)),
    "iti0k0": _pair("i0", "k0"),
    "itj0y0": _pair("j0", "y0"),
    "it2i0k0": (lambda out, x: ((special("i0", x) - 1) / x, -special("k0", x) / x),),
    "it2j0y0": (lambda out, x: ((1 - special("j0", x)) / x, -special("y0", x) / x),),
    "itairy": (_airy_integrals,),
    "itstruve0": (lambda out, x: special("struve", 0.0, x),),
    "itmodstruve0": (lambda out, x: special("modstruve", 0.0, x),),
    "it2struve0": (lambda out, x: -special("struve", 0.0, x) / x,),
    "besselpoly": (_besselpoly, None, None),
    "mathieu_cem": _mathieu("mathieu_a", hyperbolic=False),
    "mathieu_sem": _mathieu("mathieu_b", hyperbolic=False),
    "mathieu_modcem1": _mathieu("mathieu_a", hyperbolic=True),
    "mathieu_modcem2": _mathieu("mathieu_a", hyperbolic=True),
    "mathieu_modsem1": _mathieu("mathieu_b", hyperbolic=True),
    "mathieu_modsem2": _mathieu("mathieu_b", hyperbolic=True),
    **{
        f"{kind}_{part}{suffix}": _spheroidal(f"{kind}_cv", sign, part != "ang1", given=bool(suffix))
        for kind, sign in (("pro", 1), ("obl", -1))
        for part in ("ang1", "rad1")  # SciPy's slopes of the second kind are not those of its values
        for suffix in ("", "_cv")
    },
    "pbdv": _cylinder(lambda order, x: 0.25 * x * x - order - 0.5),
    "pbvv": _cylinder(lambda order, x: 0.25 * x * x - order - 0.5),
    "pbwa": _cylinder(lambda order, x: order - 0.25 * x * x),
}
