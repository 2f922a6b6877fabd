"""Determinants of stacks of square matrices, and the adjugate, which is the derivative of the determinant."""

from typing import Any

import numpy as np

from ..dtypes import real_dtype
from ..functions import concatenate, constant, full_like, multiply, slice_axis, subtract
from ..ir import ArrayType, Value
from ..matrix_stacks import (
    as_real,
    batch_stacks,
    imaginary_part,
    inner,
    matmul,
    matrix_transpose,
    per_matrix,
    require_square,
)
from ..op import Op, not_linear, register
from ..trace import bind

FAMILY = "determinant"


# ---- det ---------------------------------------------------------------------------------------------


def _det_type(x: ArrayType) -> ArrayType:
    lead, _ = require_square("det", x)
    return ArrayType(x.dtype, lead)


register(
    Op(
        "det", FAMILY, _det_type,
        lambda x: np.linalg.det(x),
        # Jacobi's formula: tr(adj(X) dX), which holds where X is singular, too.
        lambda inputs, tangents, outputs: inner(_cofactors(inputs[0]), tangents[0]),
        not_linear, batch_stacks("det"), spelling=None, effect=None,
        doc="The determinant.",
    )
)  # fmt: skip


def _cofactors(x: Value) -> Value:
    """The transposed adjugate. Up to three rows it is written out: a polynomial, with all its derivatives everywhere.

    The minor of row i and column j has the rows i + 1, i + 2 and columns j + 1, j + 2, which wrap around.
    """
    size = x.shape[-1]
    if size == 1:
        return full_like(x, 1)
    if size == 2:
        return multiply(_wrapped(x, 1, 1), constant([[1, -1], [-1, 1]], x.dtype))
    if size == 3:
        return subtract(
            multiply(_wrapped(x, 1, 1), _wrapped(x, 2, 2)), multiply(_wrapped(x, 1, 2), _wrapped(x, 2, 1))
        )
    return matrix_transpose(bind("adjugate", x))


def _wrapped(x: Value, rows: int, columns: int) -> Value:
    """The matrices from this row and column on, then those before."""
    for start, axis in ((rows, x.ndim - 2), (columns, x.ndim - 1)):
        x = concatenate([slice_axis(x, start, x.shape[axis], axis), slice_axis(x, 0, start, axis)], axis)
    return x


def _adjugate_type(x: ArrayType) -> ArrayType:
    require_square("adjugate", x)
    return x


def _adjugate_numpy(x: Any) -> Any:
    try:
        return (np.linalg.det(x)[..., None, None] * np.linalg.inv(x)).astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        # X = U Σ Vᴴ has the adjugate det(U) det(Vᴴ) V adj(Σ) Uᴴ; in adj(Σ) are the products of all other entries.
        u, s, vh = np.linalg.svd(x)
        ones = np.ones((*s.shape[:-1], 1), s.dtype)
        before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
        after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
        others = (np.linalg.det(u) * np.linalg.det(vh))[..., None] * (before * after)
        v, uh = np.conjugate(np.swapaxes(vh, -1, -2)), np.conjugate(np.swapaxes(u, -1, -2))
        return np.matmul(v * others[..., None, :], uh).astype(x.dtype, copy=False)


def _adjugate_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value]) -> Value:
    """The product rule for adj(X) = det(X) X⁻¹, so only where X has an inverse."""
    (dx,), (adjugate,) = tangents, outputs
    inverse = bind("inv", inputs[0])
    change = inner(matrix_transpose(adjugate), dx)
    return subtract(multiply(per_matrix(change), inverse), matmul(matmul(inverse, dx), adjugate))


register(
    Op(
        "adjugate", FAMILY, _adjugate_type, _adjugate_numpy, _adjugate_jvp, not_linear, batch_stacks("adjugate"),
        spelling=None, effect=None,
        doc="The transposed matrix of the cofactors: det(X) X⁻¹ where X has an inverse.",
    )
)  # fmt: skip


# ---- slogdet -----------------------------------------------------------------------------------------


def _slogdet_type(x: ArrayType) -> tuple[ArrayType, ArrayType]:
    lead, _ = require_square("slogdet", x)
    return ArrayType(x.dtype, lead), ArrayType(real_dtype(x.dtype), lead)


def _slogdet_jvp(
    inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value, Value]
) -> tuple[Value | None, Value]:
    """d log det X = tr(X⁻¹ dX): its real part changes the logarithm, its imaginary part the sign's angle."""
    (x,), (dx,), (sign, _) = inputs, tangents, outputs
    change = inner(matrix_transpose(bind("inv", x)), dx)
    dsign = multiply(imaginary_part(change), sign) if x.dtype.kind == "c" else None
    return dsign, as_real(change)


register(
    Op(
        "slogdet", FAMILY, _slogdet_type,
        lambda x: tuple(np.linalg.slogdet(x)),
        _slogdet_jvp, not_linear, batch_stacks("slogdet"), spelling=None, effect=None,
        doc="The sign of the determinant (a number of modulus 1, or 0) and the logarithm of its modulus.",
    )
)  # fmt: skip
