"""Stacks of matrices as values, with shape (…, m, n): the vocabulary of the rules of linear algebra."""

import math
from collections.abc import Sequence
from typing import Any

from ...builder import bind, bind_all
from ...dtypes import INT64, complex_dtype
from ...errors import DTypeError, MatrixShapeError
from ...ir import ArrayType, Shape, Value
from ...op import BatchRule
from ...symbolic_size import joint_shape
from ...value_ops import (
    add,
    broadcast_to,
    conjugate,
    convert,
    dot,
    equal,
    full,
    greater_equal,
    imag,
    iota,
    make_complex,
    moveaxis,
    real,
    reshape,
    slice_axis,
    transpose,
    where,
    zeros_like,
)
from ..batch_axes import Batched, in_front, leading

LINALG_DTYPES = ("float32", "float64", "complex64", "complex128")
"""The dtypes for which LAPACK has routines."""


# ---- types -------------------------------------------------------------------------------------------


def require_matrices(op: str, x: ArrayType) -> tuple[Shape, int, int]:
    """The leading axes, rows and columns; an error unless `x` is a stack of matrices of LAPACK's dtypes."""
    if x.dtype.name not in LINALG_DTYPES:
        raise DTypeError(f"{op} is not defined for {x}: LAPACK has f32, f64, c64 and c128")
    if x.ndim < 2:
        raise MatrixShapeError(f"{op} of {x}: at least two axes are needed, those of a matrix")
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def require_square(op: str, x: ArrayType) -> tuple[Shape, int]:
    """The leading axes and the order; an error unless `x` is a stack of square matrices."""
    lead, rows, columns = require_matrices(op, x)
    if rows != columns:
        raise MatrixShapeError(f"{op} of {x}: the last two axes must be square")
    return lead, rows


def require_sides(op: str, a: ArrayType, b: ArrayType) -> None:
    """An error unless `b` is a stack of right-hand sides (…, m, k) of the matrices `a`."""
    lead, rows, _ = require_matrices(op, a)
    if b.dtype != a.dtype:
        raise DTypeError(f"{op} is not defined for ({a}, {b}): the dtypes differ")
    if b.ndim < 2 or b.shape[:-1] != (*lead, rows):
        raise MatrixShapeError(
            f"{op} of {a} and {b}: the right-hand sides do not have the rows of the matrices"
        )


# ---- arithmetic --------------------------------------------------------------------------------------


def matmul(x: Value, y: Value) -> Value:
    """(…, m, k) by (…, k, n), with equal leading axes."""
    lead = tuple(range(x.ndim - 2))
    return dot(x, y, ((x.ndim - 1,), (y.ndim - 2,)), (lead, lead))


def matrix_transpose(x: Value) -> Value:
    """Swap the last two axes."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x: Value) -> Value:
    """The conjugate transpose."""
    return conjugate(matrix_transpose(x))


def inner(x: Value, y: Value) -> Value:
    """Σ xᵢⱼ yᵢⱼ of each pair of matrices."""
    axes = (x.ndim - 2, x.ndim - 1)
    lead = tuple(range(x.ndim - 2))
    return dot(x, y, (axes, axes), (lead, lead))


# ---- parts of a matrix -------------------------------------------------------------------------------


def _row_and_column(x: Value) -> tuple[Value, Value]:
    rows, columns = x.shape[-2:]
    return reshape(iota(rows, INT64), (rows, 1)), iota(columns, INT64)


def lower_triangle(x: Value, k: int = 0) -> Value:
    """Zeros above the k-th diagonal."""
    row, column = _row_and_column(x)
    return where(greater_equal(add(row, k), column), x, zeros_like(x))


def upper_triangle(x: Value, k: int = 0) -> Value:
    """Zeros below the k-th diagonal."""
    row, column = _row_and_column(x)
    return where(greater_equal(column, add(row, k)), x, zeros_like(x))


def diagonal(x: Value) -> Value:
    """(…, m, n) to (…, min(m, n))."""
    lead, (rows, columns) = x.shape[:-2], x.shape[-2:]
    size = min(rows, columns)
    square = slice_axis(slice_axis(x, 0, size, x.ndim - 2), 0, size, x.ndim - 1)
    return slice_axis(reshape(square, (*lead, size * size)), 0, size * size, len(lead), size + 1)


def with_diagonal(x: Value, entries: Value) -> Value:
    """The matrices with these entries (…, n) on their diagonals."""
    row, column = _row_and_column(x)
    return where(equal(row, column), as_rows(entries), x)


def as_rows(v: Value) -> Value:
    """(…, n) to (…, 1, n): a factor for each column."""
    return reshape(v, (*v.shape[:-1], 1, v.shape[-1]))


def as_columns(v: Value) -> Value:
    """(…, n) to (…, n, 1): a factor for each row."""
    return reshape(v, (*v.shape, 1))


def unit_lower_triangle(x: Value) -> Value:
    """Zeros above the diagonal and ones on it."""
    size = min(x.shape[-2:])
    return with_diagonal(lower_triangle(x, -1), full((*x.shape[:-2], size), 1, x.dtype))


def hermitian(x: Value, *, lower: bool = True) -> Value:
    """The Hermitian matrix whose triangle `x` holds, as LAPACK reads `x`.

    The other triangle is not read, nor is the imaginary part of the diagonal.
    """
    strict = lower_triangle(x, -1) if lower else upper_triangle(x, 1)
    return with_diagonal(add(strict, adjoint(strict)), real_part(diagonal(x)))


# ---- complex numbers ---------------------------------------------------------------------------------


def real_part(x: Value) -> Value:
    """The real part, in the dtype of `x`."""
    return make_complex(real(x), zeros_like(real(x))) if x.dtype.kind == "c" else x


def imaginary_part(x: Value) -> Value:
    """i times the imaginary part of a complex `x`, in its dtype."""
    return make_complex(zeros_like(real(x)), imag(x))


def as_real(x: Value) -> Value:
    """The real part as real numbers."""
    return real(x) if x.dtype.kind == "c" else x


def as_complex(x: Value) -> Value:
    return convert(x, complex_dtype(x.dtype))


# ---- triangular systems ------------------------------------------------------------------------------


def solve_triangle(
    a: Value, b: Value, *, lower: bool, transposed: bool = False, conjugated: bool = False, unit: bool = False
) -> Value:
    """`triangular_solve` by name."""
    return bind(
        "triangular_solve",
        a,
        b,
        lower=lower,
        transposed=transposed,
        conjugated=conjugated and a.dtype.kind == "c",
        unit_diagonal=unit,
    )


def divide_by_triangle(b: Value, a: Value, **triangle: bool) -> Value:
    """x with x A = b: the transpose of Aᵀ xᵀ = bᵀ."""
    transposed = not triangle.pop("transposed", False)
    return matrix_transpose(solve_triangle(a, matrix_transpose(b), transposed=transposed, **triangle))


# ---- derivatives that several ops need ---------------------------------------------------------------


def singular_value_tangent(x: Value, dx: Value) -> Value:
    """dσ = Re diag(Uᴴ dX V)."""
    u, _, vh = bind_all("svd", x, full_matrices=False)
    return as_real(diagonal(matmul(matmul(adjoint(u), dx), adjoint(vh))))


# ---- batching ----------------------------------------------------------------------------------------


def columns_of_batch(b: Value) -> Value:
    """(size, …, m, k) to (…, m, k · size): a batch of right-hand sides of the same matrices as more of them."""
    moved = moveaxis(b, 0, b.ndim - 1)
    return reshape(moved, (*moved.shape[:-2], moved.shape[-2] * moved.shape[-1]))


def batch_of_columns(x: Value, columns: int, size: int) -> Value:
    """(…, m, columns · size) to (size, …, m, columns): the way back from `columns_of_batch`."""
    split = reshape(x, (*x.shape[:-1], columns, size))
    return moveaxis(split, split.ndim - 1, 0)


def batch_stacks(op: str) -> BatchRule:
    """The batch rule of an op of one operand: a batch is one more leading axis, anywhere before those of a matrix."""

    def batch(inputs: Sequence[Batched], size: int, **params: Any) -> tuple[Batched, ...]:
        (x,) = inputs
        axis = 0 if x.axis is None or x.axis > x.logical_ndim - 2 else x.axis
        return tuple(Batched(out, axis) for out in bind_all(op, x.to_physical(axis), **params))

    return batch


def batch_sides(op: str) -> BatchRule:
    """The batch rule of ``op(a, b)`` with right-hand sides `b`: those of one `a` are solved together."""

    @in_front
    def batch(inputs: Sequence[Value], mapped: Sequence[bool], size: int, **params: Any) -> Value:
        a, b = inputs
        if mapped[0]:
            return bind(op, a, leading(b, mapped[1], size), **params)
        return batch_of_columns(bind(op, a, columns_of_batch(b), **params), b.shape[-1], size)

    return batch


def joint_lead(op: str, a: Shape, b: Shape) -> Shape:
    """The leading axes to which those of two stacks of matrices broadcast."""
    lead = joint_shape(a[:-2], b[:-2])
    if lead is None:
        raise MatrixShapeError(f"{op} of {a} and {b}: the leading axes do not broadcast")
    return lead


def solve_broadcast(op: str, a: Value, b: Value, **params: Any) -> Value:
    """``op(a, b)``, where the leading axes broadcast; right-hand sides of one matrix are solved together."""
    lead_a, lead_b = a.shape[:-2], b.shape[:-2]
    if not lead_a and lead_b:
        size, shape = math.prod(lead_b), b.shape[-2:]
        columns = columns_of_batch(reshape(b, (size, *shape)))
        x = batch_of_columns(bind(op, a, columns, **params), shape[-1], size)
        return reshape(x, (*lead_b, *x.shape[-2:]))
    lead = joint_lead(op, a.shape, b.shape)
    a, b = broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:]))
    return bind(op, a, b, **params)
