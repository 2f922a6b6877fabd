"""Elementwise calls as C expressions, from the spellings of their ops."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...dtypes import dtype_name, kind
from ...errors import InternalError
from ...ir import Call, Constant
from ...op import lookup
from ...ops.elementwise.arithmetic import may_be_root
from .literals import function_suffix
from .sizes import CALL as OF_SIZES
from .types import c_type

_KINDS: Final = {"b": "bool", "i": "int", "u": "int", "f": "real", "c": "complex"}


@dataclass(frozen=True, slots=True)
class CExpression:
    """The text of a value, and the names of the C functions that it calls."""

    text: str
    needs: frozenset[str]


POWERS: Final[Mapping[float, str]] = {
    -3: "minus_3",
    -1.5: "minus_3_halves",
    -0.5: "minus_1_half",
    0.5: "1_half",
    1.5: "3_halves",
    5: "5",
    6: "6",
}
"""The floating-point exponents with their own functions, which take a fraction of the time.

Others, from -2 to 4, have become products during simplification.
"""


def expression(call: Call, operands: Sequence[str]) -> CExpression:
    """The element that an elementwise call computes, given texts for the elements of its operands.

    The operands should be names or numbers, because the expression may use one of them several times. It has the type
    of the call's output, except bool, which may be an int that is 0 or 1. It can be used as an operand.
    """
    text = spelled(call).format(*operands, **_fields(call))
    result = call.outputs[0].dtype
    if kind(result) in "iu" and result.itemsize < 4 and not text.startswith("tm_"):
        text = f"(({c_type(result)}){text})"  # C computes narrower types in int
    return CExpression(text, functions_in(text))


def spelled(call: Call) -> str:
    """The spelling for the dtypes of a call: the most specific one of its op."""
    spelling = lookup(call.op).spelling
    if spelling is None or not call.inputs:
        raise InternalError(f"{call.op} is not an elementwise op")
    exponent = _known_exponent(call)
    if exponent is not None:
        return f"tm_power_{POWERS[exponent]}_{{t}}({{0}})"
    given, made = (_KINDS[kind(value.dtype)] for value in (call.inputs[0], call.outputs[0]))
    found = next(spelling[key] for key in (f"c_{given}_{made}", f"c_{given}", "c") if key in spelling)
    if call.op == "power" and call.inputs[0].dtype.kind == "f":
        if not call.outputs[0].shape:  # Python and NumPy compute single numbers with the C library
            found = "pow{f}({0}, {1})"
        if may_be_root(call):
            found = f"({{1}} == 0.5 ? sqrt{{f}}({{0}}) : {found})"
    return found


def _known_exponent(call: Call) -> float | None:
    """The exponent of a power that is computed without logarithms."""
    if call.op != "power" or kind(call.inputs[0].dtype) != "f" or not isinstance(call.inputs[1], Constant):
        return None
    numbers = np.unique(call.inputs[1].array)
    return float(numbers[0]) if len(numbers) == 1 and float(numbers[0]) in POWERS else None


def _fields(call: Call) -> Mapping[str, Any]:
    operand, result = call.inputs[0].dtype, call.outputs[0].dtype
    numbers = {name: int(param) for name, param in call.params.items() if isinstance(param, int)}
    return {
        **numbers,
        "t": dtype_name(operand),
        "r": dtype_name(result),
        "type": c_type(operand),
        "result": c_type(result),
        "f": function_suffix(operand),
    }


_CALLED: Final = re.compile(r"\b([A-Za-z_]\w*)\(")


def functions_in(text: str) -> frozenset[str]:
    """The functions that a C text calls: those in `functions`, and those of math.h with vector variants."""
    names = (name for name in _CALLED.findall(text) if not name.startswith(OF_SIZES))
    return frozenset(name for name in names if name.startswith("tm_") or is_vectorized(name))


_PERIODIC: Final = re.compile(r"\btm_((sin|cos|tan)_f(?:64|(32))\()")


def near(text: str) -> str:
    """The same expression with sines, cosines and tangents for arguments near 0, which have no branches."""
    return _PERIODIC.sub(r"tm_near_\1", text)


def of_library(text: str) -> str:
    """The same expression with sines, cosines and tangents of the C library.

    0 + x has the same cosine as x. Without the sum, gcc merges sine and cosine of a number into one call, which is not
    vectorised.
    """

    def called(found: re.Match[str]) -> str:
        return f"{found[2]}{'f' if found[3] else ''}({'0 + ' if found[2] == 'cos' else ''}"

    return _PERIODIC.sub(called, text)


# glibc's libmvec. Functions whose variants differ from NumPy too much are left out.
_VECTORIZED: Final = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 expm1 hypot log log10 log1p log2 pow sin "
    "sinh tan tanh".split()
)


def is_vectorized(name: str) -> bool:
    """Whether the C library may have variants of a function of math.h that compute several elements at once."""
    return name in _VECTORIZED or name.removesuffix("f") in _VECTORIZED
