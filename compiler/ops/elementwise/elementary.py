"""The elementary functions: exponentials, logarithms, trigonometric and hyperbolic functions."""

import math

from ...dtypes import is_complex
from ...ir import Constant, Value
from ...value_ops import (
    add,
    constant,
    cos,
    cosh,
    divide,
    exp,
    multiply,
    negative,
    reciprocal,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
)
from ...value_ops import elementwise as call
from .broadcasting import Derivative, elementwise, ufunc, ufunc_spelling

FAMILY = "elementary"
LN2, LN10 = math.log(2.0), math.log(10.0)


def _row(
    name: str,
    derivative: Derivative,
    *,
    kinds: str = "fc",
    c_name: str = "",
    c: str = "",
    c_complex: str = "",
    triton: str = "",
    doc: str,
) -> None:
    """A function of one variable. C programs compute it for real numbers; C's complex.h and libdevice have it, too,
    with the same name as NumPy unless stated otherwise."""
    c_name = c_name or name
    spelling = ufunc_spelling(
        name,
        c or f"tm_{c_name}_{{t}}({{0}})",
        triton or f"libdevice.{c_name}({{0}})",
        c_complex=c_complex or f"c{c_name}{{f}}({{0}})",
    )
    elementwise(
        name,
        1,
        ufunc(name),
        derivatives=(derivative,),
        kinds=kinds,
        spelling=spelling,
        family=FAMILY,
        doc=doc,
    )


def _one_minus_square(x: Value) -> Value:
    """1 − x² as a product, which keeps its digits near 1."""
    return multiply(subtract(1, x), add(x, 1))


def _arcsinh_derivative(out: Value, x: Value) -> Value:
    """1 / √(x² + 1); the length of a real (x, 1) does not overflow."""
    return reciprocal(sqrt(add(square(x), 1)) if is_complex(x.dtype) else call("hypot", x, 1))


_row("exp", lambda out, x: out, triton="tl.exp({0})", doc="e^x.")
_row(
    "exp2", lambda out, x: multiply(out, LN2), triton="tl.exp2({0})", c_complex="tm_exp2_{t}({0})", doc="2^x."
)
# Not out + 1, which has no digits left where e^x is small.
_row("expm1", lambda out, x: exp(x), c_complex="tm_expm1_{t}({0})", doc="e^x − 1, accurate near 0.")
_row("log", lambda out, x: reciprocal(x), triton="tl.log({0})", doc="The natural logarithm.")
_row(
    "log2",
    lambda out, x: divide(constant(1 / LN2, x.dtype), x),
    triton="tl.log2({0})",
    c_complex="tm_log2_{t}({0})",
    doc="The logarithm to base 2.",
)
_row(
    "log10",
    lambda out, x: divide(constant(1 / LN10, x.dtype), x),
    c_complex="tm_log10_{t}({0})",
    doc="The logarithm to base 10.",
)
_row(
    "log1p",
    lambda out, x: reciprocal(add(x, 1)),
    c_complex="tm_log1p_{t}({0})",
    doc="log(1 + x), accurate near 0.",
)
_row("sin", lambda out, x: cos(x), doc="Sine of radians.")
_row("cos", lambda out, x: negative(sin(x)), doc="Cosine of radians.")
_row("tan", lambda out, x: add(square(out), 1), doc="Tangent of radians.")
_row(
    "arcsin",
    lambda out, x: reciprocal(sqrt(_one_minus_square(x))),
    c_name="asin",
    doc="The inverse sine, in radians.",
)
_row(
    "arccos",
    lambda out, x: negative(reciprocal(sqrt(_one_minus_square(x)))),
    c_name="acos",
    doc="The inverse cosine, in radians.",
)
_row(
    "arctan",
    lambda out, x: reciprocal(add(square(x), 1)),
    c_name="atan",
    doc="The inverse tangent, in radians.",
)
_row("sinh", lambda out, x: cosh(x), doc="Hyperbolic sine.")
_row("cosh", lambda out, x: sinh(x), doc="Hyperbolic cosine.")
_row("tanh", lambda out, x: subtract(1, square(out)), doc="Hyperbolic tangent.")
_row("arcsinh", _arcsinh_derivative, c_name="asinh", doc="The inverse hyperbolic sine.")
_row(
    "arccosh",
    lambda out, x: reciprocal(multiply(sqrt(subtract(x, 1)), sqrt(add(x, 1)))),
    c_name="acosh",
    doc="The inverse hyperbolic cosine.",
)
_row(
    "arctanh",
    lambda out, x: reciprocal(_one_minus_square(x)),
    c_name="atanh",
    doc="The inverse hyperbolic tangent.",
)


def _binary(name: str, dx: Derivative, dy: Derivative, c: str, triton: str, doc: str) -> None:
    elementwise(
        name, 2, ufunc(name), derivatives=(dx, dy), kinds="f",
        spelling=ufunc_spelling(name, c, triton), family=FAMILY, doc=doc,
    )  # fmt: skip


def _over_squared_length(x: Value, y: Value) -> Value:
    """x / (x² + y²), which also holds where the squares overflow or vanish."""
    length = call("hypot", x, y)
    return divide(divide(x, length), length)


def _weights(base: float) -> tuple[Derivative, Derivative]:
    """The contribution of each operand of a logarithm of a sum: the logistic function of x − y, and of y − x."""

    def weight(x: Value, other: Value) -> Value:
        apart = _difference(x, other)
        return call("sigmoid", apart if base == math.e else multiply(apart, math.log(base)))

    return (lambda out, x, y: weight(x, y)), (lambda out, x, y: weight(y, x))


def _difference(x: Value, y: Value) -> Value:
    """x − y, and 0 for equal infinities."""
    same = call("logical_and", call("equal", x, y), call("isinf", y if isinstance(y, Constant) else x))
    return call("where", same, constant(0, x.dtype), subtract(x, y))


_binary("arctan2", lambda out, y, x: _over_squared_length(x, y),
        lambda out, y, x: negative(_over_squared_length(y, x)), "tm_atan2_{t}({0}, {1})", "libdevice.atan2({0}, {1})",
        "The angle of the point (x, y), in radians from −π to π.")  # fmt: skip


def _hypot_share(out: Value, x: Value) -> Value:
    """x / out, and 0 at the origin with all its derivatives, as if the length there were infinite."""
    origin = call("equal", out, constant(0, out.dtype))
    return divide(x, call("where", origin, constant(math.inf, out.dtype), out))


_binary("hypot", lambda out, x, y: _hypot_share(out, x), lambda out, x, y: _hypot_share(out, y),
        "tm_hypot_{t}({0}, {1})", "libdevice.hypot({0}, {1})",
        "√(x² + y²), with derivatives 0 at the origin.")  # fmt: skip
_binary(
    "logaddexp", *_weights(math.e), "tm_logaddexp_{t}({0}, {1})", "tm_logaddexp({0}, {1})", "log(e^x + e^y)."
)
_binary(
    "logaddexp2", *_weights(2.0), "tm_logaddexp2_{t}({0}, {1})", "tm_logaddexp2({0}, {1})", "log2(2^x + 2^y)."
)
