"""Products of vectors, matrices and tensors. Each becomes the one op `dot`."""

from typing import Any

import numpy as np

from ..dtypes import BOOL, INT64
from ..errors import ShapeError
from ..functions import convert, nonzero_mask, reshape, transpose
from ..functions import dot as contract
from ..ir import Shape, Value
from ..traced_array import TracedArray, as_value, weak_or_dtype, wrap
from .reductions import deliver
from .registry import implements, implements_ufunc

Axes = tuple[int, ...]


def in_common_dtype(*operands: Any) -> list[Value]:
    """The operands in the dtype that NumPy promotes them to."""
    values = [as_value(x) for x in operands]
    dtype = np.dtype(np.result_type(*map(weak_or_dtype, operands, values)))
    return [convert(value, dtype) for value in values]


def sum_of_products(
    x: Value, y: Value, over: tuple[Axes, Axes], batch: tuple[Axes, Axes] = ((), ())
) -> Value:
    """`dot` for every dtype: for booleans, whether any product is true."""
    if x.dtype == BOOL:
        return nonzero_mask(contract(convert(x, INT64), convert(y, INT64), over, batch))
    return contract(x, y, over, batch)


def batched_matmul(x: Value, y: Value) -> Value:
    """(…, n, k) by (…, k, m), where the leading axes broadcast without being copied.

    A leading axis that both have is a batch axis of `dot`; one that only one has is a free axis of it.
    """
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(
            f"matmul of {x.type} and {y.type}: {x.shape[-1]} columns do not match {y.shape[-2]} rows"
        )
    try:
        lead: Shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise ShapeError(f"matmul of {x.type} and {y.type}: the leading axes do not broadcast") from None
    x, x_axes = _present_axes(x, lead)
    y, y_axes = _present_axes(y, lead)
    shared = [axis for axis in x_axes if axis in y_axes]
    batch = tuple(x_axes.index(axis) for axis in shared), tuple(y_axes.index(axis) for axis in shared)
    out = sum_of_products(x, y, ((x.ndim - 1,), (y.ndim - 2,)), batch)
    only_x = [axis for axis in x_axes if axis not in shared]
    only_y = [axis for axis in y_axes if axis not in shared]
    order = [*shared, *only_x, len(lead), *only_y, len(lead) + 1]
    present = sorted(order)
    out = transpose(out, [order.index(axis) for axis in present])
    return reshape(out, (*lead, *out.shape[-2:]))


def _present_axes(x: Value, lead: Shape) -> tuple[Value, list[int]]:
    """`x` without leading axes of length 1, and which axes of `lead` its others are."""
    offset = len(lead) - (x.ndim - 2)
    axes = [offset + axis for axis, dim in enumerate(x.shape[:-2]) if dim != 1]
    return reshape(x, (*(x.shape[axis - offset] for axis in axes), *x.shape[-2:])), axes


@implements_ufunc(np.matmul)
def matmul(x: Any, y: Any) -> TracedArray:
    a, b = in_common_dtype(x, y)
    if not (a.ndim and b.ndim):
        raise ShapeError(f"matmul of {a.type} and {b.type}: both need at least one axis; use * for scalars")
    left = reshape(a, (1, *a.shape)) if a.ndim == 1 else a
    right = reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
    out = batched_matmul(left, right)
    shape = (*out.shape[:-2], *out.shape[-2:-1] * (a.ndim > 1), *out.shape[-1:] * (b.ndim > 1))
    return wrap(reshape(out, shape))


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> TracedArray:
    """The sum of products over the last axis of a and the second-to-last of b; a plain product with a scalar."""
    x, y = in_common_dtype(a, b)
    if not (x.ndim and y.ndim):
        return deliver((wrap(x) * wrap(y)).value, out)  # type: ignore[operator]
    along = y.ndim - 2 if y.ndim > 1 else 0
    if x.shape[-1] != y.shape[along]:
        raise ShapeError(f"dot of {x.type} and {y.type}: {x.shape[-1]} entries do not match {y.shape[along]}")
    return deliver(sum_of_products(x, y, ((x.ndim - 1,), (along,))), out)
