"""The nuclear norm and the factor of the polar decomposition that is its derivative.

Their derivatives divide by sums of singular values, not by differences, so they are finite where singular values are
equal. N. J. Higham, "Functions of Matrices: Theory and Computation" (2008), chapter 8.
"""

from typing import Any

import numpy as np

from ..dtypes import real_dtype
from ..functions import add, conjugate, convert, divide, equal, multiply, reciprocal, subtract, where
from ..ir import ArrayType, Value
from ..matrix_stacks import (
    adjoint,
    as_columns,
    as_real,
    as_rows,
    batch_stacks,
    inner,
    matmul,
    require_matrices,
)
from ..op import Op, not_linear, register
from ..trace import bind, bind_all

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
        not_linear, batch_stacks("nuclear_norm"), spelling=None, effect=None,
        doc="The sum of the singular values.",
    )
)  # fmt: skip


# ---- polar_factor ------------------------------------------------------------------------------------


def _polar_factor_type(x: ArrayType) -> ArrayType:
    require_matrices("polar_factor", x)
    return x


def _polar_factor_numpy(x: Any) -> Any:
    # Vectors of singular values that are 0 but for rounding are any basis. Without them the result is the smallest
    # subgradient of the nuclear norm: 0 for the matrix 0.
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    smallest = max(x.shape[-2:]) * np.finfo(s.dtype).eps * np.max(s, -1, keepdims=True, initial=0.0)
    return np.matmul(u * (s > smallest)[..., None, :], vh)


def _polar_factor_jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value]) -> Value:
    """With X = U Σ Vᴴ and C = Uᴴ dX V: U K Vᴴ with Kᵢⱼ = (C − Cᴴ)ᵢⱼ / (σᵢ + σⱼ), and where X is tall or wide,
    (1 − U Uᴴ) dX V Σ⁻¹ Vᴴ or U Σ⁻¹ Uᴴ dX (1 − V Vᴴ).

    What would be divided by 0 is 0, as if that sum of singular values were infinite: where two are 0 there is no
    derivative, and 0 is the choice made for all norms.
    """
    (x,), (dx,) = inputs, tangents
    u, s, vh = bind_all("svd", x, full_matrices=False)
    rows, columns = dx.shape[-2:]
    across, values = matmul(dx, adjoint(vh)), convert(_infinite_at_0(s), dx.dtype)
    change = matmul(adjoint(u), across)
    weights = convert(reciprocal(_infinite_at_0(add(as_columns(s), as_rows(s)))), dx.dtype)
    turn = multiply(weights, subtract(change, adjoint(change)))
    if rows > columns:
        outside = divide(subtract(across, matmul(u, change)), as_rows(values))
        return matmul(add(matmul(u, turn), outside), vh)
    moved = matmul(turn, vh)
    if columns > rows:
        down = matmul(adjoint(u), dx)
        moved = add(moved, divide(subtract(down, matmul(change, vh)), as_columns(values)))
    return matmul(u, moved)


def _infinite_at_0(sums: Value) -> Value:
    return where(equal(sums, 0), np.inf, sums)


register(
    Op(
        "polar_factor", FAMILY, _polar_factor_type, _polar_factor_numpy, _polar_factor_jvp, not_linear,
        batch_stacks("polar_factor"), spelling=None, effect=None,
        doc="U Vᴴ of X = U Σ Vᴴ: the matrix with orthonormal rows or columns that is nearest to X.",
    )
)  # fmt: skip
