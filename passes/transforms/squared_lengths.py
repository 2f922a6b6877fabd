"""Derivatives of squared lengths, such as ``abs(x) ** 2``: the square is smooth at 0, where the length is not."""

import math
from collections.abc import Mapping, Sequence

from ...compiler.builder import Builder, bind, recording
from ...compiler.dtypes import is_complex, is_inexact
from ...compiler.interpreter import depends_on
from ...compiler.ir import Call, Constant, Graph, Param, Value, exact
from ...compiler.op import lookup, moved_inputs
from ...compiler.value_ops import (
    add,
    broadcast_to,
    conjugate,
    constant,
    convert,
    divide,
    equal,
    multiply,
    real,
    square,
    where,
    zeros_like,
)

_LENGTHS = frozenset({"absolute", "hypot", "root_of_squares"})
"""Ops that return a length, which has a kink at 0."""

_DEPTH = 8
"""How many calls are compared to find that two values are computed the same way; a norm is three."""


class SquaredLengths:
    """The tangents of the squares of a program's lengths, each recorded once."""

    def __init__(self, producers: Mapping[Value, Call], tangent_of: Mapping[Value, Value]) -> None:
        """Of values that `producers` compute; those with a tangent are in `tangent_of`. Both may grow later."""
        self._producers = producers
        self._tangent_of = tangent_of
        self._of_square: dict[Value, Value | None] = {}

    def tangent(self, call: Call) -> Value | None:
        """The tangent of `call` if it squares a length, or is the length of lengths, else None.

        By the chain rule it would be twice the length times the derivative of the length. That derivative jumps at 0,
        so the second derivative of the square would be wrong there.
        """
        if call.op == "hypot":
            return self._tangent_of_hypot(call)
        if not _is_square(call, self._producers):
            return None
        return self._tangent_of_square(call.inputs[0])

    def _tangent_of_hypot(self, call: Call) -> Value | None:
        """That of the length of (x, y), one of them a length: half the tangent of x² + y², over the length; 0 at 0."""
        if not self._any_is_length(call.inputs):
            return None
        (length,) = call.outputs
        change = self._tangent_of_square(length)
        assert change is not None, "hypot is a length"
        origin = equal(length, constant(0, length.dtype))
        return divide(multiply(change, 0.5), where(origin, constant(math.inf, length.dtype), length))

    def _tangent_of_square(self, length: Value) -> Value | None:
        """The tangent of ``length ** 2``; None unless `length` comes from an op in `_LENGTHS`.

        Calls that move entries, conversions to another floating-point dtype, and factors without a tangent may be in
        between.
        """
        if length not in self._of_square:
            call = self._producers.get(length)
            self._of_square[length] = None if call is None else self._squared(call, length)
        return self._of_square[length]

    def _squared(self, call: Call, length: Value) -> Value | None:
        if call.op in _LENGTHS:
            changes = [self._change(call.op, x) for x in call.inputs if x in self._tangent_of]
            total = changes[0] if len(changes) == 1 else add(*changes)
            return broadcast_to(total, length.shape)
        if len(moved_inputs(call)) > 1:
            return self._joined(call)
        source, factor = _factored(call, self._tangent_of)
        if source is None or not is_inexact(source.dtype):
            return None
        inner = self._tangent_of_square(source)
        if inner is None or lookup(call.op).moves == 1:
            return None if inner is None else bind(call.op, inner, *call.inputs[1:], **call.params)
        if call.op in ("multiply", "divide") and factor is not None:
            return broadcast_to(bind(call.op, inner, square(factor)), length.shape)
        return convert(inner, length.dtype)

    def _joined(self, call: Call) -> Value | None:
        """The tangent of the squares of numbers from several arrays, if some are lengths."""
        given = moved_inputs(call)
        if not self._any_is_length(given):
            return None
        changes = [self._change(call.op, x) if x in self._tangent_of else zeros_like(x) for x in given]
        return bind(call.op, *changes, *call.inputs[len(given) :], **call.params)

    def _any_is_length(self, values: Sequence[Value]) -> bool:
        return any(self._tangent_of_square(x) is not None for x in values if x in self._tangent_of)

    def _change(self, op: str, x: Value) -> Value:
        """What an input of `op` contributes to the tangent of its square."""
        if op == "root_of_squares":
            return self._tangent_of[x]
        change = self._tangent_of_square(x)
        if change is not None:
            return change
        product = multiply(multiply(conjugate(x), 2), self._tangent_of[x])
        return real(product) if is_complex(x.dtype) else product


def squares_length(graph: Graph, wrt: Sequence[bool]) -> bool:
    """Whether the one output of a graph is the square of a length, or the length of lengths, that depends on the inputs
    marked in `wrt`."""
    producers = {v: call for call in graph.calls for v in call.outputs}
    call = producers.get(graph.outputs[0])
    if call is None:
        return False
    with recording(Builder()):
        moving = {v: v for v in depends_on(graph, wrt) if is_inexact(v.dtype)}
        return SquaredLengths(producers, moving).tangent(call) is not None


def _is_square(call: Call, producers: Mapping[Value, Call]) -> bool:
    if call.op == "power":
        exponent = call.inputs[1]
        return isinstance(exponent, Constant) and not exponent.ndim and bool(exponent.array == 2)
    if call.op == "multiply":
        return _are_alike(call.inputs[0], call.inputs[1], producers, _DEPTH)
    return call.op == "square"


def _are_alike(x: Value, y: Value, producers: Mapping[Value, Call], depth: int) -> bool:
    """Whether both are the same value, or the same calls of the same values: eager programs are not simplified."""
    if x is y:
        return True
    if isinstance(x, Constant) and isinstance(y, Constant):
        return x.same_as(y)
    a, b = producers.get(x), producers.get(y)
    return (
        depth > 0
        and a is not None
        and b is not None
        and a.op == b.op
        and _same_params(a.params, b.params)
        and lookup(a.op).effect is None
        and len(a.inputs) == len(b.inputs)
        and all(_are_alike(v, w, producers, depth - 1) for v, w in zip(a.inputs, b.inputs, strict=True))
    )


def _same_params(a: Mapping[str, Param], b: Mapping[str, Param]) -> bool:
    """Whether parameters are the same. Of sizes that may be equal, nothing is asked."""
    keys = [{(name, exact(param)) for name, param in params.items()} for params in (a, b)]
    return keys[0] == keys[1]


def _factored(call: Call, tangent_of: Mapping[Value, Value]) -> tuple[Value | None, Value | None]:
    """What `call` only moves, converts, negates or scales, and by which factor; None if it does something else."""
    if call.op in ("convert", "negative") or lookup(call.op).moves == 1:
        return call.inputs[0], None
    if call.op == "multiply" and sum(x in tangent_of for x in call.inputs) == 1:
        x, y = call.inputs
        return (x, y) if x in tangent_of else (y, x)
    if call.op == "divide" and call.inputs[1] not in tangent_of:
        return call.inputs[0], call.inputs[1]
    return None, None
