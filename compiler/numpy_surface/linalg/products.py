"""Products of vectors, matrices and tensors. Each becomes the one op `dot`."""

import operator
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axes, normalize_axis
from ...dtypes import BOOL, INT64, is_inexact
from ...errors import ArgumentTypeError, ArgumentValueError, AxisError, ConcretizationError, ShapeError
from ...ir import Shape, Value
from ...symbolic_size import is_known, is_one, joint_shape, typical
from ...tracing.array_values import as_value
from ...tracing.registry import implements, implements_ufunc
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import (
    add,
    conjugate,
    convert,
    inverse_permutation,
    multiply,
    nonzero_mask,
    reshape,
    transpose,
)
from ...value_ops import dot as contract
from ..arrays.constructors import copied, new_array
from ..ufuncs.reductions import finished_reduction
from ..ufuncs.ufunc_calls import apply, as_array

Axes = tuple[int, ...]


def in_common_dtype(*operands: Any) -> list[Value]:
    """The operands in the dtype to which NumPy promotes them; a Python number counts as an array here."""
    values = [as_value(x) for x in operands]
    dtype = np.dtype(np.result_type(*[value.dtype for value in values]))
    return [convert(value, dtype) for value in values]


def sum_of_products(
    x: Value, y: Value, over: tuple[Axes, Axes], batch: tuple[Axes, Axes] = ((), ())
) -> Value:
    """`dot` for every dtype; for booleans, whether any product is true."""
    if x.dtype == BOOL:
        return nonzero_mask(contract(convert(x, INT64), convert(y, INT64), over, batch))
    total = contract(x, y, over, batch)
    return added_to_zero(total) if all(is_one(x.shape[axis]) for axis in over[0]) else total


def added_to_zero(product: Value) -> Value:
    """A sum of one term, which starts at 0, so that it is not −0. A pass may replace the sum by the product alone."""
    return add(product, 0) if is_inexact(product.dtype) else product


# ---- matmul and its kin ------------------------------------------------------------------------------


def batched_matmul(x: Value, y: Value) -> Value:
    """(…, n, k) by (…, k, m), where the leading axes broadcast without copies.

    A leading axis of both operands is a batch axis of `dot`; a leading axis of only one is a free axis.
    """
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(
            f"matmul of {x.type} and {y.type}: {x.shape[-1]} columns do not match {y.shape[-2]} rows"
        )
    if x.ndim == y.ndim == 2:
        return sum_of_products(x, y, ((1,), (0,)), ((), ()))
    lead = _joint_lead(x, y)
    x, x_axes = _present_axes(x, lead)
    y, y_axes = _present_axes(y, lead)
    shared = [axis for axis in x_axes if axis in y_axes]
    batch = tuple(x_axes.index(axis) for axis in shared), tuple(y_axes.index(axis) for axis in shared)
    out = sum_of_products(x, y, ((x.ndim - 1,), (y.ndim - 2,)), batch)
    only_x = [axis for axis in x_axes if axis not in shared]
    only_y = [axis for axis in y_axes if axis not in shared]
    order = [*shared, *only_x, len(lead), *only_y, len(lead) + 1]
    out = transpose(out, inverse_permutation(order))
    return reshape(out, (*lead, *out.shape[-2:]))


def _joint_lead(x: Value, y: Value) -> Shape:
    lead = joint_shape(x.shape[:-2], y.shape[:-2])
    if lead is None:
        raise ShapeError(f"product of {x.type} and {y.type}: the leading axes do not broadcast")
    return lead


def _present_axes(x: Value, lead: Shape) -> tuple[Value, list[int]]:
    """`x` without leading axes of length 1, and which axes of `lead` its others are."""
    offset = len(lead) - (x.ndim - 2)
    axes = [offset + axis for axis, dim in enumerate(x.shape[:-2]) if not is_known(dim == 1)]
    return reshape(x, (*(x.shape[axis - offset] for axis in axes), *x.shape[-2:])), axes


@implements_ufunc(np.matmul)
def matmul(x: TracedArray, y: TracedArray) -> TracedArray:
    a, b = x.value, y.value
    if not (a.ndim and b.ndim):
        raise ShapeError(f"matmul of {a.type} and {b.type}: both need at least one axis; use * for scalars")
    left = reshape(a, (1, *a.shape)) if a.ndim == 1 else a
    right = reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
    out = batched_matmul(left, right)
    shape = (*out.shape[:-2], *out.shape[-2:-1] * (a.ndim > 1), *out.shape[-1:] * (b.ndim > 1))
    return wrap(reshape(out, shape))


def _need_axes(name: str, *operands: tuple[TracedArray, int]) -> None:
    for x, least in operands:
        if x.ndim < least:
            raise ShapeError(f"{name}: an operand of shape {x.shape} needs at least {least} axes")


def vecdot_of(x: TracedArray, y: TracedArray) -> TracedArray:
    """The sum of conj(x) · y over the last axis; the others broadcast."""
    _need_axes("vecdot", (x, 1), (y, 1))
    a, b = conjugate(x.value), y.value
    out = batched_matmul(reshape(a, (*a.shape[:-1], 1, a.shape[-1])), reshape(b, (*b.shape, 1)))
    return wrap(reshape(out, out.shape[:-2]))


def matvec_of(x: TracedArray, y: TracedArray) -> TracedArray:
    _need_axes("matvec", (x, 2), (y, 1))
    out = batched_matmul(x.value, reshape(y.value, (*y.shape, 1)))
    return wrap(reshape(out, out.shape[:-1]))


def vecmat_of(x: TracedArray, y: TracedArray) -> TracedArray:
    """conj(x) by the matrices y."""
    _need_axes("vecmat", (x, 1), (y, 2))
    out = batched_matmul(reshape(conjugate(x.value), (*x.shape[:-1], 1, x.shape[-1])), y.value)
    return wrap(reshape(out, (*out.shape[:-2], out.shape[-1])))


# numpy 2.0 has vecdot; matvec and vecmat came with 2.2
for _name, _function in (("vecdot", vecdot_of), ("matvec", matvec_of), ("vecmat", vecmat_of)):
    if _name in np.__all__:
        implements_ufunc(getattr(np, _name))(_function)


# ---- dot and its kin ---------------------------------------------------------------------------------


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> TracedArray:
    """The sum of products over the last axis of a and the second-to-last of b; a plain product with a scalar."""
    x, y = in_common_dtype(a, b)
    if not (x.ndim and y.ndim):
        return finished_reduction(apply(np.multiply, wrap(x), wrap(y)).value, out, casting="no")
    along = y.ndim - 2 if y.ndim > 1 else 0
    if x.shape[-1] != y.shape[along]:
        raise ShapeError(f"dot of {x.type} and {y.type}: {x.shape[-1]} entries do not match {y.shape[along]}")
    return finished_reduction(_sum_over_axes(x, y, along), out, casting="no")


def _sum_over_axes(x: Value, y: Value, along: int) -> Value:
    """Over the last axis of x and one of y. Of two single numbers NumPy's BLAS gives the product, which may be −0."""
    if x.dtype.char in "fdFD" and is_one(x.type.size) and is_one(y.type.size):
        return reshape(multiply(reshape(x, ()), reshape(y, ())), (1,) * (x.ndim + y.ndim - 2))
    return sum_of_products(x, y, ((x.ndim - 1,), (along,)))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> TracedArray:
    x, y = in_common_dtype(a, b)
    if x.type.size != y.type.size:
        raise ShapeError(f"vdot of {x.type} and {y.type}: the sizes differ")
    x, y = (reshape(value, (value.type.size,)) for value in (x, y))
    return wrap(sum_of_products(conjugate(x), y, ((0,), (0,))))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> TracedArray:
    x, y = in_common_dtype(a, b)
    if not (x.ndim and y.ndim):
        return finished_reduction(apply(np.multiply, wrap(x), wrap(y)).value)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"inner of {x.type} and {y.type}: the last axes have lengths {x.shape[-1]} and {y.shape[-1]}"
        )
    return wrap(_sum_over_axes(x, y, y.ndim - 1))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    x, y = np.ravel(as_array(a)), np.ravel(as_array(b))
    return np.multiply(x[:, None], y[None, :], out=out)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"Input arrays must be one-dimensional, but they are {x.ndim=} and {y.ndim=}")
    return np.outer(x, y)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> TracedArray:
    x, y = in_common_dtype(a, b)
    over_x, over_y = _contracted(axes, x, y)
    if [x.shape[i] for i in over_x] != [y.shape[i] for i in over_y]:
        raise ShapeError(
            f"tensordot of {x.type} and {y.type} over {over_x} and {over_y}: shape-mismatch for sum"
        )
    return wrap(sum_of_products(x, y, (over_x, over_y)), is_scalar=False)


def _contracted(axes: Any, x: Value, y: Value) -> tuple[Axes, Axes]:
    """The axes in ``axes=``: a number of last and first ones, or a pair of lists."""
    if not np.iterable(axes):
        count = operator.index(axes)
        if count > min(x.ndim, y.ndim) or count < 0:
            raise AxisError(f"tensordot of {x.type} and {y.type}: they do not have {count} axes to sum over")
        return tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    left, right = axes
    return (
        normalize_axes(tuple(left) if np.iterable(left) else left, x.ndim),
        normalize_axes(tuple(right) if np.iterable(right) else right, y.ndim),
    )


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(x1, x2, axes=axes)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return apply(np.matmul, x1, x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return apply(np.vecdot, x1, x2, axis=axis)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    x: Any = as_array(a)
    y: Any = as_array(b)
    rank = max(x.ndim, y.ndim)
    x_shape = (1,) * (rank - x.ndim) + x.shape
    y_shape = (1,) * (rank - y.ndim) + y.shape
    x = np.reshape(x, [dim for one in x_shape for dim in (one, 1)])
    y = np.reshape(y, [dim for one in y_shape for dim in (1, one)])
    return np.reshape(x * y, [m * n for m, n in zip(x_shape, y_shape, strict=True)])


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The product of vectors with three entries, or (deprecated in NumPy) two, whose third is 0."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x: Any = as_array(a)
    x = np.moveaxis(x, axisa, -1)
    y: Any = as_array(b)
    y = np.moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ShapeError(
            f"cross of {x.shape} and {y.shape}: incompatible dimensions (dimension must be 2 or 3)"
        )
    dtype = np.promote_types(x.dtype, y.dtype)
    xs = [x[..., i].astype(dtype) for i in range(x.shape[-1])]
    ys = [y[..., i].astype(dtype) for i in range(y.shape[-1])]
    third = xs[0] * ys[1] - xs[1] * ys[0]
    if len(xs) == len(ys) == 2:
        return wrap(third.value, is_scalar=False)
    if len(xs) == 2:
        parts = [xs[1] * ys[2], -(xs[0] * ys[2]), third]
    elif len(ys) == 2:
        parts = [-(xs[2] * ys[1]), xs[2] * ys[0], third]
    else:
        parts = [xs[1] * ys[2] - xs[2] * ys[1], xs[2] * ys[0] - xs[0] * ys[2], third]
    result: Any = new_array(as_value(np.stack(parts, axis=-1)))
    return np.moveaxis(result, -1, normalize_axis(axisc, result.ndim))


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x, y = as_array(x1), as_array(x2)
    if x.shape[normalize_axis(axis, x.ndim)] != 3 or y.shape[normalize_axis(axis, y.ndim)] != 3:
        raise ShapeError(f"both inputs must be arrays of 3-dimensional vectors, not {x.shape} and {y.shape}")
    return np.cross(x, y, axis=axis)


# ---- chains and powers -------------------------------------------------------------------------------


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of a chain of matrices, in the order with the fewest multiplications."""
    chain: list[Any] = [as_array(x) for x in arrays]
    if len(chain) < 2:
        raise ArgumentValueError("Expecting at least two arrays.")
    if len(chain) == 2:  # with any number of axes, as in NumPy
        return np.dot(chain[0], chain[1], out=out)
    first_is_row, last_is_column = chain[0].ndim == 1, chain[-1].ndim == 1
    chain[0] = np.atleast_2d(chain[0])
    chain[-1] = chain[-1][:, None] if last_is_column else chain[-1]
    if any(x.ndim != 2 for x in chain):
        raise ShapeError(f"multi_dot needs matrices, not {[x.shape for x in chain]}")
    result: Any = _chained(
        chain, _cheapest_splits([x.shape[0] for x in chain] + [chain[-1].shape[1]]), 0, len(chain) - 1
    )
    if first_is_row or last_is_column:
        result = result[(0 if first_is_row else slice(None)), (0 if last_is_column else slice(None))]
    return result if out is None else finished_reduction(result.value, out, casting="no")


def _chained(chain: list[TracedArray], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    at = split[i, j]
    return np.dot(_chained(chain, split, i, at), _chained(chain, split, at + 1, j))


def _cheapest_splits(dims: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each part of the chain: dynamic programming (T. H. Cormen et al., Introduction to Algorithms)."""
    dims = list(map(typical, dims))
    count = len(dims) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {
                k: cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1] for k in range(i, j)
            }
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """Repeated squaring; a negative power is that of the inverse."""
    x: Any = as_array(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power needs square matrices, not {x.shape}")
    try:
        power = operator.index(n)
    except ConcretizationError:  # a TypeError, too
        raise
    except TypeError:
        raise ArgumentTypeError("exponent must be an integer") from None
    if power == 0:
        return copied((np.zeros_like(x) + np.eye(x.shape[-1], dtype=x.dtype)).value, x, "K")
    if power < 0:
        x, power = np.linalg.inv(x), -power
    result: Any = None
    while power:
        if power & 1:
            result = x if result is None else result @ x
        power >>= 1
        x = x @ x if power else x
    return result
