"""Least squares: the pseudo-inverse, and the solution with the smallest norm.

Their derivatives are those of G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
squares problems whose variables separate" (1973). They need no singular vectors, so they are finite where singular
values are equal; they hold while the rank stays.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind, bind_all
from ...dtypes import FLOAT64, INT32, real_dtype
from ...errors import MatrixShapeError
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...symbolic_size import is_symbolic_shape, max_expr, min_expr
from ...value_ops import add, broadcast_to, constant, convert, full, multiply, negative, subtract
from ..batch_axes import all_leading, in_front, leading
from .matrix_stacks import (
    adjoint,
    batch_of_columns,
    columns_of_batch,
    matmul,
    require_matrices,
    require_sides,
    singular_value_tangent,
)

FAMILY = "least_squares"


# ---- pinv --------------------------------------------------------------------------------------------


def _pinv_type(x: ArrayType, rcond: ArrayType) -> ArrayType:
    lead, rows, columns = require_matrices("pinv", x)
    if rcond.dtype.kind != "f" or rcond.shape != lead:
        raise MatrixShapeError(f"pinv of {x}: one floating rcond per matrix is needed, not {rcond}")
    return ArrayType(x.dtype, (*lead, columns, rows))


def _pinv_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, ...], outputs: tuple[Value]
) -> Value | None:
    """−P dA P + P Pᴴ dAᴴ (1 − A P) + (1 − P A) dAᴴ Pᴴ P."""
    (a, _), (da, _), (p,) = inputs, tangents, outputs
    if da is None:
        return None
    turned, back = adjoint(da), adjoint(p)
    in_range = matmul(matmul(p, back), turned)
    in_domain = matmul(matmul(turned, back), p)
    in_range = subtract(in_range, matmul(matmul(in_range, a), p))
    in_domain = subtract(in_domain, matmul(p, matmul(a, in_domain)))
    return subtract(add(in_range, in_domain), matmul(matmul(p, da), p))


@in_front
def _pinv_batch(inputs: Any, mapped: Any, size: int) -> Value:
    return bind("pinv", *all_leading(inputs, mapped, size))


register(
    Op(
        "pinv", FAMILY, _pinv_type,
        lambda x, rcond: np.linalg.pinv(x, rcond),
        _pinv_jvp, not_linear, _pinv_batch, spelling=None, effect=None, may_fail=True,
        doc="The pseudo-inverse, where singular values up to rcond times the largest count as 0.",
    )
)  # fmt: skip


# ---- lstsq -------------------------------------------------------------------------------------------


def _lstsq_type(a: ArrayType, b: ArrayType, rcond: float | None) -> tuple[ArrayType, ArrayType, ArrayType]:
    lead, rows, columns = require_matrices("lstsq", a)
    require_sides("lstsq", a, b)
    return (
        ArrayType(a.dtype, (*lead, columns, b.shape[-1])),
        ArrayType(INT32, lead),
        ArrayType(real_dtype(a.dtype), (*lead, min_expr(rows, columns))),
    )


def _lstsq_numpy(a: Any, b: Any, rcond: Any) -> Any:
    lead, (rows, columns) = a.shape[:-2], a.shape[-2:]
    x = np.empty((*lead, columns, b.shape[-1]), a.dtype)
    rank = np.empty(lead, np.int32)
    values = np.empty((*lead, min(rows, columns)), a.real.dtype)
    for at in np.ndindex(*lead):
        x[at], _, rank[at], values[at] = np.linalg.lstsq(a[at], b[at], rcond)
    return x, rank, values


def _cut(a: Value, rcond: float | None) -> Value:
    """The value of `rcond` as a number. LAPACK takes a negative one as its precision."""
    real = real_dtype(a.dtype)
    if rcond is None:
        most: Any = max_expr(*a.shape[-2:])
        number = bind("size", of=most) if is_symbolic_shape((most,)) else constant(most)
        return convert(multiply(convert(number, FLOAT64), float(np.finfo(np.float64).eps)), real)
    return full((), rcond if rcond >= 0 else float(np.finfo(real).eps), real)


def _lstsq_jvp(
    inputs: tuple[Value, Value],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, Value, Value],
    rcond: float | None,
) -> tuple[Value, None, Value | None]:
    """The derivative of P b, from that of the pseudo-inverse P (see `pinv`), with products of P and Pᴴ with columns
    instead of matrices where possible."""
    (a, b), (da, db), (x, _, _) = inputs, tangents, outputs
    p = bind("pinv", a, broadcast_to(_cut(a, rcond), a.shape[:-2]))
    if da is None:
        assert db is not None
        return matmul(p, db), None, None
    turned, residual = adjoint(da), subtract(b, matmul(a, x))
    right = negative(matmul(da, x)) if db is None else subtract(db, matmul(da, x))
    in_range = matmul(p, matmul(adjoint(p), matmul(turned, residual)))
    in_domain = matmul(turned, matmul(adjoint(p), x))
    in_domain = subtract(in_domain, matmul(p, matmul(a, in_domain)))
    dx = add(add(matmul(p, right), in_range), in_domain)
    return dx, None, singular_value_tangent(a, da)


@in_front
def _lstsq_batch(
    inputs: Sequence[Value], mapped: Sequence[bool], size: int, rcond: float | None
) -> tuple[Value, ...]:
    """The right-hand sides of one `a` are solved together."""
    a, b = inputs
    if mapped[0]:
        return bind_all("lstsq", a, leading(b, mapped[1], size), rcond=rcond)
    x, rank, values = bind_all("lstsq", a, columns_of_batch(b), rcond=rcond)
    return (
        batch_of_columns(x, b.shape[-1], size),
        leading(rank, False, size),
        leading(values, False, size),
    )


register(
    Op(
        "lstsq", FAMILY, _lstsq_type, _lstsq_numpy, _lstsq_jvp, not_linear, _lstsq_batch,
        spelling=None, effect=None, may_fail=True,
        doc="The x of least norm that minimises |A x − b|; the rank of A (i32); its singular values. Those up to "
        "rcond times the largest count as 0; None is the precision of f64 times the longer side of A.",
    )
)  # fmt: skip
