"""The exceptions of Python's numbers and of `math`, where NumPy has inf, NaN or a meaningless integer: ``1 / 0``.

A program raises them as it raises the user's own: in the call, with Python's message. ``checks=False`` leaves them out.
"""

import operator
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, Final

import numpy as np

from ...errors import ArgumentTypeError
from ...symbolic_size import SymbolicSize, is_known
from ...tracing.exceptions.handlers import fall_back
from ...tracing.trace import RAISES_ON_VALUES
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced
from .value_checks import raise_where

_DIVISIONS: Final[dict[Any, Callable[[Any, Any], Any]]] = {
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.divmod: divmod,
}
_SHIFTS: Final[dict[Any, Callable[[Any, Any], Any]]] = {
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
}
_WITH_FLOATS: Final = ({float}, {float, int})
"""The types of two real numbers, not both ints."""
_END_OF_INTS: Final = 2.0**63


def refuse_undefined(ufunc: Any, x: Any, y: Any) -> None:
    """Raise Python's exception, now or when the program runs, where an operator on two numbers has no result."""
    if not RAISES_ON_VALUES.get():
        return
    if ufunc in _DIVISIONS and _may_be_zero(y):
        zero = _type(y)(0)
        _refuse(np.equal(_number(y), 0), _raised(_DIVISIONS[ufunc], _type(x)(1), zero))
    elif ufunc is np.power and {_type(x), _type(y)} in _WITH_FLOATS:
        if _may_be_negative(y):
            test = np.logical_and(np.equal(x, 0), np.less(_number(y), 0))
            _refuse(test, _raised(operator.pow, 0.0, -1))
        if _may_be_negative(x) and _may_be_fraction(y):
            _refuse_complex_power(x, y)
    elif ufunc is np.power and complex in {_type(x), _type(y)}:
        exponent = _number(y)
        test = np.logical_or(np.less(np.real(exponent), 0), np.not_equal(np.imag(exponent), 0))
        _refuse(np.logical_and(np.equal(_number(x), 0), test), _raised(operator.pow, 0j, -1))
    elif ufunc in _SHIFTS and _may_be_negative(y):
        _refuse(np.less(_number(y), 0), _raised(_SHIFTS[ufunc], 1, -1))


def refuse_infinite_power(x: Any, y: Any, result: Any) -> None:
    """Raise Python's exception where the power of two finite numbers is too large for a float."""
    types = {_type(x), _type(y)}
    if not RAISES_ON_VALUES.get() or (types not in _WITH_FLOATS and complex not in types):
        return
    error = (
        OverflowError("complex exponentiation")
        if complex in types
        else OverflowError(*_arguments_of_overflow())
    )
    x, y = _number(x), _number(y)
    conditions = [np.isinf(result), *(np.isfinite(one) for one in (x, y) if _type(one) is not int)]
    if _may_be_negative(y) or complex in types:  # a power of 0 has an exception of its own
        conditions.append(np.not_equal(x, 0))
    if all(is_traced(one) or one for one in conditions):
        _refuse(reduce(np.logical_and, filter(is_traced, conditions)), error)


@cache
def _arguments_of_overflow() -> tuple[Any, ...]:
    try:
        return (1e300**2,)
    except OverflowError as error:
        return error.args


def _refuse_complex_power(x: Any, y: Any) -> None:
    """Raise an error where Python's power of two real numbers is complex. The function itself runs then, in Python."""
    is_fraction = np.logical_and(np.not_equal(np.floor(y), y), np.isfinite(y))
    test = np.logical_and(np.logical_and(np.less(_number(x), 0), np.isfinite(_number(x))), is_fraction)
    fall_back()
    message = (
        "a negative number to a fractional power is complex: start from a complex number, complex(x) ** y"
    )
    _refuse(test, ValueError(message), is_pythons=False)


def refuse_no_integer(x: Any) -> None:
    """Raise Python's exception where a traced float has no integer: NaN, infinities, and what 64 bits cannot hold."""
    if not RAISES_ON_VALUES.get():
        return
    size = np.abs(x)
    _refuse(np.isnan(x), _raised(int, np.nan))
    _refuse(np.isinf(x), _raised(int, np.inf))
    too_long = ArgumentTypeError(
        "the int of this float has more than 64 bits, and ints of a program have 64: use a float"
    )
    _refuse(np.logical_and(size >= _END_OF_INTS, np.isfinite(x)), too_long, is_pythons=False)


def refuse_unsigned(x: Any) -> None:
    """Raise an exception where a traced uint64 is 2**63 or more, which no int of a program is. Python runs the function
    then, if it can."""
    if RAISES_ON_VALUES.get():
        fall_back()
        too_long = OverflowError(
            "the int of this uint64 has more than 63 bits: compute with the uint64 itself"
        )
        _refuse(x >= np.uint64(2**63), too_long)


def refuse_domain(is_outside: Any, message: str = "math domain error") -> None:
    """Raise the exception of a function of `math` where its argument is outside of its domain."""
    if RAISES_ON_VALUES.get():
        _refuse(is_outside, ValueError(message))


def refuse_overflow(is_infinite: Any) -> None:
    """Raise the exception of a function of `math` or `cmath` whose result is too large for a float."""
    if RAISES_ON_VALUES.get():
        _refuse(is_infinite, OverflowError("math range error"))


_NEVER: Final = frozenset(
    "asinh atan atan2 cbrt copysign degrees dist erf erfc fabs hypot nextafter radians tanh".split()
)
"""They have a value for every number."""
_POLES: Final = frozenset({"atanh", "log", "log10", "log1p", "log2"})
"""They are infinite only at the end of their domain, which Python excludes."""
_OVERFLOWS: Final = frozenset({"cosh", "exp", "exp2", "expm1", "gamma", "ldexp", "lgamma", "pow", "sinh"})


def refuse_outside_of_math(name: str, result: Any, given: Sequence[Any]) -> None:
    """Raise Python's exception, now or when the program runs, where ``math.name(*given)`` does.

    The rules are those of `math_1` and `math_2` in CPython's Modules/mathmodule.c.
    """
    if name in _NEVER or not RAISES_ON_VALUES.get():
        return
    has_nan = reduce(np.logical_or, map(np.isnan, given))
    are_finite = reduce(np.logical_and, map(np.isfinite, given))
    is_outside = np.logical_and(np.isnan(result), np.logical_not(has_nan))
    is_infinite = np.logical_and(np.isinf(result), are_finite)
    if name in _POLES:
        is_outside = np.logical_or(is_outside, is_infinite)
    elif name == "pow":
        is_outside = np.logical_or(is_outside, np.logical_and(is_infinite, np.equal(given[0], 0)))
    elif name in {"gamma", "lgamma"}:
        is_outside = np.logical_or(is_outside, np.logical_and(are_finite, _is_whole_and_not_positive(*given)))
    refuse_domain(is_outside)
    if name in _OVERFLOWS:
        refuse_overflow(is_infinite)  # of two errors, the program raises the first


def _is_whole_and_not_positive(x: Any) -> Any:
    return np.logical_and(np.less_equal(x, 0), np.equal(np.floor(x), x))


# ---- checks ----------------------------------------------------------------------------------------


def _refuse(condition: Any, error: Exception, *, is_pythons: bool = True) -> None:
    """Raise an error where the condition holds."""
    raise_where(condition, lambda: error, lambda: error, is_pythons=is_pythons)


def _raised(operation: Callable[..., Any], *numbers: Any) -> Exception:
    """A new exception, as Python raises it for these numbers."""
    kind, message = _text(operation, *((type(x), str(x)) for x in numbers))
    return kind(message)


@cache
def _text(operation: Callable[..., Any], *numbers: "tuple[type[Any], str]") -> "tuple[type[Exception], str]":
    try:
        operation(*(kind(text) for kind, text in numbers))
    except (ArithmeticError, ValueError) as error:
        return type(error), str(error)
    raise AssertionError(f"{operation} has a result")


def _type(x: Any) -> "type[Any]":
    """Python's type of a number; int for a bool, which computes as one."""
    if is_traced(x):
        return int if x.weak is None else x.weak
    return int if isinstance(x, (bool, SymbolicSize)) else type(x)


def _number(x: Any) -> Any:
    return wrap(x.as_number().value, weak=int) if isinstance(x, SymbolicSize) else x


def _may_be_zero(x: Any) -> bool:
    if isinstance(x, SymbolicSize):
        return not (is_known(x >= 1) or is_known(x <= -1))  # type: ignore[operator]
    return is_traced(x) or not x


def _may_be_fraction(x: Any) -> bool:
    return _type(x) is float and (is_traced(x) or not float(x).is_integer())


def _may_be_negative(x: Any) -> bool:
    if isinstance(x, SymbolicSize):
        return not is_known(x >= 0)  # type: ignore[operator]
    return _type(x) is not complex and (is_traced(x) or x < 0)
