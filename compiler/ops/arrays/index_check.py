"""`check_index`: makes the program raise if a computed index is outside its axis."""

from collections.abc import Sequence
from typing import Any

from ...builder import bind_all
from ...dtypes import is_integer
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Value
from ...op import RAISES, Op, not_linear, register, zero_derivative
from ...symbolic_size import is_known
from ..batch_axes import Batched

FAMILY = "index_check"


def _type(index: ArrayType, *, length: int, axis: int) -> tuple[ArrayType, ...]:
    if not is_integer(index.dtype):
        raise DTypeError(f"check_index: an index must have an integer dtype, not {index}")
    if is_known(length < 0) or axis < 0:
        raise ShapeError(f"check_index: an axis {axis} of size {length} cannot be")
    return ()


def _check(index: Any, length: Any, axis: Any) -> Any:
    """Raise for the largest index beyond the end, otherwise for the smallest before the beginning, with NumPy's
    message."""
    if index.size:
        low, high = int(index.min()), int(index.max())
        if high >= length or low < -length:
            wrong = high if high >= length else low
            raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {length}")
    return ()


def _batch(inputs: Sequence[Batched], size: int, **params: Any) -> tuple[Value, ...]:
    """The indices of all examples at once."""
    return bind_all("check_index", *(x.value for x in inputs), **params)


register(
    Op(
        "check_index",
        FAMILY,
        _type,
        _check,
        zero_derivative,
        not_linear,
        _batch,
        spelling=None,
        effect=RAISES,
        doc="Nothing. Raises unless every entry lies in [-length, length). `axis` is for the message.",
    )
)
