"""Comparing arrays, and testing what kind of numbers they contain."""

from typing import Any

import numpy as np

from ...dtypes import is_complex, is_inexact
from ...errors import DTypeError
from ...symbolic_size import joint_shape
from ...tracing.array_values import PYTHON_NUMBERS
from ...tracing.registry import implements
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced
from .reductions import finished_reduction
from .ufunc_calls import as_array


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Any:
    """|a − b| ≤ atol + rtol·|b|, or equal infinities."""
    x: Any = a if isinstance(a, PYTHON_NUMBERS) else as_array(a)
    y: Any = float(b) if isinstance(b, int) else b if isinstance(b, PYTHON_NUMBERS) else as_array(b)
    if is_traced(y):
        y = y.astype(np.result_type(y.dtype, 1.0))
    with np.errstate(invalid="ignore"):  # as in NumPy: ∞ − ∞
        near = np.abs(x - y) <= atol + rtol * np.abs(y)
    result = (near & np.isfinite(y)) | (x == y)
    return result | (np.isnan(x) & np.isnan(y)) if equal_nan else result


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Any:
    return _pythons(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x: Any = as_array(a1)
    y: Any = as_array(a2)
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same = same | (np.isnan(x) & np.isnan(y))
    return _pythons(np.all(same))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether the arrays are equal after broadcasting."""
    x: Any = as_array(a1)
    y: Any = as_array(a2)
    if joint_shape(x.shape, y.shape) is None:
        return False
    return _pythons(np.all(x == y))


def _pythons(answer: Any) -> Any:
    """A bool of Python's, as these functions return."""
    return wrap(answer.value, weak=bool) if is_traced(answer) else bool(answer)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    array: Any = as_array(x)
    return array.imag != 0 if is_complex(array.dtype) else np.zeros_like(array, bool)


@implements(np.isreal)
def isreal(x: Any) -> Any:
    array: Any = as_array(x)
    return array.imag == 0 if is_complex(array.dtype) else np.ones_like(array, bool)


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return is_complex(as_array(x).dtype)


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not is_complex(as_array(x).dtype)


def _is_infinity(name: str, infinity: float) -> None:
    @implements(getattr(np, name))
    def test(x: Any, out: Any = None) -> Any:
        array: Any = as_array(x)
        if is_complex(array.dtype):
            raise DTypeError(
                f"This operation is not supported for {array.dtype} values because it would be ambiguous."
            )
        result: Any = array == infinity if is_inexact(array.dtype) else np.zeros_like(array, bool)
        return finished_reduction(result.value, out)


_is_infinity("isposinf", np.inf)
_is_infinity("isneginf", -np.inf)
