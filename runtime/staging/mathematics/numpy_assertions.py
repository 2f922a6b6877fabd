"""The functions of `numpy.testing` that compare numbers, in converted code: the program checks, NumPy makes the text.

A program has only the condition. If it fails, the function itself runs, and NumPy's own function raises or passes. So a
condition may fail where NumPy's function passes, but must never hold where it raises.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ....compiler.callers.user_code import user_location
from ....compiler.errors import ConcretizationError
from ....compiler.symbolic_size import is_known
from ....compiler.tracing.exceptions.handlers import fall_back, is_handled
from ....compiler.tracing.registry import CONSTRUCTORS
from ....compiler.tracing.traced_array import located
from ....compiler.tracing.traced_memory import is_traced
from ...branching.branches import raise_where

_NUMBERS: Final = (bool, int, float, complex, np.bool, np.number)


def assertion_meaning(function: Any) -> Callable[..., Any] | None:
    """What converted code calls instead of a function of `numpy.testing`; None if it calls the function itself."""
    condition = _CONDITIONS.get(function.__name__)
    return None if condition is None else partial(_asserted, function, condition)


def _asserted(own: Callable[..., Any], condition: Callable[..., Any], *given: Any, **named: Any) -> None:
    if not _holds_traced((given, named)):
        own(*given, **named)
        return
    error, line = AssertionError(f"numpy.testing.{own.__name__} fails"), user_location()
    if is_handled(error):
        raise _needs_values(own.__name__, "in a `try` that handles its AssertionError")
    holds = condition(*given, **named)
    if holds is None:
        raise _needs_values(own.__name__, "of arrays whose lengths may differ")
    fall_back()
    raise_where(np.logical_not(holds), error, line)


def _needs_values(name: str, where: str) -> ConcretizationError:
    """The error for an assertion for which the whole function runs uncompiled."""
    error = ConcretizationError(
        f"numpy.testing.{name} {where} needs values that are known only when the program runs: compare with NumPy "
        "functions and `assert` instead, as in `assert np.allclose(x, y)`",
        user_location(),
    )
    error.is_of_text = True
    return error


# ---- arrays ----------------------------------------------------------------------------------------------


def _allclose(
    actual: Any,
    desired: Any,
    rtol: Any = 1e-7,
    atol: Any = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> Any:
    close = partial(np.isclose, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return _everywhere(close, actual, desired, strict=strict)


def _array_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> Any:
    return _everywhere(_same, actual, desired, strict=strict)


def _array_less(x: Any, y: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> Any:
    return _everywhere(lambda x, y: _both_nan(x, y, np.less(x, y)), x, y, strict=strict)


def _array_almost_equal(
    actual: Any, desired: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> Any:
    return _everywhere(partial(_near, decimal=decimal), actual, desired)


def _everywhere(test: Callable[[Any, Any], Any], actual: Any, desired: Any, *, strict: bool = False) -> Any:
    """Whether a test holds for all entries of arrays of one shape; None if it is unknown whether they have one."""
    x, y = _array(actual), _array(desired)
    fits = _have_one_shape(x.shape, y.shape)
    if not strict and (x.ndim == 0 or y.ndim == 0):
        fits = True
    if fits is None:
        return None
    if not fits or (strict and x.dtype != y.dtype):
        return False
    return np.all(test(x, y))


def _array(x: Any) -> Any:
    """As an array with a dtype of its own, which Python's numbers have there, too."""
    return located(CONSTRUCTORS["asarray"], x)


def _have_one_shape(one: Sequence[Any], other: Sequence[Any]) -> bool | None:
    if len(one) != len(other):
        return False
    unknown = False
    for mine, theirs in zip(one, other, strict=True):
        if is_known(mine != theirs):
            return False
        unknown |= not is_known(mine == theirs)
    return None if unknown else True


def _both_nan(x: Any, y: Any, otherwise: Any) -> Any:
    """Where both are NaN, or else a condition."""
    return np.logical_or(otherwise, np.logical_and(np.isnan(x), np.isnan(y)))


def _same(x: Any, y: Any) -> Any:
    return _both_nan(x, y, np.equal(x, y))


def _near(x: Any, y: Any, decimal: int) -> Any:
    near = np.abs(x - y * 1.0) < 1.5 * 10.0 ** (-decimal)
    return np.logical_or(_same(x, y), near)


# ---- numbers and containers ------------------------------------------------------------------------------


def _equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> Any:
    if isinstance(desired, dict):
        if not isinstance(actual, dict) or actual.keys() != desired.keys():
            return False
        return _each([_equal(actual[key], desired[key]) for key in desired])
    if isinstance(desired, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(actual) != len(desired):
            return False
        return _each([_equal(x, y) for x, y in zip(actual, desired, strict=True)])
    if _is_array(actual) or _is_array(desired):
        return _everywhere(_same, actual, desired, strict=strict)
    if not _holds_traced((actual, desired)):
        return _passes(np.testing.assert_equal, actual, desired)
    if not (_is_number(actual) and _is_number(desired)):
        return False
    return _each([_same_number(x, y) for x, y in _parts(actual, desired)])


def _almost_equal(
    actual: Any, desired: Any, decimal: int = 7, err_msg: str = "", verbose: bool = True
) -> Any:
    if _is_number(actual) and _is_number(desired):
        pairs = [*_parts(actual, desired), (actual, desired)]
        return _each([_near_number(x, y, decimal) for x, y in pairs])
    x, y = _array(actual), _array(desired)
    near = partial(_near, decimal=decimal)
    return _each([_everywhere(near, *pair) for pair in [*_parts(x, y), (x, y)]])


def _near_number(x: Any, y: Any, decimal: int) -> Any:
    near = np.less(np.abs(np.subtract(y, x)), np.float64(1.5 * 10.0 ** (-decimal)))
    return np.logical_or(_same(x, y), near)


def _same_number(x: Any, y: Any) -> Any:
    """Whether two real numbers are the same, where zeros have signs."""
    signs = np.equal(np.signbit(np.multiply(x, 1.0)), np.signbit(np.multiply(y, 1.0)))
    return _both_nan(x, y, np.logical_and(np.equal(x, y), signs))


def _parts(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """The real and imaginary parts; the numbers or arrays themselves if both are real."""
    if not (np.iscomplexobj(x) or np.iscomplexobj(y)):
        return [(x, y)]
    return [(np.real(x), np.real(y)), (np.imag(x), np.imag(y))]


def _each(found: Sequence[Any]) -> Any:
    """Whether all of these hold; None if that is unknown."""
    if any(one is None for one in found):
        return None
    holds: Any = True
    for one in found:
        holds = np.logical_and(holds, one)
    return holds


def _passes(own: Callable[..., Any], *given: Any) -> bool:
    try:
        own(*given)
    except AssertionError:
        return False
    return True


def _holds_traced(x: Any) -> bool:
    if isinstance(x, dict):
        return any(map(_holds_traced, x.values()))
    return any(map(_holds_traced, x)) if isinstance(x, (list, tuple)) else is_traced(x)


def _is_array(x: Any) -> bool:
    return not x.is_scalar if is_traced(x) else isinstance(x, np.ndarray)


def _is_number(x: Any) -> bool:
    return bool(x.is_scalar) if is_traced(x) else isinstance(x, _NUMBERS)


_CONDITIONS: Final[dict[str, Callable[..., Any]]] = {
    "assert_allclose": _allclose,
    "assert_almost_equal": _almost_equal,
    "assert_array_almost_equal": _array_almost_equal,
    "assert_array_equal": _array_equal,
    "assert_array_less": _array_less,
    "assert_equal": _equal,
}
