"""The gamma distribution and those derived from it, with derivatives with respect to their shape parameters."""

from typing import Any

import numpy as np

from ...compiler.numpy_surface.ufuncs.eager_ops import apply_op
from ...compiler.tracing.traced_memory import is_traced
from ..derivatives.stop_gradient import stop_gradient
from ..rules.custom_rule import custom_rule
from . import continuous
from .rejection import first_accepted
from .source import Source
from .stream import Size


def standard_gamma(source: Source, shape: Size, dtype: Any, a: Any) -> Any:
    """Gamma(a) is Gamma(a + 1) times U^(1 / a)."""
    above, exponent = _parts(source, shape, dtype, a)
    return above * np.exp(-exponent)


def log_gamma(source: Source, shape: Size, dtype: Any, a: Any) -> Any:
    """The logarithm of a gamma number, which does not underflow for small `a`."""
    above, exponent = _parts(source, shape, dtype, a)
    return np.log(above) - exponent


def _parts(source: Source, shape: Size, dtype: Any, a: Any) -> tuple[Any, Any]:
    return _of_at_least_one(source, shape, dtype, a + 1), continuous.standard_exponential(
        source, shape, dtype
    ) / a


def _of_at_least_one(source: Source, shape: Size, dtype: Any, a: Any) -> Any:
    """Marsaglia and Tsang, ACM Trans. Math. Softw. 26, 2000, for a ≥ 1."""
    stream = source.attempts(shape, dtype, 3)
    d = stop_gradient(a) - np.dtype(dtype).type(1 / 3)
    c = 1 / np.sqrt(9 * d)

    def propose(attempt: Any) -> tuple[Any, Any]:
        u = stream.trying(attempt).between((3, *shape), dtype)
        x = np.sqrt(-2 * np.log(u[0])) * np.cos(np.dtype(dtype).type(continuous.TWO_PI) * u[1])
        root = 1 + c * x
        v = root * root * root
        is_rejected = (v <= 0) | (np.log(u[2]) >= 0.5 * x * x + d - d * v + d * np.log(v))
        return np.broadcast_to(d * v, shape), np.broadcast_to(is_rejected, shape)

    found = first_accepted(propose)
    return _moving_with(np.broadcast_to(a, shape), found) if is_traced(a) else found


# ---- derivatives in the shape ----------------------------------------------------------------------------


@custom_rule
def _moving_with(a: Any, x: Any) -> Any:
    """A gamma number `x` as a function of its shape `a`, with the other randomness fixed."""
    return x


@_moving_with.jvp
def _(primals: Any, tangents: Any) -> Any:
    (a, _), (da, dx) = primals, tangents
    x = _moving_with(*primals)
    moved = None if da is None else shape_derivative(a, x) * da
    return x, moved if dx is None else dx if moved is None else dx + moved


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def shape_derivative(a: Any, x: Any) -> Any:
    """How a gamma number x of shape a ≥ 1 changes with a: −∂P(a, x)/∂a / p(x), for the distribution function P.

    Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018. With the density p(t) ∝ tᵃ⁻¹ e⁻ᵗ that is
    the integral of p(t) (ψ(a) − log t) / p(x) over t < x, or minus that over t > x: whichever has its largest values at
    x, where with t = x e^∓ʷ the integrand is e⁻ᴱ times a polynomial. It ends where E is 40, by Gauss and Legendre.
    """
    is_below = x < a
    gap = apply_op("digamma", a)[0] - np.log(x)
    low, high = np.where(is_below, x, a), np.where(is_below, a, x)
    excess = high - low
    end_below = (40 - 2 * excess + np.sqrt((40 - 2 * excess) ** 2 + 320 * high)) / (2 * high)
    end_above = 80 / (excess + np.sqrt(excess**2 + 80 * high))
    end = np.where(is_below, end_below, end_above)
    total = np.zeros_like(x)
    for node, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
        w = end * (0.5 + 0.5 * node)
        growth = np.where(is_below, w + np.expm1(-w), np.expm1(w) - w)
        energy = excess * w + x * growth
        total = total + 0.5 * weight * np.exp(-energy) * np.where(is_below, w + gap, w - gap)
    return x * end * total


# ---- made of gamma numbers -------------------------------------------------------------------------------


def gamma(source: Source, shape: Size, dtype: Any, a: Any, scale: Any) -> Any:
    return scale * standard_gamma(source, shape, dtype, a)


def chisquare(source: Source, shape: Size, dtype: Any, df: Any) -> Any:
    return 2 * standard_gamma(source, shape, dtype, 0.5 * df)


def f(source: Source, shape: Size, dtype: Any, dfnum: Any, dfden: Any) -> Any:
    ratio = log_gamma(source, shape, dtype, 0.5 * dfnum) - log_gamma(source, shape, dtype, 0.5 * dfden)
    return np.exp(ratio) * (dfden / dfnum)


def standard_t(source: Source, shape: Size, dtype: Any, df: Any) -> Any:
    normal = continuous.standard_normal(source, shape, dtype)
    return normal * np.sqrt(0.5 * df) * np.exp(-0.5 * log_gamma(source, shape, dtype, 0.5 * df))


def beta(source: Source, shape: Size, dtype: Any, a: Any, b: Any) -> Any:
    difference = log_gamma(source, shape, dtype, b) - log_gamma(source, shape, dtype, a)
    return 1 / (1 + np.exp(difference))


def dirichlet(source: Source, shape: Size, dtype: Any, alpha: Any) -> Any:
    """Gamma numbers divided by their sum along the last axis, in logarithms."""
    logs = log_gamma(source, (*shape, alpha.shape[-1]), dtype, alpha)
    terms = np.exp(logs - np.max(stop_gradient(logs), axis=-1, keepdims=True))
    return terms / np.sum(terms, axis=-1, keepdims=True)
