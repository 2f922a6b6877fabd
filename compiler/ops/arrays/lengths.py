"""Lengths that a program finds out: a number becomes a size of arrays, and the positions that a mask selects."""

from typing import Any, Final, cast

import numpy as np

from ...builder import line_at_work
from ...dtypes import BOOL, INT64
from ...errors import ConcretizationError, DataDependentShapeError, DTypeError, ShapeError
from ...ir import ArrayType, Extent
from ...op import EXPECTS, Op, not_linear, register, zero_derivative
from ...symbolic_size import SymbolicSize

FAMILY = "lengths"

RELATIONS: Final = ("==", "!=", ">=")


def _length_type(count: ArrayType, *, dim: Extent, most: Extent | None = None) -> ArrayType:
    if count != ArrayType(INT64, ()):
        raise DTypeError(f"length: a count is an i64[], not {count}")
    if not isinstance(dim, SymbolicSize):
        raise ShapeError(f"length: a size that the count gives a value has a name, unlike {dim!r:.60}")
    return ArrayType(BOOL, (cast("Extent", dim),))


def _length(count: Any, dim: Any, most: Any = None) -> Any:
    """An array that is as long as the count says. It needs no memory, which a huge length would not find."""
    return np.ndarray((int(count),), bool, bytearray(1), 0, (0,))


def _no_length_for_each_example(inputs: Any, size: int, **params: Any) -> Any:
    raise DataDependentShapeError(
        "under vmap each example would have an array of another length: reduce it before it is returned, as in "
        "x[mask].sum(), keep the shape, as in np.where(mask, x, 0), or bound a length that may be anything, as in "
        "np.arange(np.minimum(k, 100))",
        line_at_work(),
    )


register(
    Op(
        "length",
        FAMILY,
        _length_type,
        _length,
        zero_derivative,
        not_linear,
        _no_length_for_each_example,
        spelling=None,
        effect=None,
        doc="An array without elements to look at, as long as `count` says. From here on `dim` names that length. "
        "`most` is its maximum, for targets that reserve memory before the program runs.",
    )
)


def _positions_type(mask: ArrayType, length: ArrayType) -> ArrayType:
    if mask.dtype != BOOL or mask.ndim != 1:
        raise DTypeError(f"flatnonzero: a mask is a bool[n], not {mask}")
    if length.dtype != BOOL or length.ndim != 1:
        raise DTypeError(f"flatnonzero: a length is a bool[n], not {length}")
    return ArrayType(INT64, length.shape)


register(
    Op(
        "flatnonzero",
        FAMILY,
        _positions_type,
        lambda mask, length: np.flatnonzero(mask),
        zero_derivative,
        not_linear,
        _no_length_for_each_example,
        spelling=None,
        effect=None,
        doc="The positions at which a mask holds, in order. As many of them as `length` is long.",
    )
)


# ---- what a program is made for --------------------------------------------------------------------


def _expect_type(value: ArrayType, expected: ArrayType, *, what: str = "") -> tuple[ArrayType, ...]:
    if value != expected:
        raise DTypeError(f"expect: {value} is never {expected}")
    return ()


def _expect(value: Any, expected: Any, what: Any = "") -> Any:
    """`RuntimeError` with what is found, in whose place the interpreter says that another program is needed."""
    found = np.asarray(value)
    if found.tobytes() != expected.tobytes():
        raise RuntimeError(str(found) if found.size == 1 else "other entries")
    return ()


def _never_for_each_example(inputs: Any, size: int, **params: Any) -> Any:
    raise ConcretizationError(
        "Python needs a value that is another one for each example of a batch: compute with the array instead",
        line_at_work(),
    )


register(
    Op(
        "expect",
        FAMILY,
        _expect_type,
        _expect,
        zero_derivative,
        not_linear,
        _never_for_each_example,
        spelling=None,
        effect=EXPECTS,
        doc="Nothing. The program is for calls in which `value` is what is expected, to the bit. Others need another "
        "program. `what` names it in explanations.",
    )
)


def _expect_size(dim: Any, relation: Any) -> Any:
    """As `_expect`."""
    if not {"==": dim == 0, "!=": dim != 0, ">=": dim >= 0}[relation]:
        raise RuntimeError(f"it is {dim}")
    return ()


def _expect_size_type(*, dim: Extent, relation: str) -> tuple[ArrayType, ...]:
    if relation not in RELATIONS:
        raise ShapeError(f"expect_size: a relation is one of {', '.join(RELATIONS)}, not {relation!r}")
    return ()


register(
    Op(
        "expect_size",
        FAMILY,
        _expect_size_type,
        _expect_size,
        zero_derivative,
        not_linear,
        _never_for_each_example,
        spelling=None,
        effect=EXPECTS,
        doc="Nothing. The program is for calls in which `dim` is in this relation to 0: ``==``, ``!=`` or ``>=``.",
    )
)
