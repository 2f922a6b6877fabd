"""`top_k`: the largest entries along an axis, for NumPy arrays and traced arrays."""

import operator
from typing import Any

from ...arguments.axes import normalize_axis
from ...errors import ArgumentTypeError
from ...nesting import shown
from ...symbolic_size import SymbolicSize
from ...tracing.traced_array import located
from ..ufuncs.eager_ops import apply_op, as_numbers


def top_k(x: Any, k: int, axis: int = -1) -> tuple[Any, Any]:
    """The `k` largest entries along an axis, the largest first, and their indices.

    Among equal entries, the one with the smaller index comes first. NaN counts as the largest, as in `numpy.sort`;
    complex numbers are ordered by their real, then by their imaginary parts. The derivative goes to the selected
    entries.

    Args:
        x: an array with at least one axis.
        k: how many, from 0 to the length of the axis: a Python int, because it is a part of the shape.
        axis: along which axis.

    Returns:
        ``(values, indices)``, both of the shape of x with k entries along the axis; the indices are i64.

    Raises:
        ShapeError: the axis does not have k entries.
        AxisError: there is no such axis.

    >>> import numpy as np
    >>> values, indices = top_k(np.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([5.0, 4.0], [4, 2])
    """
    return located(_top_k, x, k, axis)  # type: ignore[no-any-return]


def _top_k(x: Any, k: Any, axis: Any) -> tuple[Any, Any]:
    array = as_numbers(x)
    try:
        count = k if isinstance(k, SymbolicSize) else operator.index(k)
        along = normalize_axis(axis, array.ndim, "top_k: axis")
    except TypeError:
        raise ArgumentTypeError(
            f"top_k: k and axis must be whole numbers, not {shown(k)} and {shown(axis)}"
        ) from None
    values, indices = apply_op("top_k", array, k=count, axis=along)
    return values, indices
