"""How a call becomes NumPy statements: the table of forms, and that of all ufuncs."""

from collections.abc import Callable
from typing import Final

import numpy as np

from ...dtypes import DType
from ...ir import Call, Constant
from ...op import lookup
from ..python.module import Form, Scope, Write
from ..python.text import assigned

FORMS: Final[dict[str, Form]] = {}
"""The form of each op that is neither a ufunc nor written as its definition."""


def form(*ops: str, into: bool = False, overwrites: tuple[int, ...] = ()) -> Callable[[Write], Write]:
    """Register a function as the form of `ops`."""

    def enter(write: Write) -> Write:
        FORMS.update(dict.fromkeys(ops, Form(write, into, overwrites)))
        return write

    return enter


OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
"""How two NumPy numbers are combined ten times faster than by the ufunc, with the same result."""

_SELECTIONS: Final = {"maximum": ">=", "minimum": "<="}
"""Of two integers, the first is chosen if this holds. Floats may be NaN."""

UNARY_OPERATORS = {"negative": "-{0}", "square": "{0} * {0}"}


def _has_operators(dtype: DType) -> bool:
    return dtype.kind in "iu" or dtype.name in ("float32", "float64")


def write_ufunc(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``np.multiply(x, y, out=target)``; numbers by operators."""
    function = f"np.{lookup(call.op).numpy.__name__}"
    if call.outputs[0].ndim == 0 and _has_operators(call.inputs[0].dtype):
        known = all(isinstance(value, Constant) for value in call.inputs)
        if call.op in OPERATORS and not known:
            x, y = map(scope.number, call.inputs)
            return [f"    {scope.name(call)} = {x} {OPERATORS[call.op]} {y}"]
        if call.op in _SELECTIONS and not (known or target) and call.inputs[0].dtype.kind in "iu":
            x, y = map(scope.number, call.inputs)
            one, other = map(scope.scalar, call.inputs)
            return [f"    {scope.name(call)} = {one} if {x} {_SELECTIONS[call.op]} {y} else {other}"]
        if call.op in UNARY_OPERATORS and not known:
            text = UNARY_OPERATORS[call.op].format(scope.number(call.inputs[0]))
            return [f"    {scope.name(call)} = {text}"]
    arguments = [scope.array(value) for value in call.inputs]
    return assigned(scope.name(call), function, arguments + ([f"out={target}"] if target else []))


UFUNC_FORMS: Final = {n: Form(write_ufunc, into=True, overwrites=tuple(range(n))) for n in (1, 2, 3)}
"""By number of operands."""


def ufunc_form(call: Call) -> Form | None:
    """The form of a call whose definition is a ufunc with one result."""
    meaning = lookup(call.op).numpy
    is_ufunc = isinstance(meaning, np.ufunc) and meaning.nout == 1 and meaning.signature is None
    return UFUNC_FORMS[len(call.inputs)] if is_ufunc else None
