"""What the operators of Series and DataFrames compute, where pandas' rules differ from NumPy's."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..callers.user_code import user_location
from ..dtypes import FLOAT64, INT64
from ..errors import ArgumentTypeError
from ..tracing.traced_array import wrap
from ..tracing.traced_memory import is_traced
from ..value_ops import convert


def as_python_number(x: Any) -> Any:
    """A scalar of NumPy as the number of Python for which pandas takes it; anything else unchanged."""
    if is_traced(x):
        if x.ndim or x.weak is not None or x.dtype.kind not in "iuf" or x.dtype == np.uint64:
            return x
        kind, dtype = (float, FLOAT64) if x.dtype.kind == "f" else (int, INT64)
        return wrap(convert(x.value, dtype), weak=kind)
    number = x[()] if isinstance(x, np.ndarray) and not x.ndim else x
    return number.item() if isinstance(number, np.integer | np.floating) else x


def _checked(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Floor division and remainder; pandas changes the dtype of integers where a divisor is 0."""

    def divided(x: Any, y: Any) -> Any:
        is_nonzero = isinstance(y, int | float) and y != 0
        if not is_nonzero and {_kind(x), _kind(y)} <= set("iub"):
            raise ArgumentTypeError(
                "the dtype of // and % of integers depends in pandas on whether a divisor is 0: convert to floats "
                'first, x.astype("float64")',
                user_location(),
            )
        return function(x, y)

    return divided


def _logical(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``&``, ``|`` and ``^``, which give bools unless both operands are integers."""

    def combine(x: Any, y: Any) -> Any:
        found = function(x, y)
        return found.astype(bool) if "b" in (_kind(x), _kind(y)) and found.dtype.kind in "iu" else found

    return combine


def _kind(x: Any) -> str:
    return str(np.asarray(x).dtype.kind if isinstance(x, bool | int | float | complex) else x.dtype.kind)


OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": _checked(operator.floordiv),
    "mod": _checked(operator.mod),
    "pow": operator.pow,
    "and": _logical(operator.and_),
    "or": _logical(operator.or_),
    "xor": _logical(operator.xor),
}
COMPARISONS: Final = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}  # of other objects, these are methods, too
METHODS: Final = {
    "div": "truediv",
    "divide": "truediv",
    "multiply": "mul",
    "subtract": "sub",
    **{name: name for name in (*OPERATORS, *COMPARISONS) if name not in ("and", "or", "xor")},
}
"""The names of methods, and their operators."""
