"""Functions of `scipy.linalg` on traced arrays: NumPy's, with SciPy's names, defaults and results.

What only changes how SciPy computes, such as ``overwrite_a``, is left out. So is ``check_finite``: a NaN gives NaNs,
not an error.
"""

from typing import Any

import numpy as np

from ...errors import ArgumentValueError
from ...nesting import shown
from ...tracing.registry import stands_in_for
from ..linalg import beyond_numpy

stands_in_for("linalg.solve_triangular")(beyond_numpy.solve_triangular)
stands_in_for("linalg.cho_solve")(beyond_numpy.cho_solve)
stands_in_for("linalg.lu")(beyond_numpy.lu)


def _mirrored(a: Any, lower: bool, *, is_hermitian: bool) -> Any:
    """The whole matrix of which only one triangle is read."""
    half = np.tril(a) if lower else np.triu(a)
    other = np.tril(a, -1) if lower else np.triu(a, 1)
    other = np.swapaxes(other, -1, -2)
    return half + (np.conj(other) if is_hermitian else other)


@stands_in_for("linalg.expm")
def expm(A: Any) -> Any:
    return beyond_numpy.expm(A)


@stands_in_for("linalg.inv")
def inv(a: Any) -> Any:
    return np.linalg.inv(a)


@stands_in_for("linalg.det")
def det(a: Any) -> Any:
    return np.linalg.det(a)


@stands_in_for("linalg.solve")
def solve(a: Any, b: Any, lower: bool = False, assume_a: str | None = None, transposed: bool = False) -> Any:
    if assume_a in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        a = _mirrored(a, lower, is_hermitian=not assume_a.startswith("sym"))
    elif assume_a in ("lower triangular", "upper triangular"):
        return beyond_numpy.solve_triangular(a, b, int(transposed), assume_a.startswith("lower"))
    elif assume_a in ("diagonal", "tridiagonal", "banded"):
        width = {"diagonal": 0, "tridiagonal": 1}.get(assume_a)
        a = a if width is None else np.triu(np.tril(a, width), -width)
    elif assume_a not in (None, "gen", "general"):
        raise ArgumentValueError(
            f"scipy.linalg.solve: {shown(assume_a)} is not a structure: leave assume_a out"
        )
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


@stands_in_for("linalg.cholesky")
def cholesky(a: Any, lower: bool = False) -> Any:
    return np.linalg.cholesky(a, upper=not lower)


@stands_in_for("linalg.cho_factor")
def cho_factor(a: Any, lower: bool = False) -> tuple[Any, bool]:
    """SciPy leaves the other triangle of `a` beside the factor."""
    factor = cholesky(a, lower)
    return factor + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


def _in_its_metric(a: Any, b: Any, lower: bool) -> tuple[Any, Any]:
    """The Hermitian matrix with the eigenvalues of a v = λ b v, and the factor L of b = L Lᴴ, where its vectors are Lᴴ
    v."""
    whole = _mirrored(a, lower, is_hermitian=True)
    factor = np.linalg.cholesky(_mirrored(b, lower, is_hermitian=True))
    half = beyond_numpy.solve_triangular(factor, whole, lower=True)
    turned = np.conj(np.swapaxes(half, -1, -2))
    return beyond_numpy.solve_triangular(factor, turned, lower=True), factor


@stands_in_for("linalg.eigh")
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    if eigvals_only:
        return eigvalsh(a, b, lower=lower)
    if b is None:
        return tuple(np.linalg.eigh(a, "L" if lower else "U"))
    matrix, factor = _in_its_metric(a, b, lower)
    values, vectors = np.linalg.eigh(matrix)
    return values, beyond_numpy.solve_triangular(factor, vectors, 2, lower=True)


@stands_in_for("linalg.eigvalsh")
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True) -> Any:
    if b is None:
        return np.linalg.eigvalsh(a, "L" if lower else "U")
    return np.linalg.eigvalsh(_in_its_metric(a, b, lower)[0])


@stands_in_for("linalg.eigvals")
def eigvals(a: Any) -> Any:
    """Complex, also if all are real."""
    found = np.linalg.eigvals(a)
    return found + 0j


@stands_in_for("linalg.eig")
def eig(a: Any) -> Any:
    """Vectors are complex, too, also if all are real."""
    values, vectors = np.linalg.eig(a)
    return values + 0j, vectors + 0j


@stands_in_for("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return tuple(np.linalg.svd(a, full_matrices)) if compute_uv else np.linalg.svd(a, compute_uv=False)


@stands_in_for("linalg.svdvals")
def svdvals(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


@stands_in_for("linalg.qr")
def qr(a: Any, mode: str = "full") -> Any:
    if mode not in ("full", "r", "economic"):
        raise ArgumentValueError(
            f"scipy.linalg.qr: mode {shown(mode)} has no traced version: use 'full', 'r' or 'economic'"
        )
    q, r = np.linalg.qr(a, "reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


@stands_in_for("linalg.norm")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return np.linalg.norm(a, ord, axis, keepdims)


@stands_in_for("linalg.pinv")
def pinv(a: Any, *, atol: float | None = None, rtol: float | None = None) -> Any:
    if atol is not None:
        raise ArgumentValueError("scipy.linalg.pinv: atol has no traced version: use rtol")
    relative = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    return np.linalg.pinv(a, relative)


@stands_in_for("linalg.lstsq")
def lstsq(a: Any, b: Any, cond: float | None = None) -> Any:
    """For one right-hand side SciPy's sum of squares is a number."""
    x, squares, rank, values = np.linalg.lstsq(a, b, float(np.finfo(a.dtype).eps) if cond is None else cond)
    is_one = np.ndim(b) == 1 and np.shape(squares) == (1,)
    return x, squares[0] if is_one else squares, rank, values


@stands_in_for("linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """Entry (i, j) is ``c[i - j]`` below the diagonal and ``r[j - i]`` above it."""
    row = np.conj(c) if r is None else r
    values = np.concatenate([np.flip(row[..., 1:], -1), c], axis=-1)
    height, width = c.shape[-1], row.shape[-1]
    places = np.arange(height)[:, None] - np.arange(width)[None, :] + (width - 1)
    return values[..., places]


@stands_in_for("linalg.block_diag")
def block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(block) for block in arrs]
    width = sum(block.shape[-1] for block in blocks)
    rows: list[Any] = []
    before = 0
    for block in blocks:
        after = width - before - block.shape[-1]
        rows.append(np.pad(block, ((0, 0), (before, after))))
        before += block.shape[-1]
    return np.concatenate(rows)


@stands_in_for("linalg.solve_banded")
def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Any:
    return beyond_numpy.solve_banded(l_and_u, ab, b)
