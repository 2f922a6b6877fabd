"""Ordering along an axis: sorting several operands together, and the k largest entries.

The order is NumPy's: NaN is larger than everything, complex numbers compare by their real, then their
imaginary parts. Equal entries keep their order, also when descending.
"""

from typing import Any

import numpy as np

from ...builder import bind_all
from ...dtypes import INT64
from ...errors import ShapeError
from ...ir import ArrayType, Value
from ...op import Op, Rebuilt, not_linear, register
from ...value_ops import positions, take_along_axis
from ..batch_axes import batch_along_axis

FAMILY = "sort"


def _sort_type(*operands: ArrayType, axis: int, num_keys: int, descending: bool) -> tuple[ArrayType, ...]:
    if not 1 <= num_keys <= len(operands):
        raise ShapeError(f"sort of {len(operands)} operands by {num_keys} keys")
    first = operands[0]
    if any(operand.shape != first.shape for operand in operands):
        raise ShapeError(f"sort of {', '.join(map(str, operands))}: their shapes differ")
    if not 0 <= axis < first.ndim:
        raise ShapeError(f"sort: axis {axis} is out of range for {first}")
    return operands


def _sort_numpy(*operands: Any, axis: Any, num_keys: Any, descending: Any) -> Any:
    # Keys in bf16 are compared as f32, which is exact: NumPy cannot order their NaNs.
    keys = [key.astype(np.float32) if key.dtype.kind == "V" else key for key in operands[:num_keys]]
    if len(operands) == 1:
        # The fast sort of f16 leaves NaNs that raise a warning when they are used.
        ordered = np.sort(keys[0], axis=axis, kind="stable" if keys[0].dtype == np.float16 else "quicksort")
        ordered = ordered.astype(operands[0].dtype, copy=False)
        return (np.flip(ordered, axis) if descending else ordered,)
    if descending:  # reversed twice, so that equal entries keep their order
        keys = [np.flip(key, axis) for key in keys]
    if num_keys == 1:
        order = np.argsort(keys[0], axis=axis, kind="stable")
    else:
        order = np.lexsort(keys[::-1], axis=axis)
    if descending:
        order = keys[0].shape[axis] - 1 - np.flip(order, axis)
    return tuple(np.take_along_axis(operand, order, axis) for operand in operands)


def _sort_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: Any,
    *,
    axis: int,
    **params: Any,
) -> Rebuilt:
    """The tangents follow their entries, whose numbers are sorted with them, so everything is sorted once."""
    numbers = positions(inputs[0].shape, axis)
    *ordered, order = bind_all("sort", *inputs, numbers, axis=axis, **params)
    moved = (None if t is None else take_along_axis(t, order, axis, unique=True) for t in tangents)
    return Rebuilt(tuple(ordered), tuple(moved))


register(
    Op(
        "sort",
        FAMILY,
        _sort_type,
        _sort_numpy,
        _sort_jvp,
        not_linear,
        batch_along_axis("sort"),
        spelling=None,
        effect=None,
        doc="The operands along `axis`, ordered by the first `num_keys` of them, the first deciding first.",
    )
)


# ---- top_k -----------------------------------------------------------------------------------------


def _top_k_type(x: ArrayType, k: int, axis: int) -> tuple[ArrayType, ArrayType]:
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"top_k: axis {axis} is out of range for {x}")
    if not 0 <= k <= x.shape[axis]:
        raise ShapeError(f"top_k of {x}: axis {axis} does not have {k} entries")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return ArrayType(x.dtype, shape), ArrayType(INT64, shape)


def _top_k_numpy(x: Any, k: Any, axis: Any) -> Any:
    key = x.astype(np.float32) if x.dtype.kind == "V" else x
    # Reversed twice, so that the first of equal entries comes first.
    order = np.argsort(np.flip(key, axis), axis=axis, kind="stable")
    order = x.shape[axis] - 1 - np.flip(order, axis)
    order = order[(slice(None),) * axis + (slice(0, k),)]
    return np.take_along_axis(x, order, axis), order.astype(np.int64, copy=False)


register(
    Op(
        "top_k",
        FAMILY,
        _top_k_type,
        _top_k_numpy,
        lambda inputs, tangents, outputs, k, axis: (
            take_along_axis(tangents[0], outputs[1], axis, unique=True),
            None,
        ),
        not_linear,
        batch_along_axis("top_k"),
        spelling=None,
        effect=None,
        doc="The k largest entries along `axis`, the largest first, and their indices; of equal ones the "
        "first.",
    )
)
