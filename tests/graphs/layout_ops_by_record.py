"""Layout ops that the library does not have: their records, as a newcomer would write them, and samples.

No pass and no printer knows their names. `registered` adds them for a test.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from samples.sample import Sample
from tracemill.compiler import op as op_module
from tracemill.compiler.affine import Index
from tracemill.compiler.builder import bind
from tracemill.compiler.ir import ArrayType, Shape, Value
from tracemill.compiler.op import (
    Aliasing,
    Between,
    ElementCase,
    JvpRule,
    Linear,
    Multiple,
    Op,
    ReadIndex,
)
from tracemill.compiler.ops.batch_axes import Batched, on_one_axis
from tracemill.compiler.value_ops import reshape, slice_, slice_axis, sum_, transpose, zeros_like


def _jvp(name: str) -> JvpRule:
    """All of them are linear in all inputs together."""

    def rule(inputs: Any, tangents: Any, outputs: Any, **params: Any) -> Value:
        given = [zeros_like(x) if dx is None else dx for x, dx in zip(inputs, tangents, strict=True)]
        return bind(name, *given, **params)

    return rule


# ---- rotate: the entries stay, some at other places; it computes no view ---------------------------------


def _rotate_batch(inputs: Sequence[Batched], size: int, by: int, axis: int) -> Batched:
    (x,) = inputs
    return Batched(bind("rotate", x.value, by=by, axis=x.physical_axis(axis)), x.axis)


def _rotate_index(index: Index, source: Shape, result: Shape, by: int, axis: int) -> Index:
    return tuple((place + by) % source[at] if at == axis else place for at, place in enumerate(index))


ROTATE = Op(
    "rotate",
    "layout",
    lambda x, by, axis: x,
    lambda x, by, axis: np.roll(x, -by, axis),
    _jvp("rotate"),
    lambda cotangents, inputs, by, axis: bind("rotate", cotangents[0], by=-by, axis=axis),
    _rotate_batch,
    spelling=None,
    effect=None,
    doc="The entries moved along an axis, those at its start to its end.",
    moves=1,
    index_map=_rotate_index,
)


# ---- reverse_axes: a view of all entries -----------------------------------------------------------------


def _reverse_axes_batch(inputs: Sequence[Batched], size: int) -> Batched:
    (x,) = inputs
    assert x.axis is not None
    others = [axis for axis in range(x.value.ndim) if axis != x.axis]
    return Batched(transpose(x.value, (x.axis, *reversed(others))), 0)


REVERSE_AXES = Op(
    "reverse_axes",
    "layout",
    lambda x: ArrayType(x.dtype, x.shape[::-1]),
    np.transpose,
    _jvp("reverse_axes"),
    lambda cotangents, inputs: bind("reverse_axes", cotangents[0]),
    _reverse_axes_batch,
    spelling=None,
    effect=None,
    doc="The axes in reverse order.",
    aliasing=Aliasing.WHOLE,
    moves=1,
    index_map=lambda index, source, result: index[::-1],
)


# ---- copies: a view that repeats its input along a new axis ----------------------------------------------


def _copies_batch(inputs: Sequence[Batched], size: int, shape: Shape) -> Batched:
    (x,) = inputs
    assert x.axis is not None
    return Batched(bind("copies", x.value, shape=(shape[0], *x.value.shape)), x.axis + 1)


COPIES = Op(
    "copies",
    "layout",
    lambda x, shape: ArrayType(x.dtype, (shape[0], *x.shape)),
    np.broadcast_to,
    _jvp("copies"),
    lambda cotangents, inputs, shape: sum_(cotangents[0], (0,)),
    _copies_batch,
    spelling=None,
    effect=None,
    doc="The input several times, along a new axis in front; `shape` is that of the result.",
    aliasing=Aliasing.PART,
    moves=1,
    index_map=lambda index, source, result, shape: index[1:],
    shape_param="shape",
)


# ---- interleave: entries of two inputs, chosen by the index ----------------------------------------------


def _interleave_type(x: ArrayType, y: ArrayType, axis: int) -> ArrayType:
    return ArrayType(x.dtype, (*x.shape[:axis], x.shape[axis] + y.shape[axis], *x.shape[axis + 1 :]))


def _interleave_numpy(x: Any, y: Any, axis: Any) -> Any:
    pairs = np.stack([x, y], axis + 1)
    return np.reshape(pairs, [*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :]])


def _interleave_transpose(cotangents: Any, inputs: Any, axis: int) -> list[Value | None]:
    (ct,) = cotangents
    found: list[Value | None] = []
    for place, x in enumerate(inputs):
        start = [place * (at == axis) for at in range(ct.ndim)]
        step = [1 + (at == axis) for at in range(ct.ndim)]
        part = slice_(ct, start, ct.shape, step) if isinstance(x, Linear) else None
        found.append(part)
    return found


def _interleave_batch(inputs: Sequence[Batched], size: int, axis: int) -> Batched:
    x, y = on_one_axis(inputs, size)
    return Batched(bind("interleave", x.value, y.value, axis=x.physical_axis(axis)), x.axis)


def _interleave_cases(index: Index, shapes: Sequence[Shape], read: ReadIndex, axis: int) -> list[ElementCase]:
    halved = (*index[:axis], index[axis] // 2, *index[axis + 1 :])
    return [((Multiple(index[axis], 2),), (0, halved)), ((), (1, halved))]


INTERLEAVE = Op(
    "interleave",
    "layout",
    _interleave_type,
    _interleave_numpy,
    _jvp("interleave"),
    lambda cotangents, inputs, axis: tuple(_interleave_transpose(cotangents, inputs, axis)),
    _interleave_batch,
    spelling=None,
    effect=None,
    doc="The entries of two equally long arrays in turn.",
    moves=2,
    cases=_interleave_cases,
)


# ---- with_first: one row of the first input is another ---------------------------------------------------


def _with_first_numpy(x: Any, y: Any) -> Any:
    out = np.array(x)
    out[0] = y
    return out


def _with_first_transpose(cotangents: Any, inputs: Any) -> tuple[Value | None, ...]:
    (ct,), (x, y) = cotangents, inputs
    dx = bind("with_first", ct, zeros_like(y)) if isinstance(x, Linear) else None
    return dx, reshape(slice_axis(ct, 0, 1, 0), y.shape) if isinstance(y, Linear) else None


def _with_first_batch(inputs: Sequence[Batched], size: int) -> Batched:
    x, y = (one.on_axis(1 - place, size) for place, one in enumerate(inputs))
    return Batched(bind("with_first", x, y), 1)


def _with_first_cases(index: Index, shapes: Sequence[Shape], read: ReadIndex) -> list[ElementCase]:
    return [((Between(index[0], 0, 1),), (1, index[1:])), ((), (0, index))]


WITH_FIRST = Op(
    "with_first",
    "layout",
    lambda x, y: x,
    _with_first_numpy,
    _jvp("with_first"),
    _with_first_transpose,
    _with_first_batch,
    spelling=None,
    effect=None,
    doc="A copy of an array with another first row.",
    moves=2,
    cases=_with_first_cases,
    updates=True,
)

SAMPLES = [
    Sample("rotate", ((4, 3),), params={"by": 3, "axis": 0}),
    Sample("rotate", ((2, 5),), "i32", params={"by": 2, "axis": 1}),
    Sample("reverse_axes", ((2, 3, 4),)),
    Sample("copies", ((2, 3),), params={"shape": (4, 2, 3)}),
    Sample("interleave", ((3, 2), (3, 2)), params={"axis": 0}),
    Sample("interleave", ((2, 3), (2, 3)), params={"axis": 1}),
    Sample("with_first", ((4, 3), (3,))),
]


@contextmanager
def registered() -> Generator[None]:
    """The ops are in the table meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for record in (ROTATE, REVERSE_AXES, COPIES, INTERLEAVE, WITH_FIRST):
            patch.setitem(op_module._TABLE, record.name, record)
        yield
