"""Polynomials as arrays of coefficients, the highest power first."""

from typing import Any, Final

import numpy as np

from ...builder import bind
from ...dtypes import FLOAT64, INT64, is_inexact
from ...errors import ArgumentTypeError, ArgumentValueError, ShapeError
from ...symbolic_size import is_symbolic_shape
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced
from ...tracing.value_lengths import depends_on_values
from ...value_ops import iota
from ..linalg.factorizations import real_if_known
from ..ufuncs.ufunc_calls import as_array

_ALMOST_ZERO: Final = 1e-8
"""The absolute tolerance of `numpy.allclose`."""


def _coefficients(p: Any) -> Any:
    x: Any = as_array(p.coeffs if isinstance(p, np.poly1d) else p)
    return np.atleast_1d(x)


def _without_leading_zeros(p: Any) -> Any:
    """NumPy drops leading zeros of the factors; here this needs zeros that are known while tracing."""
    x = _coefficients(p)
    known = x.concrete() if is_traced(x) else x
    if known is None or not known.size:
        return x
    nonzero = np.flatnonzero(known)
    return x[nonzero[0] :] if nonzero.size else x[-1:]


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Horner's rule. If the number of coefficients depends on values, a sum of multiples of powers."""
    coefficients = _coefficients(p)
    at: Any = as_array(x)
    if depends_on_values(coefficients.shape[0]):
        return _sum_of_powers(coefficients, at)
    result: Any = np.zeros_like(at)
    for i in range(coefficients.shape[0]):
        result = result * at + coefficients[i]
    return result


def _sum_of_powers(coefficients: Any, at: Any) -> Any:
    length = coefficients.shape[0]
    column = (length, *(1,) * at.ndim)
    factors = np.where(wrap(iota(length, INT64)).reshape(column) == 0, np.ones((), at.dtype), at)
    powers = np.cumprod(factors, axis=0, dtype=np.result_type(coefficients, at))
    return np.sum(coefficients[::-1].reshape(column) * powers, axis=0)


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both with the same number of coefficients, padded with leading zeros."""
    x, y = _coefficients(a1), _coefficients(a2)
    length = max(x.shape[0], y.shape[0])
    return tuple(np.concatenate([np.zeros(length - p.shape[0], p.dtype), p]) for p in (x, y))  # type: ignore[return-value]


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    x, y = _aligned(a1, a2)
    return x + y


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    x, y = _aligned(a1, a2)
    return x - y


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The convolution of the coefficients.

    NumPy also drops leading zeros of the factors; here they must be known while tracing, so that the product of
    factors that happen to begin with 0 is the same polynomial with zeros in front.
    """
    return np.convolve(_without_leading_zeros(a1), _without_leading_zeros(a2))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder by long division.

    The remainder has no leading entries that are almost 0. So its length depends on values, unless they are known while
    tracing.
    """
    x, y = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    dtype = np.result_type(x.dtype, y.dtype)
    m, n = x.shape[0] - 1, y.shape[0] - 1
    scale = 1.0 / y[0]
    rest = x.astype(dtype)
    quotient = [np.zeros((), dtype)] if m < n else []
    for k in range(m - n + 1):
        d = scale * rest[k]
        quotient.append(d)
        rest = np.concatenate([rest[:k], rest[k : k + n + 1] - d * y, rest[k + n + 1 :]])
    return np.stack([as_array(d) for d in quotient]), _without_small_front(rest)


def _without_small_front(rest: Any) -> Any:
    """An array without its first entries, as long as these are almost 0, but with its last one."""
    is_kept = np.logical_not(np.abs(rest[:-1]) <= _ALMOST_ZERO)
    is_last = np.ones(1, bool)
    start: Any = np.argmax(np.concatenate([is_kept, is_last]))
    known = start.concrete()
    return rest[start if known is None else int(known) :]


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    m = int(m)
    if m < 0:
        raise ArgumentValueError("Order of derivative must be positive (see polyint)")
    x = _coefficients(p)
    for _ in range(m):
        x = x[:-1] * np.arange(x.shape[0] - 1, 0, -1)
    return x


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = int(m)
    if m < 0:
        raise ArgumentValueError("Order of integral must be positive (see polyder)")
    constants: Any = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if len(constants) < m:
        raise ArgumentValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = _coefficients(p)
    for i in range(m):
        x = np.concatenate([x / np.arange(x.shape[0], 0, -1), constants[i : i + 1]])
    return x


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these roots, or the characteristic polynomial of a matrix."""
    roots: Any = np.atleast_1d(as_array(seq_of_zeros))
    is_real_matrix = False
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.shape[0]:
        is_real_matrix = roots.dtype.kind != "c"
        roots = np.linalg.eigvals(roots)
    elif roots.ndim != 1:
        raise ShapeError("input must be 1d or non-empty square 2d array.")
    if not roots.shape[0]:
        return 1.0
    dtype = np.dtype(np.mintypecode(roots.dtype.char))
    result: Any = as_array(np.ones(1, dtype))
    for i in range(roots.shape[0]):
        result = np.convolve(result, np.stack([as_array(np.ones((), dtype)), -roots[i].astype(dtype)]))
    if is_real_matrix:  # whose complex eigenvalues come in conjugate pairs
        return np.real(result)
    known = roots.concrete()
    if known is not None and known.dtype.kind == "c" and np.all(np.sort(known) == np.sort(known.conjugate())):
        return result.real
    return result


@implements(np.roots)
def roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix. Leading and trailing zeros are dropped if they are known."""
    x: Any = np.atleast_1d(as_array(p))
    if x.ndim != 1:
        raise ShapeError("Input must be a rank-1 array.")
    known = x.concrete()
    nonzero = np.flatnonzero(known) if known is not None else np.arange(x.shape[0])
    if not len(nonzero):
        return np.array([])
    trailing = x.shape[0] - nonzero[-1] - 1
    x = x[int(nonzero[0]) : int(nonzero[-1]) + 1]
    x = x if is_inexact(x.dtype) else x.astype(float)
    count = x.shape[0] - 1
    found: Any = np.zeros(0, x.dtype)
    if count:
        first_row = -x[1:] / x[0]
        companion = np.concatenate([first_row[None, :], np.eye(count, k=0, dtype=x.dtype)[:-1]])
        matrix = as_value(companion)
        (found,) = real_if_known(matrix, bind("eigvals", matrix))
    return np.concatenate([as_array(found), np.zeros(int(trailing), found.dtype)])


def _floating(x: Any) -> Any:
    array: Any = as_array(x)
    return array + 0.0


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The least-squares polynomial."""
    degree = int(deg)
    at, values = _floating(x), _floating(y)
    if degree < 0:
        raise ArgumentValueError("expected deg >= 0")
    if at.ndim != 1:
        raise ArgumentTypeError("expected 1D vector for x")
    if not at.shape[0]:
        raise ArgumentTypeError("expected non-empty vector for x")
    if values.ndim not in (1, 2):
        raise ArgumentTypeError("expected 1D or 2D array for y")
    if at.shape[0] != values.shape[0]:
        raise ArgumentTypeError(f"polyfit: x and y of shapes {at.shape} and {values.shape} do not fit")
    precise = at.shape[0] * float(np.finfo(at.dtype).eps) if rcond is None else rcond
    is_default = rcond is None and at.dtype == FLOAT64 and is_symbolic_shape(at.shape)
    left: Any = np.vander(at, degree + 1)
    right = values
    if w is not None:
        weights = _floating(w)
        if weights.shape != at.shape:
            raise ArgumentTypeError(
                f"polyfit: w of shape {weights.shape} must be a vector as long as y, {at.shape}"
            )
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    c, residuals, rank, singular = np.linalg.lstsq(
        left, right, None if is_default and at.shape[0] > degree else precise
    )
    solution: Any = (np.transpose(c) / scale).T
    if full:
        return solution, residuals, rank, singular, precise
    if not cov:
        return solution
    base: Any = np.linalg.inv(left.T @ left) / np.outer(scale, scale)
    factor: Any = 1 if cov == "unscaled" else residuals / (at.shape[0] - degree - 1)
    return solution, base * factor if values.ndim == 1 else base[:, :, None] * factor
