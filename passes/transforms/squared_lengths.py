"""Derivatives of squared lengths, such as ``abs(x) ** 2``: the square is smooth at 0, where the length is not."""

from collections.abc import Callable, Mapping

from ...compiler.builder import bind
from ...compiler.dtypes import is_complex, is_inexact
from ...compiler.ir import Call, Constant, Value
from ...compiler.op import lookup
from ...compiler.value_ops import add, broadcast_to, conjugate, convert, multiply, real


def _twice_real_product(x: Value, dx: Value) -> Value:
    product = multiply(multiply(conjugate(x), 2), dx)
    return real(product) if is_complex(x.dtype) else product


def _of_squares(squares: Value, change: Value) -> Value:
    return change


_PARTS: Mapping[str, Callable[[Value, Value], Value]] = {
    "absolute": _twice_real_product,
    "hypot": _twice_real_product,
    "root_of_squares": _of_squares,
}
"""By op that gives a length: what each input and its tangent contribute to the tangent of the squared length."""


def squared_length_tangent(
    call: Call, producers: Mapping[Value, Call], tangent_of: Mapping[Value, Value]
) -> Value | None:
    """The tangent of `call` if it squares a length, else None.

    By the chain rule it would be twice the length times the derivative of the length. That derivative jumps at 0, so
    the second derivative of the square would be wrong there.
    """
    return _tangent_of_square(call.inputs[0], producers, tangent_of) if _is_square(call) else None


def _is_square(call: Call) -> bool:
    if call.op == "power":
        exponent = call.inputs[1]
        return isinstance(exponent, Constant) and not exponent.ndim and bool(exponent.array == 2)
    return call.op == "square" or (call.op == "multiply" and call.inputs[0] is call.inputs[1])


def _tangent_of_square(
    length: Value, producers: Mapping[Value, Call], tangent_of: Mapping[Value, Value]
) -> Value | None:
    """The tangent of ``length ** 2``; None unless `length` comes from an op in `_PARTS`.

    Reshapes and conversions to another floating dtype may stand between.
    """
    call = producers.get(length)
    if call is None:
        return None
    if lookup(call.op).moves == 1:
        inner = _tangent_of_square(call.inputs[0], producers, tangent_of)
        return None if inner is None else bind(call.op, inner, *call.inputs[1:], **call.params)
    if call.op == "convert" and is_inexact(length.dtype):
        inner = _tangent_of_square(call.inputs[0], producers, tangent_of)
        return None if inner is None else convert(inner, length.dtype)
    part = _PARTS.get(call.op)
    if part is None:
        return None
    changes = [part(x, tangent_of[x]) for x in call.inputs if x in tangent_of]
    total = changes[0] if len(changes) == 1 else add(*changes)
    return broadcast_to(total, length.shape)
