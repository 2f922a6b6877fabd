"""The nuclear norm and the factor of the polar decomposition that is its derivative.

Their derivatives divide by sums of singular values, not by differences, so they are finite where singular values are
equal. N. J. Higham, "Functions of Matrices: Theory and Computation" (2008), chapter 8.
"""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import real_dtype
from ...errors import DTypeError
from ...ir import ArrayType, Value
from ...op import Linear, Op, not_linear, register
from ...value_ops import add, conjugate, full, negative, subtract
from ..batch_axes import all_leading, in_front
from .matrix_stacks import (
    adjoint,
    as_real,
    batch_stacks,
    hermitian,
    inner,
    matmul,
    require_matrices,
    require_square,
)

FAMILY = "polar"


# ---- nuclear_norm ------------------------------------------------------------------------------------


def _nuclear_norm_type(x: ArrayType) -> ArrayType:
    lead, _, _ = require_matrices("nuclear_norm", x)
    return ArrayType(real_dtype(x.dtype), lead)


register(
    Op(
        "nuclear_norm", FAMILY, _nuclear_norm_type,
        lambda x: np.sum(np.linalg.svd(x, compute_uv=False), axis=-1),
        lambda inputs, tangents, outputs: as_real(
            inner(conjugate(bind("polar_factor", inputs[0])), tangents[0])
        ),
        not_linear, batch_stacks("nuclear_norm"), spelling=None, effect=None, may_fail=True,
        doc="The sum of the singular values.",
    )
)  # fmt: skip


# ---- polar_factor ------------------------------------------------------------------------------------


def _polar_factor_type(x: ArrayType) -> ArrayType:
    require_matrices("polar_factor", x)
    return x


def _polar_factor_numpy(x: Any) -> Any:
    # Vectors of singular values that are zero up to rounding are an arbitrary basis. Without them the result is the
    # smallest subgradient of the nuclear norm: 0 for the matrix 0.
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    smallest = max(x.shape[-2:]) * np.finfo(s.dtype).eps * np.max(s, -1, keepdims=True, initial=0.0)
    return np.matmul(u * (s > smallest)[..., None, :], vh)


def _polar_factor_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value]) -> Value:
    """With X = P H, H = Pᴴ X: dP = P Ω + (1 − P Pᴴ) dX H⁻¹, where H Ω + Ω H = Pᴴ dX − dXᴴ P; the second term is for a
    tall X. A wide one is transposed."""
    (x,), (dx,), (factor,) = inputs, tangents, outputs
    rows, columns = dx.shape[-2:]
    if columns > rows:
        return adjoint(_polar_factor_jvp((adjoint(x),), (adjoint(dx),), (adjoint(factor),)))
    turned = adjoint(factor)
    stretch = matmul(turned, x)
    change = matmul(turned, dx)
    moved = matmul(factor, bind("lyapunov", stretch, subtract(change, adjoint(change))))
    if rows == columns:
        return moved
    outside = subtract(dx, matmul(factor, change))
    precise = real_dtype(x.dtype)
    cut = full(x.shape[:-2], 64 * float(np.finfo(precise).eps), precise)
    return add(moved, matmul(outside, bind("pinv", stretch, cut)))


register(
    Op(
        "polar_factor", FAMILY, _polar_factor_type, _polar_factor_numpy, _polar_factor_jvp, not_linear,
        batch_stacks("polar_factor"), spelling=None, effect=None, may_fail=True,
        doc="U Vᴴ of X = U Σ Vᴴ: the matrix with orthonormal rows or columns that is nearest to X.",
    )
)  # fmt: skip


# ---- lyapunov ----------------------------------------------------------------------------------------


def _lyapunov_type(h: ArrayType, w: ArrayType) -> ArrayType:
    require_square("lyapunov", h)
    if h != w:
        raise DTypeError(f"lyapunov is not defined for ({h}, {w}): both sides have one type")
    return h


def _lyapunov_numpy(h: Any, w: Any) -> Any:
    values, vectors = np.linalg.eigh(h)
    back = np.conjugate(np.swapaxes(vectors, -1, -2))
    sums = values[..., :, None] + values[..., None, :]
    smallest = 2 * h.shape[-1] * np.finfo(values.dtype).eps * np.max(np.abs(values), -1, initial=0.0)
    vanishing = np.abs(sums) <= smallest[..., None, None]
    inner = np.matmul(np.matmul(back, w), vectors) / np.where(vanishing, np.inf, sums)
    return np.matmul(np.matmul(vectors, inner), back).astype(h.dtype, copy=False)


def _lyapunov_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, Value | None], outputs: tuple[Value]
) -> Value:
    """H dX + dX H = dW − dH X − X dH. Of dH, too, only the lower triangle counts."""
    (h, _), (dh, dw), (x,) = inputs, tangents, outputs
    if dh is not None:
        dh = hermitian(dh)
        moved = add(matmul(dh, x), matmul(x, dh))
        dw = negative(moved) if dw is None else subtract(dw, moved)
    assert dw is not None, "a JVP rule is asked for where an input has a tangent"
    return bind("lyapunov", h, dw)


def _lyapunov_transpose(cotangents: tuple[Value], inputs: tuple[Value, Linear]) -> tuple[None, Value]:
    """The same equation with the transpose of H, which is its conjugate."""
    return None, bind("lyapunov", conjugate(inputs[0]), cotangents[0])


register(
    Op(
        "lyapunov", FAMILY, _lyapunov_type, _lyapunov_numpy, _lyapunov_jvp, _lyapunov_transpose,
        in_front(lambda inputs, mapped, size: bind("lyapunov", *all_leading(inputs, mapped, size))),
        spelling=None, effect=None, may_fail=True,
        doc="X with H X + X H = W for a Hermitian H, of which only the lower triangle is read; 0 along pairs of "
        "eigenvectors whose eigenvalues add up to 0.",
    )
)  # fmt: skip
