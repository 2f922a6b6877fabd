"""Complex numbers as pairs of real ones, since Triton has none: the graph of a kernel in real numbers.

An array of complex numbers is in memory an array of real ones with a last axis of 2. Formulas are NumPy's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from ....builder import Builder, as_tuple, bind, recording
from ....dtypes import is_complex, real_dtype
from ....ir import ArrayType, Call, Constant, Graph, Value
from ....op import is_move
from ....value_ops import (
    absolute,
    add,
    broadcast_to,
    concatenate,
    constant,
    convert,
    cos,
    divide,
    equal,
    exp,
    expand_dims,
    full,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    multiply,
    negative,
    reciprocal,
    reshape,
    sin,
    slice_axis,
    subtract,
    where,
    zeros_like,
)
from ....value_ops import elementwise as call_of

Pair: TypeAlias = tuple[Value, Value]
"""The real and the imaginary parts."""

_BY_PARTS: Final = frozenset({"add", "negative", "rint", "stop_gradient", "subtract", "sum", "where"})
"""Ops, besides those that move elements, that apply to the parts as to the whole."""


def has_pairs(call: Call) -> bool:
    """Whether a call with complex numbers can be expressed in real ones."""
    return is_move(call) or call.op in _BY_PARTS or call.op in _ON_PAIRS or call.op in ("convert", "iota")


def uses_pairs(values: Sequence[Value]) -> bool:
    """Whether some numbers are complex."""
    return any(is_complex(value.dtype) for value in values)


def in_pairs(graph: Graph) -> Graph:
    """A graph of real numbers, in which each complex input and output has one more axis, of its two parts."""
    known: dict[Value, Value | Pair] = {}
    inputs = tuple(_whole(value) for value in graph.inputs)
    with recording(Builder()) as builder:
        for value, given in zip(graph.inputs, inputs, strict=True):
            known[value] = _parts(given) if is_complex(value.dtype) else given
        for call in graph.calls:
            builder.location = call.location
            operands = [known.get(value) or _constant(value) for value in call.inputs]
            if uses_pairs((*call.inputs, *call.outputs)):
                known[call.outputs[0]] = _told(call, operands)
            else:
                made = as_tuple(bind(call.op, *[x for x in operands if isinstance(x, Value)], **call.params))
                known |= zip(call.outputs, made, strict=True)
        found = [known.get(value) or _constant(value) for value in graph.outputs]
        outputs = tuple(value if isinstance(value, Value) else _joined(value) for value in found)
    return Graph(graph.name, inputs, tuple(builder.calls), outputs, graph.input_names)


def _whole(value: Value) -> Value:
    """An input, with an axis for the parts of each number if it is complex."""
    type = value.type
    return Value(ArrayType(real_dtype(type.dtype), (*type.shape, 2))) if is_complex(type.dtype) else value


def _parts(given: Value) -> Pair:
    re, im = (
        reshape(slice_axis(given, part, part + 1, given.ndim - 1), given.shape[:-1]) for part in range(2)
    )
    return re, im


def _joined(pair: Pair) -> Value:
    return concatenate([expand_dims(part, part.ndim) for part in pair], pair[0].ndim)


def _constant(value: Value) -> Value | Pair:
    if isinstance(value, Constant) and is_complex(value.dtype):
        return constant(np.real(value.array).copy()), constant(np.imag(value.array).copy())
    return value


def _told(call: Call, operands: Sequence[Value | Pair]) -> Value | Pair:
    """A call with complex numbers, in real ones."""
    (output,) = call.outputs
    if is_move(call) or call.op in _BY_PARTS:
        re, im = (
            bind(call.op, *[x if isinstance(x, Value) else x[part] for x in operands], **call.params)
            for part in range(2)
        )
        return re, im
    if call.op == "iota":
        numbers = bind("iota", **{**call.params, "dtype": real_dtype(output.dtype)})
        return numbers, zeros_like(numbers)
    if call.op == "convert":
        return _converted(operands[0], output)
    return _ON_PAIRS[call.op](*operands)


def _converted(x: Value | Pair, output: Value) -> Value | Pair:
    if isinstance(x, Value):
        re = convert(x, real_dtype(output.dtype))
        return re, full(re.shape, 0, re.dtype)
    if output.dtype.kind == "b":
        return logical_or(_differs(x[0]), _differs(x[1]))
    if not is_complex(output.dtype):
        return convert(x[0], output.dtype)
    return convert(x[0], real_dtype(output.dtype)), convert(x[1], real_dtype(output.dtype))


# ---- formulas ------------------------------------------------------------------------------------------


def _product(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return subtract(multiply(a, c), multiply(b, d)), add(multiply(a, d), multiply(b, c))


def _quotient(x: Pair, y: Pair) -> Pair:
    """R. L. Smith's algorithm (1962): divide by the larger part first."""
    (a, b), (c, d) = x, y
    turned = logical_not(greater_equal(absolute(c), absolute(d)))
    large, small = where(turned, d, c), where(turned, c, d)
    ratio = divide(small, large)
    scale = reciprocal(add(large, multiply(small, ratio)))
    first, second = multiply(a, ratio), multiply(b, ratio)
    re = add(where(turned, first, second), where(turned, b, a))
    im = subtract(where(turned, second, b), where(turned, a, first))
    is_zero = logical_and(equal(c, 0), equal(d, 0))
    return (
        where(is_zero, divide(a, absolute(c)), multiply(re, scale)),
        where(is_zero, divide(b, absolute(d)), multiply(im, scale)),
    )


def _reciprocal(z: Pair) -> Pair:
    a, b = z
    turned = logical_not(less_equal(absolute(b), absolute(a)))
    large, small = where(turned, b, a), where(turned, a, b)
    ratio = divide(small, large)
    length = add(large, multiply(small, ratio))
    return divide(where(turned, ratio, 1), length), divide(where(turned, -1, negative(ratio)), length)


def _absolute(z: Pair) -> Value:
    return call_of("hypot", *z)


def _sign(z: Pair) -> Pair:
    """z / |z|, and the directions of infinities along the axes."""
    a, b = z
    length = call_of("hypot", a, b)
    ahead, aside = _is_infinite(a), _is_infinite(b)
    nowhere = logical_or(call_of("isnan", length), logical_and(ahead, aside))
    is_zero, is_far = equal(length, 0), _is_infinite(length)

    def along(part: Value, is_long: Value) -> Value:
        one = call_of("copysign", full(part.shape, 1, part.dtype), part)
        far = where(is_long, one, 0)
        return where(nowhere, np.nan, where(is_far, far, where(is_zero, 0, divide(part, length))))

    return along(a, ahead), along(b, aside)


def _exp(z: Pair) -> Pair:
    """By the limits of C's Annex G; in two steps, since the exponential alone may be too large."""
    a, b = z
    half = where(less(absolute(a), 80), 0, multiply(a, 0.5))
    size, rest = exp(half), exp(subtract(a, where(_is_infinite(a), 0, half)))
    is_real = equal(b, 0)
    vanishes = logical_and(equal(rest, 0), logical_not(_is_finite(b)))
    re = multiply(multiply(size, cos(b)), rest)
    im = multiply(multiply(size, sin(b)), rest)
    endless = logical_and(_is_infinite(a), logical_and(less_equal(0, a), logical_not(_is_finite(b))))
    re = where(vanishes, 0, where(is_real, exp(a), where(endless, np.inf, re)))
    nothing = call_of("copysign", zeros_like(b), b)
    return re, where(vanishes, nothing, where(is_real, b, im))


def _differs(x: Value) -> Value:
    return logical_not(equal(x, 0))


def _is_infinite(x: Value) -> Value:
    return call_of("isinf", x)


def _is_finite(x: Value) -> Value:
    return call_of("isfinite", x)


def _either(test: str) -> Callable[[Pair], Value]:
    return lambda z: logical_or(call_of(test, z[0]), call_of(test, z[1]))


def _before(last: Callable[[Value, Value], Value]) -> Callable[[Pair, Pair], Value]:
    """In lexicographic order; nothing is before or after a number with a NaN."""

    def is_before(x: Pair, y: Pair) -> Value:
        (a, b), (c, d) = x, y
        known = logical_and(equal(b, b), equal(d, d))
        return logical_or(logical_and(less(a, c), known), logical_and(equal(a, c), last(b, d)))

    return is_before


def _after(last: Callable[[Value, Value], Value]) -> Callable[[Pair, Pair], Value]:
    before = _before(last)
    return lambda x, y: before(y, x)


def _equal(x: Pair, y: Pair) -> Value:
    return logical_and(equal(x[0], y[0]), equal(x[1], y[1]))


def _complex(re: Value, im: Value) -> Pair:
    shape = np.broadcast_shapes(re.shape, im.shape)
    return broadcast_to(re, shape), broadcast_to(im, shape)


_ON_PAIRS: Final[Mapping[str, Callable[..., Value | Pair]]] = {
    "absolute": _absolute,
    "complex": _complex,
    "conjugate": lambda z: (z[0], negative(z[1])),
    "divide": _quotient,
    "equal": _equal,
    "exp": _exp,
    "greater": _after(less),
    "greater_equal": _after(less_equal),
    "imag": lambda z: z[1],
    "isfinite": lambda z: logical_and(_is_finite(z[0]), _is_finite(z[1])),
    "isinf": _either("isinf"),
    "isnan": _either("isnan"),
    "less": _before(less),
    "less_equal": _before(less_equal),
    "multiply": _product,
    "not_equal": lambda x, y: logical_not(_equal(x, y)),
    "real": lambda z: z[0],
    "reciprocal": _reciprocal,
    "sign": _sign,
    "square": lambda z: _product(z, z),
}
