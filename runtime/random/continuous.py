"""Continuous distributions that are functions of uniform numbers, so that they have derivatives with respect to their
parameters.

A sampler takes a `Source`, the shape and dtype of the draw, and its parameters in that dtype.
"""

from math import prod
from typing import Any

import numpy as np

from ...compiler.errors import ArgumentTypeError, ArgumentValueError
from ...compiler.nesting import shown
from ...compiler.numpy_surface.ufuncs.eager_ops import apply_op
from .source import Source
from .stream import Size

TWO_PI = 6.283185307179586
LOG_TWO_PI = 1.8378770664093453


def random(source: Source, shape: Size, dtype: Any) -> Any:
    return source.uniform(shape, dtype)


def uniform(source: Source, shape: Size, dtype: Any, low: Any, high: Any) -> Any:
    return low + (high - low) * source.uniform(shape, dtype)


def standard_normal(source: Source, shape: Size, dtype: Any) -> Any:
    """Box and Muller, Ann. Math. Stat. 29, 1958: two independent numbers from two uniform ones."""
    count = prod(shape)
    u = source.between((2, (count + 1) // 2), dtype)
    radius = np.sqrt(-2 * np.log(u[0]))
    angle = np.dtype(dtype).type(TWO_PI) * u[1]
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return both[:count].reshape(shape)


def normal(source: Source, shape: Size, dtype: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * standard_normal(source, shape, dtype)


def lognormal(source: Source, shape: Size, dtype: Any, mean: Any, sigma: Any) -> Any:
    return np.exp(normal(source, shape, dtype, mean, sigma))


def factor_of(cov: Any, method: str) -> Any:
    """A matrix whose product with its transpose is the covariance."""
    if not isinstance(method, str):
        raise ArgumentTypeError(f"multivariate_normal: method must be text, not {type(method).__name__}")
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        return vectors * np.sqrt(np.maximum(values, 0))[..., None, :]
    if method == "svd":
        vectors, values, _ = np.linalg.svd(cov)
        return vectors * np.sqrt(values)[..., None, :]
    raise ArgumentValueError(
        f"multivariate_normal: method must be 'cholesky', 'eigh' or 'svd', not {shown(method, 40)}"
    )


def standard_exponential(source: Source, shape: Size, dtype: Any) -> Any:
    return -np.log(source.between(shape, dtype))


def exponential(source: Source, shape: Size, dtype: Any, scale: Any) -> Any:
    return scale * standard_exponential(source, shape, dtype)


def gumbel(source: Source, shape: Size, dtype: Any, loc: Any, scale: Any) -> Any:
    return loc - scale * np.log(standard_exponential(source, shape, dtype))


def laplace(source: Source, shape: Size, dtype: Any, loc: Any, scale: Any) -> Any:
    u = source.between(shape, dtype)
    tail = np.log(2 * np.minimum(u, 1 - u))
    return loc + scale * np.where(u < 0.5, tail, -tail)


def logistic(source: Source, shape: Size, dtype: Any, loc: Any, scale: Any) -> Any:
    u = source.between(shape, dtype)
    return loc + scale * (np.log(u) - np.log1p(-u))


def standard_cauchy(source: Source, shape: Size, dtype: Any) -> Any:
    """The quotient of two coordinates of a random direction."""
    half_turn = np.dtype(dtype).type(TWO_PI / 2)
    return np.tan(half_turn * (source.between(shape, dtype) - np.dtype(dtype).type(0.5)))


def cauchy(source: Source, shape: Size, dtype: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * standard_cauchy(source, shape, dtype)


def rayleigh(source: Source, shape: Size, dtype: Any, scale: Any) -> Any:
    return scale * np.sqrt(2 * standard_exponential(source, shape, dtype))


def weibull(source: Source, shape: Size, dtype: Any, a: Any) -> Any:
    return standard_exponential(source, shape, dtype) ** (1 / a)


def pareto(source: Source, shape: Size, dtype: Any, a: Any) -> Any:
    return np.expm1(standard_exponential(source, shape, dtype) / a)


def power(source: Source, shape: Size, dtype: Any, a: Any) -> Any:
    return np.exp(-standard_exponential(source, shape, dtype) / a)


def truncated_normal(
    source: Source, shape: Size, dtype: Any, low: Any, high: Any, loc: Any, scale: Any
) -> Any:
    """The inverse of the distribution function, on the side of the mean where most of the interval is below it.

    There log Φ(low) and log Φ(high) lose no accuracy, however far out the interval is.
    """
    a, b = (low - loc) / scale, (high - loc) / scale
    mirrored = a + b > 0
    a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    log_a, log_b = _op("log_ndtr", a), _op("log_ndtr", b)
    u = source.between(shape, dtype)
    x = _quantile(log_b + np.log(u + (1 - u) * np.exp(log_a - log_b)))
    x = np.clip(x, a, b)
    return np.clip(loc + scale * np.where(mirrored, -x, x), low, high)


def _quantile(log_p: Any) -> Any:
    """The number where the normal distribution function is exp(log_p): far out by Newton's method on its logarithm."""
    is_far = log_p < -5
    near = _op("ndtri", np.exp(np.where(is_far, -1, log_p)))
    target = np.where(is_far, log_p, -5)
    x = -np.sqrt(-2 * target - LOG_TWO_PI - np.log(-2 * target))
    for _ in range(4):
        value = _op("log_ndtr", x)
        slope = np.exp(-0.5 * x * x - 0.5 * LOG_TWO_PI - value)
        x = x - (value - target) / slope
    return np.where(is_far, x, near)


def _op(name: str, x: Any) -> Any:
    """An op that NumPy has no function for."""
    return apply_op(name, x)[0]
