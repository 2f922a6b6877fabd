"""Arithmetic: sums, products, quotients, powers, rounding, extrema."""

import math
from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import is_complex, real_dtype
from ...ir import Call, Constant, Value
from ...op import Linear, Op, TransposeRule, not_linear
from ...value_ops import (
    conjugate,
    constant,
    convert,
    divide,
    equal,
    less,
    less_equal,
    logical_and,
    multiply,
    negative,
    power,
    real,
    reciprocal,
    sign,
    subtract,
    unbroadcast,
    where,
    zeros_like,
)
from ...value_ops import elementwise as call
from ..installed_numpy import NEXTAFTER_GIVES_FIRST_OF_EQUAL_F16, POWERS_THAT_ARE_ROOTS
from .broadcasting import Derivative, elementwise, identity, transpose_of, ufunc, ufunc_spelling

FAMILY = "arithmetic"
_HALF_NEXTAFTER = "nextafter_or_first" if NEXTAFTER_GIVES_FIRST_OF_EQUAL_F16 else "nextafter_in_bits"


def _binary(
    name: str,
    dx: Derivative | None,
    dy: Derivative | None,
    c: str,
    triton: str,
    *,
    kinds: str = "iufc",
    transpose: TransposeRule = not_linear,
    doc: str,
    **other_kinds: str,
) -> Op:
    derivatives = None if dx is None and dy is None else (dx, dy)
    return elementwise(
        name, 2, ufunc(name), derivatives=derivatives, transpose=transpose, kinds=kinds,
        spelling=ufunc_spelling(name, c, triton, **other_kinds), family=FAMILY, doc=doc,
    )  # fmt: skip


def _unary(
    name: str,
    dx: Derivative | None,
    c: str,
    triton: str,
    *,
    kinds: str = "iufc",
    transpose: TransposeRule = not_linear,
    doc: str,
    **other_kinds: str,
) -> Op:
    return elementwise(
        name, 1, ufunc(name), derivatives=None if dx is None else (dx,), transpose=transpose, kinds=kinds,
        spelling=ufunc_spelling(name, c, triton, **other_kinds), family=FAMILY, doc=doc,
    )  # fmt: skip


def _transpose_multiply(
    cotangents: tuple[Value], inputs: tuple[Value | Linear, ...]
) -> tuple[Value | None, ...]:
    x, y = inputs
    if isinstance(x, Linear):
        assert isinstance(y, Value), "multiply is linear in one operand at a time"
        return unbroadcast(multiply(cotangents[0], y), x.shape), None
    return None, unbroadcast(multiply(cotangents[0], x), y.shape)


def _transpose_divide(
    cotangents: tuple[Value], inputs: tuple[Value | Linear, ...]
) -> tuple[Value | None, ...]:
    x, y = inputs
    assert isinstance(y, Value), "divide is linear in its numerator only"
    return unbroadcast(divide(cotangents[0], y), x.shape), None


_binary("add", lambda out, x, y: 1, lambda out, x, y: 1, "({0} + {1})", "({0} + {1})", kinds="biufc",
        transpose=transpose_of(identity, identity), doc="x + y; logical or on bool, as in NumPy.",
        c_bool="({0} | {1})", triton_bool="({0} | {1})")  # fmt: skip
_binary("subtract", lambda out, x, y: 1, lambda out, x, y: -1, "({0} - {1})", "({0} - {1})",
        transpose=transpose_of(identity, negative), doc="x − y.")  # fmt: skip
_binary("multiply", lambda out, x, y: y, lambda out, x, y: x, "({0} * {1})", "({0} * {1})", kinds="biufc",
        transpose=_transpose_multiply, doc="x · y; logical and on bool, as in NumPy.",
        c_bool="({0} & {1})", triton_bool="({0} & {1})", c_complex="tm_multiply_{t}({0}, {1})")  # fmt: skip
_binary("divide", lambda out, x, y: reciprocal(y), lambda out, x, y: negative(multiply(out, reciprocal(y))),
        "({0} / {1})", "tm_divide({0}, {1})", kinds="fc", transpose=_transpose_divide, doc="x / y.",
        c_complex="tm_divide_{t}({0}, {1})")  # fmt: skip
_binary("floor_divide", None, None, "tm_floor_divide_{t}({0}, {1})", "tm_floor_divide({0}, {1})", kinds="iuf",
        doc="The largest integer not above x / y.", triton_int="tm_floor_divide_int({0}, {1})")  # fmt: skip
_binary("remainder", lambda out, x, y: 1, lambda out, x, y: negative(call("floor_divide", x, y)),
        "tm_remainder_{t}({0}, {1})", "tm_remainder({0}, {1})", kinds="iuf",
        doc="x − y·floor(x / y): the sign of y.", triton_int="tm_remainder_int({0}, {1})")  # fmt: skip
_binary("fmod", lambda out, x, y: 1, lambda out, x, y: negative(call("trunc", divide(x, y))),
        "fmod{f}({0}, {1})", "libdevice.fmod({0}, {1})", kinds="iuf",
        doc="The remainder with the sign of x, as C's fmod.", c_int="tm_fmod_{t}({0}, {1})",
        triton_int="tm_fmod_int({0}, {1})")  # fmt: skip


def _power_dx(out: Value, x: Value, y: Value) -> Value:
    """y·x^(y−1), and 0 for y = 0, also where x^(y−1) is infinite."""
    if isinstance(y, Constant):
        return multiply(y, power(x, constant(np.where(y.array == 0, 1, y.array) - 1, y.dtype)))
    return bind("power_derivative", x, y, by_x=1, by_y=0)


def _power_dy(out: Value, x: Value, y: Value) -> Value:
    """x^y·log x, and 0 at x = 0 if x^y is 0 for all y > 0."""
    return bind("power_derivative", x, y, by_x=0, by_y=1)


POWER_DERIVATIVES = (_power_dx, _power_dy)
"""Those of x to the power y by x and by y."""

_binary("power", *POWER_DERIVATIVES, "tm_power_{t}({0}, {1})", "libdevice.pow({0}, {1})", doc="x to the power y.",
        triton_int="tm_power_int({0}, {1})")  # fmt: skip


def may_be_root(call: Call) -> bool:
    """Whether a power is the square root if its exponent, which the program computes, is 0.5."""
    base, exponent = call.inputs
    return not (exponent.ndim or isinstance(exponent, Constant)) and base.dtype in POWERS_THAT_ARE_ROOTS


def _share(larger: Value, tie: Value, like: Value) -> Value:
    """1 if this operand is the result, 1/2 on a tie, else 0."""
    one, half = constant(1, like.dtype), constant(0.5, like.dtype)
    return where(larger, one, where(tie, half, constant(0, like.dtype)))


def _extremum(name: str, wins: str, triton: str, doc: str, of_bools: str) -> None:
    _binary(
        name,
        lambda out, x, y: _share(call(wins, x, y), equal(x, y), x),
        lambda out, x, y: _share(call(wins, y, x), equal(x, y), x),
        f"tm_{name}_{{t}}({{0}}, {{1}})", triton, kinds="biuf", doc=doc, c_bool=of_bools, triton_bool=of_bools,
    )  # fmt: skip


def _ignoring_nan(wins: str) -> tuple[Derivative, Derivative]:
    def dx(out: Value, x: Value, y: Value) -> Value:
        return _share(call("logical_or", call(wins, x, y), call("isnan", y)), equal(x, y), x)

    def dy(out: Value, x: Value, y: Value) -> Value:
        return _share(call("logical_or", call(wins, y, x), call("isnan", x)), equal(x, y), x)

    return dx, dy


_extremum("maximum", "greater", "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
          "The larger of x and y; NaN if either is. On a tie each input gets half of the derivative.",
          "({0} | {1})")  # fmt: skip
_extremum("minimum", "less", "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
          "The smaller of x and y; NaN if either is. On a tie each input gets half of the derivative.",
          "({0} & {1})")  # fmt: skip
_binary("fmax", *_ignoring_nan("greater"), "tm_fmax_{t}({0}, {1})", "tm_fmax({0}, {1})", kinds="biuf",
        doc="The larger of x and y, ignoring NaN.",
        c_int="tm_maximum_{t}({0}, {1})", triton_int="tl.maximum({0}, {1})",
        c_bool="({0} | {1})", triton_bool="({0} | {1})")  # fmt: skip
_binary("fmin", *_ignoring_nan("less"), "tm_fmin_{t}({0}, {1})", "tm_fmin({0}, {1})", kinds="biuf",
        doc="The smaller of x and y, ignoring NaN.",
        c_int="tm_minimum_{t}({0}, {1})", triton_int="tl.minimum({0}, {1})",
        c_bool="({0} & {1})", triton_bool="({0} & {1})")  # fmt: skip
_binary("copysign", lambda out, x, y: multiply(sign(x), sign(out)), None, "copysign{f}({0}, {1})",
        "libdevice.copysign({0}, {1})", kinds="f", doc="The magnitude of x with the sign of y.")  # fmt: skip
_binary("nextafter", lambda out, x, y: 1, None, "tm_nextafter_{t}({0}, {1})", "libdevice.nextafter({0}, {1})",
        kinds="f", doc="The next floating-point number from x towards y.",
        triton_f16=f"tm_{_HALF_NEXTAFTER}({{0}}, {{1}})", triton_bf16="tm_nextafter_in_bits({0}, {1})")  # fmt: skip
_binary("heaviside", None, lambda out, x, y: where(equal(x, 0), constant(1, y.dtype), zeros_like(y)),
        "tm_heaviside_{t}({0}, {1})", "tm_heaviside({0}, {1})", kinds="f",
        doc="0 below 0, 1 above, y at 0.")  # fmt: skip
_binary(
    "gcd", None, None, "tm_gcd_{t}({0}, {1})", "tm_gcd({0}, {1})", kinds="iu", doc="Greatest common divisor."
)
_binary(
    "lcm", None, None, "tm_lcm_{t}({0}, {1})", "tm_lcm({0}, {1})", kinds="iu", doc="Least common multiple."
)

_unary("negative", lambda out, x: -1, "(-{0})", "(-{0})", transpose=transpose_of(negative), doc="−x.")
_unary("reciprocal", lambda out, x: negative(call("square", out)), "(1 / {0})", "tm_reciprocal({0})",
       doc="1 / x.", triton_int="tm_reciprocal_int({0})",
       c_int="tm_reciprocal_{t}({0})", c_complex="tm_reciprocal_{t}({0})")  # fmt: skip
_unary("square", lambda out, x: multiply(x, 2), "({0} * {0})", "({0} * {0})", doc="x².",
       c_complex="tm_square_{t}({0})")  # fmt: skip
_unary("sqrt", lambda out, x: divide(constant(0.5, x.dtype), out), "sqrt{f}({0})", "tl.sqrt_rn({0})", kinds="fc",
       doc="The non-negative square root.", triton_f64="tl.sqrt({0})", c_complex="csqrt{f}({0})")  # fmt: skip


def _root_slope(out: Value, x: Value) -> Value:
    """1 / (2 √x), and 0 at 0 with all its derivatives, as if the root there were infinite."""
    origin = equal(out, 0)
    return divide(constant(0.5, x.dtype), where(origin, math.inf, out))


elementwise(
    "root_of_squares", 1, np.sqrt, derivatives=(_root_slope,), kinds="f", family=FAMILY,
    spelling=ufunc_spelling("sqrt", "sqrt{f}({0})", "tl.sqrt_rn({0})", triton_f64="tl.sqrt({0})"),
    doc="The square root of a sum of squares: a length, with derivatives 0 at 0, where it has none.",
)  # fmt: skip
_unary("cbrt", lambda out, x: divide(constant(1 / 3, x.dtype), call("square", out)), "tm_cbrt_{t}({0})",
       "libdevice.cbrt({0})", kinds="f", doc="The cube root.")  # fmt: skip
_unary("floor", None, "floor{f}({0})", "tl.floor({0})", kinds="biuf", doc="The largest integer not above x.",
       c_int="{0}", c_bool="{0}", triton_int="{0}", triton_bool="{0}")  # fmt: skip
_unary("ceil", None, "ceil{f}({0})", "tl.ceil({0})", kinds="biuf", doc="The smallest integer not below x.",
       c_int="{0}", c_bool="{0}", triton_int="{0}", triton_bool="{0}")  # fmt: skip
_unary("trunc", None, "trunc{f}({0})", "libdevice.trunc({0})", kinds="biuf", doc="x without its fraction.",
       c_int="{0}", c_bool="{0}", triton_int="{0}", triton_bool="{0}")  # fmt: skip
_unary("rint", None, "rint{f}({0})", "libdevice.rint({0})", kinds="fc", doc="The nearest integer, ties to even.",
       c_complex="tm_rint_{t}({0})")  # fmt: skip
_unary("spacing", None, "tm_spacing_{t}({0})", "tm_spacing({0})", kinds="f",
       doc="The distance to the next floating-point number away from 0.",
       triton_f16="tm_spacing_in_bits({0})", triton_bf16="tm_spacing_in_bits({0})")  # fmt: skip


def _jvp_absolute(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value]) -> Value:
    """sign(x)·t; for complex x the rate of change of |x|, which is Re(conj(sign x)·t)."""
    direction = multiply(tangents[0], conjugate(sign(inputs[0])))
    return real(direction) if is_complex(inputs[0].dtype) else direction


elementwise(
    "absolute", 1, np.absolute, jvp=_jvp_absolute, kinds="biufc", result=real_dtype,
    spelling=ufunc_spelling("absolute", "fabs{f}({0})", "tl.abs({0})", c_bool="{0}", triton_bool="{0}",
                            c_int="({0} < 0 ? -{0} : {0})",
                            c_complex="tm_hypot_{r}(creal{f}({0}), cimag{f}({0}))"), family=FAMILY,
    doc="|x|, with derivative 0 at 0. Real for complex x.",
)  # fmt: skip


def _jvp_sign(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value]) -> Value | None:
    """0, also at 0; for complex x the rotation of x / |x|, which is (t − s·Re(conj(s)·t)) / |x|."""
    (x,), (tangent,), (direction,) = inputs, tangents, outputs
    if not is_complex(x.dtype):
        return None
    along = real(multiply(tangent, conjugate(direction)))
    across = subtract(tangent, multiply(direction, convert(along, x.dtype)))
    origin = equal(x, 0)
    length = where(origin, 1, convert(call("absolute", x), x.dtype))
    return where(origin, 0, divide(across, length))


elementwise(
    "sign", 1, np.sign, jvp=_jvp_sign, kinds="iufc",
    spelling=ufunc_spelling("sign", "tm_sign_{t}({0})", "tm_sign({0})", triton_int="tm_sign_int({0})"),
    family=FAMILY, doc="−1, 0 or 1; x / |x| for complex numbers.",
)  # fmt: skip


def _clip(x: Any, low: Any, high: Any) -> Any:
    if x.dtype == np.float16 or (np.ndim(low) == np.ndim(high) == 0 and x.dtype.kind != "V"):
        return np.clip(x, low, high)  # which widens bfloat16
    return np.minimum(high, np.maximum(low, x))


def _inside(out: Value, x: Value, low: Value, high: Value) -> Value:
    """1 in the closed interval, else 0."""
    return convert(logical_and(less_equal(low, x), less_equal(x, high)), x.dtype)


def _below(out: Value, x: Value, low: Value, high: Value) -> Value:
    return convert(logical_and(less(x, low), less_equal(low, high)), x.dtype)


def _above(out: Value, x: Value, low: Value, high: Value) -> Value:
    return convert(less(high, call("maximum", x, low)), x.dtype)


elementwise(
    "clip", 3, _clip, derivatives=(_inside, _below, _above), kinds="biuf",
    spelling={"numpy": "np.minimum({2}, np.maximum({1}, {0}))", "c": "tm_clip_{t}({0}, {1}, {2})",
              "c_bool": "(({0} | {1}) & {2})", "triton": "tm_clip({0}, {1}, {2})",
              "triton_bool": "(({0} | {1}) & {2})"},
    family=FAMILY, doc="x if it is between its bounds or on them, where the derivative is 1; otherwise the bound.",
)  # fmt: skip


def _clip_to_bounds(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


elementwise(
    "clip_to_bounds", 3, _clip_to_bounds,
    derivatives=(_inside, _below, _above), kinds="f",
    spelling={"numpy": "np.minimum(np.maximum({0}, {1}), {2})",
              "c": "tm_minimum_{t}(tm_maximum_{t}({0}, {1}), {2})",
              "triton": "tm_clip_to_bounds({0}, {1}, {2})"},
    family=FAMILY, doc="As `clip`, but a number that equals a bound becomes it: −0 becomes 0 if a bound is 0.",
)  # fmt: skip
