"""Derivatives of orthogonal polynomials by their argument: polynomials of a degree less, DLMF 18.9.15 to 18.9.28.

The degree may be any number, as in SciPy. There is no closed form by the degree or the parameters.
"""

from typing import Final

from .rule import Rule
from .terms import Term, special, where


def _lower(name: str, n: Term, *operands: "Term | float") -> Term:
    """A polynomial of degree n − 1, 0 for n = 0."""
    is_lowest = n.is_equal(0)
    degree = where(is_lowest, 0, n - 1) if n.value.dtype.kind == "i" else where(is_lowest, 0.0, n - 1)
    return where(is_lowest, 0.0, special(name, degree, *operands))


def _gegenbauer(out: Term, n: Term, alpha: Term, x: Term) -> Term:
    return 2 * alpha * _lower("eval_gegenbauer", n, alpha + 1, x)


def _jacobi(out: Term, n: Term, alpha: Term, beta: Term, x: Term) -> Term:
    return 0.5 * (n + alpha + beta + 1) * _lower("eval_jacobi", n, alpha + 1, beta + 1, x)


def _shifted_jacobi(out: Term, n: Term, p: Term, q: Term, x: Term) -> Term:
    found = (n + p) * _lower("eval_jacobi", n, p - q + 1, q, 2 * x - 1)
    return found / special("binom", 2 * n + p - 1, n)


def _associated_legendre(out: Term, order: Term, degree: Term, x: Term) -> Term:
    """(1 − x²) P′ = (v + 1) x Pᵥ − (v − m + 1) Pᵥ₊₁."""
    above = special("lpmv", order, degree + 1, x)
    return ((degree + 1) * x * out - (degree - order + 1) * above) / (1 - x * x)


DERIVATIVES: Final[dict[str, tuple[Rule | None, ...]]] = {
    "eval_legendre": (None, lambda out, n, x: _lower("eval_gegenbauer", n, 1.5, x)),
    "eval_sh_legendre": (None, lambda out, n, x: 2 * _lower("eval_gegenbauer", n, 1.5, 2 * x - 1)),
    "eval_chebyt": (None, lambda out, n, x: n * _lower("eval_chebyu", n, x)),
    "eval_chebyu": (None, lambda out, n, x: 2 * _lower("eval_gegenbauer", n, 2.0, x)),
    "eval_chebyc": (None, lambda out, n, x: n * _lower("eval_chebyu", n, 0.5 * x)),
    "eval_chebys": (None, lambda out, n, x: _lower("eval_gegenbauer", n, 2.0, 0.5 * x)),
    "eval_sh_chebyt": (None, lambda out, n, x: 2 * n * _lower("eval_chebyu", n, 2 * x - 1)),
    "eval_sh_chebyu": (None, lambda out, n, x: 4 * _lower("eval_gegenbauer", n, 2.0, 2 * x - 1)),
    "eval_gegenbauer": (None, None, _gegenbauer),
    "eval_jacobi": (None, None, None, _jacobi),
    "eval_sh_jacobi": (None, None, None, _shifted_jacobi),
    "eval_laguerre": (None, lambda out, n, x: -_lower("eval_genlaguerre", n, 1.0, x)),
    "eval_genlaguerre": (None, None, lambda out, n, alpha, x: -_lower("eval_genlaguerre", n, alpha + 1, x)),
    "eval_hermite": (None, lambda out, n, x: 2 * n * _lower("eval_hermite", n, x)),
    "eval_hermitenorm": (None, lambda out, n, x: n * _lower("eval_hermitenorm", n, x)),
    "lpmv": (None, None, _associated_legendre),
}
