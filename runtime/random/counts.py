"""Distributions of counts: how many events, how many successes."""

from typing import Any

import numpy as np

from ...compiler.numpy_surface.ufuncs.eager_ops import apply_op
from ..derivatives.stop_gradient import stop_gradient
from . import discrete
from .gammas import standard_gamma
from .rejection import first_accepted, repeat
from .source import Source
from .stream import Size

FEW = 10
"""If fewer are expected, the distribution function is inverted term by term."""
MOST = 200
"""With an expectation below `FEW` a larger count has a probability below the resolution of the uniform numbers."""


def poisson(source: Source, shape: Size, dtype: Any, lam: Any) -> Any:
    """If many are expected, by transformed rejection: Hörmann, Insurance: Mathematics and Economics 12, 1993."""
    lam = np.broadcast_to(stop_gradient(lam), shape)
    is_few = np.logical_not(lam >= FEW)
    rare, often = np.where(is_few, lam, 1.0), np.where(is_few, float(FEW), lam)
    few = _inverted(source, shape, np.exp(-rare), lambda k: rare / k)
    root, log_rate = np.sqrt(often), np.log(often)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    fast = 0.9277 - 3.6224 / (b - 2)
    scale = np.log(1.1239 + 1.1328 / (b - 3.4))
    stream = source.attempts(shape, np.float64, 2)

    def propose(attempt: Any) -> tuple[Any, Any]:
        u, v = stream.trying(attempt).between((2, *shape), np.float64)
        u = u - 0.5
        near = 0.5 - np.abs(u)
        k = np.floor((2 * a / near + b) * u + often + 0.43)
        ratio = k * log_rate - often - apply_op("gammaln", np.maximum(k, 0.0) + 1)[0]
        is_above = np.log(v) + scale - np.log(a / (near * near) + b) > ratio
        is_rejected = (k < 0) | ((near < 0.013) & (v > near)) | is_above
        return k, is_rejected & np.logical_not((near >= 0.07) & (v <= fast))

    return np.minimum(np.where(is_few, few, first_accepted(propose)), discrete.LARGEST).astype(np.int64)


def binomial(source: Source, shape: Size, dtype: Any, n: Any, p: Any) -> Any:
    """If many are expected, by transformed rejection: Hörmann, J. Stat. Comput. Simul. 46, 1993."""
    n, p = (np.broadcast_to(stop_gradient(x), shape) for x in (np.floor(n), p))
    is_flipped = p > 0.5
    q = np.where(is_flipped, p, 1 - p)
    p = np.where(is_flipped, 1 - p, p)
    is_few = np.logical_not(n * p >= FEW)
    odds = p / q
    few = _inverted(
        source, shape, np.exp(n * np.log1p(-np.where(is_few, p, 0.0))), lambda k: (n + 1 - k) / k * odds
    )
    count, chance = np.where(is_few, 40.0, n), np.where(is_few, 0.5, p)
    log_odds = np.log(chance) - np.log1p(-chance)
    spread = np.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    fast = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    mode = np.floor((count + 1) * chance)
    peak = _log_factorial(mode) + _log_factorial(count - mode)
    stream = source.attempts(shape, np.float64, 2)

    def propose(attempt: Any) -> tuple[Any, Any]:
        u, v = stream.trying(attempt).between((2, *shape), np.float64)
        u = u - 0.5
        near = 0.5 - np.abs(u)
        k = np.floor((2 * a / near + b) * u + count * chance + 0.5)
        is_outside = (k < 0) | (k > count)
        inside = np.clip(k, 0, count)
        ratio = peak - _log_factorial(inside) - _log_factorial(count - inside) + (inside - mode) * log_odds
        is_above = np.log(v * alpha / (a / (near * near) + b)) > ratio
        return k, is_outside | (is_above & np.logical_not((near >= 0.07) & (v <= fast)))

    drawn = np.where(is_few, few, first_accepted(propose))
    return np.where(is_flipped, n - drawn, drawn).astype(np.int64)


def negative_binomial(source: Source, shape: Size, dtype: Any, n: Any, p: Any) -> Any:
    """Poisson numbers whose rate is a gamma number."""
    rate = standard_gamma(source, shape, dtype, stop_gradient(n)) * (1 - p) / p
    return poisson(source, shape, dtype, rate)


def _log_factorial(k: Any) -> Any:
    return apply_op("gammaln", k + 1)[0]


def _inverted(source: Source, shape: Size, first: Any, ratio: Any) -> Any:
    """The count whose distribution function reaches a uniform number: term k is term k − 1 times ``ratio(k)``."""
    u = source.uniform(shape, np.float64)

    def advance(state: Any) -> Any:
        k, term, total, count = state
        following = term * ratio(k)
        return k + 1, following, total + following, count + (u >= total)

    def active(state: Any) -> Any:
        k, _, total, _ = state
        return (u >= total) & (k < MOST)

    start = (1.0, first, first, np.zeros_like(first))
    return repeat(advance, active, start)[3]
