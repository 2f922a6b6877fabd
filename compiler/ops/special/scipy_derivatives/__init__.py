"""Derivatives of the ufuncs of `scipy.special`: tables from a name to one rule per argument.

A rule takes the result, or the tuple of results, and the arguments, and gives the derivative of the result, or of each.
It is None where no closed form is known.
"""

from typing import Final

from . import bessel, distributions, elliptic, integrals, polynomials
from .rule import Rule

DERIVATIVES: Final[dict[str, tuple[Rule | None, ...]]] = {
    **bessel.DERIVATIVES,
    **distributions.DERIVATIVES,
    **elliptic.DERIVATIVES,
    **integrals.DERIVATIVES,
    **polynomials.DERIVATIVES,
}

NOT_HOLOMORPHIC: Final = frozenset({"airye", "ive", "jve", "yve"})
"""Functions of complex numbers that are scaled by the size of a part, so that they have no complex derivative."""
