"""Operations on all examples of a batch: sums, extrema and exchanges over a mapped axis.

The first input of each call is the index of the example in its batch, an i64[]. If the axis of this index is mapped,
the batch rule computes with all examples, and the call disappears. Mapping any other axis keeps the call, with more
entries. So passes know no axis names: while a function is traced, a name stands for such an index. Outside any batch,
a call returns what it would return if all examples were equal.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...builder import bind
from ...dtypes import INT64, kind
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import BatchRule, JvpRule, Meaning, Op, TransposeRule, not_linear, register
from ...value_ops import (
    constant,
    convert,
    divide,
    equal,
    gather,
    greater_equal,
    moveaxis,
    multiply,
    reshape,
    sum_,
    where,
)
from ..batch_axes import Batched

FAMILY = "collective"

WithAll: TypeAlias = Callable[..., Batched]
"""``with_all(x, batch_axis, **params)`` for the x of all examples, side by side along `batch_axis`."""


def _type_of(name: str, kinds: str, result: Callable[..., Shape]) -> Callable[..., ArrayType]:
    def type_rule(index: ArrayType, x: ArrayType, *, axis: str, count: int, **params: Any) -> ArrayType:
        if index.dtype != INT64 or index.shape or kind(x.dtype) not in kinds:
            raise DTypeError(f"{name} over {axis!r} is not defined for ({index}, {x})")
        return ArrayType(x.dtype, result(x, axis=axis, count=count, **params))

    return type_rule


def _batch_of(name: str, with_all: WithAll, new_axes: int) -> BatchRule:
    """The batch rule; `new_axes` is how many more axes the result has than x, in front; −1 for one fewer."""

    def batch(inputs: Sequence[Batched], size: int, **params: Any) -> Batched:
        index, x = inputs
        if index.axis is not None:
            axis = x.axis or 0
            return with_all(x.on_axis(axis, size), axis, **params)
        assert x.axis is not None
        axis = max(x.axis, -new_axes)
        return Batched(bind(name, index.value, x.to_physical(axis), **params), axis + new_axes)

    return batch


def _collective(
    name: str,
    meaning: Meaning,
    jvp: JvpRule,
    transpose: TransposeRule,
    with_all: WithAll,
    *,
    kinds: str,
    doc: str,
    result: Callable[..., Shape] = lambda x, **params: x.shape,
    new_axes: int = 0,
) -> None:
    register(
        Op(
            name,
            FAMILY,
            _type_of(name, kinds, result),
            meaning,
            jvp,
            transpose,
            _batch_of(name, with_all, new_axes),
            spelling=None,
            effect=None,
            doc=doc,
        )
    )


def _linear(name: str) -> JvpRule:
    return lambda inputs, tangents, outputs, **params: bind(name, inputs[0], tangents[1], **params)


# ---- sums and extremes -----------------------------------------------------------------------------

_collective(
    "psum",
    lambda index, x, axis, count: np.multiply(x, x.dtype.type(count)),
    _linear("psum"),
    lambda cotangents, inputs, **params: (None, bind("psum", inputs[0], cotangents[0], **params)),
    lambda x, batch_axis, axis, count: Batched(sum_(x, (batch_axis,)), None),
    kinds="iufc",
    doc="The sum over the examples of a mapped axis.",
)


def _extreme_tangent(
    inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: tuple[Value, ...], **params: Any
) -> Value | None:
    """Examples that attain the extremum share the derivative."""
    (index, x), tangent = inputs, tangents[1]
    assert tangent is not None
    is_there = convert(equal(x, outputs[0]), x.dtype)
    sharing = bind("psum", index, is_there, **params)
    return divide(bind("psum", index, multiply(is_there, tangent), **params), sharing)


for _name, _reduction in (("pmax", "max"), ("pmin", "min")):
    _collective(
        _name,
        lambda index, x, axis, count: np.array(x),
        _extreme_tangent,
        not_linear,
        lambda x, batch_axis, axis, count, reduction=_reduction: Batched(
            bind(reduction, x, axes=(batch_axis,)), None
        ),
        kinds="biuf",
        doc=f"The {_reduction}imum over the examples of a mapped axis; NaN wins.",
    )


# ---- exchanges -------------------------------------------------------------------------------------

_collective(
    "all_gather",
    lambda index, x, axis, count: np.broadcast_to(x, (count, *x.shape)).copy(),
    _linear("all_gather"),
    lambda cotangents, inputs, **params: (None, bind("psum_scatter", inputs[0], cotangents[0], **params)),
    lambda x, batch_axis, axis, count: Batched(moveaxis(x, batch_axis, 0), None),
    kinds="biufc",
    result=lambda x, axis, count: (count, *x.shape),
    new_axes=1,
    doc="The values of all examples of a mapped axis, stacked.",
)


def _scattered_shape(x: ArrayType, axis: str, count: int) -> Shape:
    if x.shape[:1] != (count,):
        raise ShapeError(
            f"psum_scatter over {axis!r} of {count} examples needs an entry for each in front, not {x}"
        )
    return x.shape[1:]


_collective(
    "psum_scatter",
    lambda index, x, axis, count: np.multiply(x[int(index) % count], x.dtype.type(count)),
    _linear("psum_scatter"),
    lambda cotangents, inputs, **params: (None, bind("all_gather", inputs[0], cotangents[0], **params)),
    lambda x, batch_axis, axis, count: Batched(sum_(x, (batch_axis,)), 0),
    kinds="iufc",
    result=_scattered_shape,
    new_axes=-1,
    doc="Of the sum over the examples of a mapped axis, the entry that has the number of the example.",
)

Sources: TypeAlias = tuple[int, ...]


def _permuted_shape(x: ArrayType, axis: str, count: int, sources: Sources) -> Shape:
    given = [source for source in sources if source >= 0]
    if len(sources) != count or len(set(given)) != len(given) or any(source >= count for source in given):
        raise ShapeError(f"ppermute over {axis!r} of {count} examples: {sources} are not different examples")
    return x.shape


def _permuted(x: Value, batch_axis: int, axis: str, count: int, sources: Sources) -> Batched:
    if not count:
        return Batched(x, batch_axis)
    moved = gather(x, [constant(np.maximum(sources, 0), INT64)], (batch_axis,))
    if min(sources) < 0:
        is_sent = greater_equal(constant(sources, INT64), 0)
        moved = where(reshape(is_sent, (count, *(1,) * (x.ndim - 1))), moved, 0)
    return Batched(moved, 0)


def _permute_back(
    cotangents: tuple[Value, ...], inputs: tuple[Any, ...], axis: str, count: int, sources: Sources
) -> tuple[None, Value]:
    back = tuple(sources.index(example) if example in sources else -1 for example in range(count))
    return None, bind("ppermute", inputs[0], cotangents[0], axis=axis, count=count, sources=back)


_collective(
    "ppermute",
    lambda index, x, axis, count, sources: x.copy() if sources[int(index) % count] >= 0 else np.zeros_like(x),
    _linear("ppermute"),
    _permute_back,
    _permuted,
    kinds="biufc",
    result=_permuted_shape,
    doc="The value of example ``sources[i]`` of a mapped axis in example i; zeros where that is −1.",
)
