"""Random programs on matrices: views, writes through views, things done in place, all exact in any order."""

from collections.abc import Callable, Collection

import numpy as np
from hypothesis import strategies as st

from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import FLOAT32, FLOAT64
from tracemill.compiler.ir import ArrayType, Extent, Graph, Value

SIDE = 64  # 64 × 64 numbers in f64 are 32 KiB


def _place(x: Value) -> tuple[Value, Value]:
    """Two integers found in a matrix: where a window begins."""
    numbers = fn.convert(fn.reshape(fn.slice_(x, (0, 0), (1, 2)), (2,)), np.dtype(np.int64))
    return fn.reshape(fn.slice_axis(numbers, 0, 1, 0), ()), fn.reshape(fn.slice_axis(numbers, 1, 2, 0), ())


def _step(draw: st.DrawFn, x: Value, y: Value, without: Collection[str]) -> Value:
    """A call with a result of the shape of x: views, writes through views, in-place operations.

    All are exact in any order and on any path through NumPy's loops, so that results agree to the bit.
    """
    shape = x.shape
    side = shape[0]
    half = side // 2
    top = fn.slice_(x, (0, 0), (half, side))
    choices: dict[str, Callable[[], Value]] = {
        "add": lambda: fn.add(x, y),
        "multiply": lambda: fn.multiply(x, y),
        "number": lambda: fn.subtract(1, x),
        "floor": lambda: fn.floor(fn.multiply(x, 3)),
        "transposed": lambda: fn.transpose(x, (1, 0)),
        "with own transpose": lambda: fn.subtract(x, fn.transpose(x, (1, 0))),
        "with own flip": lambda: fn.maximum(x, fn.flip(x, (0, 1))),
        "shifted": lambda: fn.concatenate([fn.slice_axis(x, 1, side, 0), fn.slice_axis(y, 0, 1, 0)], 0),
        "padded": lambda: fn.pad(top, (half, 0), (0, 0), fill=2),
        "updated": lambda: bind("update_slice", x, fn.slice_(y, (1, 0), (half + 1, side)), start=(0, 0),
                                stop=(half, side), step=(1, 1)),
        "updated by itself": lambda: bind("update_slice", x, fn.slice_axis(x, half, side, 0), start=(0, 0),
                                          stop=(side, side), step=(2, 1)),
        "window": lambda: bind("dynamic_update_slice", x, fn.slice_axis(y, 0, half, 0), *_place(x)),
        "moved window": lambda: fn.concatenate([bind("dynamic_slice", x, *_place(y), sizes=(half, side)), top], 0),
        "reshaped": lambda: fn.reshape(fn.square(fn.reshape(x, (side * side,))), shape),
        "row": lambda: fn.broadcast_to(fn.slice_axis(x, 3, 4, 0), shape),
        "row sums": lambda: fn.broadcast_to(fn.reshape(fn.sum_(fn.sign(x), (1,)), (side, 1)), shape),
        "number of it": lambda: fn.add(fn.reshape(fn.slice_(y, (1, 1), (2, 2)), ()), x),
        "chosen": lambda: fn.where(fn.less(x, y), x, y),
        "clipped": lambda: fn.elementwise("clip", x, fn.slice_axis(y, 0, 1, 0), y),
        "complex parts": lambda: fn.imag(fn.make_complex(x, y)),
        "rounded": lambda: fn.convert(fn.convert(x, FLOAT32), FLOAT64),
        "table": lambda: fn.add(x, fn.reshape(fn.negative(fn.iota(side, FLOAT64)), (side, 1))),
        "product": lambda: fn.dot(fn.sign(x), fn.sign(y), ((1,), (1,))),
    }  # fmt: skip
    return choices[draw(st.sampled_from(sorted(choices.keys() - set(without))))]()


@st.composite
def matrix_graphs(
    draw: st.DrawFn, *, without: Collection[str] = (), sums: bool = False, side: Extent = SIDE
) -> Graph:
    """Graphs of two matrices with up to three outputs, ``without`` some steps; with their sums down the columns.

    The side of the matrices is even, 4 or more, and may be symbolic.
    """

    def f(*inputs: Value) -> tuple[Value, ...]:
        values = list(inputs)
        for _ in range(draw(st.integers(1, 12))):
            x = draw(st.sampled_from(values[-3:]))
            values.append(_step(draw, x, draw(st.sampled_from(values[-3:])), without))
        outputs = draw(st.lists(st.sampled_from(values[-4:]), min_size=1, max_size=3))
        return *outputs, *(fn.sum_(fn.sign(value), (0,)) for value in outputs if sums)

    return recorded(f, *[ArrayType(FLOAT64, (side, side))] * 2)
