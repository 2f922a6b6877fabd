"""Matrix products of rows: which calls of ``dot`` multiply rows with a matrix as both lie in memory."""

import math
from typing import Final

from ..ir import Call, Shape
from ..params import ints_param
from ..symbolic_size import SymbolicSize

DTYPES: Final = ("float32", "float64")
"""The dtypes of such products."""


def leading_axes(call: Call) -> tuple[int, ...] | None:
    """The axes of a stack of products, if they come first in both operands; None for others."""
    lead = tuple(range(len(ints_param(call, "batch_x", ()))))
    return lead if ints_param(call, "batch_x", ()) == ints_param(call, "batch_y", ()) == lead else None


def is_row_product(call: Call) -> bool:
    """Whether a call multiplies rows [batch…, rows…, length] with matrices [batch…, length, columns] of known sizes."""
    if call.op != "dot":
        return False
    x, y = call.inputs
    lead = leading_axes(call)
    return (
        lead is not None
        and x.dtype.name in DTYPES
        and not any(isinstance(size, SymbolicSize) for size in (*x.shape, *y.shape))
        and y.ndim == len(lead) + 2
        and ints_param(call, "contract_x") == (x.ndim - 1,)
        and ints_param(call, "contract_y") == (len(lead),)
    )


def is_one_row_product(call: Call) -> bool:
    """Whether it has one matrix."""
    return is_row_product(call) and math.prod(call.inputs[1].shape[:-2]) == 1


def is_in_one_piece(part: Shape, whole: Shape) -> bool:
    """Whether a part of an array with this shape is contiguous in memory."""
    cut = [axis for axis, (some, all) in enumerate(zip(part, whole, strict=True)) if some != all]
    return all(part[axis] == 1 for axis in range(max(cut, default=0)))
