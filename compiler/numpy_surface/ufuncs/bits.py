"""Booleans packed into bytes, and back."""

from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...dtypes import BOOL
from ...errors import ArgumentTypeError, ArgumentValueError
from ...tracing.registry import implements
from .ufunc_calls import as_array


def _shifts(bitorder: str) -> Any:
    """How far each bit of a byte is from its low end."""
    if bitorder not in ("big", "little"):
        raise ArgumentValueError("'order' must be either 'little' or 'big'")
    return np.arange(7, -1, -1).astype(np.uint8) if bitorder == "big" else np.arange(8, dtype=np.uint8)


def _last(x: Any, axis: Any) -> tuple[Any, int]:
    """The array with the axis moved to the end; without an axis, flat."""
    if axis is None:
        return np.ravel(x), 0
    axis = normalize_axis(axis, x.ndim)
    return np.moveaxis(x, axis, -1), axis


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    x: Any = as_array(a)
    if x.dtype.kind not in "iub":
        raise ArgumentTypeError("Expected an input array of integer or boolean data type")
    lines, axis = _last(x if x.dtype == BOOL else x != 0, axis)
    length = lines.shape[-1]
    missing = -length % 8
    lines = np.concatenate([lines, np.zeros((*lines.shape[:-1], missing), bool)], axis=-1)
    groups = np.reshape(lines, (*lines.shape[:-1], (length + missing) // 8, 8)).astype(np.uint8)
    packed: Any = np.sum(np.left_shift(groups, _shifts(bitorder)), axis=-1, dtype=np.uint8)
    return np.moveaxis(packed, -1, axis)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    x: Any = as_array(a)
    if x.dtype != np.uint8:
        raise ArgumentTypeError("Expected an input array of unsigned byte data type")
    lines, axis = _last(x, axis)
    bits = np.bitwise_and(np.right_shift(lines[..., None], _shifts(bitorder)), np.uint8(1))
    bits = np.reshape(bits, (*lines.shape[:-1], lines.shape[-1] * 8))
    total = bits.shape[-1]
    if count is not None:
        wanted = int(count) if count >= 0 else total + int(count)
        if wanted < 0:
            raise ArgumentValueError(f"-count larger than number of elements: {count}")
        zeros = np.zeros((*bits.shape[:-1], max(wanted - total, 0)), np.uint8)
        bits = np.concatenate([bits[..., :wanted], zeros], axis=-1)
    return np.moveaxis(bits, -1, axis)
