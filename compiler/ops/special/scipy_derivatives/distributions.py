"""Derivatives of distribution functions by the number at which they are taken: densities; and of their inverses.

By a shape parameter, such as degrees of freedom, there is a closed form for few of them.
"""

import math
from typing import Final

from .rule import Rule
from .terms import Term, apply, exp, log, special, sqrt, where


def _gamma(a: Term, x: Term) -> Term:
    """The density of the gamma distribution."""
    return apply("gamma_integrand", a - 1, special("gammaln", a), x)


def _beta(a: Term, b: Term, x: Term) -> Term:
    """The density of the beta distribution."""
    return apply("beta_integrand", a - 1, b - 1, special("betaln", a, b), x)


def _normal(x: Term) -> Term:
    return exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _student(df: Term, t: Term) -> Term:
    is_normal = df.is_equal(math.inf)
    finite = where(is_normal, 1.0, df)
    tail = exp(-0.5 * (finite + 1) * apply("log1p", t * t / finite))
    return where(is_normal, _normal(t), tail / (sqrt(finite) * special("beta", 0.5, 0.5 * finite)))


def _fisher(dfn: Term, dfd: Term, x: Term) -> Term:
    scale = dfd + dfn * x
    return _beta(0.5 * dfn, 0.5 * dfd, dfn * x / scale) * dfn * dfd / (scale * scale)


def _whole(k: Term) -> Term:
    return apply("floor", k) if k.value.dtype.kind == "f" else k


def _binomial(k: Term, n: Term, p: Term) -> Term:
    k = _whole(k)
    return apply("beta_integrand", k, n - k - 1, special("betaln", n - k, k + 1), p)


def _negative_binomial(k: Term, n: Term, p: Term) -> Term:
    k = _whole(k)
    return apply("beta_integrand", n - 1, k, special("betaln", n, k + 1), p)


def _poisson(k: Term, m: Term) -> Term:
    k = _whole(k)
    return apply("gamma_integrand", k, special("gammaln", k + 1), m)


def _ncf_by_nc(dfn: Term, dfd: Term, nc: Term, f: Term) -> Term:
    more = special("ncfdtr", dfn + 2, dfd, nc, f * dfn / (dfn + 2))
    return 0.5 * (more - special("ncfdtr", dfn, dfd, nc, f))


def _ncx2(x: Term, df: Term, nc: Term) -> Term:
    return special("_ncx2_pdf", x, df, nc)


def _ncx2_by_nc(x: Term, df: Term, nc: Term) -> Term:
    return -special("_ncx2_pdf", x, df + 2, nc)


def _ncf(dfn: Term, dfd: Term, nc: Term, f: Term) -> Term:
    return special("_ncf_pdf", f, dfn, dfd, nc)


def _tukey(out: Term, x: Term, power: Term) -> Term:
    """The quantile function is (pᵖᵒʷᵉʳ − (1 − p)ᵖᵒʷᵉʳ) / power."""
    inside = apply("multiply", out, 1 - out) > 0
    p = where(inside, out, 0.5)
    return where(inside, 1 / (p ** (power - 1) + (1 - p) ** (power - 1)), 0.0)


def _beta_pdf_by_x(out: Term, x: Term, a: Term, b: Term) -> Term:
    return out * ((a - 1) / x - (b - 1) / (1 - x))


def _beta_pdf_by_a(out: Term, x: Term, a: Term, b: Term) -> Term:
    return out * (log(x) - special("psi", a) + special("psi", a + b))


def _beta_pdf_by_b(out: Term, x: Term, a: Term, b: Term) -> Term:
    return out * (apply("log1p", -x) - special("psi", b) + special("psi", a + b))


def _skew_normal(out: Term, x: Term, place: Term, scale: Term, shape: Term) -> Term:
    z = (x - place) / scale
    return 2 / scale * _normal(z) * special("ndtr", shape * z)


def _cosine(out: Term, x: Term) -> Term:
    inside = apply("absolute", x) <= math.pi
    return where(inside, (1 + apply("cos", x)) / (2 * math.pi), 0.0)


DERIVATIVES: Final[dict[str, tuple[Rule | None, ...]]] = {
    "stdtr": (None, lambda out, df, t: _student(df, t)),
    "stdtrit": (None, lambda out, df, p: 1 / _student(df, out)),
    "fdtr": (None, None, lambda out, n, d, x: _fisher(n, d, x)),
    "fdtrc": (None, None, lambda out, n, d, x: -_fisher(n, d, x)),
    "fdtri": (None, None, lambda out, n, d, p: 1 / _fisher(n, d, out)),
    "bdtr": (None, None, lambda out, k, n, p: -_binomial(k, n, p)),
    "bdtrc": (None, None, lambda out, k, n, p: _binomial(k, n, p)),
    "bdtri": (None, None, lambda out, k, n, y: -1 / _binomial(k, n, out)),
    "nbdtr": (None, None, lambda out, k, n, p: _negative_binomial(k, n, p)),
    "nbdtrc": (None, None, lambda out, k, n, p: -_negative_binomial(k, n, p)),
    "nbdtri": (None, None, lambda out, k, n, y: 1 / _negative_binomial(k, n, out)),
    "pdtr": (None, lambda out, k, m: -_poisson(k, m)),
    "pdtrc": (None, lambda out, k, m: _poisson(k, m)),
    "pdtri": (None, lambda out, k, y: -1 / _poisson(k, out)),
    "chdtri": (None, lambda out, v, p: -2 / _gamma(0.5 * v, 0.5 * out)),
    "chndtr": (lambda out, *at: _ncx2(*at), None, lambda out, *at: _ncx2_by_nc(*at)),
    "chndtrix": (
        lambda out, p, df, nc: 1 / _ncx2(out, df, nc),
        None,
        lambda out, p, df, nc: -_ncx2_by_nc(out, df, nc) / _ncx2(out, df, nc),
    ),
    "chndtrinc": (
        lambda out, x, df, p: -_ncx2(x, df, out) / _ncx2_by_nc(x, df, out),
        None,
        lambda out, x, df, p: 1 / _ncx2_by_nc(x, df, out),
    ),
    "gdtr": (
        lambda out, a, b, x: x * _gamma(b, a * x),
        None,
        lambda out, a, b, x: a * _gamma(b, a * x),
    ),
    "gdtrc": (
        lambda out, a, b, x: -x * _gamma(b, a * x),
        None,
        lambda out, a, b, x: -a * _gamma(b, a * x),
    ),
    "gdtrix": (
        lambda out, a, b, p: -out / a,
        None,
        lambda out, a, b, p: 1 / (a * _gamma(b, a * out)),
    ),
    "gdtria": (
        lambda out, p, b, x: 1 / (x * _gamma(b, x * out)),
        None,
        lambda out, p, b, x: -out / x,
    ),
    "gammaincinv": (None, lambda out, a, y: 1 / _gamma(a, out)),
    "gammainccinv": (None, lambda out, a, y: -1 / _gamma(a, out)),
    "betaincinv": (None, None, lambda out, a, b, y: 1 / _beta(a, b, out)),
    "betainccinv": (None, None, lambda out, a, b, y: -1 / _beta(a, b, out)),
    "nctdtr": (None, None, lambda out, df, nc, t: special("_nct_pdf", t, df, nc)),
    "nctdtrit": (None, None, lambda out, df, nc, p: 1 / special("_nct_pdf", out, df, nc)),
    "ncfdtr": (None, None, lambda out, *at: _ncf_by_nc(*at), lambda out, *at: _ncf(*at)),
    "ncfdtri": (
        None,
        None,
        lambda out, n, d, nc, p: -_ncf_by_nc(n, d, nc, out) / _ncf(n, d, nc, out),
        lambda out, n, d, nc, p: 1 / _ncf(n, d, nc, out),
    ),
    "ncfdtrinc": (
        None,
        None,
        lambda out, n, d, p, f: 1 / _ncf_by_nc(n, d, out, f),
        lambda out, n, d, p, f: -_ncf(n, d, out, f) / _ncf_by_nc(n, d, out, f),
    ),
    "nrdtrimn": (
        lambda out, p, width, x: -width / _normal((x - out) / width),
        lambda out, p, width, x: -(x - out) / width,
        lambda out, p, width, x: 1 + 0 * x,
    ),
    "nrdtrisd": (
        lambda out, mean, p, x: -1 / special("ndtri", p),
        lambda out, mean, p, x: -out / (special("ndtri", p) * _normal(special("ndtri", p))),
        lambda out, mean, p, x: 1 / special("ndtri", p),
    ),
    "ndtri_exp": (lambda out, y: math.sqrt(2 * math.pi) * exp(y + 0.5 * out * out),),
    "kolmogorov": (lambda out, x: special("_kolmogp", x),),
    "kolmogi": (lambda out, p: 1 / special("_kolmogp", out),),
    "smirnov": (None, lambda out, n, d: special("_smirnovp", n, d)),
    "smirnovi": (None, lambda out, n, p: 1 / special("_smirnovp", n, out)),
    "tklmbda": (_tukey, None),
    "_beta_pdf": (_beta_pdf_by_x, _beta_pdf_by_a, _beta_pdf_by_b),
    "_beta_ppf": (lambda out, q, a, b: 1 / _beta(a, b, out), None, None),
    "_binom_pmf": (None, None, lambda out, k, n, p: out * (k / p - (n - k) / (1 - p))),
    "_binom_cdf": (None, None, lambda out, k, n, p: -_binomial(k, n, p)),
    "_binom_sf": (None, None, lambda out, k, n, p: _binomial(k, n, p)),
    "_nbinom_pmf": (None, None, lambda out, k, n, p: out * (n / p - k / (1 - p))),
    "_nbinom_cdf": (None, None, lambda out, k, n, p: _negative_binomial(k, n, p)),
    "_nbinom_sf": (None, None, lambda out, k, n, p: -_negative_binomial(k, n, p)),
    "_cosine_cdf": (_cosine,),
    "_skewnorm_cdf": (_skew_normal, None, None, None),
}
