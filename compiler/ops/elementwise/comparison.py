"""Comparison, logic, bits, and selection by a condition."""

from typing import Any

import numpy as np

from ...dtypes import BOOL
from ...errors import DTypeError
from ...ir import ArrayType, Value
from ...op import Linear, Op, register
from ...value_ops import broadcast_to, unbroadcast, where, zeros_like
from .broadcasting import batch_elementwise, bool_dtype, broadcast_shapes, elementwise, ufunc, ufunc_spelling

FAMILY = "comparison"


def _compare(name: str, symbol: str, doc: str, kinds: str = "biufc", **other_kinds: str) -> None:
    spelling = ufunc_spelling(name, f"({{0}} {symbol} {{1}})", f"({{0}} {symbol} {{1}})", **other_kinds)
    elementwise(
        name, 2, ufunc(name), kinds=kinds, result=bool_dtype, family=FAMILY, doc=doc, spelling=spelling
    )


def _test(name: str, c: str, triton: str, doc: str, kinds: str = "biufc", **other_kinds: str) -> None:
    spelling = ufunc_spelling(name, c, triton, **other_kinds)
    elementwise(
        name, 1, ufunc(name), kinds=kinds, result=bool_dtype, family=FAMILY, doc=doc, spelling=spelling
    )


def _bits(name: str, symbol: str, doc: str, kinds: str = "biu", c: str = "", triton: str = "") -> None:
    spelling = ufunc_spelling(name, c or f"({{0}} {symbol} {{1}})", triton or f"({{0}} {symbol} {{1}})")
    elementwise(name, 2, ufunc(name), kinds=kinds, family=FAMILY, doc=doc, spelling=spelling)


_compare("equal", "==", "x = y; NaN equals nothing.")
_compare("not_equal", "!=", "x ≠ y; NaN differs from everything.")
_compare("less", "<", "x < y; complex numbers in lexicographic order.", c_complex="tm_less_{t}({0}, {1})")  # fmt: skip
_compare("less_equal", "<=", "x ≤ y.", c_complex="tm_less_equal_{t}({0}, {1})")  # fmt: skip
_compare("greater", ">", "x > y.", c_complex="tm_greater_{t}({0}, {1})")  # fmt: skip
_compare("greater_equal", ">=", "x ≥ y.", c_complex="tm_greater_equal_{t}({0}, {1})")  # fmt: skip
_compare("logical_and", "&", "Both are true.", kinds="b")
_compare("logical_or", "|", "Either is true.", kinds="b")
_compare("logical_xor", "!=", "Exactly one is true.", kinds="b")
_test("logical_not", "(!{0})", "({0} == 0)", "Not true.", kinds="b")
_test("isnan", "({0} != {0})", "({0} != {0})", "Not a number.",
      c_int="0", c_bool="0", c_complex="tm_isnan_{t}({0})",
      triton_int="({0} != {0})", triton_bool="({0} != {0})")  # fmt: skip
_test("isinf", "(fabs{f}({0}) == INFINITY)", '(tl.abs({0}) == float("inf"))', "Plus or minus infinity.",
      c_int="0", c_bool="0", c_complex="tm_isinf_{t}({0})",
      triton_int="({0} != {0})", triton_bool="({0} != {0})")  # fmt: skip
_test("isfinite", "(fabs{f}({0}) < INFINITY)", '(tl.abs({0}) < float("inf"))', "Neither infinite nor NaN.",
      c_int="1", c_bool="1", c_complex="tm_isfinite_{t}({0})",
      triton_int="({0} == {0})", triton_bool="({0} == {0})")  # fmt: skip
_test("signbit", "tm_signbit_{t}({0})", "tm_signbit({0})", "The sign bit is set: true for −0.", kinds="iuf",
      c_int="({0} < 0)", triton_int="({0} < 0)")  # fmt: skip
_bits("bitwise_and", "&", "Bitwise and; logical and on bool.")
_bits("bitwise_or", "|", "Bitwise or; logical or on bool.")
_bits("bitwise_xor", "^", "Bitwise exclusive or.")
_bits("left_shift", "<<", "x · 2^y; 0 when y is the width or more.", kinds="iu",
      c="tm_left_shift_{t}({0}, {1})", triton="tm_left_shift({0}, {1})")  # fmt: skip
_bits(
    "right_shift",
    ">>",
    "⌊x / 2^y⌋.",
    kinds="iu",
    c="tm_right_shift_{t}({0}, {1})",
    triton="tm_right_shift({0}, {1})",
)
elementwise("invert", 1, np.invert, kinds="biu",
            spelling=ufunc_spelling("invert", "(~{0})", "tm_invert({0})", c_bool="(!{0})", triton_bool="({0} == 0)"),
            family=FAMILY, doc="Every bit turned over; logical not on bool.")  # fmt: skip
elementwise("bitwise_count", 1, np.bitwise_count, kinds="iu", result=lambda dtype: np.dtype(np.uint8), family=FAMILY,
            spelling=ufunc_spelling("bitwise_count", "tm_bitwise_count_{t}({0})", "tm_popcount({0})"),
            doc="The number of ones in |x|.")  # fmt: skip


def _where_type(condition: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    if condition.dtype != BOOL or x.dtype != y.dtype:
        raise DTypeError(f"where is not defined for ({condition}, {x}, {y})")
    return ArrayType(x.dtype, broadcast_shapes("where", (condition, x, y)))


def _where_jvp(
    inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: tuple[Value, ...]
) -> Value:
    condition, x, y = inputs
    _, dx, dy = tangents
    chosen = where(condition, zeros_like(x) if dx is None else dx, zeros_like(y) if dy is None else dy)
    return broadcast_to(chosen, outputs[0].shape)


def _where_transpose(cotangents: tuple[Value], inputs: tuple[Any, ...]) -> tuple[Value | None, ...]:
    condition, x, y = inputs
    (ct,) = cotangents
    dx = unbroadcast(where(condition, ct, 0), x.shape) if isinstance(x, Linear) else None
    dy = unbroadcast(where(condition, 0, ct), y.shape) if isinstance(y, Linear) else None
    return None, dx, dy


register(
    Op(
        name="where",
        family=FAMILY,
        type=_where_type,
        numpy=lambda condition, x, y: np.where(condition, x, y),
        jvp=_where_jvp,
        transpose=_where_transpose,
        batch=batch_elementwise("where"),
        spelling={
            "numpy": "np.where({0}, {1}, {2})",
            "c": "tm_where_{r}({0}, {1}, {2})",
            "triton": "tl.where({0}, {1}, {2})",
        },
        effect=None,
        doc="x where the condition holds, else y.",
    )
)
