"""Factorizations without iteration: Cholesky, LU with partial pivoting, QR."""

from typing import Any

import numpy as np

from ...dtypes import INT64
from ...errors import ArgumentValueError, NotDifferentiableError
from ...ir import ArrayType, Value
from ...nesting import shown
from ...op import Op, not_linear, register
from ...value_ops import (
    add,
    broadcast_to,
    concatenate,
    multiply,
    reshape,
    slice_axis,
    subtract,
    take_along_axis,
)
from .matrix_stacks import (
    adjoint,
    batch_stacks,
    diagonal,
    divide_by_triangle,
    hermitian,
    imaginary_part,
    lower_triangle,
    matmul,
    require_matrices,
    require_square,
    solve_triangle,
    unit_lower_triangle,
    upper_triangle,
    with_diagonal,
)

FAMILY = "factorization"


# ---- cholesky ----------------------------------------------------------------------------------------


def _cholesky_type(x: ArrayType) -> ArrayType:
    require_square("cholesky", x)
    return x


def _cholesky_jvp(inputs: Any, tangents: tuple[Value], outputs: tuple[Value]) -> Value:
    """dL = L Φ(L⁻¹ dX L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal.

    I. Murray, "Differentiation of the Cholesky decomposition" (2016). dX is that of the Hermitian matrix given by the
    lower triangle, because the op reads nothing else.
    """
    (dx,), (factor,) = tangents, outputs
    left = solve_triangle(factor, hermitian(dx), lower=True)
    both = adjoint(solve_triangle(factor, adjoint(left), lower=True))
    half = with_diagonal(lower_triangle(both), multiply(diagonal(both), 0.5))
    return matmul(factor, half)


register(
    Op(
        "cholesky", FAMILY, _cholesky_type,
        lambda x: np.linalg.cholesky(x),
        _cholesky_jvp, not_linear, batch_stacks("cholesky"), spelling=None, effect=None, may_fail=True,
        doc="The lower triangle L with X = L Lᴴ. Only the lower triangle of X is read.",
    )
)  # fmt: skip


# ---- lu ----------------------------------------------------------------------------------------------


def _lu_type(x: ArrayType) -> tuple[ArrayType, ArrayType]:
    lead, rows, _ = require_matrices("lu", x)
    return x, ArrayType(INT64, (*lead, rows))


def _lu_numpy(x: Any) -> Any:
    # Crout's order: each column and each row is computed once, from the finished ones, by matrix products.
    packed = x.copy()
    lead, (rows, columns) = x.shape[:-2], x.shape[-2:]
    places = np.broadcast_to(np.arange(rows), (*lead, rows)).copy()
    for k in range(min(rows, columns)):
        done = packed[..., :, :k]
        packed[..., k:, k] -= np.matmul(done[..., k:, :], packed[..., :k, k, None])[..., 0]
        column = packed[..., k:, k]
        size = np.abs(column.real) + np.abs(column.imag)
        pivot = k + np.argmax(size, -1)[..., None]
        here = np.full(pivot.shape, k)
        rows_now, rows_then = np.concatenate([pivot, here], -1), np.concatenate([here, pivot], -1)
        np.put_along_axis(places, rows_then, np.take_along_axis(places, rows_now, -1), -1)
        rows_now, rows_then = rows_now[..., None], rows_then[..., None]
        np.put_along_axis(packed, rows_then, np.take_along_axis(packed, rows_now, -2), -2)
        packed[..., k, k + 1 :] -= np.matmul(packed[..., k, None, :k], packed[..., :k, k + 1 :])[..., 0, :]
        divisor = packed[..., k, k, None]
        packed[..., k + 1 :, k] /= np.where(divisor == 0, np.ones((), x.dtype), divisor)
    return packed, places


def _lu_jvp(inputs: Any, tangents: tuple[Value], outputs: tuple[Value, Value]) -> tuple[Value, None]:
    """With P dX = dL U + L dU and F = L⁻¹ P dX U⁻¹ of the leading square: dL = L tril(F, −1), dU = triu(F) U.

    F. de Hoog, R. Anderssen and M. Lukas, "Differentiation of matrix functionals using triangular factorization"
    (2011). A tall L has the rest P₂ dX U⁻¹ − L₂ triu(F) below; a wide U has L⁻¹ P dX₂ − tril(F, −1) U₂ on its right.
    """
    (dx,), (packed, places) = tangents, outputs
    moved = _rows_at(dx, places)
    rows, columns = dx.shape[-2:]
    size = min(rows, columns)
    top, square = slice_axis(packed, 0, size, dx.ndim - 2), slice_axis(moved, 0, size, dx.ndim - 2)
    corner = slice_axis(top, 0, size, dx.ndim - 1)
    left = solve_triangle(corner, slice_axis(square, 0, size, dx.ndim - 1), lower=True, unit=True)
    both = divide_by_triangle(left, corner, lower=False)
    low, high = lower_triangle(both, -1), upper_triangle(both)
    tangent = add(matmul(unit_lower_triangle(corner), low), matmul(high, upper_triangle(corner)))
    if rows > size:
        below = divide_by_triangle(slice_axis(moved, size, rows, dx.ndim - 2), corner, lower=False)
        rest = subtract(below, matmul(slice_axis(packed, size, rows, dx.ndim - 2), high))
        tangent = concatenate([tangent, rest], dx.ndim - 2)
    if columns > size:
        right = solve_triangle(corner, slice_axis(square, size, columns, dx.ndim - 1), lower=True, unit=True)
        rest = subtract(right, matmul(low, slice_axis(top, size, columns, dx.ndim - 1)))
        tangent = concatenate([tangent, rest], dx.ndim - 1)
    return tangent, None


def _rows_at(x: Value, places: Value) -> Value:
    """The rows of each matrix in the order of its permutation."""
    index = reshape(places, (*places.shape, 1))
    return take_along_axis(x, broadcast_to(index, x.shape), x.ndim - 2, unique=True)


register(
    Op(
        "lu", FAMILY, _lu_type, _lu_numpy, _lu_jvp, not_linear, batch_stacks("lu"), spelling=None, effect=None,
        doc="L, without its unit diagonal, and U of X[places] = L U in one matrix; places (i64), by partial pivoting.",
    )
)  # fmt: skip


# ---- qr ----------------------------------------------------------------------------------------------


def _qr_type(x: ArrayType, mode: str) -> tuple[ArrayType, ArrayType]:
    lead, rows, columns = require_matrices("qr", x)
    size = min(rows, columns)
    if mode == "raw":
        return ArrayType(x.dtype, (*lead, columns, rows)), ArrayType(x.dtype, (*lead, size))
    if mode not in ("reduced", "complete"):
        raise ArgumentValueError(f"qr: mode {shown(mode)} is none of 'reduced', 'complete', 'raw'")
    size = rows if mode == "complete" else size
    return ArrayType(x.dtype, (*lead, rows, size)), ArrayType(x.dtype, (*lead, size, columns))


def _qr_jvp(
    inputs: Any, tangents: tuple[Value], outputs: tuple[Value, Value], mode: str
) -> tuple[Value, Value]:
    """With C = Qᴴ dX R⁻¹ and the skew Hermitian Ω that has C below the diagonal and i Im C on it:
    dR = (C − Ω) R and dQ = dX R⁻¹ − Q (C − Ω), for a tall X.

    S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum
    experimental design" (2010). LAPACK's R has a real diagonal, so that C − Ω has one. In a wide X the first square
    determines Q; then dR = Qᴴ dX − Ω R.
    """
    (dx,), (q, r) = tangents, outputs
    rows, columns = dx.shape[-2:]
    if mode == "raw" or (mode == "complete" and rows > columns):
        raise NotDifferentiableError(
            f"qr(mode={shown(mode)}) of {dx.type} has no derivative here: its columns beyond the range of the matrix "
            "are any basis. Use mode='reduced'"
        )
    size = min(rows, columns)
    corner = slice_axis(r, 0, size, r.ndim - 1)
    scaled = divide_by_triangle(slice_axis(dx, 0, size, dx.ndim - 1), corner, lower=False)
    c = matmul(adjoint(q), scaled)
    strict = lower_triangle(c, -1)
    rotation = subtract(strict, adjoint(strict))
    if c.dtype.kind == "c":
        rotation = with_diagonal(rotation, imaginary_part(diagonal(c)))
    dr = subtract(matmul(adjoint(q), dx), matmul(rotation, r))
    return add(subtract(scaled, matmul(q, c)), matmul(q, rotation)), dr


register(
    Op(
        "qr", FAMILY, _qr_type,
        lambda x, mode: tuple(np.linalg.qr(x, mode)),
        _qr_jvp, not_linear, batch_stacks("qr"), spelling=None, effect=None,
        doc="Q with orthonormal columns and upper triangular R with X = Q R; by mode as numpy.linalg.qr.",
    )
)  # fmt: skip
