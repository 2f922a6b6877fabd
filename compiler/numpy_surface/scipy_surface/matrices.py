"""Functions of matrices, special matrices, and systems with structure of `scipy.linalg` on traced arrays."""

from typing import Any

import numpy as np

from ...dtypes import is_inexact
from ...errors import ArgumentValueError
from ...nesting import shown
from ...tracing.registry import stands_in_for
from ...tracing.traced_memory import is_traced
from ..linalg import beyond_numpy
from ..ufuncs.eager_ops import apply_op
from .linalg import toeplitz


def _floating(x: Any) -> Any:
    x = x if is_traced(x) else np.asarray(x)
    return x if is_inexact(x.dtype) else x.astype(np.float64)


def _in_one_dtype(*operands: Any) -> list[Any]:
    arrays = list(map(_floating, operands))
    dtype = np.result_type(*arrays)
    return [x.astype(dtype, copy=False) for x in arrays]


def _in_double_precision(x: Any) -> Any:
    """In the dtype of SciPy's result also for single precision."""
    x = _floating(x)
    return x.astype(np.result_type(x.dtype, np.float64), copy=False)


# ---- functions of matrices -----------------------------------------------------------------------------------


@stands_in_for("linalg.sqrtm")
def sqrtm(A: Any) -> Any:
    return apply_op("matrix_function", _floating(A), function="sqrtm")[0]


@stands_in_for("linalg.logm")
def logm(A: Any) -> Any:
    return apply_op("matrix_function", _in_double_precision(A), function="logm")[0]


@stands_in_for("linalg.fractional_matrix_power")
def fractional_matrix_power(A: Any, t: Any) -> Any:
    if is_traced(t):
        raise ArgumentValueError(
            "scipy.linalg.fractional_matrix_power: a traced t has no traced version: use expm(t * logm(A))"
        )
    if t == int(t):
        return np.linalg.matrix_power(_floating(A), int(t))
    given: dict[str, Any] = {"function": "fractional_matrix_power", "exponent": float(t)}
    return apply_op("matrix_function", _in_double_precision(A), **given)[0]


@stands_in_for("linalg.signm")
def signm(A: Any) -> Any:
    """A (A²)^(−1/2)."""
    a = _floating(A)
    return a @ np.linalg.inv(sqrtm(a @ a))


@stands_in_for("linalg.expm_frechet")
def expm_frechet(A: Any, E: Any, compute_expm: bool = True) -> Any:
    a, e = _in_one_dtype(A, E)
    size = a.shape[-1]
    upper = np.concatenate([a, e], axis=-1)
    whole = beyond_numpy.expm(
        np.concatenate([upper, np.concatenate([np.zeros_like(a), a], axis=-1)], axis=-2)
    )
    slope = whole[..., :size, size:]
    return (whole[..., :size, :size], slope) if compute_expm else slope


@stands_in_for("linalg.solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return apply_op("solve_sylvester", *_in_one_dtype(a, b, q))[0]


@stands_in_for("linalg.solve_continuous_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    a, q = _in_one_dtype(a, q)
    return solve_sylvester(a, np.conj(a.T), q)


@stands_in_for("linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """A X Aᴴ − X + Q = 0: one linear system for small matrices, else by a bilinear transformation, as in SciPy."""
    a, q = _in_one_dtype(a, q)
    size = a.shape[0]
    if method not in (None, "direct", "bilinear"):
        raise ArgumentValueError(f"scipy.linalg.solve_discrete_lyapunov: unknown method {shown(method)}")
    if method == "direct" or (method is None and size < 10):
        return np.linalg.solve(np.eye(size * size) - np.kron(a, np.conj(a)), q.ravel()).reshape(size, size)
    one, turned = np.eye(size), np.conj(a.T)
    inverse = np.linalg.inv(turned + one)
    b = (turned - one) @ inverse
    c = 2 * np.linalg.inv(a + one) @ q @ inverse
    return solve_continuous_lyapunov(np.conj(b.T), -c)


# ---- triangles with exchanged rows -----------------------------------------------------------------------------


@stands_in_for("linalg.lu_factor", has_loops=True)
def lu_factor(a: Any) -> tuple[Any, Any]:
    """Both triangles in one matrix, and LAPACK's exchanges: row i was exchanged with row ``piv[i]``."""
    packed, places = apply_op("lu", _floating(a))
    if packed.ndim > 2:
        raise ArgumentValueError("scipy.linalg.lu_factor of traced stacks has no traced version: use tm.vmap")
    rows = np.arange(packed.shape[0])
    pivots = np.arange(min(packed.shape))
    for i in range(min(packed.shape)):
        at = np.argmax(rows == places[i])
        pivots[i] = at
        rows[at] = rows[i]
        rows[i] = places[i]
    return packed, pivots.astype(np.int32)


@stands_in_for("linalg.lu_solve", has_loops=True)
def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0) -> Any:
    lu, pivots = lu_and_piv
    order = np.arange(lu.shape[0])
    for i in range(pivots.shape[0]):
        at = pivots[i]
        moved, other = order[at], order[i]
        order[i] = moved
        order[at] = other
    if trans == 0:
        half = beyond_numpy.solve_triangular(lu, b[order], 0, lower=True, unit_diagonal=True)
        return beyond_numpy.solve_triangular(lu, half)
    half = beyond_numpy.solve_triangular(lu, b, trans)
    found = beyond_numpy.solve_triangular(lu, half, trans, lower=True, unit_diagonal=True)
    return found[np.argsort(order)]


# ---- special matrices ----------------------------------------------------------------------------------------------


@stands_in_for("linalg.circulant")
def circulant(c: Any) -> Any:
    size = c.shape[-1]
    places = (np.arange(size)[:, None] - np.arange(size)) % size
    return c[..., places]


@stands_in_for("linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """Entry (i, j) is entry i + j of the column, continued by the row."""
    last = np.zeros_like(c) if r is None else r
    values = np.concatenate([c, last[..., 1:]], axis=-1)
    return values[..., np.arange(c.shape[-1])[:, None] + np.arange(last.shape[-1])]


def _toeplitz(c_or_cr: Any) -> Any:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


@stands_in_for("linalg.solve_toeplitz")
def solve_toeplitz(c_or_cr: Any, b: Any) -> Any:
    return np.linalg.solve(_toeplitz(c_or_cr), b)


@stands_in_for("linalg.matmul_toeplitz")
def matmul_toeplitz(c_or_cr: Any, x: Any) -> Any:
    return _toeplitz(c_or_cr) @ x


# ---- symmetric matrices with few diagonals ---------------------------------------------------------------------


def _sides(ab: Any, lower: bool) -> list[Any]:
    """The diagonals below the main one, which is the first."""
    count, size = ab.shape
    return [ab[k, : size - k] if lower else np.conj(ab[count - 1 - k, k:]) for k in range(min(count, size))]


@stands_in_for("linalg.solveh_banded")
def solveh_banded(ab: Any, b: Any, lower: bool = False) -> Any:
    sides = _sides(_floating(ab), lower)
    width = len(sides) - 1
    above = [np.pad(np.conj(sides[k]), (k, 0)) for k in range(width, 0, -1)]
    below = [np.pad(sides[k], (0, k)) for k in range(width + 1)]
    return beyond_numpy.solve_banded((width, width), np.stack([*above, *below]), b)


def _dense(ab: Any, lower: bool) -> Any:
    """The lower triangle of the matrix."""
    sides = _sides(_floating(ab), lower)
    found: Any = np.diag(sides[0])
    for k, side in enumerate(sides[1:], 1):
        found = found + np.diag(side, -k)
    return found


@stands_in_for("linalg.cholesky_banded")
def cholesky_banded(ab: Any, lower: bool = False) -> Any:
    """The factor in the place of the diagonals; what lies outside of the matrix stays."""
    count, size = ab.shape
    factor = np.linalg.cholesky(_dense(ab, lower))
    rows: list[Any] = []
    for row in range(count):
        k = row if lower else count - 1 - row
        inside = np.diagonal(factor, -k) if lower else np.conj(np.diagonal(factor, -k))
        parts = [inside, ab[row, size - k :]] if lower else [ab[row, :k], inside]
        rows.append(np.concatenate(parts))
    return np.stack(rows)


@stands_in_for("linalg.cho_solve_banded")
def cho_solve_banded(cb_and_lower: tuple[Any, bool], b: Any) -> Any:
    factor, lower = cb_and_lower
    return beyond_numpy.cho_solve((_dense(factor, lower), True), b)


@stands_in_for("linalg.eigh_tridiagonal")
def eigh_tridiagonal(d: Any, e: Any, eigvals_only: bool = False) -> Any:
    matrix = np.diag(d) + np.diag(e, -1)
    return np.linalg.eigvalsh(matrix) if eigvals_only else tuple(np.linalg.eigh(matrix))


@stands_in_for("linalg.eig_banded")
def eig_banded(a_band: Any, lower: bool = False, eigvals_only: bool = False) -> Any:
    matrix = _dense(a_band, lower)
    return np.linalg.eigvalsh(matrix) if eigvals_only else tuple(np.linalg.eigh(matrix))
