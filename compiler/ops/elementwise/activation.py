"""Activations of neural networks, entry by entry: relu, elu, sigmoid and its logarithm, softplus, silu, gelu.

Their derivatives are given separately, because their stable formulas have kinks where the functions have none.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from ...builder import bind
from ...ir import ArrayType, Param, Value
from ...op import JvpRule, by_decomposition, not_linear
from ...value_ops import (
    absolute,
    add,
    divide,
    elementwise,
    exp,
    greater,
    less,
    less_equal,
    minimum,
    multiply,
    negative,
    square,
    subtract,
    where,
)
from ..composite import composite
from .broadcasting import batch_elementwise, elementwise_type, same_dtype

FAMILY = "activation"
ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715


def _activation(
    name: str,
    decomposed: Callable[..., Value],
    derivative: Callable[..., Value] | None,
    *,
    doc: str,
) -> None:
    """An op with one operand. ``derivative(output, input, **params)``; None to use that of the decomposition."""
    of_its_shape = elementwise_type(name, 1, "f", same_dtype)

    @wraps(decomposed)  # which has the types of the parameters
    def check(*types: ArrayType, **params: Param) -> object:
        return of_its_shape(*types)

    composite(
        name,
        decomposed,
        check=check,
        jvp=by_decomposition if derivative is None else _scaled_by(derivative),
        transpose=not_linear,
        batch=batch_elementwise(name),
        family=FAMILY,
        doc=doc,
    )


def _scaled_by(derivative: Callable[..., Value]) -> JvpRule:
    def jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value], **params: Any) -> Value:
        return multiply(tangents[0], derivative(outputs[0], inputs[0], **params))

    return jvp


def sigmoid(x: Value) -> Value:
    return bind("sigmoid", x)


# ---- piecewise -------------------------------------------------------------------------------------


def _elu(x: Value, alpha: float) -> Value:
    above = greater(x, 0)
    return where(above, x, multiply(elementwise("expm1", where(above, 0, x)), alpha))


def _elu_derivative(y: Value, x: Value, alpha: float) -> Value:
    above = greater(x, 0)
    return where(above, 1, multiply(exp(where(above, 0, x)), alpha))


def _relu(x: Value) -> Value:
    return where(less_equal(x, 0), 0, x)


_activation("relu", _relu, None,
            doc="max(x, 0), NaN where x is. Its derivative at 0 is 0.")  # fmt: skip
_activation("elu", _elu, _elu_derivative,
            doc="x above 0, else alpha · (e^x − 1). Its derivative at 0 is that from below.")  # fmt: skip


# ---- of the logistic function ----------------------------------------------------------------------


def _sigmoid(x: Value) -> Value:
    """1 / (1 + e^−|x|) above 0, its complement below: no exponential overflows."""
    e = exp(negative(absolute(x)))
    return divide(where(less(x, 0), e, 1), add(e, 1))


def _log_sigmoid(x: Value) -> Value:
    return subtract(minimum(x, 0), elementwise("log1p", exp(negative(absolute(x)))))


def _softplus(x: Value, beta: float) -> Value:
    if beta == 1:
        return elementwise("logaddexp", x, 0)
    return divide(elementwise("logaddexp", multiply(x, beta), 0), beta)


def _silu_derivative(y: Value, x: Value) -> Value:
    s = sigmoid(x)
    return multiply(s, add(multiply(x, subtract(1, s)), 1))


def _silu(x: Value) -> Value:
    return multiply(x, sigmoid(x))


_activation("sigmoid", _sigmoid, lambda y, x: multiply(y, subtract(1, y)),
            doc="1 / (1 + e^−x).")  # fmt: skip
_activation("log_sigmoid", _log_sigmoid, lambda y, x: sigmoid(negative(x)),
            doc="The logarithm of the sigmoid: min(x, 0) − log1p(e^−|x|).")  # fmt: skip
_activation("softplus", _softplus, lambda y, x, beta: sigmoid(x if beta == 1 else multiply(x, beta)),
            doc="log(1 + e^(beta · x)) / beta.")  # fmt: skip
_activation("silu", _silu, _silu_derivative,
            doc="x · sigmoid(x), also known as swish.")  # fmt: skip


# ---- of the normal distribution --------------------------------------------------------------------


def _gelu(x: Value, approximate: bool) -> Value:
    if not approximate:
        return multiply(multiply(x, 0.5), elementwise("erfc", multiply(x, -ROOT_HALF)))
    return multiply(multiply(x, 0.5), add(elementwise("tanh", _cubic(x)), 1))


def _cubic(x: Value) -> Value:
    """√(2/π) · (x + 0.044715 x³)."""
    return multiply(multiply(x, add(multiply(square(x), CUBIC), 1)), ROOT_TWO_OVER_PI)


def _gelu_derivative(y: Value, x: Value, approximate: bool) -> Value:
    if not approximate:
        below = multiply(elementwise("erfc", multiply(x, -ROOT_HALF)), 0.5)
        density = multiply(exp(multiply(square(x), -0.5)), ROOT_HALF / math.sqrt(math.pi))
        return add(below, multiply(x, density))
    t = elementwise("tanh", _cubic(x))
    slope = multiply(add(multiply(square(x), 3 * CUBIC), 1), ROOT_TWO_OVER_PI)
    bend = multiply(multiply(x, subtract(1, square(t))), slope)
    return multiply(add(add(t, 1), bend), 0.5)


_activation("gelu", _gelu, _gelu_derivative,
            doc="x · Φ(x) with the normal distribution function Φ, or its approximation by tanh: D. Hendrycks and "
            "K. Gimpel, \"Gaussian error linear units\" (2016).")  # fmt: skip
