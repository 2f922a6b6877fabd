"""Sums of products: `dot`, the one contraction to which matmul, tensordot, einsum and inner are reduced."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Value
from ...op import Linear, Op, register
from ...value_ops import add, dot, inverse_permutation, moveaxis, transpose
from ..batch_axes import in_front

FAMILY = "contraction"
Axes = tuple[int, ...]


def _free(ndim: int, contracted: Sequence[int], batch: Sequence[int]) -> Axes:
    """The axes that are neither contracted nor batch axes."""
    return tuple([axis for axis in range(ndim) if axis not in contracted and axis not in batch])


def _dot_type(
    x: ArrayType, y: ArrayType, contract_x: Axes, contract_y: Axes, batch_x: Axes = (), batch_y: Axes = ()
) -> ArrayType:
    if x.dtype != y.dtype or x.dtype.kind == "b":
        raise DTypeError(f"dot is not defined for ({x}, {y})")
    for operand, axes in ((x, (*contract_x, *batch_x)), (y, (*contract_y, *batch_y))):
        if len(set(axes)) != len(axes) or not set(range(operand.ndim)).issuperset(axes):
            raise ShapeError(f"dot of {x} and {y}: {axes} are not different axes of {operand}")
    for kind, axes_x, axes_y in (("contracted", contract_x, contract_y), ("batch", batch_x, batch_y)):
        sizes = [x.shape[a] for a in axes_x], [y.shape[a] for a in axes_y]
        if sizes[0] != sizes[1]:
            raise ShapeError(f"dot of {x} and {y}: the {kind} axes have lengths {sizes[0]} and {sizes[1]}")
    free_x, free_y = _free(x.ndim, contract_x, batch_x), _free(y.ndim, contract_y, batch_y)
    shape = [x.shape[a] for a in (*batch_x, *free_x)] + [y.shape[a] for a in free_y]
    return ArrayType(x.dtype, tuple(shape))


def _dot_numpy(x: Any, y: Any, contract_x: Any, contract_y: Any, batch_x: Any = (), batch_y: Any = ()) -> Any:
    free_x = [a for a in range(x.ndim) if a not in contract_x and a not in batch_x]
    free_y = [a for a in range(y.ndim) if a not in contract_y and a not in batch_y]
    batch = [x.shape[a] for a in batch_x]
    shape = [*batch, *(x.shape[a] for a in free_x), *(y.shape[a] for a in free_y)]
    length = int(np.prod([x.shape[a] for a in contract_x], dtype=int))
    rows = int(np.prod([x.shape[a] for a in free_x], dtype=int))
    columns = int(np.prod([y.shape[a] for a in free_y], dtype=int))
    left = np.transpose(x, [*batch_x, *free_x, *contract_x]).reshape([*batch, rows, length])
    right = np.transpose(y, [*batch_y, *contract_y, *free_y]).reshape([*batch, length, columns])
    return np.matmul(left, right).astype(x.dtype, copy=False).reshape(shape)


def _dot_jvp(
    inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: Any, **axes: Axes
) -> Value:
    (x, y), (dx, dy) = inputs, tangents
    terms = [bind("dot", a, b, **axes) for a, b in ((dx, y), (x, dy)) if a is not None and b is not None]
    return terms[0] if len(terms) == 1 else add(*terms)


def _dot_transpose(
    cotangents: tuple[Value],
    inputs: Any,
    contract_x: Axes,
    contract_y: Axes,
    batch_x: Axes = (),
    batch_y: Axes = (),
) -> tuple[Value | None, Value | None]:
    (ct,), (x, y) = cotangents, inputs
    free_x, free_y = _free(x.ndim, contract_x, batch_x), _free(y.ndim, contract_y, batch_y)
    batch = tuple(range(len(batch_x)))
    if isinstance(x, Linear):
        ct_free_y = tuple(range(len(batch) + len(free_x), ct.ndim))
        out = dot(
            ct, y, (ct_free_y, free_y), (batch, batch_y)
        )  # axes: batch, free_x, contracted in y's order
        contracted = [a for _, a in sorted(zip(contract_y, contract_x, strict=True))]
        return transpose(out, inverse_permutation((*batch_x, *free_x, *contracted))), None
    ct_free_x = tuple(range(len(batch), len(batch) + len(free_x)))
    out = dot(ct, x, (ct_free_x, free_x), (batch, batch_x))  # axes: batch, free_y, contracted in x's order
    contracted = [a for _, a in sorted(zip(contract_x, contract_y, strict=True))]
    return None, transpose(out, inverse_permutation((*batch_y, *free_y, *contracted)))


@in_front
def _dot_batch(
    inputs: tuple[Value, ...],
    mapped: tuple[bool, ...],
    size: int,
    contract_x: Axes,
    contract_y: Axes,
    batch_x: Axes = (),
    batch_y: Axes = (),
) -> Value:
    """Both mapped: one more batch axis. One mapped: one more free axis, moved to the front."""
    x, y = inputs
    if mapped[0]:
        contract_x, batch_x = tuple(a + 1 for a in contract_x), tuple(a + 1 for a in batch_x)
    if mapped[1]:
        contract_y, batch_y = tuple(a + 1 for a in contract_y), tuple(a + 1 for a in batch_y)
    if all(mapped):
        return dot(x, y, (contract_x, contract_y), ((0, *batch_x), (0, *batch_y)))
    out = dot(x, y, (contract_x, contract_y), (batch_x, batch_y))
    # A mapped operand's free axes start with its batch axis.
    free_x = x.ndim - len(contract_x) - len(batch_x)
    return moveaxis(out, len(batch_x) + (0 if mapped[0] else free_x), 0)


register(
    Op(
        "dot", FAMILY, _dot_type, _dot_numpy, _dot_jvp, _dot_transpose, _dot_batch, spelling=None, effect=None,
        doc="The sum of products over the contracted axes; result axes: batch, free axes of x, free axes of y.",
    )
)  # fmt: skip
