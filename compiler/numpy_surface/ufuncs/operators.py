"""Python's operators on traced arrays: each is the corresponding ufunc; augmented assignments work in place."""

import operator
from types import NoneType
from typing import Any, cast

import numpy as np

from ...callers.user_code import user_location
from ...dtypes import BOOL, INT64
from ...errors import ArgumentTypeError, ShapeError
from ...labelled.classes import as_labelled, is_labelled
from ...nesting import shown
from ...symbolic_size import SymbolicSize
from ...tracing.array_values import PYTHON_NUMBERS
from ...tracing.foreign_memory import ForeignMemory
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import convert
from .mixed_numbers import compared_numbers, with_fraction
from .powers import base_of_power, base_of_scalar_power
from .python_exceptions import refuse_infinite_power, refuse_undefined
from .ufunc_calls import is_weak

_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "divmod": np.divmod,
}
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
_COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SUPPORTED_OPERANDS = (
    TracedArray,
    ForeignMemory,
    np.ndarray,
    np.generic,
    *PYTHON_NUMBERS,
    list,
    tuple,
    SymbolicSize,
)


def operate(ufunc: Any, x: Any, y: Any) -> Any:
    """A binary operator. Two Python numbers give a weak one, as outside."""
    if type(x) is TracedArray and type(y) is TracedArray and x.weak is None and y.weak is None:
        if ufunc is np.power and x.is_scalar and y.is_scalar:
            x = base_of_scalar_power(x, y)
        return x.__array_ufunc__(ufunc, "__call__", x, y)
    if not all(isinstance(operand, _SUPPORTED_OPERANDS) for operand in (x, y)):
        return _of_other_classes(ufunc, x, y)
    if (
        ufunc is np.power
        and isinstance(x, TracedArray)
        and not is_weak(x)
        and (fast := _fast_power(x, y)) is not None
    ):
        return fast
    if ufunc is np.multiply:
        for sequence, count in ((x, y), (y, x)):
            if isinstance(sequence, (list, tuple)) and isinstance(count, TracedArray) and count.is_scalar:
                return _repeated(sequence, count)
    if all(is_weak(operand) or _is_bool(operand) for operand in (x, y)):
        return _of_python_numbers(ufunc, x, y)
    if ufunc is np.power and all(map(_is_scalar, (x, y))):
        x = base_of_scalar_power(x, y)
    return ufunc(x, y)


def _of_other_classes(ufunc: Any, x: Any, y: Any) -> Any:
    """An operator on an array and what is none."""
    array = x if isinstance(x, TracedArray) else y
    if ufunc in (np.equal, np.not_equal) and isinstance(y, (NoneType, str, bytes)) and not array.is_scalar:
        return np.full_like(array, ufunc is np.not_equal, dtype=bool)  # no element is equal
    if (known := with_fraction(ufunc, x, y)) is not None:
        return operate(ufunc, *known)
    for one in (x, y):
        if is_labelled(one):  # a Series or a DataFrame from outside
            return as_labelled(one).__array_ufunc__(ufunc, "__call__", x, y)
    return NotImplemented


def _of_python_numbers(ufunc: Any, x: Any, y: Any) -> Any:
    """An operator on two Python numbers: a Python number, with Python's exceptions."""
    if ufunc in _COMPARISONS.values() and (answer := _compared_with_long_int(ufunc, x, y)) is not None:
        return answer
    if ufunc not in _OF_BOOLS:
        x, y = _as_number(x), _as_number(y)
    _refuse_long_ints(x, y)
    if ufunc is np.power and all(map(_is_int, (x, y))):
        x = base_of_power(x, y)
    refuse_undefined(ufunc, x, y)
    if ufunc is np.power:
        result = ufunc(base_of_scalar_power(x, y), y)
        refuse_infinite_power(x, y, result)
    elif ufunc in _COMPARISONS.values():
        result = compared_numbers(ufunc, x, y)
    else:
        result = ufunc(x, y)
    return tuple(map(_as_weak, result)) if isinstance(result, tuple) else _as_weak(result)


def _is_long(one: Any, other: Any) -> bool:
    """Whether a Python int that 64 bits cannot hold meets a traced one."""
    return type(one) is int and not -(2**63) <= one < 2**63 and getattr(other, "weak", None) is int


def _compared_with_long_int(ufunc: Any, x: Any, y: Any) -> bool | None:
    """The comparison of a traced int with an int that is beyond all of them; None for others."""
    if _is_long(y, x):
        return bool(ufunc(0, 1 if y > 0 else -1))
    return bool(ufunc(1 if x > 0 else -1, 0)) if _is_long(x, y) else None


def _refuse_long_ints(x: Any, y: Any) -> None:
    """Refuse a Python int that 64 bits cannot hold, where it meets a traced one."""
    for one, other in ((x, y), (y, x)):
        if _is_long(one, other):
            raise ArgumentTypeError(
                f"{shown(one, 40)} is combined with a traced int, and ints of a program have 64 bits: use a float",
                user_location(),
            )


_OF_BOOLS = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor, *_COMPARISONS.values()})
"""The operators that do not take two bools for the ints 0 and 1, as ``True + True`` does."""


def _is_bool(x: Any) -> bool:
    """Whether it is a Python bool."""
    return isinstance(x, bool) or (isinstance(x, TracedArray) and x.weak is bool)


def _is_int(x: Any) -> bool:
    """Whether it is a Python int."""
    return isinstance(x, int | SymbolicSize) or (isinstance(x, TracedArray) and x.weak is int)


def _as_number(x: Any) -> Any:
    """A Python bool as the int that arithmetic takes it for; anything else unchanged."""
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, TracedArray) and x.weak is bool:
        return wrap(convert(x.value, INT64), weak=int)
    return x


def _as_weak(x: TracedArray) -> TracedArray:
    """The number as a Python number."""
    kinds: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}
    return wrap(x.value, weak=kinds[x.dtype.kind])


def _repeated(sequence: Any, count: TracedArray) -> Any:
    """``[x, y] * n``, which also repeats the list if `n` is a NumPy scalar."""
    if count.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"a {type(sequence).__name__} times a scalar repeats it, and {count.type} is not an integer. "
            "To multiply the entries, write np.asarray(entries) * x",
            user_location(),
        )
    return sequence * operator.index(count)


def _is_scalar(x: Any) -> bool:
    return x.is_scalar if isinstance(x, TracedArray) else isinstance(x, (*PYTHON_NUMBERS, np.generic))


def _fast_power(x: TracedArray, exponent: Any) -> Any:
    """ndarray's own shortcuts for ``x ** 2`` and similar powers, whose rounding, or dtype, differs from `np.power`."""
    if type(exponent) is not int and type(exponent) is not float:
        return None
    if x.dtype.kind in "fc" and not (x.is_scalar and exponent == 0.5):
        shortcuts = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
        function = shortcuts.get(exponent)
        return None if function is None else function(x)
    is_square = type(exponent) is int and exponent == 2
    return np.square(x) if is_square and not (x.dtype == BOOL and x.is_scalar) else None


def _install_operators() -> None:
    for name, ufunc in _OPERATORS.items():
        setattr(TracedArray, f"__{name}__", lambda self, other, u=ufunc: operate(u, self, other))
        setattr(TracedArray, f"__r{name}__", lambda self, other, u=ufunc: operate(u, other, self))
        setattr(TracedArray, f"__i{name}__", lambda self, other, u=ufunc: _in_place(u, self, other))
    for name, ufunc in _COMPARISONS.items():
        setattr(TracedArray, f"__{name}__", lambda self, other, u=ufunc: operate(u, self, other))
    for name, ufunc in _UNARY.items():
        setattr(TracedArray, f"__{name}__", lambda self, u=ufunc: _unary(u, self))
    setattr(TracedArray, "__contains__", lambda self, item: bool(np.any(self == item)))  # noqa: B010


def _unary(ufunc: Any, x: TracedArray) -> TracedArray:
    x = _as_number(x)
    result: TracedArray = ufunc(x)
    if x.weak is None:
        return result
    return _as_weak(result)  # the absolute value of a complex number is real


def _in_place(ufunc: Any, x: TracedArray, other: Any) -> Any:
    """``x += y`` writes through the views of x; a scalar is rebound instead, as in NumPy."""
    if x.is_scalar:
        return operate(ufunc, x, other)
    if not isinstance(other, _SUPPORTED_OPERANDS):
        return NotImplemented
    if ufunc is np.matmul:
        _refuse_vectors(x.ndim, np.ndim(cast(Any, other)))
    return ufunc(x, other, out=(x,))


def _refuse_vectors(x: int, y: int) -> None:
    """NumPy's rule for the numbers of axes in ``x @= y``."""
    if x < 1 or y < 2:
        raise ShapeError(
            f"x @= y needs an x with at least one axis and a y with at least two, not {x} and {y}: write "
            "x[...] = x @ y to fill x with the product"
        )


_install_operators()
