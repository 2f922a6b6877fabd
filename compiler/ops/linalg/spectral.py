"""Eigenvalues and singular values, with their vectors, of stacks of matrices.

Vectors are defined up to a phase. The derivatives of those of `eig` follow LAPACK's choice; those of `eigh` and `svd`
have vᴴ dv = 0 (eigenvectors, right singular vectors), so results should not depend on the phase. Derivatives of
vectors need distinct values: if two are equal, they are infinite or NaN. Sources: M. B. Giles, "Collected matrix
derivative results" (2008); C. Boeddeker, P. Hanebrink, L. Drude, J. Heymann and R. Haeb-Umbach, "On the computation
of complex-valued gradients with application to statistically optimum beamforming" (2017); J. Townsend,
"Differentiating the singular value decomposition" (2016).
"""

from typing import Any

import numpy as np

from ...builder import bind, bind_all
from ...dtypes import complex_dtype, real_dtype
from ...errors import NotDifferentiableError
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import (
    absolute,
    add,
    conjugate,
    convert,
    divide,
    equal,
    expand_dims,
    imag,
    make_complex,
    multiply,
    real,
    reciprocal,
    square,
    subtract,
    sum_,
    take_along_axis,
    where,
    zeros_like,
)
from .matrix_stacks import (
    adjoint,
    as_columns,
    as_complex,
    as_real,
    as_rows,
    batch_stacks,
    diagonal,
    hermitian,
    imaginary_part,
    matmul,
    require_matrices,
    require_square,
    singular_value_tangent,
    with_diagonal,
)

FAMILY = "spectral"


def _reciprocal_gaps(values: Value) -> Value:
    """1 / (vⱼ − vᵢ) in row i and column j, and 0 on the diagonal."""
    gaps = subtract(as_rows(values), as_columns(values))
    ones = add(zeros_like(values), 1)
    return with_diagonal(reciprocal(with_diagonal(gaps, ones)), zeros_like(values))


# ---- Hermitian matrices ------------------------------------------------------------------------------


def _eigh_type(x: ArrayType, lower: bool) -> tuple[ArrayType, ArrayType]:
    lead, size = require_square("eigh", x)
    return ArrayType(real_dtype(x.dtype), (*lead, size)), x


def _eigh_jvp(
    inputs: Any, tangents: tuple[Value], outputs: tuple[Value, Value], lower: bool
) -> tuple[Value, Value]:
    """With C = Vᴴ dX V: dλ = diag(C), and dV = V K with Kᵢⱼ = Cᵢⱼ / (λⱼ − λᵢ)."""
    (dx,), (values, vectors) = tangents, outputs
    change = matmul(adjoint(vectors), matmul(hermitian(dx, lower=lower), vectors))
    rotation = multiply(convert(_reciprocal_gaps(values), change.dtype), change)
    return as_real(diagonal(change)), matmul(vectors, rotation)


register(
    Op(
        "eigh", FAMILY, _eigh_type,
        lambda x, lower: tuple(np.linalg.eigh(x, "L" if lower else "U")),
        _eigh_jvp, not_linear, batch_stacks("eigh"), spelling=None, effect=None, may_fail=True,
        doc="The eigenvalues, rising, and orthonormal eigenvectors, as columns, of the Hermitian matrix that has this "
        "lower (or upper) triangle; the other triangle is not read.",
    )
)  # fmt: skip


def _eigvalsh_type(x: ArrayType, lower: bool) -> ArrayType:
    lead, size = require_square("eigvalsh", x)
    return ArrayType(real_dtype(x.dtype), (*lead, size))


def _eigvalsh_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: Any, lower: bool) -> Value:
    """dλ = diag(Vᴴ dX V), without dividing by gaps between eigenvalues."""
    _, vectors = bind_all("eigh", inputs[0], lower=lower)
    changed = matmul(hermitian(tangents[0], lower=lower), vectors)
    return sum_(as_real(multiply(conjugate(vectors), changed)), (vectors.ndim - 2,))


register(
    Op(
        "eigvalsh", FAMILY, _eigvalsh_type,
        lambda x, lower: np.linalg.eigvalsh(x, "L" if lower else "U"),
        _eigvalsh_jvp, not_linear, batch_stacks("eigvalsh"), spelling=None, effect=None, may_fail=True,
        doc="The eigenvalues of `eigh` alone.",
    )
)  # fmt: skip


# ---- general matrices --------------------------------------------------------------------------------


def _eigvals_type(x: ArrayType) -> ArrayType:
    lead, size = require_square("eigvals", x)
    return ArrayType(complex_dtype(x.dtype), (*lead, size))


def _eig_type(x: ArrayType) -> tuple[ArrayType, ArrayType]:
    lead, size = require_square("eig", x)
    dtype = complex_dtype(x.dtype)
    return ArrayType(dtype, (*lead, size)), ArrayType(dtype, (*lead, size, size))


def _eig_numpy(x: Any) -> Any:
    values, vectors = np.linalg.eig(x)
    dtype = np.result_type(x.dtype, np.complex64)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _eig_jvp(inputs: Any, tangents: tuple[Value], outputs: tuple[Value, Value]) -> tuple[Value, Value]:
    """With C = V⁻¹ dX V: dλ = diag(C), and dV = V K with Kᵢⱼ = Cᵢⱼ / (λⱼ − λᵢ), plus a term for LAPACK's
    normalisation: columns of length 1 whose largest entry is real."""
    (dx,), (values, vectors) = tangents, outputs
    change = bind("solve", vectors, matmul(as_complex(dx), vectors))
    moved = matmul(vectors, multiply(_reciprocal_gaps(values), change))
    rows = vectors.ndim - 2
    if not vectors.shape[rows]:
        return diagonal(change), moved
    stretch = sum_(real(multiply(conjugate(vectors), moved)), (rows,))
    # LAPACK makes the largest entry exactly real. If entries have equal size, it may be any of them.
    size = where(equal(imag(vectors), 0), absolute(real(vectors)), -1)
    largest = expand_dims(bind("argmax", size, axis=rows), rows)
    entry, entry_moved = (take_along_axis(x, largest, rows, unique=True) for x in (vectors, moved))
    rotation = divide(imag(entry_moved), real(entry))
    factor = make_complex(as_rows(stretch), rotation)
    return diagonal(change), subtract(moved, multiply(vectors, factor))


register(
    Op(
        "eig", FAMILY, _eig_type, _eig_numpy, _eig_jvp, not_linear, batch_stacks("eig"),
        spelling=None, effect=None, may_fail=True,
        doc="The eigenvalues and the eigenvectors, as columns of length 1 whose largest entry is real: complex.",
    )
)  # fmt: skip


def _eigvals_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: Any) -> Value:
    _, vectors = bind_all("eig", inputs[0])
    return diagonal(bind("solve", vectors, matmul(as_complex(tangents[0]), vectors)))


register(
    Op(
        "eigvals", FAMILY, _eigvals_type,
        lambda x: np.linalg.eigvals(x).astype(np.result_type(x.dtype, np.complex64), copy=False),
        _eigvals_jvp, not_linear, batch_stacks("eigvals"), spelling=None, effect=None, may_fail=True,
        doc="The eigenvalues of `eig` alone: complex.",
    )
)  # fmt: skip


# ---- singular values ---------------------------------------------------------------------------------


def _svd_type(x: ArrayType, full_matrices: bool) -> tuple[ArrayType, ArrayType, ArrayType]:
    lead, rows, columns = require_matrices("svd", x)
    size = min(rows, columns)
    u, vh = (rows, columns) if full_matrices else (size, size)
    return (
        ArrayType(x.dtype, (*lead, rows, u)),
        ArrayType(real_dtype(x.dtype), (*lead, size)),
        ArrayType(x.dtype, (*lead, vh, columns)),
    )


def _svd_jvp(
    inputs: Any, tangents: tuple[Value], outputs: tuple[Value, Value, Value], full_matrices: bool
) -> tuple[Value, Value, Value]:
    """With C = Uᴴ dX V, Fᵢⱼ = 1 / (σⱼ² − σᵢ²): dσ = Re diag(C), dU = U (F ∘ (C Σ + Σ Cᴴ)) and
    dV = V (F ∘ (Σ C + Cᴴ Σ)), plus what moves them out of their range where X is tall or wide.

    i Im diag(C) / Σ rotates U, and nothing rotates V.
    """
    (dx,), (u, s, vh) = tangents, outputs
    rows, columns = dx.shape[-2:]
    if full_matrices and rows != columns:
        raise NotDifferentiableError(
            f"svd of {dx.type} has no derivative with full_matrices=True: its vectors beyond the range of the matrix "
            "are any basis. Use full_matrices=False, or numpy.linalg.svdvals"
        )
    values = convert(s, u.dtype)
    dxv = matmul(dx, adjoint(vh))
    change = matmul(adjoint(u), dxv)
    gaps = convert(_reciprocal_gaps(square(s)), u.dtype)
    right, left = multiply(change, as_rows(values)), multiply(change, as_columns(values))
    turn_u = multiply(gaps, add(right, adjoint(right)))
    turn_v = multiply(gaps, add(left, adjoint(left)))
    if change.dtype.kind == "c":
        turn_u = with_diagonal(turn_u, divide(imaginary_part(diagonal(change)), values))
    du, dv = matmul(u, turn_u), matmul(adjoint(vh), turn_v)
    if rows > columns:
        du = add(du, divide(subtract(dxv, matmul(u, change)), as_rows(values)))
    if columns > rows:
        dxu = matmul(adjoint(dx), u)
        dv = add(dv, divide(subtract(dxu, matmul(adjoint(vh), adjoint(change))), as_rows(values)))
    return du, as_real(diagonal(change)), adjoint(dv)


register(
    Op(
        "svd", FAMILY, _svd_type,
        lambda x, full_matrices: tuple(np.linalg.svd(x, full_matrices)),
        _svd_jvp, not_linear, batch_stacks("svd"), spelling=None, effect=None, may_fail=True,
        doc="U, σ (falling) and Vᴴ with X = U diag(σ) Vᴴ.",
    )
)  # fmt: skip


def _svdvals_type(x: ArrayType) -> ArrayType:
    lead, rows, columns = require_matrices("svdvals", x)
    return ArrayType(real_dtype(x.dtype), (*lead, min(rows, columns)))


register(
    Op(
        "svdvals", FAMILY, _svdvals_type,
        lambda x: np.linalg.svd(x, compute_uv=False),
        lambda inputs, tangents, outputs: singular_value_tangent(inputs[0], tangents[0]),
        not_linear, batch_stacks("svdvals"), spelling=None, effect=None, may_fail=True,
        doc="The singular values of `svd` alone.",
    )
)  # fmt: skip
