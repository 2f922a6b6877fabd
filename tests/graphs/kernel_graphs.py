"""Graphs of kernels of several calls, large enough for blocks and chunks: norms, stencils, pairs, columns, moves."""

import numpy as np
import pytest

from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.kernels.kernel import kernel_function
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import INT64
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.loops import loop_costs as work


def softmax(x: Value) -> Value:
    rows = x.shape[0]
    e = fn.exp(fn.subtract(x, fn.reshape(bind("max", x, axes=(1,)), (rows, 1))))
    return fn.divide(e, fn.reshape(fn.sum_(e, (1,)), (rows, 1)))


def layer_norm(x: Value, gain: Value) -> tuple[Value, ...]:
    rows, columns = x.shape
    mean = fn.divide(fn.sum_(x, (1,)), columns)
    centred = fn.subtract(x, fn.reshape(mean, (rows, 1)))
    variance = fn.divide(fn.sum_(fn.square(centred), (1,)), columns)
    return fn.multiply(fn.divide(centred, fn.sqrt(fn.add(fn.reshape(variance, (rows, 1)), 1e-5))), gain), mean


def layer_norm_gradient(x: Value, gain: Value, g: Value) -> tuple[Value, ...]:
    """Of input, gain and bias: each row needs sums over itself, gain and bias need sums over all rows."""
    rows, columns = x.shape
    centred = fn.subtract(x, fn.reshape(fn.divide(fn.sum_(x, (1,)), columns), (rows, 1)))
    variance = fn.divide(fn.sum_(fn.square(centred), (1,)), columns)
    scale = fn.reshape(bind("reciprocal", fn.sqrt(fn.add(variance, 1e-5))), (rows, 1))
    normal, scaled = fn.multiply(centred, scale), fn.multiply(g, gain)
    mean = fn.reshape(fn.divide(fn.sum_(scaled, (1,)), columns), (rows, 1))
    along = fn.reshape(fn.divide(fn.sum_(fn.multiply(scaled, normal), (1,)), columns), (rows, 1))
    rest = fn.subtract(fn.subtract(scaled, mean), fn.multiply(normal, along))
    return fn.multiply(rest, scale), fn.sum_(fn.multiply(g, normal), (0,)), fn.sum_(g, (0,))


def losses(x: Value, y: Value) -> tuple[Value, ...]:
    """Their mean and the largest, of images with three axes, and how far each row is off."""
    off = fn.sum_(fn.square(fn.subtract(x, y)), (2,))
    return fn.divide(fn.sum_(fn.sqrt(off), (0, 1)), 7), off, bind("max", off, axes=(0, 1))


def relu_gradient(x: Value, g: Value) -> tuple[Value, ...]:
    """Of a relu and of the bias before it."""
    passed = fn.multiply(g, fn.convert(fn.greater(x, 0), x.dtype))
    return passed, fn.sum_(passed, (0,))


def pulls(p: Value, m: Value) -> Value:
    n = p.shape[0]
    d = fn.subtract(fn.reshape(p, (1, n, 3)), fn.reshape(p, (n, 1, 3)))
    weight = fn.divide(fn.reshape(m, (1, n)), fn.add(fn.sum_(fn.square(d), (2,)), 0.1))
    return fn.sum_(fn.multiply(d, fn.reshape(weight, (n, n, 1))), (1,))


def differences(x: Value, y: Value) -> Value:
    return fn.subtract(fn.reshape(x, (x.shape[0], 1, x.shape[1])), fn.reshape(y, (1, *y.shape)))


def distances(x: Value, y: Value) -> Value:
    return fn.sum_(fn.square(differences(x, y)), (2,))


def kernel_sums(x: Value, y: Value) -> tuple[Value, ...]:
    """Sums of an exponential kernel at the points of one set, and where it pulls them."""
    weights = fn.exp(fn.negative(fn.sqrt(distances(x, y))))
    pulls = fn.multiply(fn.reshape(weights, (*weights.shape, 1)), differences(x, y))
    return fn.sum_(weights, (1,)), fn.sum_(pulls, (1,))


def nearest(x: Value, y: Value) -> tuple[Value, ...]:
    d = distances(x, y)
    return bind("min", d, axes=(1,)), bind("argmin", d, axis=1)


def scaled_sums(x: Value, y: Value) -> Value:
    """The outer product of y and short sums, one for each number of x."""
    steps = fn.subtract(fn.reshape(x, (x.type.size, 1)), fn.convert(fn.iota(8, INT64), x.dtype))
    return fn.multiply(fn.reshape(fn.sum_(fn.square(steps), (1,)), (x.type.size, 1)), y)


def columns(x: Value) -> tuple[Value, ...]:
    rows = fn.reshape(fn.sum_(x, (1,)), (x.shape[0], 1))
    return fn.sum_(fn.multiply(x, rows), (0,)), fn.sum_(x, (0,)), fn.subtract(x, rows)


def whole(x: Value) -> tuple[Value, ...]:
    mean = fn.divide(fn.sum_(x, (0, 1)), x.type.size)
    return mean, fn.subtract(x, mean), bind("max", x, axes=(0, 1)), bind("min", x, axes=(0,))


def stencil(x: Value) -> Value:
    n, m = x.shape
    padded = fn.pad(x, (1, 1), (1, 1))
    sides = [((0, 1), (n, m + 1)), ((2, 1), (n + 2, m + 1)), ((1, 0), (n + 1, m)), ((1, 2), (n + 1, m + 2))]
    total = fn.multiply(x, -4)
    for start, stop in sides:
        total = fn.add(total, fn.slice_(padded, start, stop))
    return total


def joined(x: Value, y: Value) -> tuple[Value, ...]:
    both = fn.concatenate([fn.flip(x, (1,)), fn.transpose(y, (1, 0))], 1)
    return both, fn.reshape(fn.slice_axis(both, 0, both.shape[1], 1, 3), (-(-both.shape[1] // 3), x.shape[0]))


def found(x: Value, places: Value) -> tuple[Value, ...]:
    rows = fn.gather(fn.exp(x), [places], (0,))
    return rows, fn.sum_(rows, (0,)), bind("argmax", x, axis=1), bind("argmin", x, axis=0)


def counted(x: Value) -> tuple[Value, ...]:
    positive = fn.greater(x, 0)
    return bind("any", positive, axes=(1,)), bind("all", positive, axes=(0,)), bind("prod", x, axes=(1,))


def in_pieces(x: Value, y: Value) -> tuple[Value, ...]:
    both = fn.concatenate([x, fn.square(y)], 0)
    return (
        fn.sum_(both, (0, 1)),
        bind("argmax", fn.reshape(both, (both.type.size,)), axis=0),
        fn.sum_(both, (0,)),
    )


def turned(x: Value, y: Value) -> Value:
    return fn.add(fn.transpose(x, (1, 0)), y)


def weighted(x: Value) -> Value:
    weights = fn.constant(np.linspace(-1, 1, x.type.size).reshape(x.shape).astype(x.dtype))
    return fn.add(fn.multiply(x, weights), fn.slice_(weights, (0, 3), (x.shape[0], 4)))


def number(x: Value) -> tuple[Value, ...]:
    return fn.square(x), x, x, fn.constant(np.array([1.5, 2.5, np.nan, -0.0, np.inf, 7.0]))


def spread(*xs: Value) -> Value:
    """The distance of the maximum from the sum: all entries are needed until the sum is known."""
    total, largest = xs[0], None
    for x in xs[1:]:
        total = fn.add(total, x)
    for x in xs:
        above = fn.subtract(x, total)
        largest = above if largest is None else fn.maximum(largest, above)
    assert largest is not None
    return largest


def softmax_of_spread(*xs: Value) -> Value:
    return softmax(spread(*xs))


def largest_above_sum(*xs: Value) -> Value:
    """Of each row, once sums of all of them are known."""
    total = xs[0]
    for x in xs:
        above = fn.subtract(x, fn.reshape(fn.sum_(x, (1,)), (x.shape[0], 1)))
        total = fn.maximum(total, above)
    return total


LARGE: dict[str, Graph] = {
    "softmax": recorded(softmax, "f32[300, 700]"),
    "softmax of long rows": recorded(softmax, "f64[3, 30000]"),
    "layer_norm": recorded(layer_norm, "f32[500, 300]", "f32[300]"),
    "layer_norm gradient": recorded(layer_norm_gradient, "f32[600, 512]", "f32[512]", "f32[600, 512]"),
    "losses": recorded(losses, "f32[20, 30, 300]", "f32[20, 30, 300]"),
    "relu gradient": recorded(relu_gradient, "f32[2000, 128]", "f32[2000, 128]"),
    "pulls": recorded(pulls, "f64[600, 3]", "f64[600]"),
    "kernel sums": recorded(kernel_sums, "f32[300, 9]", "f32[333, 9]"),
    "kernel sums of doubles": recorded(kernel_sums, "f64[70, 16]", "f64[500, 16]"),
    "kernel sums in parts": recorded(kernel_sums, "f32[9, 8]", "f32[40000, 8]"),
    "nearest": recorded(nearest, "f32[300, 16]", "f32[200, 16]"),
    "all distances": recorded(distances, "f32[100, 8]", "f32[150, 8]"),
    "columns": recorded(columns, "f32[2000, 60]"),
    "columns of doubles": recorded(columns, "f64[700, 100]"),
    "complex columns": recorded(columns, "c64[700, 100]"),
    "wide columns": recorded(columns, "f32[50, 9000]"),
    "whole": recorded(whole, "f64[700, 300]"),
    "whole of integers": recorded(lambda x: fn.sum_(fn.multiply(x, x), (0, 1)), "i32[700, 300]"),
    "complex whole": recorded(lambda x: fn.sum_(x, (0, 1)), "c128[400, 300]"),
    "middle axis": recorded(lambda x: fn.sum_(fn.sin(x), (1,)), "f64[30, 70, 40]"),
    "outer axes": recorded(lambda x: fn.sum_(x, (0, 2)), "f32[30, 70, 40]"),
    "stencil": recorded(stencil, "f64[300, 200]"),
    "joined": recorded(joined, "f64[300, 200]", "f64[70, 300]"),
    "found": recorded(found, "f32[600, 300]", "i64[500]"),
    "in pieces": recorded(in_pieces, "f64[3000, 40]", "f64[4000, 40]"),
    "counted": recorded(counted, "f64[600, 300]"),
    "turned images": recorded(lambda x: fn.square(fn.transpose(x, (0, 3, 1, 2))), "f32[3, 20, 30, 70]"),
    "turned": recorded(turned, "f32[300, 400]", "f32[400, 300]"),
    "number": recorded(number, "f64[]"),
    "empty": recorded(lambda x: (fn.sum_(x, (0,)), fn.exp(x), bind("all", fn.greater(x, 0), axes=(0,))), "f64[0, 3]"),
    "single": recorded(softmax, "f64[1, 1]"),
}  # fmt: skip

WIDE: dict[str, Graph] = {
    "layer_norm gradient of wide rows": recorded(
        layer_norm_gradient, "f32[70, 8192]", "f32[8192]", "f32[70, 8192]"
    ),
    "softmax of wide rows": recorded(softmax, "f32[70, 32768]"),
}
"""The longest rows that one program of a GPU holds."""

SMALL: dict[str, Graph] = {
    "softmax": recorded(softmax, "f32[5, 70]"),
    "softmax of long rows": recorded(softmax, "f64[2, 40000]"),
    "layer_norm": recorded(layer_norm, "f32[9, 30]", "f32[30]"),
    "layer_norm gradient": recorded(layer_norm_gradient, "f32[11, 300]", "f32[300]", "f32[11, 300]"),
    "layer_norm gradient of doubles": recorded(layer_norm_gradient, "f64[301, 6]", "f64[6]", "f64[301, 6]"),
    "many inputs": recorded(spread, *["f32[1300]"] * 60),
    "rows of many inputs": recorded(softmax_of_spread, *["f32[2, 1500]"] * 24),
    "losses": recorded(losses, "f32[3, 7, 30]", "f32[3, 7, 30]"),
    "losses of points": recorded(losses, "f64[30, 70, 3]", "f64[30, 70, 3]"),
    "losses of long rows": recorded(losses, "f64[1, 4, 40001]", "f64[1, 4, 40001]"),
    "relu gradient": recorded(relu_gradient, "f32[130, 40]", "f32[130, 40]"),
    "relu gradient of images": recorded(relu_gradient, "f32[9, 5, 40]", "f32[9, 5, 40]"),
    "columns of long rows": recorded(columns, "f64[5, 20000]"),
    "columns of integers": recorded(columns, "i16[70, 33]"),
    "short columns": recorded(columns, "f16[70, 33]"),
    "pulls": recorded(pulls, "f64[20, 3]", "f64[20]"),
    "kernel sums": recorded(kernel_sums, "f32[30, 9]", "f32[33, 9]"),
    "nearest": recorded(nearest, "f32[30, 16]", "f32[20, 16]"),
    "columns": recorded(columns, "f32[200, 60]"),
    "whole": recorded(whole, "f64[70, 300]"),
    "whole of integers": recorded(lambda x: fn.sum_(fn.multiply(x, x), (0, 1)), "i32[200, 300]"),
    "middle axis": recorded(lambda x: fn.sum_(fn.sin(x), (1,)), "f64[3, 70, 40]"),
    "outer axes": recorded(lambda x: fn.sum_(x, (0, 2)), "f32[3, 7, 40]"),
    "stencil": recorded(stencil, "f64[30, 20]"),
    "joined": recorded(joined, "f64[30, 20]", "f64[7, 30]"),
    "found": recorded(found, "f32[60, 30]", "i64[50]"),
    "in pieces": recorded(in_pieces, "f64[300, 40]", "f64[400, 40]"),
    "counted": recorded(counted, "f64[6, 30]"),
    "turned": recorded(turned, "f32[70, 40]", "f32[40, 70]"),
    "turned images": recorded(lambda x: fn.square(fn.transpose(x, (0, 3, 1, 2))), "f32[2, 10, 5, 34]"),
    "weighted": recorded(weighted, "f32[9, 30]"),
    "empty": recorded(lambda x: (fn.sum_(x, (0,)), fn.exp(x), bind("all", fn.greater(x, 0), axes=(0,))), "f64[0, 3]"),
    "single": recorded(softmax, "f64[1, 1]"),
    "long sum": recorded(lambda x: fn.sum_(fn.sin(x), (0, 1)), "f32[300, 300]"),
    "long columns": recorded(lambda x: (bind("max", x, axes=(0,)), fn.divide(fn.sum_(x, (0,)), 3)), "f64[7001, 30]"),
    "long rows": recorded(lambda x: bind("min", x, axes=(1,)), "f64[2, 40003]"),
    "long places": recorded(lambda x: (bind("argmax", x, axis=1), bind("min", x, axes=(1,))), "f64[2, 40003]"),
    "long places of columns": recorded(lambda x: bind("argmin", x, axis=0), "f32[7001, 30]"),
    "long place": recorded(lambda x: bind("argmax", fn.square(x), axis=0), "i32[70001]"),
    "long sum of short numbers": recorded(lambda x: (fn.sum_(x, (0, 1)), bind("max", x, axes=(0, 1))), "f16[300, 300]"),
    "long outer axes": recorded(lambda x: fn.sum_(x, (0, 2)), "f32[600, 3, 70]"),
    "long narrow columns": recorded(lambda x: fn.sum_(x, (0,)), "f64[20003, 3]"),
    "long truth": recorded(lambda x: bind("any", fn.greater(x, 4), axes=(1,)), "f64[2, 40003]"),
}  # fmt: skip
"""Kernels of the same forms, for who runs them slowly."""

MANY: dict[str, Graph] = {
    "many inputs": recorded(spread, *["f32[300000]"] * 60),
    "two hundred registers": recorded(spread, *["f64[300000]"] * 100),
    "rows of many inputs": recorded(softmax_of_spread, *["f32[500, 1024]"] * 60),
    "long rows of many inputs": recorded(softmax_of_spread, *["f32[50, 65536]"] * 24),
    "sums of many inputs": recorded(largest_above_sum, *["f32[500, 1024]"] * 60),
    "long sums of many inputs": recorded(largest_above_sum, *["f32[50, 65536]"] * 24),
}
"""Of more numbers than the threads of usual blocks have registers for."""

POINTWISE: dict[str, Graph] = {
    "odd": recorded(fn.add, "f32[300007]", "f32[300007]"),
    "row": recorded(fn.add, "f32[3000, 96]", "f32[96]"),
    "column": recorded(fn.add, "f32[3000, 97]", "f32[3000, 1]"),
    "16-bit floats": recorded(fn.add, "bf16[300000]", "bf16[300000]"),
    "doubles": recorded(fn.add, "f64[300000]", "f64[300000]"),
    "mixed": recorded(lambda x, y: fn.add(fn.convert(x, y.dtype), y), "f32[300000]", "f64[300000]"),
    "long functions": recorded(lambda x: bind("gammainc", x, x, upper=True), "f64[300000]"),
    "streamed": recorded(fn.exp, "f64[10000000]"),
    "roots": recorded(lambda x, y: (bind("cbrt", x), bind("cbrt", y)), "f32[300000]", "f64[300000]"),
    "normal quantiles": recorded(
        lambda x, y: (bind("ndtri", x), bind("ndtri", y)), "f32[300000]", "f64[300000]"
    ),
}
"""Elements computed one by one, of all widths and lengths."""


LONG = 10_000
"""Nanoseconds of work that threads share in tests, so that arrays can be small."""


def large_function(name: str) -> CFunction:
    """The C function of one of them, cut into chunks if it is `LONG`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "SHARED", LONG)
        patch.setattr(work, "CHUNK", LONG // 2)
        function = kernel_function(LARGE[name], name.replace(" ", "_"), COptions(), in_place=True)
    assert function is not None
    return function
