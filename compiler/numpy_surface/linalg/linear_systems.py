"""`numpy.linalg`: solving equations, inverses, determinants and rank."""

import math
import operator
from typing import Any

import numpy as np

from ...builder import bind, bind_all
from ...dtypes import real_dtype
from ...errors import ArgumentValueError, MatrixShapeError
from ...ops.linalg.matrix_stacks import hermitian as hermitian_of
from ...ops.linalg.matrix_stacks import solve_broadcast
from ...symbolic_size import is_symbolic_shape
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import broadcast_to, convert, reshape
from ..arrays.constructors import copied
from ..ufuncs.ufunc_calls import as_array
from .factorizations import in_lapack_dtype

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))
_NOT_GIVEN: Any = object()


# ---- equations and inverses --------------------------------------------------------------------------


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> TracedArray:
    """One vector `b`, or stacks of matrices whose columns are right-hand sides."""
    matrix, sides = in_lapack_dtype(a, b)
    if sides.ndim == 1:
        column = reshape(sides, (sides.shape[0], 1))
        x = solve_broadcast("solve", matrix, broadcast_to(column, (*matrix.shape[:-2], *column.shape)))
        return wrap(reshape(x, x.shape[:-1]))
    return wrap(solve_broadcast("solve", matrix, sides))


@implements(np.linalg.inv)
def inv(a: Any) -> TracedArray:
    (x,) = in_lapack_dtype(a)
    return wrap(bind("inv", x))


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> TracedArray:
    """The pseudo-inverse. For a Hermitian matrix, the lower triangle is read."""
    (x,) = in_lapack_dtype(a)
    real = real_dtype(x.dtype)
    if rcond is not None and rtol is not _NOT_GIVEN:
        raise ArgumentValueError("`rtol` and `rcond` can't be both set.")
    cut = rtol if rcond is None else rcond
    if cut is _NOT_GIVEN:
        cut = 1e-15
    elif cut is None:
        cut = max(x.shape[-2:]) * float(np.finfo(real).eps)
    if hermitian:
        x = hermitian_of(x)
    return wrap(bind("pinv", x, broadcast_to(convert(as_value(cut), real), x.shape[:-2])))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The least-squares solution, residuals, rank and singular values.

    NumPy returns no residuals if the rank is not full. If the rank is not known while tracing, there are residuals
    whenever the matrix has more rows than columns, and they are NaN if the rank turns out not to be full.
    """
    matrix, sides = in_lapack_dtype(a, b)
    if matrix.ndim != 2 or sides.ndim not in (1, 2):
        raise MatrixShapeError(
            f"lstsq of {matrix.type} and {sides.type}: needs one matrix and its right-hand sides"
        )
    rows, columns = matrix.shape
    is_vector = sides.ndim == 1
    sides = reshape(sides, (*sides.shape, 1)) if is_vector else sides
    if sides.shape[0] != rows:
        raise MatrixShapeError(f"lstsq of {matrix.type} and {sides.type}: Incompatible dimensions")
    cut = None if rcond is None else float(rcond)
    if cut is None and not is_symbolic_shape((rows, columns)):
        cut = float(np.finfo(np.float64).eps) * max(rows, columns)
    found: Any
    rank: Any
    found, rank, values = map(wrap, bind_all("lstsq", matrix, sides, rcond=cut))
    known = rank.concrete()
    residuals: Any = np.zeros(0, values.dtype)
    if rows > columns and (known is None or known == columns):
        error: Any = wrap(sides) - np.matmul(wrap(matrix), found)
        residuals = np.sum(np.real(error * np.conjugate(error)), axis=0)
        residuals = np.where(rank == columns, residuals, residuals.dtype.type(np.nan))
    return found[:, 0] if is_vector else found, residuals, rank, values


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    x: Any = as_array(a)
    y: Any = as_array(b)
    if axes is not None:
        order = list(range(x.ndim))
        for axis in axes:
            order.remove(axis)
            order.insert(x.ndim, axis)
        x = np.transpose(x, order)
    shape = x.shape[-(x.ndim - y.ndim) :]
    size = math.prod(shape)
    if x.size != size**2:
        raise MatrixShapeError(
            f"tensorsolve of {x.type} and {y.type}: prod(a.shape[b.ndim:]) must be prod(a.shape[:b.ndim])"
        )
    return np.reshape(np.linalg.solve(np.reshape(x, (size, size)), np.ravel(y)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    x = as_array(a)
    first = operator.index(ind)
    if first <= 0:
        raise ArgumentValueError("Invalid ind argument.")
    left, right = x.shape[:first], x.shape[first:]
    return np.reshape(np.linalg.inv(np.reshape(x, (math.prod(right), -1))), (*right, *left))


# ---- numbers that describe a matrix ------------------------------------------------------------------


@implements(np.linalg.det)
def det(a: Any) -> TracedArray:
    (x,) = in_lapack_dtype(a)
    return wrap(bind("det", x))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    (x,) = in_lapack_dtype(a)
    return SlogdetResult(*map(wrap, bind_all("slogdet", x)))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """The ratio of the extreme singular values, or ‖x‖ ‖x⁻¹‖ in another norm; infinite for a singular matrix."""
    (value,) = in_lapack_dtype(x)
    a: Any = copied(value, x, "K")
    if a.size == 0 and 0 in a.shape[-2:]:
        raise MatrixShapeError(f"cond of {a.type}: it is not defined on empty arrays")
    if p is None or p in (2, -2):
        s: Any = np.linalg.svd(a, compute_uv=False)
        ratio: Any = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        inverse: Any = wrap(bind("inv", value, nan_if_singular=True))
        ratio = np.linalg.norm(a, p, axis=(-2, -1)) * np.linalg.norm(inverse, p, axis=(-2, -1))
    has_nan = np.any(np.isnan(a), axis=(-2, -1))
    return np.where(np.isnan(ratio) & ~has_nan, ratio.dtype.type(np.inf), ratio)[()]


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above `tol`, which is slightly above rounding by default."""
    x: Any = as_array(A)
    if rtol is not None and tol is not None:
        raise ArgumentValueError("`tol` and `rtol` can't be both set.")
    if x.ndim < 2:
        return np.any(x != 0).astype(int)
    s: Any = np.linalg.svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        relative: Any = (
            max(x.shape[-2:]) * float(np.finfo(s.dtype).eps) if rtol is None else as_array(rtol)[..., None]
        )
        tol = np.max(s, axis=-1, keepdims=True, initial=0) * relative
    else:
        tol = as_array(tol)[..., None]
    return np.count_nonzero(s > tol, axis=-1)
